import type { Client } from '../../client/client.ts'
import type { Door } from '../../departures/door/door.ts'
import type { ClusterHandle } from '../../runtime/clusters/clusters.ts'
import type { Controller, ControllerPorts } from '../../runtime/controller/controller.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import type { LeaseTimes } from '../../runtime/sharing/lease.ts'
import type { Route } from '../../runtime/http/route.ts'
import { AwsProvider } from './aws/aws-provider.ts'
import { workController } from './controller.ts'
import { Desk } from './work/desk.ts'
import { janitorMetrics } from './work/janitor-metrics.ts'
import { KubernetesProvider } from './kubernetes/kubernetes-provider.ts'
import { LeaseBook, unshared, type Leases } from './work/lease-book.ts'
import { LedgerBook } from './ledger/ledger-book.ts'
import { linkKey } from './opt-outs/links.ts'
import { openChannel, readSecret } from '../../notices/open-channel.ts'
import { optOutController } from './opt-outs/opt-out-controller.ts'
import { janitorRoutes } from './routes/janitor-routes.ts'
import type { Provider } from './verdict/provider.ts'
import type { TestingOptions } from './routes/testing-routes.ts'
import type { WorkPorts } from './work/work.ts'

export interface JanitorOptions {
  /** The home cluster. */
  readonly client: Client
  readonly informers: Informers
  readonly door: Door
  readonly events: EventRecorder
  readonly ports: ControllerPorts
  /** One use of a cluster by name; '' is home. */
  readonly cluster: (name: string) => ClusterHandle
  /** Who this instance is among all: unlike every other one. */
  readonly identity: string
  /** Where people reach this server, for links in notices. */
  readonly publicUrl: () => string
  /** Writes nothing but policies' own status. Defaults to false. */
  readonly dryRun?: boolean
  /** Whether this instance may work. Defaults to always. */
  readonly inService?: () => boolean
  readonly leaseTimes?: LeaseTimes
  /** Swabbie's testing paths, for these ids. Defaults to none. */
  readonly testing?: TestingOptions
  /** How notices go out. Defaults to mail, Slack, webhooks and Events. */
  readonly openChannel?: typeof openChannel
  /** Nobody else can be at work here, so no Leases are needed. Defaults to false. */
  readonly alone?: boolean
  /** Stands between the janitor and a cloud. Defaults to nothing. */
  readonly aroundCloud?: (cloud: Provider) => Provider
}

export interface Janitor {
  readonly controllers: readonly Controller[]
  /** Pages and calls for the composition root to serve. */
  readonly routes: readonly Route[]
  readonly ports: WorkPorts
  readonly close: () => void
}

/** Puts the janitor together: its caches, providers and controllers. Whoever asks runs the controllers. */
export function createJanitor(options: JanitorOptions): Janitor {
  const { client, informers, door, events, ports: controllerPorts, dryRun = false, inService = () => true } = options
  const { clock, log, metrics } = controllerPorts
  const { aroundCloud = (cloud) => cloud } = options
  const desk = new Desk(client, informers)
  const providers: readonly Provider[] = [
    new KubernetesProvider({ cluster: options.cluster, clock }),
    aroundCloud(
      new AwsProvider({ clock, accounts: () => desk.accounts.list(), secret: (name) => readSecret(client, name) }),
    ),
  ]
  let key: Promise<string> | undefined
  const ports: WorkPorts = {
    client,
    desk,
    door,
    providers,
    ledgers: new LedgerBook(client),
    events,
    metrics: janitorMetrics(metrics),
    clock,
    log,
    publicUrl: options.publicUrl,
    linkKey: () =>
      (key ??= linkKey(client).catch((error: unknown) => {
        key = undefined
        throw error
      })),
    openChannel: options.openChannel ?? openChannel,
  }
  const leases: Leases = options.alone
    ? unshared
    : new LeaseBook({ identity: options.identity, ...options.leaseTimes }, { client, clock, log })
  return {
    controllers: [
      workController({ ports, controllerPorts, leases, dryRun, inService }),
      optOutController(ports, controllerPorts, { dryRun }),
    ],
    routes: janitorRoutes(ports, { dryRun, inService, testing: options.testing }),
    ports,
    close() {
      for (const provider of providers) provider.close()
      desk.close()
    },
  }
}
