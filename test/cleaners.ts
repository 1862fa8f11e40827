import { configMaps, events } from '../src/kube/core-types.ts'
import { gzipSync } from 'node:zlib'
import { stringify } from 'yaml'
import { actAsOn, type World } from './world.ts'
import type { Cleaner } from '../src/apis/cleaner.ts'
import { cleanerKinds } from '../src/apis/cleaner-kinds.ts'
import { Client } from '../src/client/client.ts'
import type { Transact } from '../src/departures/door/depart-together.ts'
import { Door } from '../src/departures/door/door.ts'
import type { KubeObject, ObjectMeta, StoredObject } from '../src/kube/object.ts'
import type { ApiRequest, Transport } from '../src/kube/transport.ts'
import type { Clock } from '../src/runtime/time/clock.ts'
import { EventRecorder } from '../src/runtime/observability/event-recorder.ts'
import { Informers } from '../src/runtime/cache/informers.ts'
import { silentLogger } from '../src/runtime/observability/log.ts'
import { Metrics } from '../src/runtime/observability/metrics.ts'
import { quietClock } from '../src/runtime/time/quiet-clock.ts'
import type { CleanerPorts, Notices } from '../src/systems/cleaner/ports.ts'
import { cleanerController } from '../src/systems/cleaner/controller.ts'
import { sendEvent, outboxController } from '../src/systems/cleaner/outbox.ts'

export const minute = 60_000
export const hour = 60 * minute

/** A ConfigMap, in namespace team unless it says otherwise. */
export function configMap(name: string, metadata: ObjectMeta = {}, data: Record<string, string> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team', ...metadata }, data }
}

/** The ConfigMap of that name as a target that is evaluated and deleted. */
export function target(name: string, given: object = {}) {
  return {
    name,
    reference: { version: 'v1', kind: 'configmap', name },
    delete: true,
    includeWhenEvaluating: true,
    ...given,
  }
}

/** ConfigMaps by label as a target that is evaluated and deleted. */
export function selected(name: string, matchLabels: Record<string, string>, given: object = {}) {
  return target(name, { reference: { version: 'v1', kind: 'configmap', matchLabels }, ...given })
}

export function cleanerOf(spec: object, metadata: ObjectMeta = {}): KubeObject {
  return {
    apiVersion: 'cleaner.vtex.dev/v1alpha',
    kind: 'Cleaner',
    metadata: { name: 'c', namespace: 'team', ...metadata },
    spec,
  }
}

/** Where `cleanerOf` puts its Cleaner. */
export const self = { apiVersion: 'cleaner.vtex.dev/v1alpha', kind: 'Cleaner', namespace: 'team', name: 'c' }

/** The users' ConfigMaps that are left in a namespace. */
export async function left(world: World, namespace = 'team'): Promise<readonly string[]> {
  const { items } = await world.client.list(configMaps, { namespace })
  return items
    .map(({ metadata }) => metadata.name)
    .filter((name) => name !== 'kube-root-ca.crt')
    .toSorted()
}

/** What the Ready condition says. */
export async function readyOf(world: World, ref = self) {
  const found = await world.get<Cleaner>(ref)
  return found?.status?.conditions?.find(({ type }) => type === 'Ready')
}

/** The reasons of all Events about a Cleaner, in order. */
export async function eventsOf(world: World, namespace = 'team'): Promise<readonly string[]> {
  await world.events.flush()
  const { items } = await world.client.list<StoredObject & { reason: string; involvedObject: { kind: string } }>(
    events,
    {
      namespace,
    },
  )
  return items.filter(({ involvedObject }) => involvedObject.kind === 'Cleaner').map(({ reason }) => reason)
}

/** What Helm's driver would store for one revision. */
export function releaseHolder(
  given: {
    readonly name?: string
    readonly objects?: readonly KubeObject[]
    readonly hooks?: readonly { readonly events: readonly string[]; readonly object: KubeObject }[]
    readonly revision?: number
    readonly status?: string
  },
  metadata: ObjectMeta = {},
): KubeObject {
  const { name = 'app', objects = [], hooks = [], revision = 1, status = 'deployed' } = given
  const namespace = metadata.namespace ?? 'team'
  const record = {
    name,
    namespace,
    version: revision,
    info: { status },
    manifest: objects.map((object) => `---\n${stringify(object)}`).join(''),
    hooks: hooks.map(({ events, object }) => ({
      name: object.metadata.name,
      kind: object.kind,
      events,
      manifest: stringify(object),
    })),
  }
  const text = gzipSync(JSON.stringify(record)).toString('base64')
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'helm.sh/release.v1',
    metadata: {
      name: `sh.helm.release.v1.${name}.v${revision}`,
      labels: { owner: 'helm', name, version: String(revision), status },
      ...metadata,
      namespace,
    },
    data: { release: btoa(text) },
  }
}

/** A cleaner in a process of its own, whose requests go another way. */
export interface CleanerProcess {
  /** Ends it, as if it were killed: nothing it has not written is kept. */
  kill(): Promise<void>
}

export async function startCleaner(
  world: World,
  {
    through = (transport) => transport,
    send,
    transact,
    notices,
  }: {
    through?: (transport: Transport) => Transport
    send?: NonNullable<CleanerPorts['send']>
    /** Whether it deletes in the store of the server, as in `sojourn up`. Defaults to over the API. */
    transact?: Transact
    /** How it tells people before a deletion. Defaults to not at all. */
    notices?: Notices
  } = {},
): Promise<CleanerProcess> {
  const client = new Client(through(world.server.transport))
  const clock: Clock = world.clock
  const log = silentLogger
  const metrics = new Metrics()
  const informers = new Informers({ clock: quietClock(clock), log })
  const events = new EventRecorder('sojourn', { client, clock, log })
  const door = new Door(
    {
      client,
      keys: world.door.keys,
      informers,
      clock,
      events,
      log,
      metrics,
      provesRecords: () => Promise.resolve(true),
    },
    { limits: { maxPercentOfKind: 100 } },
  )
  const stop = new AbortController()
  await world.clock.settle()
  await door.ready()
  const outbox = outboxController({
    client,
    informers,
    events,
    ports: { clock, log, metrics },
    send: send ?? ((sink, event) => sendEvent(world.http, sink, event)),
  })
  const running = cleanerKinds.map(({ type }) =>
    cleanerController({
      client,
      informers,
      door,
      events,
      actAs: actAsOn(client, clock),
      ports: { clock, log, metrics },
      type,
      http: world.http,
      ...(send ? { send } : {}),
      ...(notices ? { notices } : {}),
      transact,
    }).start(stop.signal),
  )
  running.push(outbox.start(stop.signal))
  return {
    async kill() {
      stop.abort()
      await world.clock.settle()
      await Promise.all(running)
      door.close()
      informers.close()
    },
  }
}

/** What starts a cleaner whose requests are seen, before they are sent on. */
export function seeing(seen: (request: ApiRequest) => void | Promise<void>): Parameters<typeof startCleaner>[1] {
  return {
    through: (transport) => async (request) => {
      await seen(request)
      return transport(request)
    },
  }
}

/** Whether a request changes something that counts; Events are news, not state, and reviews are questions. */
export function isWrite({ method, path }: ApiRequest): boolean {
  return method !== 'GET' && !path.includes('/events') && !path.endsWith('/subjectaccessreviews')
}
