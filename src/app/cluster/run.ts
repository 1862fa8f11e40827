import { Client } from '../../client/client.ts'
import type { ClusterConfig } from '../../client/cluster-config.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { pacedTransport } from '../../client/paced-transport.ts'
import { sleep, systemClock } from '../../runtime/time/clock.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import { loopLag } from '../../runtime/observability/loop-lag.ts'
import { systemRandom } from '../../runtime/time/random.ts'
import { certificateSource, firstCertificate, followCertificate } from './certificate-source.ts'
import { roles, type Config } from '../config/config.ts'
import { createCore, needsDoor } from '../core/core.ts'
import { Leadership } from '../core/leadership.ts'
import { reachCluster } from './reach-cluster.ts'
import { RouteTable } from '../core/route-table.ts'
import { startSideServer } from './side-server.ts'
import { startSystems, whenReady } from '../core/systems.ts'
import { validateRoute } from '../../admission/webhook.ts'

/** A running `sojourn run`. */
export interface Run {
  readonly server: string
  /** Health, metrics and pages of our own. */
  readonly url: string
  /** Where the activator takes requests, if it runs here. */
  readonly proxy?: string
  readonly tls?: string
  /** Where other proxies ask whether a workload is up, if anywhere. */
  readonly check?: string
  /** Resolves when another replica has taken over: then this one must end. */
  readonly replaced: Promise<void>
  stop(): Promise<void>
}

export interface RunPorts {
  readonly log: Logger
  readonly signal?: AbortSignal
}

/**
 * Starts the systems against a cluster that is somebody else's, once it is there. Its kinds must be installed: they are not ours to bring. Until it runs,
 * the signal ends it; afterwards `stop` does.
 */
export async function startRun(config: Config, cluster: ClusterConfig, ports: RunPorts): Promise<Run> {
  const { log, signal = new AbortController().signal } = ports
  const clock = systemClock
  const { server } = cluster
  await using opened = new AsyncDisposableStack()
  const network = networkTransport(cluster, { userAgent: 'sojourn' })
  opened.defer(() => network.close())
  const transport = pacedTransport(network.transport, {
    sleep: (ms, until) => sleep(clock, ms, until),
    random: systemRandom,
  })
  const client = new Client(transport)
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
  // The proxy needs none of our kinds, has a fleet of its own, and must go on serving when the API, and with it every lease, is lost.
  const isProxyAlone = config.only.every((role) => role === 'activator')
  if (!isProxyAlone) await reachCluster({ client, server, clock, log, random: systemRandom, signal })
  side.use(await firstCertificate(source, log))
  const leadership = new Leadership({ client, clock, log }, rolesName(config))
  const turn = (until: AbortSignal) => leadership.won(until)
  const core = createCore({ config, client, clock, log, routes, turn, url: () => side.url })
  opened.defer(() => core.stop())
  if (config.only.includes('cleaner')) core.routes.add(validateRoute)
  core.runEverywhere(followCertificate(source, { clock, log, use: side.use }))
  if (!isProxyAlone) core.runEverywhere(leadership)
  core.runEverywhere(loopLag(core))
  const started = await unlessAborted(startSystems(core, config.only), signal)
  isReady = () => (started.isReady?.() ?? true) && (!needsDoor(config.only) || core.door.state !== undefined)
  await unlessAborted(whenReady(started, core), signal)
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

/** What comes of it, unless somebody wants to stop before. */
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

/** Replicas with the same roles share one leadership; others do not get in each other's way. */
function rolesName({ only }: Config): string {
  return only.length === roles.length ? 'sojourn' : `sojourn-${only.toSorted().join('-')}`
}
