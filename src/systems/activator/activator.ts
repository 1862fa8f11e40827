import { endpointSlices, horizontalPodAutoscalers, secrets, services } from '../../kube/core-types.ts'
import type { Client } from '../../client/client.ts'
import { keyOf, type Key } from '../../kube/key.ts'
import type { ObjectRef, StoredObject } from '../../kube/object.ts'
import { sleep, type Clock } from '../../runtime/time/clock.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import type { Metrics } from '../../runtime/observability/metrics.ts'
import { Actions } from './cluster/act.ts'
import { ActivatorMetrics } from './views/activator-metrics.ts'
import { settingDefaults, type SettingDefaults } from './model/annotations.ts'
import { probePods, type Activity } from './cluster/activity.ts'
import { companionBase } from './model/host-claims.ts'
import type { Decision } from './decision/decide.ts'
import { backendsOf, portOf, type EndpointSlice } from './model/endpoints.ts'
import {
  autoscalerTarget,
  notedReplicas,
  persistedLastUsed,
  podSlicesOf,
  sliceService,
  type Caches,
} from './cluster/observe.ts'
import { PortListeners } from './takeover/port-listeners.ts'
import type { DrainReport, PeerService, Peers } from './replicas/peers.ts'
import type { DataPlane } from './proxy/planes/data-plane.ts'
import { CertificatePublisher } from './feed/certificate-publisher.ts'
import { History, type HistoryStep } from './views/history.ts'
import { Publisher } from './feed/publisher.ts'
import {
  backendId,
  ServiceRegistry,
  serviceOfRoute,
  workloadId,
  type OnDemandService,
} from './model/service-registry.ts'
import { ServiceReconciler } from './reconcile/service-reconciler.ts'
import { TakeoverActions } from './cluster/takeover-actions.ts'
import { TakeoverReconciler, type PortRange } from './takeover/takeover-reconciler.ts'
import { isOurSlice, podsServiceBase } from './decision/takeover.ts'
import { UsageTracker } from './decision/usage.ts'
import { WakeAttempts } from './decision/wake-attempts.ts'
import { WorkloadCaches } from './cluster/workload-caches.ts'
import { persistEveryMs, WorkloadReconciler } from './reconcile/workload-reconciler.ts'

export interface ActivatorPorts {
  readonly client: Client
  readonly informers: Informers
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly events: Pick<EventRecorder, 'record'>
  readonly peers: Peers
  /** Opens the proxy; it calls back with a Service's id while someone waits for it. */
  readonly openPlane: (onWake: (id: string) => void) => DataPlane
}

export interface ActivatorOptions {
  /** Look after this namespace only. Defaults to all. */
  readonly namespace?: string
  /** What Services get that do not say. Defaults to 300 s to live and 60 s to become ready. */
  readonly defaults?: SettingDefaults
  /** Where callers inside the cluster reach the proxies; no companion Services are made without it. */
  readonly companionPort?: number
  /** How Services are taken over that ask for it. Without it they are left as they are; without ports they are given back. */
  readonly takeover?: { readonly host: string; readonly ports?: PortRange }
  /** Decide everything, scale nothing. Defaults to false. */
  readonly dryRun?: boolean
  /** Read the certificates that Services name. Defaults to false: then no Secret is looked at. */
  readonly tls?: boolean
  /** How often the proxy's counters are looked at; 0 is never, for forecasts. Defaults to 1 s. */
  readonly scanMs?: number
}

const defaultScanMs = 1000
const peerDrainTimeoutMs = 10_000

/** What is known of a Service that is on demand, for status tables and the dashboard. */
export interface ActivatorRow {
  readonly service: OnDemandService
  readonly workload: ObjectRef | undefined
  readonly decision: Decision | undefined
  readonly inFlight: number
  readonly waiting: number
  readonly lastUsedAt: number
}

/** Workloads on demand: routes from Services, woken by requests, put to sleep when nobody uses them. */
export class Activator implements PeerService {
  readonly plane: DataPlane
  readonly #ports: ActivatorPorts
  readonly #caches: Caches
  readonly #workloads: WorkloadCaches
  readonly #registry = new ServiceRegistry()
  readonly #usage: UsageTracker
  readonly #publisher: Publisher
  readonly #listeners: PortListeners
  readonly #takeover: TakeoverReconciler
  readonly #actions: Actions
  readonly #serviceController: Controller
  readonly #workloadController: Controller
  readonly #metrics: ActivatorMetrics
  readonly #decisions = new Map<string, Decision>()
  readonly #history = new History()
  /** Routes drained for another replica, and what takes back the time set for it. */
  readonly #heldForPeers = new Map<string, () => void>()
  readonly #certificates: CertificatePublisher | undefined
  readonly #secrets: Informer | undefined
  readonly #scanMs: number
  readonly #dryRun: boolean
  /** Where the cluster reaches this replica, if that is known. */
  readonly #address: string | undefined
  #cancelScan: () => void = () => {}

  constructor(ports: ActivatorPorts, options: ActivatorOptions = {}) {
    const { client, informers, clock, log, peers, events, openPlane, metrics } = ports
    const { namespace, defaults = settingDefaults, companionPort, dryRun = false, tls = false, takeover } = options
    this.#scanMs = options.scanMs ?? defaultScanMs
    this.#dryRun = dryRun
    const where = namespace === undefined ? {} : { namespace }
    const now = () => clock.now()
    this.#ports = ports
    this.#address = peers.address
    this.plane = openPlane((id) => this.requested(id))
    this.#usage = new UsageTracker(() => this.plane.counters)
    this.#actions = new Actions(client)
    this.#caches = {
      services: informers.open(client, services, where),
      slices: informers.open<EndpointSlice>(client, endpointSlices, { ...where, indexes: { service: sliceService } }),
      autoscalers: informers.open(client, horizontalPodAutoscalers, {
        ...where,
        indexes: { target: autoscalerTarget },
      }),
    }
    this.#workloads = new WorkloadCaches(
      {
        client,
        informers,
        onOpen: (informer) => this.#workloadController.watch(informer),
        onScale: (key) => this.#workloadController.enqueue(key),
      },
      namespace,
    )
    if (tls) {
      this.#secrets = informers.open(client, secrets, { ...where, fieldSelector: 'type=kubernetes.io/tls' })
      this.#certificates = new CertificatePublisher({
        secrets: this.#secrets,
        registry: this.#registry,
        plane: this.plane,
        hostsOf: (id) => service.hostsOf(id),
        onNews: (ids) => this.#enqueueServices(ids),
      })
    }
    const wakeAttempts = new WakeAttempts()
    const common = { registry: this.#registry, usage: this.#usage, actions: this.#actions, peers, events, now }
    this.#publisher = new Publisher({
      plane: this.plane,
      registry: this.#registry,
      workloads: this.#workloads,
      slices: this.#caches.slices,
      wakeAttempts,
      mayServe: () => peers.joined,
      senderIndex: () => peers.senderIndex,
      now,
    })
    this.#metrics = new ActivatorMetrics(metrics, {
      registry: this.#registry,
      usage: this.#usage,
      workloads: this.#workloads,
    })
    const { slices } = this.#caches
    const ask = (asked: OnDemandService) => askPods(asked, { services: this.#caches.services, slices })
    this.#listeners = new PortListeners({
      plane: this.plane,
      publisher: this.#publisher,
      clock,
      log,
      host: takeover?.host ?? '127.0.0.1',
    })
    this.#takeover = new TakeoverReconciler({
      ...common,
      services: this.#caches.services,
      slices,
      listeners: this.#listeners,
      actions: new TakeoverActions(client),
      log,
      isIdle: dryRun || takeover === undefined,
      range: takeover?.ports,
      isWarm: (asked) => this.#publisher.isReachable(asked) && !this.#publisher.isAsleep(asked),
      ask,
    })
    const workload = new WorkloadReconciler({
      ...common,
      caches: this.#caches,
      workloads: this.#workloads,
      wakeAttempts,
      publisher: this.#publisher,
      plane: this.plane,
      log,
      pause: (ms) => sleep(clock, ms),
      dryRun,
      isBypassed: (asked) => this.#takeover.isBypassed(asked),
      ask,
      areServicesKnown: () => this.#caches.services.synced && this.#serviceController.idle,
      onPresence: (routes) => this.#enqueueServices(routes.map(({ id }) => id)),
      expect: (key, version, informer) => this.#workloadController.expect(key, version, informer),
      onDecision: (id, decision) => {
        this.#decisions.set(id, decision)
        this.#metrics.decided(decision)
      },
    })
    const service = new ServiceReconciler({
      ...common,
      services: this.#caches.services,
      slices: this.#caches.slices,
      workloads: this.#workloads,
      publisher: this.#publisher,
      defaults,
      namespaced: namespace !== undefined,
      companionPort,
      dryRun,
      takeover: this.#takeover,
      listeners: this.#listeners,
      certificateFaults: (asked) => this.#certificates?.faultsOf(asked) ?? [],
      isTakeoverAvailable: takeover === undefined || takeover.ports !== undefined,
      enqueueWorkloads: (refs) => {
        this.#enqueueWorkloads(refs)
        this.#refreshCertificates()
      },
      enqueueServices: (ids) => this.#enqueueServices(ids),
    })
    const backoff = { baseMs: 50, capMs: 2000 }
    const controllerPorts = { clock, log, metrics }
    this.#serviceController = new Controller({
      name: 'activator-services',
      reconcile: (key) => service.reconcile(key),
      ports: controllerPorts,
      backoff,
    })
    this.#workloadController = new Controller({
      name: 'activator-workloads',
      reconcile: (key) => workload.reconcile(key),
      ports: controllerPorts,
      backoff,
      concurrency: 16,
    })
  }

  /** Works until the signal aborts; then lets requests under way end, and writes down what was last used. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, peers } = this.#ports
    this.#workloads.openUsual()
    this.#serviceController.watch(this.#caches.services, ({ object }) => serviceKeys(object.metadata))
    this.#caches.slices.subscribe(({ object }) => this.#slicesChanged(object))
    this.#workloadController.watch(this.#caches.autoscalers, ({ object }) => this.#scaledBy(object))
    const endPeers = peers.onChange(({ lost }) => this.#peersChanged(lost))
    this.#secrets?.subscribe(() => this.#refreshCertificates())
    void this.#secrets?.whenSynced().then(() => this.#refreshCertificates())
    if (this.#scanMs > 0) this.#cancelScan = clock.after(this.#scanMs, () => this.#scan())
    await Promise.all([this.#serviceController.start(signal), this.#workloadController.start(signal)])
    this.#cancelScan()
    endPeers()
    for (const cancel of this.#heldForPeers.values()) cancel()
    if (!this.#dryRun) await this.#flush()
    this.#workloads.close()
    this.#secrets?.close()
    for (const informer of Object.values(this.#caches)) (informer as { close(): void }).close()
    this.#metrics.close()
    this.#listeners.close()
  }

  /** Someone waits for a Service's pods. */
  requested(route: string): void {
    const service = this.#registry.get(serviceOfRoute(route))
    if (service) this.#enqueueWorkloads(service.settings.workloads)
  }

  /** Another replica wants to put what is behind this Service to sleep: hold back, and say how it stands here. */
  async drain(id: string): Promise<DrainReport> {
    const { clock } = this.#ports
    this.#publisher.hold(id)
    this.#heldForPeers.get(id)?.()
    // Should the other one die before it has decided, requests must not wait for ever.
    this.#heldForPeers.set(
      id,
      clock.after(peerDrainTimeoutMs, () => this.release(id)),
    )
    const { busy, waiting } = await this.#publisher.drain(id)
    const { lastUsedAt } = this.#usage.of([id], clock.now())
    return { busy, waiting, idleMs: clock.now() - lastUsedAt }
  }

  release(id: string): void {
    this.#heldForPeers.get(id)?.()
    this.#heldForPeers.delete(id)
    this.#publisher.release(id)
  }

  listens(id: string): boolean {
    const service = this.#registry.get(id)
    return service !== undefined && this.#listeners.listens(service)
  }

  /** Every Service that is being taken over is listened for here. */
  get prepared(): boolean {
    const asked = [...this.#registry.all()].filter(({ ports = [] }) => ports.length > 0)
    return this.ready && asked.every(({ ports = [] }) => ports.every(({ listen }) => this.#isSettled(listen)))
  }

  #isSettled(port: number): boolean {
    return this.#listeners.isOpen(port) || this.#listeners.unusable.has(port)
  }

  /**
   * This replica is about to go: resolves when no slice of ours leads to it any more, or time is up. Where nobody stays behind,
   * every Service is given back.
   */
  async leave(withinMs: number): Promise<void> {
    const { clock, peers } = this.#ports
    const until = clock.now() + withinMs
    let isLast = false
    const look = () => {
      for (const service of this.#caches.services.list())
        if (this.#takeover.hasTakeoverState(service)) this.#enqueueServices([idOf(service)])
    }
    const isDone = () =>
      isLast
        ? !this.#caches.services.list().some((service) => this.#takeover.hasTakeoverState(service))
        : !this.#caches.slices.list().some((slice) => isOurSlice(slice) && lists(slice, this.#address))
    for (;;) {
      // Those who leave at the same time hear of each other only by and by.
      isLast ||= peers.isLast
      if (isLast) this.#takeover.leave()
      look()
      if (isDone() || clock.now() >= until) return
      await sleep(clock, 50)
    }
  }

  /** Resolves when all caches have been filled. */
  async synced(): Promise<void> {
    const { services: known, slices } = this.#caches
    await Promise.all([known.whenSynced(), slices.whenSynced(), this.#workloads.whenSynced()])
  }

  /** Everything is known that there is to know. */
  get ready(): boolean {
    return (
      this.#caches.services.synced &&
      this.#caches.slices.synced &&
      this.#workloads.synced &&
      this.#serviceController.idle
    )
  }

  rows(): ActivatorRow[] {
    return [...this.#registry.all()].map((service) => {
      const [workload] = service.settings.workloads
      const { inFlight, waiting, lastUsedAt } = this.#usage.of([service.id], this.#ports.clock.now())
      return {
        service,
        workload,
        decision: workload && this.#decisions.get(workloadId(workload)),
        inFlight,
        waiting,
        lastUsedAt,
      }
    })
  }

  /** The last day of a Service, by its id. */
  history(id: string): HistoryStep[] {
    return this.#history.of(id, this.#ports.clock.now())
  }

  #refreshCertificates(): void {
    const { log } = this.#ports
    void this.#certificates?.refresh().catch((error: unknown) => log.error('could not set certificates', { error }))
  }

  #enqueueWorkloads(refs: readonly ObjectRef[]): void {
    for (const ref of refs) this.#workloadController.enqueue(keyOf(ref))
  }

  #enqueueServices(ids: Iterable<string>): void {
    for (const id of ids) this.#serviceController.enqueue(serviceKey(id))
  }

  #slicesChanged(slice: EndpointSlice): void {
    const [id] = sliceService(slice)
    const [namespace = '', name = ''] = id?.split('/') ?? []
    this.#enqueueServices(this.#registry.ofFallback(namespace, name))
    const base = companionBase(name)
    if (base !== undefined && this.#registry.get(`${namespace}/${base}`))
      this.#enqueueServices([`${namespace}/${base}`])
    this.#takenSlicesChanged(namespace, podsServiceBase(name) ?? name)
    for (const service of this.#registry.ofBackend(namespace, name)) {
      this.#publisher.publish(service.id)
      this.#enqueueWorkloads(service.settings.workloads)
    }
  }

  #takenSlicesChanged(namespace: string, name: string): void {
    const object = this.#caches.services.get(namespace, name)
    const id = `${namespace}/${name}`
    const service = this.#registry.get(id)
    if (!service?.settings.takeover && !(object && this.#takeover.hasTakeoverState(object))) return
    this.#enqueueServices([id, ...this.#registry.ofBackend(namespace, name).map((each) => each.id)])
    if (service) this.#enqueueWorkloads(service.settings.workloads)
  }

  #scaledBy(autoscaler: StoredObject): Key[] {
    const { scaleTargetRef } = (autoscaler.spec ?? {}) as {
      readonly scaleTargetRef?: { apiVersion?: string; kind: string; name: string }
    }
    if (!scaleTargetRef?.name) return []
    const { apiVersion = 'apps/v1', kind, name } = scaleTargetRef
    return [
      keyOf({
        apiVersion,
        kind,
        name,
        ...(autoscaler.metadata.namespace ? { namespace: autoscaler.metadata.namespace } : {}),
      }),
    ]
  }

  /** A replica that is gone took with it what it knew: everything may have been used until just now. */
  #peersChanged(lost: boolean): void {
    const now = this.#ports.clock.now()
    for (const service of this.#registry.all()) {
      if (lost) this.#usage.note(service.id, now, now)
      this.#publisher.publish(service.id)
      this.#serviceController.enqueue(serviceKey(service.id), 'initial')
      this.#enqueueWorkloads(service.settings.workloads)
    }
  }

  /** Once a second: what was used since, and is it time to tell the others? */
  #scan(): void {
    const { clock } = this.#ports
    this.#cancelScan = clock.after(this.#scanMs, () => this.#scan())
    const now = clock.now()
    this.#metrics.elapsed(this.#scanMs / 1000, (id, step) => this.#history.add(id, now, step))
    for (const id of this.#usage.scan(now)) {
      const service = this.#registry.get(id)
      const due = service?.settings.workloads.filter(
        (each) => this.#isReduced(each) || this.#isStale(each, persistEveryMs(service.settings.ttlMs), now),
      )
      if (due) this.#enqueueWorkloads(due)
    }
  }

  /** It has fewer replicas than before it slept: it may be at its minimum, where nobody has to wait. */
  #isReduced(workload: ObjectRef): boolean {
    const object = this.#workloads.lastSeen(workload)
    return object !== undefined && (this.#workloads.replicas(object) ?? Infinity) < (notedReplicas(object) ?? 0)
  }

  #isStale(workload: ObjectRef, everyMs: number, now: number): boolean {
    const object = this.#workloads.lastSeen(workload)
    return object !== undefined && now - (persistedLastUsed(object) ?? 0) >= everyMs
  }

  async #flush(): Promise<void> {
    const { clock, log } = this.#ports
    const writes = [...this.#registry.all()].flatMap(({ id, settings }) =>
      settings.workloads.map(async (ref) => {
        const { lastUsedAt } = this.#usage.of([id], clock.now())
        const object = this.#workloads.lastSeen(ref)
        const type = this.#workloads.of(keyOf(ref))?.type
        if (!object || !type || lastUsedAt - (persistedLastUsed(object) ?? 0) < 1000) return
        await this.#actions.mark({ type, ref }, { lastUsed: { at: lastUsedAt, seen: object } })
      }),
    )
    const results = await Promise.allSettled(writes)
    for (const result of results)
      if (result.status === 'rejected')
        log.error('could not write down a last use', { error: result.reason as unknown })
  }
}

/** A Service's own key and, if it may be one of ours, that of the Service it was made for. */
function serviceKeys({ namespace = '', name }: { readonly namespace?: string; readonly name: string }): Key[] {
  const bases = [companionBase(name), podsServiceBase(name)].filter((base) => base !== undefined)
  return [name, ...bases].map((each) => serviceKey(`${namespace}/${each}`))
}

/** Asks each pod of a Service how much it has open. Pods that are not ready may have connections, too. */
async function askPods(
  service: OnDemandService,
  { services: known, slices }: { readonly services: Informer; readonly slices: Informer<EndpointSlice> },
): Promise<Activity> {
  const { namespace, settings } = service
  const backend = known.get(namespace, settings.backend)
  const port = backend && portOf(backend, settings.activityProbe?.port)
  if (!port || !settings.activityProbe) return { is: 'unknown', why: 'the Service has no such port' }
  const { addresses } = backendsOf(podSlicesOf(slices, backendId(service)), port, 'all')
  return probePods(addresses, settings.activityProbe.path)
}

function idOf({ metadata: { namespace = '', name } }: StoredObject): string {
  return `${namespace}/${name}`
}

function lists({ endpoints }: EndpointSlice, address: string | undefined): boolean {
  return (endpoints ?? []).some(({ addresses = [] }) => address !== undefined && addresses.includes(address))
}

function serviceKey(id: string): Key {
  const [namespace = '', name = ''] = id.split('/')
  return { cluster: '', kind: 'Service', namespace, name }
}
