import type { Client } from '../../client/client.ts'
import { endpointSlices, horizontalPodAutoscalers, secrets, services } from '../../kube/core-types.ts'
import { refOf } from '../../kube/object.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import type { Metrics } from '../../runtime/observability/metrics.ts'
import { sleep, type Clock } from '../../runtime/time/clock.ts'
import { Actions } from './cluster/act.ts'
import { probeActivity } from './cluster/activity.ts'
import { DomainStore } from './cluster/domain-store.ts'
import { SleepRules, type CompatibleTool } from './cluster/sleep-rules.ts'
import { autoscalerTarget, sliceService, type Caches } from './cluster/observe.ts'
import { TakeoverActions } from './cluster/takeover-actions.ts'
import { WorkloadCaches } from './cluster/workload-caches.ts'
import type { Decision } from './decision/decide.ts'
import { UsageTracker } from './decision/usage.ts'
import { WakeAttempts } from './decision/wake-attempts.ts'
import { CertificatePublisher } from './feed/certificate-publisher.ts'
import { Publisher } from './feed/publisher.ts'
import { DomainRules } from './model/domain-rules.ts'
import { HostClaims } from './model/host-claims.ts'
import { settingDefaults, type SettingDefaults } from './model/service-settings.ts'
import type { EndpointSlice } from './model/endpoints.ts'
import { ServiceRegistry, type OnDemandService } from './model/service-registry.ts'
import type { DataPlane } from './proxy/planes/data-plane.ts'
import type { Wake } from './proxy/routing/ports.ts'
import { Governance } from './reconcile/governance.ts'
import { ServiceReconciler } from './reconcile/service-reconciler.ts'
import { WorkQueues } from './reconcile/work-queues.ts'
import { WorkloadReconciler } from './reconcile/workload-reconciler.ts'
import type { Part, Peers } from './replicas/peers.ts'
import { PortListeners } from './takeover/port-listeners.ts'
import { TakeoverReconciler, type PortRange } from './takeover/takeover-reconciler.ts'

export interface ActivatorPorts {
  readonly client: Client
  readonly informers: Informers
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly events: Pick<EventRecorder, 'record'>
  readonly peers: Peers
  /** Opens the proxy, which calls back with the id of a route while a request waits for it. */
  readonly openPlane: (onWake: Wake) => DataPlane
}

export interface ActivatorOptions {
  /** Watch this namespace only. Defaults to all. */
  readonly namespace?: string
  /** Settings of Services that do not set them. Defaults to a TTL of 300 s and a readiness timeout of 60 s. */
  readonly defaults?: SettingDefaults
  /** Where callers inside the cluster reach the proxies; no companion Services are created without it. */
  readonly companionPort?: number
  /** How Services that ask for it are taken over. Without it they stay as they are; without ports they are released. */
  readonly takeover?: { readonly host: string; readonly ports?: PortRange }
  /** Decide everything, scale nothing. Defaults to false. */
  readonly dryRun?: boolean
  /** What this process does. A proxy reads and reports; it must be a dry run. Defaults to all. */
  readonly part?: Part
  /** Read the certificates that Services name. Defaults to false: no Secret is read. */
  readonly tls?: boolean
  /** How often the proxy's counters are read; 0 is never, for forecasts. Defaults to 1 s. */
  readonly scanMs?: number
  /** Serve only domains that a Namespace reserves by annotation. Defaults to false. */
  readonly requireDomainGrant?: boolean
  /** How long a domain stays with its namespace after the last Service has given it up. Defaults to 10 minutes. */
  readonly domainReleaseMs?: number
  /** Read the sleep rules of these other tools. Defaults to none: their controllers may still run. */
  readonly compatibility?: readonly CompatibleTool[]
}

/** What every part of one activator shares. */
interface Shared {
  readonly ports: ActivatorPorts
  readonly options: ActivatorOptions
  readonly plane: DataPlane
  readonly caches: Caches
  readonly workloads: WorkloadCaches
  readonly registry: ServiceRegistry
  readonly usage: UsageTracker
  readonly wakeAttempts: WakeAttempts
  readonly actions: Actions
  readonly queues: WorkQueues
  readonly now: () => number
  readonly domainRules: DomainRules
  readonly sleepRules: SleepRules
  readonly governance: Governance
  readonly claims: HostClaims
}

/** An activator's parts, wired but not started. */
export interface ActivatorParts extends Omit<Shared, 'ports' | 'options'> {
  readonly publisher: Publisher
  readonly listeners: PortListeners
  readonly takeover: TakeoverReconciler
  readonly tls: TlsParts | undefined
  /** Undefined where one namespace is served: nothing there can be taken from another. */
  readonly domains: DomainStore | undefined
  /** Reports what keeps the ready pods of a Service from being reached. */
  readonly noteFault: (service: string, fault: string) => void
}

interface TlsParts {
  readonly secrets: Informer
  readonly certificates: CertificatePublisher
}

/** What the parts call back; none is called before they are started. */
export interface ActivatorHooks {
  readonly onWake: Wake
  readonly onDecision: (workload: string, decision: Decision) => void
  readonly refreshCertificates: () => void
  readonly onClaim: () => void
}

/** Builds the parts of an activator from the outside in: caches, queues, proxy feed, takeover, then the two reconcilers. */
export function buildActivator(
  ports: ActivatorPorts,
  options: ActivatorOptions,
  hooks: ActivatorHooks,
): ActivatorParts {
  const shared = share(ports, options, {
    ...hooks,
    reconcileService: (key) => service.reconcile(key),
    reconcileWorkload: (key) => workload.reconcile(key),
  })
  const publisher = openPublisher(shared)
  const listeners = openListeners(shared, publisher)
  const takeover = openTakeover(shared, publisher, listeners)
  const tls = options.tls ? openTls(shared, (id) => service.hostsOf(id)) : undefined
  const feed = { publisher, listeners, takeover, tls }
  const workload = workloadReconciler(shared, feed, hooks.onDecision)
  const service = serviceReconciler(shared, feed, hooks)
  const domains = options.namespace === undefined ? openDomains(shared) : undefined
  return { ...shared, ...feed, domains, noteFault: (id, fault) => workload.noteFault(id, fault) }
}

type Feed = Pick<ActivatorParts, 'publisher' | 'listeners' | 'takeover' | 'tls'>

function share(
  ports: ActivatorPorts,
  options: ActivatorOptions,
  calls: Pick<ActivatorHooks, 'onWake'> &
    Pick<ConstructorParameters<typeof WorkQueues>[0], 'reconcileService' | 'reconcileWorkload'>,
): Shared {
  const { client, informers, clock } = ports
  const plane = ports.openPlane(calls.onWake)
  const domainRules = new DomainRules({ requireGrant: options.requireDomainGrant ?? false })
  const queues = new WorkQueues({ ...ports, ...calls })
  const workloads = new WorkloadCaches(
    {
      client,
      informers,
      onOpen: (informer) => queues.workloads.watch(informer),
      onScale: (key) => queues.workloads.enqueue(key),
    },
    options.namespace,
  )
  const onChange = (namespace: string | undefined) =>
    queues.enqueueWorkloads(workloads.inNamespace(namespace).map(refOf))
  const now = () => clock.now()
  const { compatibility = [] } = options
  const sleepRules = new SleepRules({ client, informers, namespace: options.namespace, compatibility, now, onChange })
  const registry = new ServiceRegistry()
  const usage = new UsageTracker(() => plane.counters)
  const actions = new Actions(client)
  return {
    ports,
    options,
    plane,
    caches: openCaches(ports, options),
    workloads,
    registry,
    usage,
    wakeAttempts: new WakeAttempts(),
    actions,
    queues,
    now,
    domainRules,
    sleepRules,
    governance: new Governance({ ...ports, rules: sleepRules, workloads, registry, usage, actions, now }),
    claims: new HostClaims(domainRules),
  }
}

function openDomains({ ports, options, caches, registry, queues, domainRules: rules, claims }: Shared): DomainStore {
  const { dryRun = false, scanMs, domainReleaseMs: releaseAfterMs = 600_000 } = options
  return new DomainStore({
    ...ports,
    rules,
    claims,
    releaseAfterMs,
    mayWrite: () => !dryRun && scanMs !== 0 && ports.peers.leading && caches.services.synced && queues.services.idle,
    onChange: () => queues.enqueueServices([...registry.all()].map(({ id }) => id)),
  })
}

function openCaches({ client, informers }: ActivatorPorts, options: ActivatorOptions): Caches {
  const where = scopeOf(options)
  return {
    services: informers.open(client, services, where),
    slices: informers.open<EndpointSlice>(client, endpointSlices, { ...where, indexes: { service: sliceService } }),
    autoscalers: informers.open(client, horizontalPodAutoscalers, {
      ...where,
      indexes: { target: autoscalerTarget },
    }),
  }
}

function scopeOf({ namespace }: ActivatorOptions): { readonly namespace?: string } {
  return namespace === undefined ? {} : { namespace }
}

function openPublisher({ ports: { peers }, caches, ...shared }: Shared): Publisher {
  return new Publisher({
    ...shared,
    slices: caches.slices,
    mayServe: () => peers.joined,
    senderIndex: () => peers.senderIndex,
  })
}

function openListeners({ ports: { clock, log }, plane, options }: Shared, publisher: Publisher): PortListeners {
  return new PortListeners({ plane, publisher, clock, log, host: options.takeover?.host ?? '127.0.0.1' })
}

function openTls({ ports, options, ...shared }: Shared, hostsOf: (service: string) => readonly string[]): TlsParts {
  const { client, informers } = ports
  const opened = informers.open(client, secrets, { ...scopeOf(options), fieldSelector: 'type=kubernetes.io/tls' })
  const certificates = new CertificatePublisher({
    ...shared,
    secrets: opened,
    hostsOf,
    onNews: (ids) => shared.queues.enqueueServices(ids),
  })
  return { secrets: opened, certificates }
}

function openTakeover(shared: Shared, publisher: Publisher, listeners: PortListeners): TakeoverReconciler {
  const { ports, options, caches } = shared
  const { dryRun = false, takeover } = options
  return new TakeoverReconciler({
    ...ports,
    ...caches,
    usage: shared.usage,
    now: shared.now,
    listeners,
    actions: new TakeoverActions(ports.client),
    isIdle: dryRun || takeover === undefined,
    range: takeover?.ports,
    hasProxies: () => options.part !== 'scaler' || ports.peers.addresses.length > 0,
    isWarm: (asked) => publisher.isReachable(asked) && !publisher.isAsleep(asked),
    probe: (asked) => probeActivity(asked, caches),
  })
}

function workloadReconciler(
  shared: Shared,
  { publisher, takeover }: Feed,
  onDecision: ActivatorHooks['onDecision'],
): WorkloadReconciler {
  const { ports, options, caches, queues } = shared
  return new WorkloadReconciler({
    ...ports,
    ...shared,
    rules: shared.sleepRules,
    publisher,
    pause: (ms) => sleep(ports.clock, ms),
    dryRun: options.dryRun ?? false,
    isProxy: options.part === 'proxy',
    isBypassed: (asked) => takeover.isBypassed(asked),
    probe: (asked) => probeActivity(asked, caches),
    areServicesKnown: () => caches.services.synced && queues.services.idle,
    onPresence: (routes) => queues.enqueueServices(routes.map(({ id }) => id)),
    expect: (key, version, informer) => queues.workloads.expect(key, version, informer),
    onDecision,
  })
}

function serviceReconciler(
  shared: Shared,
  feed: Feed,
  { refreshCertificates, onClaim }: ActivatorHooks,
): ServiceReconciler {
  const { ports, options, caches, queues } = shared
  return new ServiceReconciler({
    ...ports,
    ...shared,
    ...caches,
    ...feed,
    defaults: options.defaults ?? settingDefaults,
    namespaced: options.namespace !== undefined,
    companionPort: options.companionPort,
    dryRun: options.dryRun ?? false,
    certificateFaults: (asked: OnDemandService) => feed.tls?.certificates.faultsOf(asked) ?? [],
    isTakeoverAvailable: options.takeover === undefined || options.takeover.ports !== undefined,
    enqueueWorkloads: (refs) => {
      queues.enqueueWorkloads(refs)
      refreshCertificates()
    },
    enqueueServices: (ids) => queues.enqueueServices(ids),
    onClaim,
  })
}
