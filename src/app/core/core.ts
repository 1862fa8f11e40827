import type { Client } from '../../client/client.ts'
import { Door } from '../../departures/door/door.ts'
import { settleController } from '../../departures/records/settle-controller.ts'
import { Alarms } from '../../runtime/controller/alarms.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import type { Clusters } from '../../runtime/clusters/clusters.ts'
import type { Controller, ControllerPorts } from '../../runtime/controller/controller.ts'
import { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { Informers } from '../../runtime/cache/informers.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import { Metrics } from '../../runtime/observability/metrics.ts'
import { createClusters } from './clusters.ts'
import type { CollectorOptions } from '../../systems/collector/controller.ts'
import type { Config } from '../config/config.ts'
import { metricsRoute } from './metrics-route.ts'
import type { Outside } from './outside.ts'
import { RouteTable } from './route-table.ts'

/** What every system is given: one of each for the whole process. */
export interface Core {
  readonly config: Config
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly informers: Informers
  readonly events: EventRecorder
  readonly door: Door
  readonly ports: ControllerPorts
  readonly clusters: Clusters
  /** How the rest of the world is reached. */
  readonly outside: Outside
  /** Whether there may be other processes like this one. */
  readonly replicated: boolean
  /** Where people reach this server. */
  publicUrl(): string
  /** Where systems offer pages and calls of their own. */
  readonly routes: RouteTable
  /** Whether an object with this uid exists, where the server itself can be asked for certain. */
  readonly exists?: (uid: string) => boolean
  /** The server's own inProcessDeleter for the collector, where it is in reach. */
  readonly inProcessDeleter?: NonNullable<CollectorOptions['inProcessDeleter']>
  /** Runs a controller until the process stops; where replicas share the work, on one of them at a time. */
  run(controller: Pick<Controller, 'start'>): void
  /** Runs something on every replica. */
  runEverywhere(controller: Pick<Controller, 'start'>): void
  /** Calls back when the process stops, last one first. */
  onStop(stop: () => void | Promise<void>): void
  readonly signal: AbortSignal
}

export interface CoreOptions {
  readonly config: Config
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Metrics
  readonly routes?: RouteTable
  readonly exists?: (uid: string) => boolean
  readonly inProcessDeleter?: NonNullable<CollectorOptions['inProcessDeleter']>
  /** Where this server listens, once it does. */
  readonly url?: () => string
  /** Resolves when it is this replica's turn to act. Defaults to at once. */
  readonly turn?: (signal: AbortSignal) => Promise<void>
  /** The clock of caches and watches, where it is not everybody's. */
  readonly caches?: Clock
  /** What writes Events. Defaults to a recorder on the client. */
  readonly events?: EventRecorder
  /** How the rest of the world is reached. Defaults to the network. */
  readonly outside?: Outside
}

/** Builds the core; `stop` ends everything that was run on it. */
export function createCore(options: CoreOptions): Core & { stop(): Promise<void> } {
  const {
    config,
    client,
    clock,
    log,
    metrics = new Metrics(),
    routes = new RouteTable(),
    exists,
    outside = {},
  } = options
  const stopping = new AbortController()
  const informers = new Informers({ clock: options.caches ?? clock, log, metrics })
  const events = options.events ?? new EventRecorder('sojourn', { client, clock, log, metrics })
  let door: Door | undefined
  // The wall clock of a machine may be set; that of a forecast is not, and its time is precious.
  const alarms = new Alarms(clock, clock.track ? {} : { longestSleepMs: 30_000 })
  const ports: ControllerPorts = { clock, log, metrics, alarms }
  const clusters = createClusters({ client, informers, clock, log, outside })
  const turn = options.turn ?? (() => Promise.resolve())
  const running: Promise<void>[] = []
  const stops: (() => void | Promise<void>)[] = []

  const core: Core & { stop(): Promise<void> } = {
    config,
    client,
    clock,
    log,
    metrics,
    informers,
    events,
    // Made when it is first asked for: what lets nothing leave may not even read what it needs.
    get door() {
      return (door ??= new Door(
        { client, informers, clock, events, log, metrics },
        { dryRun: config.dryRun, limits: limitsOf(config) },
      ))
    },
    ports,
    clusters,
    outside,
    replicated: options.turn !== undefined,
    publicUrl: () => config.publicUrl ?? options.url?.() ?? `https://${config.host}:${config.port}`,
    routes,
    ...(exists ? { exists } : {}),
    ...(options.inProcessDeleter ? { inProcessDeleter: options.inProcessDeleter } : {}),
    run: (controller) => void running.push(turn(stopping.signal).then(() => controller.start(stopping.signal))),
    runEverywhere: (controller) => void running.push(controller.start(stopping.signal)),
    onStop: (stop) => void stops.push(stop),
    signal: stopping.signal,
    async stop() {
      stopping.abort(new Error('stopping'))
      await Promise.allSettled(running)
      for (const stop of stops.toReversed()) await stop()
      await events.flush().catch(() => {})
      clusters.close()
      door?.close()
      informers.close()
    },
  }
  routes.add(metricsRoute(metrics))
  // What users delete is recorded by the collector, and by the embedded server.
  const isWitness = config.only.includes('collector') || config.only.includes('api')
  const systems = [...config.only, ...(isWitness ? ['user'] : [])]
  if (needsDoor(config.only))
    core.run(settleController({ client, informers, ports, systems, keepMs: config.keepRecordsMs }))
  return core
}

/** Whether anything may leave by these roles: the promoter lets things in, the activator wakes them and puts them to sleep. */
export function needsDoor(only: Config['only']): boolean {
  return only.some((role) => role !== 'promoter' && role !== 'activator')
}

function limitsOf({ maxDeparturesPerMinute, maxDeparturesPerHour, maxDeparturesPercent }: Config) {
  return {
    ...(maxDeparturesPerMinute === undefined ? {} : { maxPerMinute: maxDeparturesPerMinute }),
    ...(maxDeparturesPerHour === undefined ? {} : { maxPerHourOfKind: maxDeparturesPerHour }),
    ...(maxDeparturesPercent === undefined ? {} : { maxPercentOfKind: maxDeparturesPercent }),
  }
}
