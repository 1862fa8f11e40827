/** On a Pod: which loopback port each of its containerPorts really is. */
export const portsAnnotation = 'sojourn.dev/ports'

/** On a Pod: at least one of its containers is pretended, because it has no command. */
export const simulatedAnnotation = 'sojourn.dev/simulated'

export type PortMap = Readonly<Record<number, number>>
