/** On a Pod: the local port behind each containerPort, as JSON. */
export const portsAnnotation = 'sojourn.dev/ports'

/** On a Pod, and a label of its EndpointSlices: at least one of its containers has no command and is only simulated. */
export const simulatedMark = 'sojourn.dev/simulated'

/** Local ports by containerPort. */
export type PortMap = Readonly<Record<number, number>>
