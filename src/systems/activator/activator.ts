import type { ObjectRef } from '../../kube/object.ts'
import { buildActivator, type ActivatorOptions, type ActivatorParts, type ActivatorPorts } from './activator-parts.ts'
import type { DomainStore } from './cluster/domain-store.ts'
import type { Decision } from './decision/decide.ts'
import { serviceOfRoute, workloadId, type OnDemandService } from './model/service-registry.ts'
import type { DataPlane } from './proxy/planes/data-plane.ts'
import { cell, type Counters } from './proxy/routing/counters.ts'
import { Triggers } from './reconcile/triggers.ts'
import { UsageScan } from './reconcile/usage-scan.ts'
import { DayRecorder } from './reconcile/day-recorder.ts'
import { PeerDrains } from './reconcile/peer-drains.ts'
import type { DrainReport, PeerService } from './replicas/peers.ts'
import { ReportedUse, type UseAnswer, type UseReport } from './replicas/reported-use.ts'
import { UseReporter } from './replicas/use-reporter.ts'
import { ActivatorMetrics } from './views/activator-metrics.ts'

const defaultScanMs = 1000
const storeSoonMs = 200
const storeEveryMs = 60_000
const servedEveryMs = 600_000

/** An on-demand Service as this replica knows it, for status tables and the dashboard. */
export interface ActivatorRow {
  readonly service: OnDemandService
  readonly workload: ObjectRef | undefined
  readonly decision: Decision | undefined
  readonly inFlight: number
  readonly waiting: number
  readonly lastUsedAt: number
}

/** Scales workloads on demand: routes requests to annotated Services, wakes their workloads, and puts idle ones to sleep. */
export class Activator implements PeerService {
  readonly #parts: ActivatorParts
  readonly #triggers: Triggers
  readonly #scan: UsageScan
  readonly #drains: PeerDrains
  readonly #metrics: ActivatorMetrics
  readonly #decisions = new Map<string, Decision>()
  readonly #days: DayRecorder
  /** In a process that scales for proxies. */
  readonly #reportedUse: ReportedUse | undefined
  /** In a proxy for which another process scales. */
  readonly #reporter: UseReporter | undefined
  readonly #scanMs: number
  /** Where the cluster reaches this replica; peers no longer tell once it retires. */
  readonly #address: string | undefined
  #cancelScan: () => void = () => {}
  #cancelStore: () => void = () => {}
  #cancelServed: () => void = () => {}
  #isStoreDue = false

  constructor(ports: ActivatorPorts, options: ActivatorOptions = {}) {
    this.#scanMs = options.scanMs ?? defaultScanMs
    this.#address = ports.peers.address
    this.#parts = buildActivator(ports, options, {
      onWake: (route, fault) => {
        this.#triggers.requestWaiting(route, fault)
        void this.#reporter?.report(serviceOfRoute(route), fault)
      },
      onAnswers: (answers) => this.#metrics.answered(answers),
      onWoken: (routes, tookMs) => this.#metrics.woke(routes, tookMs),
      onDecision: (workload, decision) => this.#noteDecision(workload, decision),
      refreshCertificates: () => this.#refreshCertificates(),
      onClaim: () => this.#storeClaimsSoon(),
    })
    this.#triggers = new Triggers(this.#parts)
    this.#scan = new UsageScan(this.#parts)
    this.#days = new DayRecorder(this.#parts)
    this.#drains = new PeerDrains(this.#parts)
    const { part = 'all' } = options
    this.#metrics = new ActivatorMetrics(ports.metrics, this.#parts, part !== 'scaler')
    if (part === 'scaler') this.#reportedUse = new ReportedUse(this.#parts.plane.counters as Counters[])
    if (part === 'proxy')
      this.#reporter = new UseReporter({ ...this.#parts, onRefused: (route) => this.#noteRefusal(route) })
  }

  get plane(): DataPlane {
    return this.#parts.plane
  }

  /** Runs until the signal aborts, then writes the last uses that the API does not have yet and closes the caches. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, workloads, queues, tls, domains } = this.#parts
    workloads.openUsual()
    this.#openServed()
    const stopWatching = this.#triggers.watch()
    tls?.secrets.subscribe(() => this.#refreshCertificates())
    void tls?.secrets.whenSynced().then(() => this.#refreshCertificates())
    if (this.#scanMs > 0) this.#cancelScan = clock.after(this.#scanMs, () => this.#scanUsage())
    // Before the first Service is read: the oldest Service must not get a domain that another one has.
    await domains?.load()
    await queues.start(signal)
    this.#cancelScan()
    this.#cancelStore()
    this.#cancelServed()
    stopWatching()
    this.#drains.close()
    if (!this.#parts.dryRun) await Promise.all([this.#scan.flush(clock.now()), this.#days.flush()])
    this.#close()
  }

  /** Another replica wants to put the workload of this Service to sleep. */
  drain(id: string): Promise<DrainReport> {
    return this.#drains.drain(id)
  }

  release(id: string): void {
    this.#drains.release(id)
  }

  /** Takes over what a proxy has counted, and wakes the workloads for which requests wait there. */
  reported({ from, uses, faults }: UseReport): UseAnswer {
    const { registry, usage, wakeAttempts, now } = this.#parts
    const routes = Object.keys(uses)
    const unknown = routes.filter((route) => !this.#reportedUse || !registry.get(route))
    const waiting = routes.filter((route) => !unknown.includes(route) && uses[route]![cell.waiting]! > 0)
    for (const route of routes)
      if (!unknown.includes(route))
        this.#reportedUse?.take(from, route, { slot: usage.slotOf(route, now()), cells: uses[route]! })
    for (const route of waiting) this.#triggers.requestWaiting(route, faults[route])
    const isRefused = (route: string) =>
      registry.get(route)!.settings.workloads.some((each) => now() < wakeAttempts.of(workloadId(each)).retryAt)
    return { unknown, refused: waiting.filter(isRefused) }
  }

  listens(id: string): boolean {
    const service = this.#parts.registry.get(id)
    return service !== undefined && this.#parts.listeners.listens(service)
  }

  /** Whether this replica listens for every Service that is taken over, as far as its ports are free. */
  get prepared(): boolean {
    const { registry, listeners } = this.#parts
    const ports = [...registry.all()].flatMap((service) => service.ports ?? [])
    return this.ready && ports.every(({ listen }) => listeners.isOpen(listen) || listeners.isUnusable(listen))
  }

  /**
   * Prepares to stop: resolves when no EndpointSlice of ours lists this replica any more, or time is up. The last replica
   * releases every Service that is taken over.
   */
  leave(withinMs: number): Promise<void> {
    const { takeover, queues } = this.#parts
    return takeover.retire(this.#address, withinMs, (ids) => queues.enqueueServices(ids))
  }

  /** Resolves when all caches have been filled. */
  async synced(): Promise<void> {
    const { caches, workloads } = this.#parts
    await Promise.all([caches.services.whenSynced(), caches.slices.whenSynced(), workloads.whenSynced()])
  }

  /** Whether all caches are filled and every Service has been read. */
  get ready(): boolean {
    const { caches, workloads, queues } = this.#parts
    return caches.services.synced && caches.slices.synced && workloads.synced && queues.services.idle
  }

  rows(): ActivatorRow[] {
    return [...this.#parts.registry.all()].map((service) => {
      const [workload] = service.settings.workloads
      const decision = workload && this.#decisions.get(workloadId(workload))
      return { service, workload, decision, ...this.#parts.usage.of([service], this.#parts.now()) }
    })
  }

  #noteDecision(workload: string, decision: Decision): void {
    this.#decisions.set(workload, decision)
    this.#metrics.decided(decision)
  }

  /** The process that scales could not wake it: requests are refused for a while rather than held. */
  #noteRefusal(route: string): void {
    const { registry, wakeAttempts, publisher, now } = this.#parts
    for (const workload of registry.get(route)?.settings.workloads ?? []) {
      const id = workloadId(workload)
      if (wakeAttempts.of(id).retryAt <= now()) wakeAttempts.failed(id, 'wake-denied', now())
    }
    publisher.publish(route)
  }

  #refreshCertificates(): void {
    const { tls, log } = this.#parts
    void tls?.certificates
      .refresh()
      .catch((error: unknown) => log.error('could not pass certificates to the proxy', { error }))
  }

  /** Claims come in crowds at a start. Freed ones are looked for once a minute. */
  #storeClaimsSoon(): void {
    const { domains } = this.#parts
    if (this.#isStoreDue || !domains || this.#scanMs === 0 || this.#parts.dryRun) return
    this.#isStoreDue = true
    this.#cancelStore()
    this.#storeClaimsAfter(storeSoonMs, domains)
  }

  #storeClaimsAfter(delayMs: number, domains: DomainStore): void {
    this.#cancelStore = this.#parts.clock.after(delayMs, () => {
      this.#isStoreDue = false
      this.#storeClaimsAfter(storeEveryMs, domains)
      void domains.write().then((isDone) => isDone || !this.#parts.peers.leading || this.#storeClaimsSoon())
    })
  }

  /** Kinds that can sleep may be installed at any time. */
  #openServed(): void {
    const { workloads } = this.#parts
    this.#cancelServed = this.#parts.clock.after(servedEveryMs, () => this.#openServed())
    void workloads
      .openServed()
      .catch((error: unknown) => this.#parts.log.error('could not find out which kinds can sleep', { error }))
  }

  #scanUsage(): void {
    const { clock } = this.#parts
    this.#cancelScan = clock.after(this.#scanMs, () => this.#scanUsage())
    const now = clock.now()
    this.#metrics.elapsed(this.#scanMs / 1000, (workload, step) => this.#days.note(workload, step))
    void this.#days.write()
    this.#scan.run(now)
    void this.#reporter?.report()
    this.#reportedUse?.keepOnly(this.#parts.peers.others)
  }

  #close(): void {
    const { workloads, tls, caches, listeners, domains } = this.#parts
    domains?.close()
    workloads.close()
    this.#parts.sleepRules.close()
    tls?.secrets.close()
    for (const cache of [caches.services, caches.slices, caches.autoscalers]) cache.close()
    this.#metrics.close()
    listeners.close()
  }
}
