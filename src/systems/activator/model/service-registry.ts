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
  /** Ids of Services by what `indexKeys` names of them. */
  readonly #index = new Map<string, Set<string>>()

  /** Takes a Service in place of its former self; answers the workloads that either is about. */
  set(service: OnDemandService): readonly ObjectRef[] {
    const former = this.remove(service.id)
    this.#services.set(service.id, service)
    for (const key of indexKeys(service)) this.#index.getOrInsertComputed(key, () => new Set()).add(service.id)
    return [...former, ...service.settings.workloads]
  }

  remove(id: string): readonly ObjectRef[] {
    const former = this.#services.get(id)
    if (!former) return []
    this.#services.delete(id)
    for (const key of indexKeys(former)) {
      const ids = this.#index.get(key)
      ids?.delete(id)
      if (ids?.size === 0) this.#index.delete(key)
    }
    return former.settings.workloads
  }

  get(id: string): OnDemandService | undefined {
    return this.#services.get(id)
  }

  /** The Services that lead to a workload, or have it woken with theirs. */
  ofWorkload(id: string): OnDemandService[] {
    return this.#having(`workload ${id}`)
  }

  ofNamespace(namespace: string): OnDemandService[] {
    return this.#having(`namespace ${namespace}`)
  }

  /** The Services whose requests go to the pods of this one. */
  ofBackend(namespace: string, name: string): OnDemandService[] {
    return this.#having(`backend ${namespace}/${name}`)
  }

  /** The Services that fall back on this one. */
  ofFallback(namespace: string, name: string): OnDemandService[] {
    return this.#having(`fallback ${namespace}/${name}`)
  }

  #having(key: string): OnDemandService[] {
    return [...(this.#index.get(key) ?? [])].flatMap((id) => this.#services.get(id) ?? [])
  }

  all(): Iterable<OnDemandService> {
    return this.#services.values()
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

function indexKeys(service: OnDemandService): readonly string[] {
  const { namespace, settings } = service
  return [
    ...settings.workloads.map((workload) => `workload ${workloadId(workload)}`),
    `namespace ${namespace}`,
    `backend ${backendId(service)}`,
    ...(settings.fallback === undefined ? [] : [`fallback ${namespace}/${settings.fallback}`]),
  ]
}
