import type { ProcessParts } from '../../runtime/process-parts.ts'
import type { TriggersParts } from './reconcile/triggers.ts'
import { endpointSlices, horizontalPodAutoscalers, secrets, services } from '../../kube/core-types.ts'
import type { Key } from '../../kube/key.ts'
import { refOf } from '../../kube/object.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { Actions } from './cluster/act.ts'
import type { Core } from './cluster/core.ts'
import { DomainStore } from './cluster/domain-store.ts'
import { SleepRules, type CompatibleTool } from './cluster/sleep-rules.ts'
import { autoscalerTarget, sliceService } from './cluster/observe.ts'
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
import { ServiceRegistry } from './model/service-registry.ts'
import type { DataPlane } from './proxy/planes/data-plane.ts'
import type { OnAnswers } from './proxy/routing/journal.ts'
import type { Wake } from './proxy/routing/ports.ts'
import { Governance } from './reconcile/governance.ts'
import { ServiceReconciler } from './reconcile/service-reconciler.ts'
import { WorkQueues } from './reconcile/work-queues.ts'
import { WorkloadReconciler } from './reconcile/workload-reconciler.ts'
import type { Part, Peers } from './replicas/peers.ts'
import { PortListeners } from './takeover/port-listeners.ts'
import { TakeoverReconciler, type PortRange } from './takeover/takeover-reconciler.ts'

export interface ActivatorPorts extends Pick<ProcessParts, 'client' | 'informers' | 'clock' | 'log' | 'metrics'> {
  readonly events: Pick<EventRecorder, 'record'>
  readonly peers: Peers
  /** Opens the proxy, which calls back with the id of a route while a request waits for it, and with what it answered itself. */
  readonly openPlane: (onWake: Wake, onAnswers: OnAnswers) => DataPlane
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

/** An activator's parts, wired but not started. */
export interface ActivatorParts extends TriggersParts {
  readonly sleepRules: SleepRules
  readonly listeners: PortListeners
  readonly tls: { readonly secrets: Informer; readonly certificates: CertificatePublisher } | undefined
  /** Undefined where one namespace is served: nothing there can be taken from another. */
  readonly domains: DomainStore | undefined
}

/** What the parts call back; none is called before they are started. */
export interface ActivatorHooks {
  readonly onWake: Wake
  readonly onAnswers: OnAnswers
  readonly onDecision: (workload: string, decision: Decision) => void
  readonly onWoken: (routes: readonly { readonly id: string }[], tookMs: number) => void
  readonly refreshCertificates: () => void
  readonly onClaim: () => void
}

/** Builds the parts of an activator from the outside in: caches, queues, proxy feed, takeover, then the two reconcilers. */
export function buildActivator(
  ports: ActivatorPorts,
  options: ActivatorOptions,
  hooks: ActivatorHooks,
): ActivatorParts {
  const { client, informers, peers } = ports
  const { dryRun = false, namespace, compatibility = [], part = 'all', takeover: taking } = options
  const queues = new WorkQueues({
    ...ports,
    reconcileService: (key) => service.reconcile(key),
    reconcileWorkload: (key) => workload.reconcile(key),
  })
  const core = openCore(ports, options, { ...hooks, queues })
  const { workloads, caches, registry, now } = core
  const onChange = (changed: string | undefined) => queues.enqueueWorkloads(workloads.inNamespace(changed).map(refOf))
  const rules = new SleepRules({ client, informers, namespace, compatibility, now, onChange })
  const governance = new Governance({ ...core, rules, queues })
  const domainRules = new DomainRules({ requireGrant: options.requireDomainGrant ?? false })
  const claims = new HostClaims(domainRules)
  const publisher = new Publisher(core)
  const listeners = new PortListeners({ ...core, publisher, host: taking?.host ?? '127.0.0.1' })
  const takeover = new TakeoverReconciler({
    ...core,
    publisher,
    listeners,
    isIdle: dryRun || taking === undefined,
    range: taking?.ports,
    hasProxies: () => part !== 'scaler' || peers.addresses.length > 0,
  })
  const feed = { ...core, queues, publisher, listeners, takeover, governance }
  const isProxy = part === 'proxy'
  const workload = new WorkloadReconciler({ ...hooks, ...feed, rules, isProxy })
  const tls = options.tls ? openTls(ports, options, { ...feed, hostsOf: (id) => service.hostsOf(id) }) : undefined
  const service = new ServiceReconciler({
    ...feed,
    claims,
    defaults: options.defaults ?? settingDefaults,
    namespaced: namespace !== undefined,
    companionPort: options.companionPort,
    certificateFaults: (asked) => tls?.certificates.faultsOf(asked) ?? [],
    isTakeoverAvailable: taking === undefined || taking.ports !== undefined,
    onRoutes: hooks.refreshCertificates,
    onClaim: hooks.onClaim,
  })
  const openDomains = () =>
    new DomainStore({
      ...ports,
      rules: domainRules,
      claims,
      releaseAfterMs: options.domainReleaseMs ?? 600_000,
      mayWrite: () =>
        !dryRun && options.scanMs !== 0 && peers.leading && caches.services.synced && queues.services.idle,
      onChange: () => queues.enqueueServices([...registry.all()].map(({ id }) => id)),
    })
  return {
    ...feed,
    sleepRules: rules,
    tls,
    domains: namespace === undefined ? openDomains() : undefined,
    noteFault: (id, fault) => workload.noteFault(id, fault),
  }
}

function openCore(
  ports: ActivatorPorts,
  { namespace, dryRun = false }: ActivatorOptions,
  { queues, onWake, onAnswers }: ActivatorHooks & { readonly queues: WorkQueues },
): Core {
  const { client, informers, clock, log, events, peers } = ports
  const plane = ports.openPlane(onWake, onAnswers)
  const where = namespace === undefined ? {} : { namespace }
  const onOpen = (informer: Informer) => queues.workloads.watch(informer)
  const onScale = (key: Key) => queues.workloads.enqueue(key)
  return {
    client,
    clock,
    log,
    events,
    peers,
    plane,
    dryRun,
    now: () => clock.now(),
    caches: {
      services: informers.open(client, services, where),
      slices: informers.open<EndpointSlice>(client, endpointSlices, { ...where, indexes: { service: sliceService } }),
      autoscalers: informers.open(client, horizontalPodAutoscalers, {
        ...where,
        indexes: { target: autoscalerTarget },
      }),
    },
    workloads: new WorkloadCaches({ client, informers, onOpen, onScale }, namespace),
    registry: new ServiceRegistry(),
    usage: new UsageTracker(() => plane.counters),
    wakeAttempts: new WakeAttempts(),
    actions: new Actions(client),
  }
}

function openTls(
  { client, informers }: ActivatorPorts,
  { namespace }: ActivatorOptions,
  feed: Core & { readonly queues: WorkQueues; readonly hostsOf: (service: string) => readonly string[] },
): NonNullable<ActivatorParts['tls']> {
  const where = namespace === undefined ? {} : { namespace }
  const opened = informers.open(client, secrets, { ...where, fieldSelector: 'type=kubernetes.io/tls' })
  const onNews = (ids: readonly string[]) => feed.queues.enqueueServices(ids)
  return { secrets: opened, certificates: new CertificatePublisher({ ...feed, secrets: opened, onNews }) }
}
