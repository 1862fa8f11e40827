import { hostname } from 'node:os'
import { openFleet } from '../systems/activator/fleet.ts'
import { historyRoute } from '../systems/activator/history-route.ts'
import { startActivator } from '../systems/activator/start-activator.ts'
import { sleep } from '../runtime/clock.ts'
import type { Core } from './core.ts'
import { onDemandRoute } from './on-demand-route.ts'
import type { Started } from './systems.ts'

/** Starts the activator: by itself, or in step with its replicas where there may be some. */
export async function startProxy(core: Core): Promise<Started> {
  const { config, client, informers, events, metrics, log, clock } = core
  const { address, companions, drainMs, drainDelayMs, tlsPort, tlsTerms, proxyProtocol, proxless } = config.activator
  for (const name of proxless.unneeded) log.info('variable no longer needed', { name })
  const fleet = core.replicated ? await openFleet({ client, clock, log }, fleetOptions(core)) : undefined
  const ports = { client, informers, events, metrics, log, clock }
  const running = await startActivator(ports, {
    ...proxless.options,
    limits: proxless.limits,
    tlsTerms,
    host: config.host,
    port: config.proxyPort,
    proxyProtocol,
    dryRun: config.dryRun,
    ...(tlsPort === undefined ? {} : { tlsPort }),
    ...(fleet ? { peers: fleet.peers } : {}),
    ...core.outside.activator,
    ...(companions && fleet && address !== undefined ? { companionPort: config.proxyPort } : {}),
  })
  core.routes.add(onDemandRoute(running.activator))
  // Once others know of us requests may come, and by then we must know all routes.
  if (fleet) void running.activator.synced().then(() => fleet.start(running.activator))
  core.routes.add(historyRoute(running.activator))
  let isStopping = false
  core.onStop(async () => {
    isStopping = true
    if (drainDelayMs > 0) await sleep(clock, drainDelayMs)
    await running.stop(drainMs)
    await fleet?.close()
  })
  return {
    proxyPort: running.port,
    ...(running.tlsPort === undefined ? {} : { proxyTlsPort: running.tlsPort }),
    isReady: () => !isStopping && running.activator.ready && (fleet?.peers.joined ?? true),
  }
}

function fleetOptions({ config }: Core) {
  const { host } = config
  const {
    address = isAny(host) ? '127.0.0.1' : host,
    name = `${hostname()}-${process.pid}`,
    peerPort,
  } = config.activator
  return { name, host, port: peerPort, address }
}

/** Listening everywhere is no address to reach anyone at. */
function isAny(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}
