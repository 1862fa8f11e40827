import { whoAmI } from '../../client/access-review.ts'
import { Client } from '../../client/client.ts'
import { ConfigError, type ClusterConfig } from '../../client/cluster-config.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { pacedTransport } from '../../client/paced-transport.ts'
import { sleep, systemClock, unlessAborted } from '../../runtime/time/clock.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import { proveOutgoing } from '../../runtime/http/prove-outgoing.ts'
import { secretKeepingTransport } from '../../runtime/observability/known-secrets.ts'
import { loopLag } from '../../runtime/observability/process-metrics.ts'
import { systemRandom } from '../../runtime/time/random.ts'
import { certificateSource, firstCertificate, followCertificate } from './certificate-source.ts'
import { roles, type Config } from '../config/config.ts'
import { defaultLimits } from '../../departures/door/budget.ts'
import { canDelete, createInstance } from '../core/instance.ts'
import { ownVersion } from '../config/version.ts'
import { isInstalled, Leadership, ledRoles, type LeadershipOptions } from '../core/leadership.ts'
import { observingTransport } from './observing-transport.ts'
import { reachCluster } from './reach-cluster.ts'
import { RouteTable } from '../core/route-table.ts'
import { clusterAccess, startSideServer } from './side-server.ts'
import { startSystems, whenReady, type Addresses } from '../core/systems.ts'
import { EnvironmentAdmission } from '../../admission/environment-admission.ts'
import { recordCreatorRoute, validateRoute } from '../../admission/webhook.ts'

/** A running `sojourn run`. */
export interface Run extends Addresses {
  readonly server: string
  /** Where health, metrics and the routes of the systems are served. */
  readonly url: string
  /** Resolves with who leads, when another replica has taken a role over: then this process must exit. */
  readonly replaced: Promise<string>
  stop(): Promise<void>
}

export interface RunPorts {
  readonly log: Logger
  readonly signal?: AbortSignal
}

/**
 * Starts the systems against a real cluster, once it answers. The CRDs must be installed. The signal aborts the start; after it,
 * `stop` ends the run.
 */
export async function startRun(config: Config, cluster: ClusterConfig, ports: RunPorts): Promise<Run> {
  const { log, signal = new AbortController().signal } = ports
  const clock = systemClock
  const { server } = cluster
  await proveOutgoing()
  await using opened = new AsyncDisposableStack()
  const network = networkTransport(cluster, { userAgent: userAgentOf(config) })
  opened.defer(() => network.close())
  const transport = pacedTransport(network.transport, {
    sleep: (ms, until) => sleep(clock, ms, until),
    random: systemRandom,
  })
  const known = secretKeepingTransport(transport)
  const observing = observingTransport(known, log)
  let isObserver = false
  const client = new Client((request) => (isObserver ? observing : known)(request))
  const routes = new RouteTable()
  const source = certificateSource(config, { client, clock })
  let isReady = () => false
  const side = await startSideServer({
    host: config.host,
    port: config.port,
    routes,
    access: clusterAccess(client),
    certificate: source.own ?? (await source.current()),
    isReady: () => isReady(),
    onError: (error) => log.error('request failed', { error }),
  })
  opened.defer(() => side.close())
  // The proxy needs no CRDs, coordinates its replicas itself, and must keep serving when the API, and with it every Lease, is lost.
  const isProxyAlone = config.only.every((role) => role === 'activator')
  const userNow = () => whoAmI(client).catch(() => '')
  const waitsForKinds = async () => isInstalled(await userNow())
  if (!isProxyAlone) await reachCluster({ client, server, clock, log, random: systemRandom, signal, waitsForKinds })
  const user = await userNow()
  // The dry run of an installation reports in statuses. Any other dry run must leave the installation alone.
  isObserver = config.dryRun && !isInstalled(user)
  if (isObserver) log.info('dry run beside the installation, if any: logs what it would write, and writes nothing')
  else side.use(await firstCertificate(source, log))
  // Leases must not wait behind thousands of other requests: they would be lost while their holder is at work.
  const leadership = new Leadership({ client: new Client(network.transport), clock, log }, leadershipOf(config, user))
  const refusal = isObserver || isProxyAlone ? undefined : await leadership.refusal(signal)
  if (refusal !== undefined) throw new ConfigError(refusal)
  const shared = isObserver ? {} : { leadership }
  const instance = createInstance({ config, client, clock, log, routes, ...shared, asksForRights: true })
  const { lifecycle, networks } = instance
  await networks.denyServer(server)
  opened.defer(() => lifecycle.stop())
  if (config.only.includes('cleaner')) {
    const environments = new EnvironmentAdmission(clock)
    // Until its caches are filled nothing is refused.
    environments.follow(instance.informers, client).catch(() => {})
    const { requireWebhookToken: needsToken } = config.tenancy
    routes.add(validateRoute({ discovery: client.discovery, environments, needsToken }), recordCreatorRoute)
  }
  if (!isObserver) lifecycle.runEverywhere(followCertificate(source, { clock, log, use: side.use }))
  if (!isProxyAlone && !isObserver) lifecycle.runEverywhere(leadership)
  lifecycle.runEverywhere(loopLag(instance))
  const started = await unlessAborted(startSystems(instance, config.only), signal)
  isReady = () => (started.isReady?.() ?? true) && (!canDelete(config.only) || instance.door.state !== undefined)
  await unlessAborted(whenReady(started, instance), signal)
  const { isReady: _, ...addresses } = started
  const stack = opened.move()
  return {
    server,
    url: side.url,
    replaced: leadership.replaced,
    ...addresses,
    stop: () => stack.disposeAsync(),
  }
}

/** What the other processes of this cluster see of this one. */
function leadershipOf(config: Config, user: string): LeadershipOptions {
  return { roles: ledRoles.filter((role) => config.only.includes(role)), user, settings: settingsOf(config) }
}

/** What decides over deletions, as flags: where it differs, one process must not take over from the other. */
function settingsOf({ dryRun, tenancy, recordSecrets, collectCycles, ...config }: Config): readonly string[] {
  const settings = {
    'dry-run': dryRun,
    'max-departures-per-minute': config.maxDeparturesPerMinute ?? defaultLimits.maxPerMinute,
    'max-departures-per-hour': config.maxDeparturesPerHour ?? defaultLimits.maxPerHourOfKind,
    'max-departures-percent': config.maxDeparturesPercent ?? defaultLimits.maxPercentOfKind,
    'namespace-share': config.namespaceShare ?? defaultLimits.namespaceShare,
    'record-secrets': recordSecrets,
    'collect-cycles': collectCycles,
    'default-service-account': tenancy.defaultServiceAccount,
    'require-service-account': tenancy.requireServiceAccount,
    'without-creator': tenancy.withoutCreator,
    'no-cross-namespace-refs': tenancy.noCrossNamespaceRefs,
  }
  return Object.entries(settings).map(([flag, value]) => {
    if (value === undefined || value === false) return `no --${flag}`
    return value === true ? `--${flag}` : `--${flag} ${value}`
  })
}

/** Names the roles and the version to the API server, in its logs and audit. */
function userAgentOf({ only }: Config): string {
  const names = only.length === roles.length ? '' : `-${only.toSorted().join('-')}`
  return `sojourn${names}/${ownVersion()}`
}
