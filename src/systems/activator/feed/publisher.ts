import type { Core } from '../cluster/core.ts'
import { observeBackends, persistedWakeMs } from '../cluster/observe.ts'
import type { ServicePort } from '../model/endpoints.ts'
import { sumOf, type TargetLoad } from '../proxy/planes/data-plane.ts'
import { routeDefaults, type Address, type RouteConfig } from '../proxy/routing/route.ts'
import { shareOf } from '../proxy/routing/shares.ts'
import type { TargetState } from '../proxy/routing/target.ts'
import { portRouteId, workloadId, type OnDemandService, type TakenPort } from '../model/service-registry.ts'
import type { WaitingFiles } from '../model/static-answers.ts'
import type { WorkloadCaches } from '../cluster/workload-caches.ts'

export type PublisherParts = Pick<
  Core,
  'plane' | 'registry' | 'workloads' | 'caches' | 'wakeAttempts' | 'peers' | 'now'
>

/** Requests for a workload that is missing are held for this long. */
const missedForMs = 5000

/** Publishes routes and the state of each Service's pods to the data plane, whenever they change. */
export class Publisher {
  readonly #parts: PublisherParts
  readonly #published = new Map<string, string>()
  readonly #configs = new Map<string, string>()
  /** Routes that are being drained, by us or for another replica: their state is not published until the draining replica has decided. */
  readonly #held = new Set<string>()
  /** Workloads we scaled down at a version that the cache may not show yet. */
  readonly #asleep = new Map<string, string>()
  /** Since when the workload of a Service is missed: caches show a Service before a workload that was created with it. */
  readonly #missedAt = new Map<string, number>()

  constructor(parts: PublisherParts) {
    this.#parts = parts
  }

  /** Makes the route known, or changes it. */
  setRoute(config: RouteConfig): void {
    const text = JSON.stringify(config)
    if (this.#configs.get(config.id) === text) return
    this.#configs.set(config.id, text)
    this.#published.delete(config.id)
    this.#parts.plane.setRoute(config)
  }

  removeRoute(id: string): void {
    if (!this.#configs.delete(id)) return
    this.#published.delete(id)
    this.#held.delete(id)
    this.#missedAt.delete(id)
    this.#parts.plane.removeRoute(id)
  }

  hold(id: string): void {
    this.#held.add(id)
    for (const [target] of this.#targets(id)) this.#published.delete(target)
  }

  /** Has all threads hold back new requests to a Service, at all its ports; answers what is under way. */
  async drain(id: string): Promise<TargetLoad> {
    return sumOf(await Promise.all(this.#targets(id).map(([target]) => this.#parts.plane.drain(target))))
  }

  release(id: string): void {
    if (this.#held.delete(id)) this.publish(id)
  }

  /** This replica has just scaled the workload to zero: it counts as asleep until the cache shows that version. */
  noteAsleep(workload: string, resourceVersion: string): void {
    this.#asleep.set(workload, resourceVersion)
  }

  /** Tells the data plane what is now true of a Service, if that is news. */
  publish(id: string): void {
    const service = this.#parts.registry.get(id)
    if (!service || !this.#configs.has(id) || !this.#parts.peers.joined) return
    if (this.#held.has(id)) {
      // Asleep means that the draining replica has decided.
      if (!this.isAsleep(service) || this.#stateOf(service, service.port)?.is !== 'cold') return
      this.#held.delete(id)
    }
    for (const [target, port] of this.#targets(id)) this.#tell(target, this.#stateOf(service, port))
  }

  #tell(target: string, state: TargetState | undefined): void {
    if (!state || !this.#configs.has(target)) return
    const text = JSON.stringify(state)
    if (this.#published.get(target) === text) return
    this.#published.set(target, text)
    this.#parts.plane.setTarget(target, state)
  }

  /** What the data plane knows of a Service: itself, and each of its ports that is taken over. */
  #targets(id: string): readonly (readonly [string, ServicePort | undefined])[] {
    const service = this.#parts.registry.get(id)
    return [[id, service?.port], ...(service?.ports ?? []).map((port) => [portRouteId(id, port), port] as const)]
  }

  /** Whether any pod of a Service can take requests. */
  isReachable(service: OnDemandService): boolean {
    return this.readyPods(service) > 0
  }

  /** How many pods of a Service can take requests. */
  readyPods(service: OnDemandService): number {
    return observeBackends(service, this.#parts.caches.slices).addresses.length
  }

  /** Whether any of a Service's workloads has been put to sleep. */
  isAsleep(service: OnDemandService): boolean {
    return service.settings.workloads.some((each) => this.#isAsleep(each))
  }

  #stateOf(service: OnDemandService, port: ServicePort | undefined): TargetState | undefined {
    const { workloads, caches, now } = this.#parts
    if (!port) return { is: 'refusing', because: 'no-port', retryAfterSeconds: 5 }
    const { addresses, protocol } = observeBackends(service, caches.slices, port)
    if (this.isAsleep(service)) return this.#refusal(service) ?? this.#cold(service)
    if (addresses.length > 0) return { is: 'warm', endpoints: this.#share(service, addresses), protocol }
    const [main] = service.settings.workloads
    if (!main || workloads.find(main) !== 'absent') this.#missedAt.delete(service.id)
    else if (now() - this.#missedAt.getOrInsert(service.id, now()) >= missedForMs)
      return { is: 'refusing', because: 'target-gone', retryAfterSeconds: 5 }
    return this.#refusal(service) ?? this.#cold(service)
  }

  #cold({ settings: { workloads } }: OnDemandService): TargetState {
    const main = workloads[0] && this.#parts.workloads.lastSeen(workloads[0])
    const expectedWakeMs = main && persistedWakeMs(main)
    return { is: 'cold', ...(expectedWakeMs === undefined ? {} : { expectedWakeMs }) }
  }

  /** Where a pod takes only so many requests at a time, replicas keep out of each other's way. */
  #share({ settings }: OnDemandService, addresses: readonly Address[]): readonly Address[] {
    const { maxRequestsPerPod: limit } = settings
    if (limit === undefined) return addresses
    return shareOf(
      addresses.map((address) => ({ ...address, limit })),
      this.#parts.peers.senderIndex,
    )
  }

  #refusal(service: OnDemandService): TargetState | undefined {
    const now = this.#parts.now()
    for (const workload of service.settings.workloads) {
      const { retryAt, because } = this.#parts.wakeAttempts.of(workloadId(workload))
      if (now < retryAt) return { is: 'refusing', because, retryAfterSeconds: Math.ceil((retryAt - now) / 1000) }
    }
    return undefined
  }

  #isAsleep(workload: Parameters<WorkloadCaches['find']>[0]): boolean {
    const id = workloadId(workload)
    const version = this.#asleep.get(id)
    if (version !== undefined) {
      const informer = this.#parts.workloads.of({ kind: id.split('/')[1] ?? '' })
      if (!informer?.hasReached(version)) return true
      this.#asleep.delete(id)
    }
    return this.#parts.workloads.lastSeenReplicas(workload) === 0
  }
}

/** A Service's route, for the data plane. */
export function routeConfig(
  service: OnDemandService,
  {
    hosts,
    slot,
    fallback,
    files,
  }: {
    readonly hosts: readonly string[]
    readonly slot: number
    readonly fallback: Address | undefined
    readonly files: WaitingFiles | undefined
  },
): RouteConfig {
  const { settings, id } = service
  return {
    ...routeDefaults,
    ...settings.proxy,
    id,
    target: id,
    slot,
    hosts,
    staticAnswers: [...settings.proxy.staticAnswers, ...(files?.answers ?? [])],
    ...(files?.page ? { customPage: files.page } : {}),
    ...(fallback ? { fallback } : {}),
  }
}

/** The way from a port of the proxies' own to a Service's port. It needs no host, and counts as the Service does. */
export function portRouteConfig(service: RouteConfig, port: TakenPort): RouteConfig {
  const id = portRouteId(service.id, port)
  return { ...service, id, target: id, hosts: [], pathPrefix: '/' }
}
