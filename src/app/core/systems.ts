import { hostname } from 'node:os'
import type { NotificationChannel } from '../../apis/notification-channel.ts'
import { isEmbedded } from '../../client/embedded.ts'
import type { Prices } from '../../prices/prices.ts'
import { sleep } from '../../runtime/time/clock.ts'
import type { CleanerPorts } from '../../systems/cleaner/ports.ts'
import type { Role } from '../config/config.ts'
import { bondClusters } from './bond-clusters.ts'
import { canDelete, leaderPorts, type Instance } from './instance.ts'
import { promoterRoute } from './promoter-route.ts'

/** Starts one system on an instance, on the embedded server and on a real cluster alike. */
type StartSystem = (instance: Instance) => void | Started | Promise<void | Started>

/** Where the activator listens, if it runs here: for HTTP, for HTTPS, and for other proxies that ask whether a workload is up. */
export interface Addresses {
  readonly proxy?: string
  readonly tls?: string | undefined
  readonly check?: string | undefined
}

/** What a started system reports. */
export interface Started extends Addresses {
  /** Whether it can do its work; always, where it is missing. */
  readonly isReady?: () => boolean
}

/** How each role is started. Its code is loaded only then. `api` and `workloads` belong to the embedded server alone. */
export const systems: Readonly<Partial<Record<Role, StartSystem>>> = {
  async cleaner(instance) {
    const { config, client, informers, door, events, actAs, networks, external, embedded, routes, lifecycle } = instance
    const ports = leaderPorts(instance, 'cleaner')
    const { cleanerKinds } = await import('../../apis/cleaner-kinds.ts')
    const { cleanerController } = await import('../../systems/cleaner/controller.ts')
    const { outboxController, sendEvent } = await import('../../systems/cleaner/outbox.ts')
    const { http } = networks.tenants
    const send: CleanerPorts['send'] = (sink, event) => sendEvent(http, sink, event)
    lifecycle.run('cleaner', outboxController({ client, informers, events, ports, send, ...external.cleaner }))
    const { createWarnings } = await import('../../systems/cleaner/keep.ts')
    const { notices, routes: pages } = createWarnings({
      client,
      clock: ports.clock,
      network: networks.administrators,
      publicUrl: () => instance.publicUrl(),
      dryRun: config.dryRun,
      ...external.cleaner,
    })
    routes.add(...pages)
    const common = { client, informers, door, events, actAs, ports, http, notices, transact: embedded?.transact }
    for (const { type } of cleanerKinds)
      lifecycle.run('cleaner', cleanerController({ ...common, type, ...external.cleaner }))
  },

  async promoter(instance) {
    const { config, client, informers, clusters, networks, actAs, events, external, routes, lifecycle } = instance
    const ports = leaderPorts(instance, 'promoter')
    const { Promoter } = await import('../../systems/promoter/controller.ts')
    const { dryRun, eventsAddress } = config
    // It deletes nothing: opening the Door would take rights that its account does not have.
    const promoter = new Promoter({
      client,
      informers,
      clusters,
      actAs,
      events,
      ports,
      dryRun,
      network: networks.tenants,
      ...(eventsAddress ? { flux: { eventsAddress, http: networks.administrators.http } } : {}),
      ...external.promoter,
    })
    lifecycle.run('promoter', promoter.controller)
    routes.add(...promoter.routes.map((route) => promoterRoute(route, client)))
    lifecycle.onStop(() => promoter.close())
  },

  async janitor(instance) {
    const { createJanitor } = await import('../../systems/janitor/janitor.ts')
    const { config, log, door, clusters, networks, external, routes, lifecycle } = instance
    const swabbie = config.swabbieConfig === undefined ? undefined : await loadSwabbie(instance, config.swabbieConfig)
    const janitor = createJanitor({
      ...systemPorts(instance),
      cluster: (name) => clusters.client(name),
      network: networks.administrators,
      identity: `${hostname()}-${process.pid}`,
      publicUrl: () => instance.publicUrl(),
      clusterName: config.clusterName,
      prices: config.savings.prices,
      dryRun: config.dryRun,
      // As /readyz: an instance that is not ready to serve does no work either.
      inService: () => door.state !== undefined,
      ...external.janitor,
      ...(swabbie?.testing ? { testing: swabbie.testing } : {}),
      ...(swabbie?.lease ? { leaseTimes: swabbie.lease } : {}),
    })
    if (config.publicUrl === undefined && lifecycle.isReplicated)
      log.error('notices carry commands instead of links: set --public-url to where people reach the janitor', {})
    // The janitor shares its work among replicas by Leases of its own, policy by policy.
    for (const controller of janitor.controllers) lifecycle.runEverywhere(controller)
    routes.add(...janitor.routes)
    lifecycle.onStop(() => janitor.close())
  },

  async environments(instance) {
    const { createEnvironments } = await import('../../systems/environments/environments.ts')
    const { config, client, informers, networks, external, routes, lifecycle } = instance
    const { controllers, routes: pages } = createEnvironments({
      ...systemPorts(instance),
      network: networks.administrators,
      http: { environment: networks.tenants.http, class: networks.administrators.http },
      publicUrl: () => instance.publicUrl(),
      dryRun: config.dryRun,
      ...external.environments,
    })
    for (const controller of controllers) lifecycle.run('environments', controller)
    routes.add(...pages)
    if (config.dryRun) return
    const { Accountant } = await import('../../systems/savings/accountant.ts')
    const { askOpenCost } = await import('../../systems/savings/opencost.ts')
    const leading = leaderPorts(instance, 'environments')
    const network = networks.administrators
    const { opencostUrl: url, savingsMail: channels, savingsHorizonMs: horizonMs, prices } = config.savings
    const askPrices = url ? (given: Prices) => askOpenCost(url, network.http, given) : undefined
    const common = { client, informers, ports: leading }
    const accountant = new Accountant({ ...common, horizonMs, prices, askPrices, ...external.savings })
    lifecycle.run('environments', accountant.controller)
    lifecycle.onStop(() => accountant.close())
    if (channels.length === 0) return
    const { weeklyMailController } = await import('../../systems/savings/weekly-mail.ts')
    const { openChannel: real } = await import('../../notices/open-channel.ts')
    const open = external.environments?.openChannel ?? real
    const openChannel = (channel: NotificationChannel) => open(channel, { client, clock: leading.clock, network })
    lifecycle.run('environments', weeklyMailController({ ...common, channels, openChannel }))
  },

  async activator(instance) {
    const { startActivatorRole } = await import('./activator.ts')
    return startActivatorRole(instance)
  },

  async collector(instance) {
    const { config, client, clusters, embedded, lifecycle } = instance
    const { bondController } = await import('../../systems/collector/bonds/bond-controller.ts')
    const { Collector } = await import('../../systems/collector/controller.ts')
    const { dependsOnController } = await import('../../systems/collector/bonds/depends-on-controller.ts')
    const ownsReferences = await isEmbedded(client)
    const common = { ...systemPorts(instance), ports: leaderPorts(instance, 'collector') }
    const collector = new Collector({ ...common, ...embedded, ownsReferences, collectCycles: config.collectCycles })
    lifecycle.run('collector', collector)
    lifecycle.run(
      'collector',
      bondController({
        ...common,
        ...bondClusters(clusters),
        needsLabels: !ownsReferences,
        bondEdges: collector.bondEdges,
        cycleOf: (uid) => collector.cycleOf(uid),
      }),
    )
    lifecycle.run('collector', dependsOnController({ ...common, world: collector.world, needsOptIn: !ownsReferences }))
  },
}

function systemPorts({ client, informers, door, events, actAs, ports }: Instance) {
  return { client, informers, door, events, actAs, ports }
}

/** Reads a swabbie.yml and applies its policies. */
async function loadSwabbie({ client, log }: Instance, path: string) {
  const { applySwabbie } = await import('../../systems/janitor/swabbie/apply-swabbie.ts')
  const { readSwabbie } = await import('../operations/swabbie.ts')
  const swabbie = readSwabbie(path)
  for (const notice of swabbie.notices) log.info('swabbie.yml', { notice })
  await applySwabbie(client, swabbie)
  return swabbie
}

/** Starts the systems among these roles. */
export async function startSystems(instance: Instance, roles: readonly Role[]): Promise<Started> {
  if (canDelete(roles)) await instance.door.ready(instance.lifecycle.signal)
  const started = await Promise.all(roles.map(async (role) => systems[role]?.(instance)))
  return Object.assign({}, ...started) as Started
}

const readyTimeoutMs = 30_000
const pollMs = 20

/** Resolves when the started systems are ready, or after 30 s without. */
export async function whenReady({ isReady = () => true }: Started, { clock, log }: Instance): Promise<void> {
  const until = clock.monotonic() + readyTimeoutMs
  while (!isReady() && clock.monotonic() < until) await sleep(clock, pollMs)
  if (!isReady()) log.error('not ready in time, serving anyway', { waitedMs: readyTimeoutMs })
}
