import { hostname } from 'node:os'
import { approval } from '../../apis/approval.ts'
import type { Client } from '../../client/client.ts'
import { isEmbedded } from '../../client/embedded.ts'
import type { Route, RouteUser } from '../../runtime/http/route.ts'
import type { Promoter } from '../../systems/promoter/controller.ts'
import { sleep } from '../../runtime/time/clock.ts'
import type { ClusterHandle, ClusterState } from '../../runtime/clusters/clusters.ts'
import type { BondOptions } from '../../systems/collector/bonds/bond-controller.ts'
import type { Role } from '../config/config.ts'
import { isAllowed } from './access-review.ts'
import { needsDoor, type Core } from './core.ts'

/** Starts one system on the core. The same whether the cluster is our own or somebody else's. */
type StartSystem = (core: Core) => void | Started | Promise<void | Started>

/** What a system has to tell of itself when it runs. */
export interface Started {
  readonly proxyPort?: number
  readonly proxyTlsPort?: number
  readonly checkPort?: number
  /** Whether it can do its work. */
  readonly isReady?: () => boolean
}

/** How each role is started, and loaded only then; `api` and `workloads` belong to the embedded server alone. */
export const systems: Readonly<Partial<Record<Role, StartSystem>>> = {
  async cleaner(core) {
    const { cleaner } = await import('../../apis/cleaner.ts')
    const { conditionalTtl } = await import('../../apis/conditional-ttl.ts')
    const { cleanerController } = await import('../../systems/cleaner/controller.ts')
    for (const { type } of [cleaner, conditionalTtl])
      core.run(cleanerController({ ...core, type, ...core.outside.cleaner }))
  },

  async promoter(core) {
    const { createPromoter } = await import('../../systems/promoter/controller.ts')
    const { config, client, informers, clusters, events, ports } = core
    const { dryRun, eventsAddress } = config
    const promoter = createPromoter({
      client,
      informers,
      clusters,
      events,
      ports,
      dryRun,
      ...(eventsAddress ? { eventsAddress } : {}),
      ...core.outside.promoter,
    })
    core.run(promoter.controller)
    core.routes.add(...promoter.routes.map((route) => promoterRoute(route, client)))
    core.onStop(() => promoter.close())
  },

  async janitor(core) {
    const { createJanitor } = await import('../../systems/janitor/janitor.ts')
    const { applySwabbie } = await import('../../systems/janitor/swabbie/apply-swabbie.ts')
    const { readSwabbie } = await import('../operations/swabbie.ts')
    const { config, client } = core
    const swabbie = config.swabbieConfig === undefined ? undefined : readSwabbie(config.swabbieConfig)
    for (const notice of swabbie?.notices ?? []) core.log.info('swabbie.yml', { notice })
    if (swabbie) await applySwabbie(client, swabbie)
    const janitor = createJanitor({
      ...core,
      cluster: (name) => core.clusters.client(name),
      identity: `${hostname()}-${process.pid}`,
      publicUrl: () => core.publicUrl(),
      dryRun: config.dryRun,
      // What /readyz says: an instance that is not ready to serve does not work either.
      inService: () => core.door.state !== undefined,
      ...core.outside.janitor,
      ...(swabbie?.testing ? { testing: swabbie.testing } : {}),
      ...(swabbie?.lease ? { leaseTimes: swabbie.lease } : {}),
    })
    // The janitor shares its work by Leases of its own, policy by policy.
    for (const controller of janitor.controllers) core.runEverywhere(controller)
    core.routes.add(...janitor.routes)
    core.onStop(() => janitor.close())
  },

  async activator(core) {
    const { startProxy } = await import('./proxy.ts')
    return startProxy(core)
  },

  async collector(core) {
    const { bondController } = await import('../../systems/collector/bonds/bond-controller.ts')
    const { Collector } = await import('../../systems/collector/controller.ts')
    const { dependsOnController } = await import('../../systems/collector/bonds/depends-on-controller.ts')
    const { cascadeRoute } = await import('../../systems/collector/route.ts')
    const isOurs = await isEmbedded(core.client)
    const collector = new Collector({ ...core, ownsReferences: isOurs, collectCycles: core.config.collectCycles })
    core.run(collector)
    core.run(
      bondController({
        ...core,
        ...otherClusters(core),
        guards: !isOurs,
        bondEdges: collector.bondEdges,
        cycleOf: (uid) => collector.cycleOf(uid),
      }),
    )
    core.run(dependsOnController({ ...core, world: collector.world, onlyWhereAsked: !isOurs }))
    core.routes.add(cascadeRoute(collector))
  },
}

/** The clusters that Bonds name, each used for as long as the process runs. */
function otherClusters({ clusters }: Core): Pick<BondOptions, 'clusterClient' | 'whyUnreachable' | 'onClusterChange'> {
  const used = new Map<string, ClusterHandle>()
  const listeners: ((cluster: string) => void)[] = []
  const use = (name: string): ClusterHandle => {
    const handle = clusters.client(name)
    handle.onChange(() => listeners.forEach((listener) => listener(name)))
    used.set(name, handle)
    return handle
  }
  return {
    clusterClient: (name) => {
      const { status, client } = used.get(name) ?? use(name)
      return status.state === 'reachable' ? client : undefined
    },
    whyUnreachable: (name) => whyUnreachable((used.get(name) ?? use(name)).status),
    onClusterChange: (listener) => void listeners.push(listener),
  }
}

/** Says in the condition of a Bond what has to be mended for it. */
function whyUnreachable(status: ClusterState): string {
  switch (status.state) {
    case 'reachable':
      return 'it is being asked'
    case 'connecting':
      return 'it has not answered yet, or its GitopsCluster and the Secret that names may not be read'
    case 'not-found':
      return 'there is no such GitopsCluster (NAMESPACE.NAME)'
    case 'unreachable':
    case 'not-ready':
    case 'no-credentials':
      return status.because
  }
}

/**
 * The promoter's routes want the bytes that were signed. Somebody who has signed in needs no signature, but the right to approve
 * there: without it they are nobody to the route.
 */
function promoterRoute({ method, path, access, handle }: Promoter['routes'][number], client: Client): Route {
  return {
    method,
    path,
    authenticated: access === 'user',
    async handle({ url, headers, body, remoteAddress, user }) {
      const isEntitled = user && (access === 'user' || (await mayApprove(client, user, url)))
      const answer = await handle({
        method,
        path: url,
        headers,
        body: Buffer.from(body, 'utf8'),
        remoteAddress,
        ...(isEntitled ? { user: user.name } : {}),
      })
      return { body: undefined, ...answer }
    },
  }
}

async function mayApprove(client: Client, { name: user, groups }: RouteUser, url: string): Promise<boolean> {
  const [, namespace = ''] = /^\/(?:v1\/namespaces|approval)\/([^/?]+)/.exec(url) ?? []
  const resourceAttributes = {
    group: approval.group,
    resource: approval.plural,
    verb: 'create',
    namespace: decodeURIComponent(namespace),
  }
  return isAllowed(client, { user, groups, resourceAttributes })
}

/** Starts the systems among these roles. */
export async function startSystems(core: Core, roles: readonly Role[]): Promise<Started> {
  if (needsDoor(roles)) await core.door.ready(core.signal)
  const started = await Promise.all(roles.map(async (role) => systems[role]?.(core)))
  return Object.assign({}, ...started) as Started
}

const readyWithinMs = 30_000
const lookMs = 20

/** Resolves when what was started can do its work, or has had enough time for it. */
export async function whenReady({ isReady = () => true }: Started, { clock, log }: Core): Promise<void> {
  const until = clock.monotonic() + readyWithinMs
  while (!isReady() && clock.monotonic() < until) await sleep(clock, lookMs)
  if (!isReady()) log.error('not everything is known yet, going on without', { waitedMs: readyWithinMs })
}
