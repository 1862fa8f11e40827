import { keyOf, keyToString } from '../../../kube/key.ts'
import type { ObjectRef } from '../../../kube/object.ts'
import type { ServiceSettings } from './service-settings.ts'
import type { ServicePort } from './endpoints.ts'

/** A Service that is on demand, understood. */
export interface OnDemandService {
  /** `namespace/name`: names its route, and its backend in the data plane. */
  readonly id: string
  readonly namespace: string
  readonly name: string
  readonly settings: ServiceSettings
  /** Undefined when the Service has no such port: nothing can be forwarded to it. */
  readonly port: ServicePort | undefined
  /** The Service that lists the pods of its backend, where that has been taken over. */
  readonly pods?: string
  /** Ports of its own at which the proxies take connections for it, once it is being taken over. */
  readonly ports?: readonly TakenPort[]
}

/** A port of a Service, and the one at which the proxies take its connections. */
export interface TakenPort extends ServicePort {
  readonly listen: number
}

/** What a Service's port is called in the data plane. */
export function portRouteId(id: string, { name, port }: ServicePort): string {
  return `${id}:${name || port}`
}

/** The Service that a route of this id, or one of its ports, is for. */
export function serviceOfRoute(route: string): string {
  return route.split(':')[0]!
}

/** The Services that are on demand, by themselves and by the workloads behind them. */
export class ServiceRegistry {
  readonly #services = new Map<string, OnDemandService>()
  readonly #byWorkload = new Map<string, Set<string>>()
  readonly #byBackend = new Map<string, Set<string>>()
  readonly #byFallback = new Map<string, Set<string>>()
  readonly #byNamespace = new Map<string, Set<string>>()

  /** Takes a Service in place of its former self; answers the workloads that either is about. */
  set(service: OnDemandService): readonly ObjectRef[] {
    const former = this.remove(service.id)
    this.#services.set(service.id, service)
    for (const workload of service.settings.workloads) add(this.#byWorkload, workloadId(workload), service.id)
    add(this.#byBackend, backendId(service), service.id)
    add(this.#byNamespace, service.namespace, service.id)
    if (service.settings.fallback !== undefined) add(this.#byFallback, fallbackId(service), service.id)
    return [...former, ...service.settings.workloads]
  }

  remove(id: string): readonly ObjectRef[] {
    const former = this.#services.get(id)
    if (!former) return []
    this.#services.delete(id)
    for (const workload of former.settings.workloads) drop(this.#byWorkload, workloadId(workload), id)
    drop(this.#byBackend, backendId(former), id)
    drop(this.#byNamespace, former.namespace, id)
    drop(this.#byFallback, fallbackId(former), id)
    return former.settings.workloads
  }

  get(id: string): OnDemandService | undefined {
    return this.#services.get(id)
  }

  /** The Services that lead to a workload, or have it woken with theirs. */
  ofWorkload(id: string): OnDemandService[] {
    return [...(this.#byWorkload.get(id) ?? [])].flatMap((each) => this.#services.get(each) ?? [])
  }

  ofNamespace(namespace: string): OnDemandService[] {
    return [...(this.#byNamespace.get(namespace) ?? [])].flatMap((each) => this.#services.get(each) ?? [])
  }

  /** The Services whose requests go to the pods of this one. */
  ofBackend(namespace: string, name: string): OnDemandService[] {
    return [...(this.#byBackend.get(`${namespace}/${name}`) ?? [])].flatMap((each) => this.#services.get(each) ?? [])
  }

  /** The Services that fall back on this one. */
  ofFallback(namespace: string, name: string): ReadonlySet<string> {
    return this.#byFallback.get(`${namespace}/${name}`) ?? new Set()
  }

  all(): Iterable<OnDemandService> {
    return this.#services.values()
  }

  get size(): number {
    return this.#services.size
  }
}

/** One string per workload, the same for a reference and the object. */
export function workloadId(workload: ObjectRef): string {
  return keyToString(keyOf(workload))
}

/** `namespace/name` of the Service whose slices list its pods. */
export function backendId({ namespace, settings, pods }: OnDemandService): string {
  return `${namespace}/${pods ?? settings.backend}`
}

function fallbackId({ namespace, settings }: OnDemandService): string {
  return `${namespace}/${settings.fallback ?? ''}`
}

function add(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key)
  if (ids) ids.add(id)
  else index.set(key, new Set([id]))
}

function drop(index: Map<string, Set<string>>, key: string, id: string): void {
  const ids = index.get(key)
  ids?.delete(id)
  if (ids?.size === 0) index.delete(key)
}
