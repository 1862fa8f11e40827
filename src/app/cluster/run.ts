import { Client } from '../../client/client.ts'
import type { ClusterConfig } from '../../client/cluster-config.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { pacedTransport } from '../../client/paced-transport.ts'
import { sleep, systemClock } from '../../runtime/time/clock.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import { proveOutgoing } from '../../runtime/http/prove-outgoing.ts'
import { secretKeepingTransport } from '../../runtime/observability/known-secrets.ts'
import { loopLag } from '../../runtime/observability/loop-lag.ts'
import { systemRandom } from '../../runtime/time/random.ts'
import { certificateSource, firstCertificate, followCertificate } from './certificate-source.ts'
import { roles, type Config } from '../config/config.ts'
import { canDelete, createInstance } from '../core/instance.ts'
import { Leadership } from '../core/leadership.ts'
import { reachCluster } from './reach-cluster.ts'
import { RouteTable } from '../core/route-table.ts'
import { startSideServer } from './side-server.ts'
import { startSystems, whenReady } from '../core/systems.ts'
import { recordCreatorRoute, validateRoute } from '../../admission/webhook.ts'

/** A running `sojourn run`. */
export interface Run {
  readonly server: string
  /** Where health, metrics and the routes of the systems are served. */
  readonly url: string
  /** The activator's HTTP and HTTPS addresses, if it runs here. */
  readonly proxy?: string
  readonly tls?: string
  /** Where other proxies ask whether a workload is up, if configured. */
  readonly check?: string
  /** Resolves when another replica has taken over: then this process must exit. */
  readonly replaced: Promise<void>
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
  const network = networkTransport(cluster, { userAgent: 'sojourn' })
  opened.defer(() => network.close())
  const transport = pacedTransport(network.transport, {
    sleep: (ms, until) => sleep(clock, ms, until),
    random: systemRandom,
  })
  const client = new Client(secretKeepingTransport(transport))
  const routes = new RouteTable()
  const source = certificateSource(config, { client, clock })
  let isReady = () => false
  const side = await startSideServer({
    host: config.host,
    port: config.port,
    routes,
    client,
    certificate: source.own ?? (await source.current()),
    isReady: () => isReady(),
  })
  opened.defer(() => side.close())
  // The proxy needs no CRDs, coordinates its replicas itself, and must keep serving when the API, and with it every Lease, is lost.
  const isProxyAlone = config.only.every((role) => role === 'activator')
  if (!isProxyAlone) await reachCluster({ client, server, clock, log, random: systemRandom, signal })
  side.use(await firstCertificate(source, log))
  // The Lease must not wait behind thousands of other requests: it would be lost while its holder is at work.
  const leadership = new Leadership({ client: new Client(network.transport), clock, log }, leaseName(config))
  const untilLeader = (until: AbortSignal) => leadership.won(until)
  const instance = createInstance({ config, client, clock, log, routes, untilLeader })
  const { lifecycle, networks } = instance
  await networks.denyServer(server)
  opened.defer(() => lifecycle.stop())
  if (config.only.includes('cleaner')) routes.add(validateRoute(client.discovery), recordCreatorRoute)
  lifecycle.runEverywhere(followCertificate(source, { clock, log, use: side.use }))
  if (!isProxyAlone) lifecycle.runEverywhere(leadership)
  lifecycle.runEverywhere(loopLag(instance))
  const started = await unlessAborted(startSystems(instance, config.only), signal)
  isReady = () => (started.isReady?.() ?? true) && (!canDelete(config.only) || instance.door.state !== undefined)
  await unlessAborted(whenReady(started, instance), signal)
  const stack = opened.move()
  return {
    server,
    url: side.url,
    replaced: leadership.lost,
    ...(started.proxyPort === undefined ? {} : { proxy: `http://${config.host}:${started.proxyPort}` }),
    ...(started.checkPort === undefined ? {} : { check: `http://${config.host}:${started.checkPort}` }),
    ...(started.proxyTlsPort === undefined ? {} : { tls: `https://${config.host}:${started.proxyTlsPort}` }),
    stop: () => stack.disposeAsync(),
  }
}

/** The result of the work; rejects as soon as the signal aborts. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return Promise.race([
    work,
    new Promise<never>((_, reject) => {
      const stop = () => reject(signal.reason as Error)
      if (signal.aborted) stop()
      else signal.addEventListener('abort', stop, { once: true })
    }),
  ])
}

/** The name of the Lease: replicas with the same roles elect one leader. */
function leaseName({ only }: Config): string {
  return only.length === roles.length ? 'sojourn' : `sojourn-${only.toSorted().join('-')}`
}
