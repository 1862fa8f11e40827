import type { ProcessParts } from '../../runtime/process-parts.ts'
import type { Client } from '../../client/client.ts'
import type { Transact } from '../../departures/door/depart-together.ts'
import { Door } from '../../departures/door/door.ts'
import { RecordKeys, type KeySource } from '../../departures/records/record-keys.ts'
import { settleController } from '../../departures/records/settle-controller.ts'
import { Alarms } from '../../runtime/controller/alarms.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import type { Clusters } from '../../runtime/clusters/clusters.ts'
import type { ControllerPorts } from '../../runtime/controller/controller.ts'
import { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { Informers } from '../../runtime/cache/informers.ts'
import { WatchScopes } from '../../runtime/cache/watch-scopes.ts'
import { processMetrics } from '../../runtime/observability/process-metrics.ts'
import { ownVersion } from '../config/version.ts'
import { Metrics } from '../../runtime/observability/metrics.ts'
import { createClusters } from './clusters.ts'
import type { CollectorOptions } from '../../systems/collector/controller.ts'
import { AccessReviews } from '../../tenancy/access-reviews.ts'
import { ActAs, type ActsFor } from '../../tenancy/act-as.ts'
import type { Config, Role } from '../config/config.ts'
import { creatorPolicy, recordPolicy, recordProof } from '../../tenancy/creator-proof.ts'
import { ledRoles, type Leads } from './leadership.ts'
import { Lifecycle } from './lifecycle.ts'
import type { Route } from '../../runtime/http/route.ts'
import { createNetworks, type Networks } from './networks.ts'
import type { ExternalPorts } from '../../forecast/recorded-ports.ts'
import { RouteTable } from './route-table.ts'

/** One running Sojourn: what its systems share. Each system is given only the fields it needs. */
export interface Instance extends Omit<ProcessParts, 'random'> {
  readonly config: Config
  /** Built on first use: a role that deletes nothing may lack the rights to read what the Door follows. */
  readonly door: Door
  readonly ports: ControllerPorts
  readonly clusters: Clusters
  /** How controllers act for objects that tenants wrote. */
  readonly actAs: ActsFor
  readonly networks: Networks
  readonly external: ExternalPorts
  /** Direct access to the embedded server's store; undefined on a real cluster. */
  readonly embedded: EmbeddedAccess | undefined
  /** HTTP routes of the systems, beside the Kubernetes API. */
  readonly routes: RouteTable
  readonly lifecycle: Lifecycle
  /** The URL of this server in links to people; undefined where none is known by which they reach it. */
  publicUrl(): string | undefined
}

export type EmbeddedAccess = Pick<CollectorOptions, 'exists' | 'inProcessDeleter'> & { readonly transact?: Transact }

export interface InstanceOptions extends Pick<Instance, 'config' | 'client' | 'clock' | 'log'> {
  readonly routes?: RouteTable
  readonly embedded?: EmbeddedAccess
  /** Defaults to reviews by the cluster: a forecast takes the creators' rights for granted. */
  readonly actAs?: ActsFor
  /** Where people reach this server, once it listens. Defaults to nowhere: only the administrator knows. */
  readonly url?: () => string | undefined
  /** Which roles this replica leads. Defaults to all: there is only one. */
  readonly leadership?: Leads
  /** Whether to ask first what may be watched. Defaults to false: an embedded server's own systems may watch everything. */
  readonly asksForRights?: boolean
  /** The clock of caches and watches. Defaults to `clock`; a forecast must not wait for them. */
  readonly cacheClock?: Clock
  /** Defaults to a recorder on the client. */
  readonly events?: EventRecorder
  /** Replaces the network. Defaults to the real one. */
  readonly external?: ExternalPorts
}

/** Builds an instance; `lifecycle.stop()` ends everything that was run on it. */
export function createInstance(options: InstanceOptions): Instance {
  const { config, client, clock, log, embedded, routes = new RouteTable(), external = {} } = options
  const metrics = new Metrics()
  const lifecycle = new Lifecycle(options.leadership)
  const scopes = options.asksForRights ? { scopes: new WatchScopes({ clock, log, metrics }, config.namespaces) } : {}
  const informers = new Informers({ clock: options.cacheClock ?? clock, log, metrics }, scopes)
  const events = options.events ?? new EventRecorder('sojourn', { client, clock, log, metrics })
  const networks = createNetworks(config.allowOutgoing ?? [])
  const clusters = createClusters({ home: client, informers, clock, log }, external, networks.kubeconfigs)
  let door: Door | undefined
  const provesRecords = recordProof(recordPolicy, { client, clock })
  const openDoor = () =>
    new Door(
      { client, keys: keySource(config, client), informers, clock, events, log, metrics, provesRecords },
      { dryRun: config.dryRun, limits: departureLimits(config) },
    )
  const instance: Instance = {
    config,
    client,
    clock,
    log,
    metrics,
    informers,
    events,
    get door() {
      return (door ??= openDoor())
    },
    ports: { clock, log, metrics, alarms: createAlarms(clock) },
    actAs:
      options.actAs ??
      new ActAs(
        {
          client,
          reviews: new AccessReviews({ client, clock }),
          provesCreators: recordProof(creatorPolicy, { client, clock }),
          asksForOwnRights: options.asksForRights ?? false,
        },
        config.tenancy,
      ),
    clusters,
    networks,
    external,
    embedded,
    routes,
    lifecycle,
    publicUrl: () => config.publicUrl ?? options.url?.(),
  }
  lifecycle.onStop(() => informers.close())
  lifecycle.onStop(() => door?.close())
  lifecycle.onStop(() => clusters.close())
  lifecycle.onStop(() => networks.close())
  lifecycle.onStop(() => events.flush().catch(() => {}))
  routes.add(metricsRoute(metrics))
  const led = ledRoles.filter((role) => config.only.includes(role))
  const leaders = () => new Map(led.map((role) => [role, lifecycle.leads(role)]))
  processMetrics(metrics, { clock, version: ownVersion(), process, leaders })
  const [deleting] = config.only.filter((role) => canDelete([role]))
  if (deleting) lifecycle.run(deleting, settler(instance, deleting))
  return instance
}

/** `GET /metrics` for Prometheus; needs the right to `get` that path. */
function metricsRoute(metrics: Metrics): Route {
  return {
    method: 'GET',
    path: '/metrics',
    handle: () =>
      Promise.resolve({
        status: 200,
        headers: { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' },
        body: metrics.render(),
      }),
  }
}

/** The keys that encrypt the data of Secrets in records, if records keep it. */
export function keySource({ recordSecrets }: Pick<Config, 'recordSecrets'>, client: Client): KeySource {
  return recordSecrets ? () => RecordKeys.read(client) : undefined
}

/** Whether one of these roles deletes users' objects: the promoter and the activator do not. */
export function canDelete(only: Config['only']): boolean {
  return only.some((role) => role !== 'promoter' && role !== 'activator')
}

/** The ports of controllers that only the leader of a role runs: they stop while its Lease cannot be renewed. */
export function leaderPorts({ ports, lifecycle }: Instance, role: Role): ControllerPorts {
  return { ...ports, mayAct: () => lifecycle.leads(role) }
}

/** Completes departure records: those of the roles that run here, and of users' deletions where these are recorded. */
function settler(instance: Instance, role: Role) {
  const { client, informers, config } = instance
  const ports = leaderPorts(instance, role)
  const recordsUsers = config.only.includes('collector') || config.only.includes('api')
  const systems = [...config.only, ...(recordsUsers ? ['user'] : [])]
  return settleController({ client, informers, ports, systems, keepMs: config.keepRecordsMs })
}

/** A machine's wall clock may be set while an alarm sleeps, so no sleep is long; a virtual clock only advances. */
function createAlarms(clock: Clock): Alarms {
  return new Alarms(clock, clock.track ? {} : { maxSleepMs: 30_000 })
}

function departureLimits(config: Config) {
  const { maxDeparturesPerMinute, maxDeparturesPerHour, maxDeparturesPercent, namespaceShare } = config
  return {
    ...(namespaceShare === undefined ? {} : { namespaceShare }),
    ...(maxDeparturesPerMinute === undefined ? {} : { maxPerMinute: maxDeparturesPerMinute }),
    ...(maxDeparturesPerHour === undefined ? {} : { maxPerHourOfKind: maxDeparturesPerHour }),
    ...(maxDeparturesPercent === undefined ? {} : { maxPercentOfKind: maxDeparturesPercent }),
  }
}
