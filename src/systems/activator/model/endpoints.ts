import type { StoredObject } from '../../../kube/object.ts'
import type { Address } from '../proxy/routing/route.ts'

/** The label by which `sojourn up` tells of a container without a command. */
const simulatedMark = 'sojourn.dev/simulated'

interface SliceEndpoint {
  readonly addresses?: readonly string[]
  readonly conditions?: { readonly ready?: boolean; readonly serving?: boolean; readonly terminating?: boolean }
}

interface SlicePort {
  readonly name?: string
  readonly port?: number
  readonly protocol?: string
  readonly appProtocol?: string
}

/** An EndpointSlice, as far as it concerns us. */
export interface EndpointSlice extends StoredObject {
  readonly addressType?: string
  /** Null, as Kubernetes writes it, where no pod is selected. */
  readonly endpoints?: readonly SliceEndpoint[] | null
  readonly ports?: readonly SlicePort[] | null
}

export interface ServicePort {
  readonly name?: string
  readonly port: number
  readonly targetPort?: number | string
  readonly protocol?: string
  readonly appProtocol?: string
}

/** Where a Service's pods can be reached, and what they speak. */
export interface Backends {
  readonly addresses: readonly Address[]
  readonly protocol: 'http1' | 'h2c'
}

/** The ports of a Service. */
export function portsOf({ spec }: StoredObject): readonly ServicePort[] {
  return ((spec ?? {}) as { readonly ports?: readonly ServicePort[] }).ports ?? []
}

/** The port of a Service that requests go to: the one asked for by name or number, else its first. */
export function portOf(service: StoredObject, wanted: string | undefined): ServicePort | undefined {
  const ports = portsOf(service)
  if (wanted === undefined) return ports[0]
  return ports.find(({ name, port }) => name === wanted || String(port) === wanted)
}

/** The pods of a Service that may be sent requests: ready, not on their way out, each once; or all that are not on their way out. */
export function backendsOf(
  slices: readonly EndpointSlice[],
  port: ServicePort,
  which: 'ready' | 'all' = 'ready',
): Backends {
  const found = new Map<string, Address>()
  for (const { endpoints, ports, addressType, metadata } of slices) {
    const isSimulated = metadata.labels?.[simulatedMark] === 'true'
    if (addressType === 'FQDN') continue
    const target = ports?.find(({ name = '' }) => name === (port.name ?? ''))
    if (target?.port === undefined) continue
    for (const { addresses = [], conditions = {} } of endpoints ?? []) {
      const [host] = addresses
      // A slice that does not say whether a pod is ready means that it is.
      if (host === undefined || (which === 'ready' && conditions.ready === false) || conditions.terminating === true)
        continue
      found.set(`${host} ${target.port}`, { host, port: target.port, ...(isSimulated ? { isSimulated } : {}) })
    }
  }
  return { addresses: [...found.values()], protocol: port.appProtocol === 'kubernetes.io/h2c' ? 'h2c' : 'http1' }
}
