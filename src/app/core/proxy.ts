import { hostname } from 'node:os'
import { openFleet } from '../../systems/activator/replicas/fleet.ts'
import { singleReplica } from '../../systems/activator/replicas/peers.ts'
import { historyRoute } from '../../systems/activator/history-route.ts'
import { startActivator, type StartOptions } from '../../systems/activator/start-activator.ts'
import { sleep } from '../../runtime/time/clock.ts'
import type { Activator } from '../../systems/activator/activator.ts'
import type { Core } from './core.ts'
import { onDemandRoute } from './on-demand-route.ts'
import type { Started } from './systems.ts'

/** Starts the activator: by itself, or in step with its replicas where there may be some. */
export async function startProxy(core: Core): Promise<Started> {
  const { config, client, informers, events, metrics, log, clock } = core
  const { address, companions, drainMs, drainDelayMs, tlsPort, tlsPolicy, checkPort, proxyProtocol, proxless } =
    config.activator
  for (const name of proxless.unneeded) log.info('variable no longer needed', { name })
  const fleet = core.replicated ? await openFleet({ client, clock, log }, fleetOptions(core)) : undefined
  const ports = { client, informers, events, metrics, log, clock }
  const running = await startActivator(ports, {
    ...proxless.options,
    limits: proxless.limits,
    tlsPolicy,
    host: config.host,
    port: config.proxyPort,
    proxyProtocol,
    dryRun: config.dryRun,
    ...(tlsPort === undefined ? {} : { tlsPort }),
    ...(checkPort === undefined ? {} : { checkPort }),
    peers: fleet ? fleet.peers : singleReplica([addressOf(core)]),
    ...takeoverOf(core),
    ...core.outside.activator,
    ...(companions && fleet && address !== undefined ? { companionPort: config.proxyPort } : {}),
  })
  core.routes.add(onDemandRoute(running.activator))
  // Once others know of us requests may come, and by then we must know all routes.
  if (fleet) void join(core, running.activator).then(() => fleet.start(running.activator))
  core.routes.add(historyRoute(running.activator))
  let isStopping = false
  core.onStop(async () => {
    isStopping = true
    await fleet?.retire()
    await running.activator.leave(fleet ? leaveMs : leaveAloneMs)
    if (drainDelayMs > 0) await sleep(clock, drainDelayMs)
    await running.stop(drainMs)
    await fleet?.close()
  })
  return {
    proxyPort: running.port,
    ...(running.tlsPort === undefined ? {} : { proxyTlsPort: running.tlsPort }),
    ...(running.checkPort === undefined ? {} : { checkPort: running.checkPort }),
    isReady: () => !isStopping && running.activator.ready && (fleet?.peers.joined ?? true),
  }
}

/** How long callers may take to be led elsewhere, with other replicas there and without. */
const leaveMs = 10_000
const leaveAloneMs = 1500

/** Waits until this replica knows all routes, and listens for every Service that is led to the proxies. */
async function join({ clock }: Core, activator: Activator): Promise<void> {
  await activator.synced()
  while (!activator.prepared) await sleep(clock, 20)
}

/** A forecast and a dry run leave Services as they are; whoever takes none over gives back those that once were. */
function takeoverOf(core: Core): Pick<StartOptions, 'takeover'> {
  const { config, outside, replicated } = core
  const { takeover, companions, takeoverPorts: ports } = config.activator
  if (outside.activator || config.dryRun) return {}
  const isReachable = replicated ? companions : true
  return { takeover: { host: config.host, ...((takeover ?? isReachable) ? { ports } : {}) } }
}

function fleetOptions(core: Core) {
  const { host } = core.config
  const { name = `${hostname()}-${process.pid}`, peerPort, peerLeaseMs: leaseMs } = core.config.activator
  return { name, host, port: peerPort, address: addressOf(core), leaseMs }
}

function addressOf({ config: { host, activator } }: Core): string {
  return activator.address ?? (isAny(host) ? '127.0.0.1' : host)
}

/** Listening everywhere is no address to reach anyone at. */
function isAny(host: string): boolean {
  return host === '0.0.0.0' || host === '::'
}
