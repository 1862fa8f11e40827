/** On a Pod: the local port behind each containerPort, as JSON. */
export const portsAnnotation = 'sojourn.dev/ports'

/** On a Pod: at least one of its containers has no command and is only simulated. */
export const simulatedAnnotation = 'sojourn.dev/simulated'

/** Local ports by containerPort. */
export type PortMap = Readonly<Record<number, number>>
