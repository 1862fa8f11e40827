import type { KubeObject } from '../../../kube/object.ts'
import { invalid, invalidValue, type FieldError } from '../../schema/types/field-error.ts'
import type { Address, Store, StoreEvent, View } from '../../store/store.ts'
import { sharedByAttempts, type AdmissionHook, type Review } from '../contract/admission.ts'

interface ServicePort {
  readonly nodePort?: number
}

interface ServiceSpec {
  readonly type?: string
  readonly clusterIP?: string
  readonly clusterIPs?: readonly string[]
  readonly ports?: readonly ServicePort[] | null
}

const resource = 'services'
const none = 'None'
const firstNodePort = 30_000
const nodePorts = 2768
/** 10.96.0.0/16 without its last 256 addresses; the first `reserved` are only given to Services that request them. */
const addresses = 65_280
const reserved = 10

/** Assigns cluster IPs and node ports to Services, each to one Service only. */
export class ServiceAddresses implements AdmissionHook {
  /** The Service that has an address or port, or asked for it last: whether it has it is known inside a transaction. */
  readonly #holders = new Map<string, Address>()
  readonly #unsubscribe: () => void
  /**
   * Only increases (modulo the range), so that an address that is assigned but not stored yet is not assigned twice.
   */
  #nextAddress = reserved
  #nextPort = 0

  constructor(store: Store) {
    for (const { document, namespace, name } of store.scan({ resource, limit: Number.MAX_SAFE_INTEGER }))
      this.#hold(document.value, { resource, namespace, name })
    this.#unsubscribe = store.subscribe((events) => events.forEach((event) => this.#onEvent(event)))
  }

  close(): void {
    this.#unsubscribe()
  }

  mutate({ type, subresource, object, old, view }: Review & { readonly object: KubeObject }): KubeObject {
    if (type.resource !== resource || subresource) return object
    const spec = (object.spec ?? {}) as ServiceSpec
    if (spec.type === 'ExternalName') return object
    const given = spec.clusterIP || spec.clusterIPs?.[0] || specOf(old).clusterIP
    const clusterIP = given || sharedByAttempts(view, 'cluster IP', () => this.#newAddress())
    const families = { ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' }
    const ports = isPublished(spec)
      ? { ports: this.#withNodePorts(view, spec.ports ?? [], specOf(old).ports ?? []) }
      : {}
    return {
      ...object,
      spec: { ...families, ...spec, clusterIP, clusterIPs: spec.clusterIPs ?? [clusterIP], ...ports },
    }
  }

  /** Refuses what another Service has. */
  validate({ operation, type, subresource, object, view, namespace }: Review): void {
    if (operation === 'DELETE' || type.resource !== resource || subresource || !object) return
    const name = object.metadata.name ?? ''
    const own = { resource, namespace, name }
    const { clusterIP = '', ports } = specOf(object)
    const faults: FieldError[] = []
    if (this.#isHeldByAnother(clusterIP, own, view)) {
      const why = `failed to allocate IP ${clusterIP}: provided IP is already allocated`
      faults.push(invalidValue('spec.clusterIPs', [clusterIP], why))
    }
    for (const [index, { nodePort = 0 }] of (ports ?? []).entries())
      if (this.#isHeldByAnother(String(nodePort), own, view))
        faults.push(invalidValue(`spec.ports[${index}].nodePort`, nodePort, 'provided port is already allocated'))
    if (faults.length > 0) throw invalid(type, name, faults)
    this.#hold(object, own)
  }

  #isHeldByAnother(address: string, own: Address, view: View): boolean {
    const holder = this.#holders.get(address)
    if (!holder || (holder.namespace === own.namespace && holder.name === own.name)) return false
    const record = view.get(holder)
    return record !== undefined && addressesOf(record.document.value).includes(address)
  }

  #withNodePorts(view: View, ports: readonly ServicePort[], old: readonly ServicePort[]): readonly ServicePort[] {
    const made = (index: number) => Number(sharedByAttempts(view, `node port ${index}`, () => String(this.#newPort())))
    return ports.map((port, index) => ({ ...port, nodePort: port.nodePort || old[index]?.nodePort || made(index) }))
  }

  #newAddress(): string {
    for (let tries = 0; tries < addresses; tries++) {
      const number = this.#nextAddress
      this.#nextAddress = reserved + ((number + 1 - reserved) % (addresses - reserved))
      const address = `10.96.${number >> 8}.${number & 255}`
      if (!this.#holders.has(address)) return address
    }
    return none
  }

  #newPort(): number {
    for (let tries = 0; tries < nodePorts; tries++) {
      const port = firstNodePort + this.#nextPort
      this.#nextPort = (this.#nextPort + 1) % nodePorts
      if (!this.#holders.has(String(port))) return port
    }
    return 0
  }

  #onEvent(event: StoreEvent): void {
    if (event.resource !== resource) return
    const { namespace, name, type, document, previous } = event
    for (const each of previous ? addressesOf(previous.value) : []) {
      const holder = this.#holders.get(each)
      if (holder?.namespace === namespace && holder.name === name) this.#holders.delete(each)
    }
    if (type !== 'delete') this.#hold(document.value, { resource, namespace, name })
  }

  #hold(service: KubeObject, holder: Address): void {
    for (const each of addressesOf(service)) this.#holders.set(each, holder)
  }
}

/** Its cluster IP and node ports. */
function addressesOf(service: KubeObject): readonly string[] {
  const { clusterIP = '', ports } = specOf(service)
  return [clusterIP, ...(ports ?? []).map(({ nodePort = 0 }) => String(nodePort))].filter(
    (each) => each !== '' && each !== none && each !== '0',
  )
}

function isPublished({ type }: ServiceSpec): boolean {
  return type === 'NodePort' || type === 'LoadBalancer'
}

function specOf(object: KubeObject | undefined): ServiceSpec {
  return (object?.spec ?? {}) as ServiceSpec
}
