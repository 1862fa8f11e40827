import { hostname } from 'node:os'
import { openFleet } from '../../systems/activator/replicas/fleet.ts'
import { singleReplica } from '../../systems/activator/replicas/peers.ts'
import { startActivator, type StartOptions } from '../../systems/activator/start-activator.ts'
import { sleep } from '../../runtime/time/clock.ts'
import type { Activator } from '../../systems/activator/activator.ts'
import type { Instance } from './instance.ts'
import { isAnyAddress } from './networks.ts'
import type { Started } from './systems.ts'

/** Starts the activator: alone, or as one of several replicas. */
export async function startActivatorRole(instance: Instance): Promise<Started> {
  const { config, client, informers, events, metrics, log, clock, lifecycle } = instance
  const { drainMs, drainDelayMs, proxless, activatorPart: part } = config.activator
  for (const name of proxless.unneeded) log.info('variable no longer needed', { name })
  const fleet = lifecycle.isReplicated ? await openFleet({ client, clock, log }, fleetOptions(instance)) : undefined
  const running = await startActivator(
    { client, informers, events: part === 'proxy' ? noEvents : events, metrics, log, clock },
    {
      ...startOptions(instance, fleet !== undefined),
      peers: fleet ? fleet.peers : singleReplica([addressOf(instance)]),
    },
  )
  const { activator } = running
  // Once the other replicas know this one, requests may arrive, and by then it must know all routes.
  if (fleet) void untilPrepared(instance, activator).then(() => fleet.start(activator))
  let isStopping = false
  lifecycle.onStop(async () => {
    isStopping = true
    await fleet?.retire()
    await activator.leave(fleet ? handoverMs : handoverAloneMs)
    if (drainDelayMs > 0) await sleep(clock, drainDelayMs)
    await running.stop(drainMs)
    await fleet?.close()
  })
  const isReady = () => !isStopping && activator.ready && (fleet?.peers.joined ?? true)
  if (part === 'scaler') return { isReady }
  const at = (scheme: string, port: number | undefined) =>
    port === undefined ? undefined : `${scheme}://${config.host}:${port}`
  return {
    proxy: `http://${config.host}:${running.port}`,
    tls: at('https', running.tlsPort),
    check: at('http', running.checkPort),
    isReady,
  }
}

/** The process that scales records what happens. */
const noEvents = { record: () => {} }

/** How long callers of Services may take to be routed past this replica when it stops. */
const handoverMs = 10_000
const handoverAloneMs = 1500

function startOptions(instance: Instance, hasReplicas: boolean): StartOptions {
  const { config, external } = instance
  const { proxyAddress, companions, proxyTlsPort: tlsPort, tlsPolicy, checkPort, proxyProtocol } = config.activator
  const { requireDomainGrant, domainReleaseAfterMs, trustedProxies, accessLog, compatibility } = config.activator
  const { proxless, activatorPart: part } = config.activator
  return {
    ...proxless.options,
    limits: { ...proxless.limits, trustedProxies },
    tlsPolicy,
    accessLog,
    host: config.host,
    port: config.proxyPort,
    proxyProtocol,
    // A proxy decides as the process that scales does, to know what to do with requests, and carries out nothing.
    dryRun: config.dryRun || part === 'proxy',
    part,
    requireDomainGrant,
    domainReleaseMs: domainReleaseAfterMs,
    compatibility,
    ...(tlsPort === undefined ? {} : { tlsPort }),
    ...(checkPort === undefined ? {} : { checkPort }),
    ...takeoverOptions(instance),
    ...external.activator,
    ...(companions && hasReplicas && proxyAddress !== undefined ? { companionPort: config.proxyPort } : {}),
  }
}

/** Waits until this replica knows all routes, and listens for every Service that is routed to the proxies. */
async function untilPrepared({ clock }: Instance, activator: Activator): Promise<void> {
  await activator.synced()
  while (!activator.prepared) await sleep(clock, 20)
}

/** A forecast and a dry run change no Service. Without `ports`, Services that were taken over before are released. */
function takeoverOptions({ config, external, lifecycle }: Instance): Pick<StartOptions, 'takeover'> {
  const { takeover, companions, takeoverPorts: ports } = config.activator
  if (external.activator || config.dryRun) return {}
  const isReachable = lifecycle.isReplicated ? companions : true
  return { takeover: { host: config.host, ...((takeover ?? isReachable) ? { ports } : {}) } }
}

function fleetOptions(instance: Instance) {
  const { host } = instance.config
  const {
    name = `${hostname()}-${process.pid}`,
    peerPort,
    peerLeaseMs: leaseMs,
    activatorPart,
  } = instance.config.activator
  return { name, host, port: peerPort, address: addressOf(instance), leaseMs, part: activatorPart }
}

function addressOf({ config: { host, activator } }: Instance): string {
  return activator.proxyAddress ?? (isAnyAddress(host) ? '127.0.0.1' : host)
}
