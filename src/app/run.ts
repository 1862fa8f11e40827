import { Client } from '../client/client.ts'
import type { ClusterConfig } from '../client/cluster-config.ts'
import { ConfigError } from '../client/cluster-config.ts'
import { networkTransport } from '../client/network-transport.ts'
import { pacedTransport } from '../client/paced-transport.ts'
import { departure } from '../apis/departure.ts'
import { sleep, systemClock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { systemRandom } from '../runtime/random.ts'
import { certificateSource, firstCertificate, followCertificate } from './certificate-source.ts'
import { roles, type Config } from './config.ts'
import { createCore, needsDoor } from './core.ts'
import { Leadership } from './leadership.ts'
import { startSideServer } from './side-server.ts'
import { startSystems, whenReady, type Started } from './systems.ts'
import { validateRoute } from './webhook.ts'

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

/** Starts the systems against a cluster that is somebody else's. Its kinds must be installed: they are not ours to bring. */
export async function startRun(config: Config, cluster: ClusterConfig, log: Logger): Promise<Run> {
  const clock = systemClock
  const network = networkTransport(cluster, { userAgent: 'sojourn' })
  const transport = pacedTransport(network.transport, {
    sleep: (ms, signal) => sleep(clock, ms, signal),
    random: systemRandom,
  })
  const client = new Client(transport)
  // The proxy needs none of our kinds, has a fleet of its own, and must go on serving when the API, and with it every lease, is lost.
  const isProxyAlone = config.only.every((role) => role === 'activator')
  if (!isProxyAlone && !(await client.discovery.typeOf(departure))) {
    network.close()
    throw new ConfigError(
      `${cluster.server} does not know our kinds yet: run "sojourn install | kubectl apply --server-side -f -" first`,
    )
  }
  const leadership = new Leadership({ client, clock, log }, rolesName(config))
  const core = createCore({ config, client, clock, log, turn: (signal) => leadership.won(signal), url: () => side.url })
  const source = certificateSource(config, { client, clock })
  let started: Started | undefined
  const side = await startSideServer({
    host: config.host,
    port: config.port,
    routes: core.routes,
    client,
    certificate: await firstCertificate(source, log),
    isReady: () =>
      (started?.isReady?.() ?? started !== undefined) && (!needsDoor(config.only) || core.door.state !== undefined),
  })
  if (config.only.includes('cleaner')) core.routes.add(validateRoute)
  core.runEverywhere(followCertificate(source, { clock, log, use: side.use }))
  if (!isProxyAlone) core.runEverywhere(leadership)
  started = await startSystems(core, config.only)
  await whenReady(started, core)
  return {
    server: cluster.server,
    url: side.url,
    replaced: leadership.lost,
    ...(started.proxyPort === undefined ? {} : { proxy: `http://${config.host}:${started.proxyPort}` }),
    ...(started.checkPort === undefined ? {} : { check: `http://${config.host}:${started.checkPort}` }),
    ...(started.proxyTlsPort === undefined ? {} : { tls: `https://${config.host}:${started.proxyTlsPort}` }),
    async stop() {
      await core.stop()
      await side.close()
      network.close()
    },
  }
}

/** Replicas with the same roles share one leadership; others do not get in each other's way. */
function rolesName({ only }: Config): string {
  return only.length === roles.length ? 'sojourn' : `sojourn-${only.toSorted().join('-')}`
}
