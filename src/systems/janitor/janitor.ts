import type { Client } from '../../client/client.ts'
import { namespaces } from '../../kube/core-types.ts'
import type { SystemPorts } from '../../departures/door/door.ts'
import type { ClusterHandle } from '../../runtime/clusters/clusters.ts'
import type { Controller } from '../../runtime/controller/controller.ts'
import type { LeaseTimes } from '../../runtime/sharing/lease.ts'
import type { Network } from '../../runtime/http/http.ts'
import type { Route } from '../../runtime/http/route.ts'
import { defaultPrices, type Prices } from '../../prices/prices.ts'
import { AwsProvider } from './aws/aws-provider.ts'
import { workController } from './controller.ts'
import { JanitorCaches } from './work/janitor-caches.ts'
import { janitorMetrics } from './work/janitor-metrics.ts'
import { KubernetesProvider } from './kubernetes/kubernetes-provider.ts'
import { settingsController } from './work/settings-controller.ts'
import { noLeases, PolicyLeases, type Leases } from './work/policy-leases.ts'
import { LedgerCache } from './ledger/ledger-cache.ts'
import { linkKey } from './opt-outs/links.ts'
import { limitedChannel, noticeLimits, openChannel, readSecret } from '../../notices/open-channel.ts'
import { optOutController } from './opt-outs/opt-out-controller.ts'
import { janitorRoutes } from './routes/janitor-routes.ts'
import type { Provider } from './verdict/provider.ts'
import type { TestingOptions } from './routes/testing-routes.ts'
import type { WorkPorts } from './work/work.ts'

export interface JanitorOptions extends SystemPorts {
  /** Opens a use of a cluster by name; '' is the home cluster. */
  readonly cluster: (name: string) => ClusterHandle
  /** Reaches the mail servers, webhooks and registries that administrators name. */
  readonly network: Pick<Network, 'http' | 'connect' | 'agents'>
  /** Names this instance; differs from every other instance's. */
  readonly identity: string
  /** The base URL under which users reach this server, for links in notices. Undefined: notices carry none. */
  readonly publicUrl: () => string | undefined
  /** The name of the home cluster in notices. Defaults to the beginning of kube-system's uid. */
  readonly clusterName?: string | undefined
  /** What cloud resources cost. Defaults to list prices. */
  readonly prices?: Prices
  /** Writes nothing but policies' own status. Defaults to false. */
  readonly dryRun?: boolean
  /** Whether this instance may work. Defaults to always. */
  readonly inService?: () => boolean
  readonly leaseTimes?: LeaseTimes
  /** Serves Swabbie's testing paths for these ids. Defaults to none. */
  readonly testing?: TestingOptions
  /** Opens a NotificationChannel. Defaults to mail, Slack, webhooks and Events. */
  readonly openChannel?: typeof openChannel
  /** No other instance can work on these policies, so no Leases are needed. Defaults to false. */
  readonly withoutLeases?: boolean
  /** Wraps the provider of cloud resources. Defaults to no wrapper. */
  readonly wrapCloud?: (cloud: Provider) => Provider
}

export interface Janitor {
  readonly controllers: readonly Controller[]
  /** HTTP routes for the composition root to serve. */
  readonly routes: readonly Route[]
  readonly ports: WorkPorts
  readonly close: () => void
}

/** Creates the janitor's caches, providers and controllers. The caller runs the controllers and serves the routes. */
export function createJanitor(options: JanitorOptions): Janitor {
  const { client, informers, door, events, ports: controllerPorts, dryRun = false, inService = () => true } = options
  const { clock, log, metrics } = controllerPorts
  const { network, wrapCloud = (cloud) => cloud } = options
  const caches = new JanitorCaches(client, informers)
  const kubernetes = new KubernetesProvider({ cluster: options.cluster, clock })
  const providers: readonly Provider[] = [
    kubernetes,
    wrapCloud(
      new AwsProvider({
        clock,
        network,
        accounts: () => caches.accounts.list(),
        secret: (name) => readSecret(client, name),
        clusters: (signal) => kubernetes.cloudUse(caches.policies.list(), signal),
        prices: options.prices ?? defaultPrices,
      }),
    ),
  ]
  const limits = noticeLimits({ client, clock })
  let key: Promise<string> | undefined
  let name: string | undefined
  const ports: WorkPorts = {
    client,
    caches,
    door,
    providers,
    ledgers: new LedgerCache(client),
    events,
    metrics: janitorMetrics(metrics),
    clock,
    log,
    publicUrl: options.publicUrl,
    clusterName: async () => (name ??= options.clusterName ?? (await clusterNameOf(client))) ?? 'this cluster',
    linkKey: () =>
      (key ??= linkKey(client).catch((error: unknown) => {
        key = undefined
        throw error
      })),
    openChannel: (channel) =>
      limitedChannel((options.openChannel ?? openChannel)(channel, { client, clock, network }), limits),
  }
  const leases: Leases = options.withoutLeases
    ? noLeases
    : new PolicyLeases({ identity: options.identity, ...options.leaseTimes }, { client, clock, log })
  return {
    controllers: [
      workController({ ports, controllerPorts, leases, dryRun, inService }),
      optOutController(ports, controllerPorts, { dryRun }),
      settingsController(ports, controllerPorts, { dryRun }),
    ],
    routes: janitorRoutes(ports, { dryRun, inService, testing: options.testing }),
    ports,
    close() {
      for (const provider of providers) provider.close()
      caches.close()
    },
  }
}

/** A cluster without a name is known by the namespace that every cluster has, and that is never created again. */
async function clusterNameOf(client: Client): Promise<string | undefined> {
  const found = await client.get(namespaces, { name: 'kube-system' }).catch(() => undefined)
  return found?.metadata.uid.slice(0, 8)
}
