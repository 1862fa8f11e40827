import type { KubeObject } from '../../../kube/object.ts'
import type { Document } from '../../store/document.ts'
import type { Store, StoreEvent } from '../../store/store.ts'
import type { AdmissionHook, Review } from '../contract/admission.ts'

interface ServicePort {
  readonly nodePort?: number
}

interface ServiceSpec {
  readonly type?: string
  readonly clusterIP?: string
  readonly clusterIPs?: readonly string[]
  readonly ports?: readonly ServicePort[] | null
}

const none = 'None'
const firstNodePort = 30_000
const nodePorts = 2768
/** 10.96.0.0/16 without its last 256 addresses; the first `reserved` are only given to Services that request them. */
const addresses = 65_280
const reserved = 10

/** Assigns cluster IPs and node ports to Services, each to one Service only. */
export class ServiceAddresses implements AdmissionHook {
  readonly #taken = new Set<string>()
  readonly #unsubscribe: () => void
  /**
   * Only increases (modulo the range), so that an address that is assigned but not stored yet is not assigned twice.
   */
  #nextAddress = reserved
  #nextPort = 0

  constructor(store: Store) {
    for (const { document } of store.scan({ resource: 'services', limit: Number.MAX_SAFE_INTEGER }))
      this.#markTaken(document)
    this.#unsubscribe = store.subscribe((events) => events.forEach((event) => this.#onEvent(event)))
  }

  close(): void {
    this.#unsubscribe()
  }

  mutate({ type, subresource, object, old }: Review & { readonly object: KubeObject }): KubeObject {
    if (type.resource !== 'services' || subresource) return object
    const spec = (object.spec ?? {}) as ServiceSpec
    if (spec.type === 'ExternalName') return object
    const clusterIP = spec.clusterIP || spec.clusterIPs?.[0] || specOf(old).clusterIP || this.#newAddress()
    const families = { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }
    const ports = isPublished(spec) ? { ports: this.#withNodePorts(spec.ports ?? [], specOf(old).ports ?? []) } : {}
    return {
      ...object,
      spec: { ...families, ...spec, clusterIP, clusterIPs: spec.clusterIPs ?? [clusterIP], ...ports },
    }
  }

  #withNodePorts(ports: readonly ServicePort[], old: readonly ServicePort[]): readonly ServicePort[] {
    return ports.map((port, index) => ({ ...port, nodePort: port.nodePort || old[index]?.nodePort || this.#newPort() }))
  }

  #newAddress(): string {
    for (let tries = 0; tries < addresses; tries++) {
      const number = this.#nextAddress
      this.#nextAddress = reserved + ((number + 1 - reserved) % (addresses - reserved))
      const address = `10.96.${number >> 8}.${number & 255}`
      if (!this.#taken.has(address)) return address
    }
    return none
  }

  #newPort(): number {
    for (let tries = 0; tries < nodePorts; tries++) {
      const port = firstNodePort + this.#nextPort
      this.#nextPort = (this.#nextPort + 1) % nodePorts
      if (!this.#taken.has(String(port))) return port
    }
    return 0
  }

  #onEvent({ resource, type, document, previous }: StoreEvent): void {
    if (resource !== 'services') return
    if (previous) for (const each of addressesOf(previous)) this.#taken.delete(each)
    if (type !== 'delete') this.#markTaken(document)
  }

  #markTaken(document: Document): void {
    for (const each of addressesOf(document)) this.#taken.add(each)
  }
}

function addressesOf({ value }: Document): readonly string[] {
  const { clusterIP = '', ports } = specOf(value)
  return [clusterIP, ...(ports ?? []).map(({ nodePort = 0 }) => String(nodePort))]
}

function isPublished({ type }: ServiceSpec): boolean {
  return type === 'NodePort' || type === 'LoadBalancer'
}

function specOf(object: KubeObject | undefined): ServiceSpec {
  return (object?.spec ?? {}) as ServiceSpec
}
