import { allKinds } from '../src/apis/all-kinds.ts'
import { sojournNamespace } from '../src/apis/group.ts'
import { recordAccess } from '../src/app/embedded/record-access.ts'
import { creatorAdmission } from '../src/admission/creator-admission.ts'
import { AccessReviews } from '../src/tenancy/access-reviews.ts'
import { ActAs } from '../src/tenancy/act-as.ts'
import { userDeletionRecords } from '../src/app/embedded/user-deletion-records.ts'
import { startTestServer, type TestServer, type TestServerOptions } from './apiserver/test-server.ts'
import { Client } from '../src/client/client.ts'
import { RecordKeys } from '../src/departures/records/record-keys.ts'
import { Door, type DoorOptions } from '../src/departures/door/door.ts'
import type { KubeObject, ResourceType, StoredObject } from '../src/kube/object.ts'
import { ignoring } from '../src/kube/status-error.ts'
import { systemClock, type Clock } from '../src/runtime/time/clock.ts'
import type { Controller } from '../src/runtime/controller/controller.ts'
import { EventRecorder } from '../src/runtime/observability/event-recorder.ts'
import { Informers } from '../src/runtime/cache/informers.ts'
import type { Http } from '../src/runtime/http/http.ts'
import { silentLogger } from '../src/runtime/observability/log.ts'
import { Metrics } from '../src/runtime/observability/metrics.ts'
import { quietClock } from '../src/runtime/time/quiet-clock.ts'
import { seededRandom } from '../src/runtime/time/random.ts'
import { VirtualClock } from '../src/runtime/time/virtual-clock.ts'
import { localNetwork } from './local-network.ts'

/** A cluster with our kinds in it and the parts every system needs, on a clock that the test moves. */
export interface World<C extends Clock = VirtualClock> extends AsyncDisposable {
  readonly clock: C
  readonly server: TestServer
  readonly client: Client
  readonly informers: Informers
  readonly events: EventRecorder
  readonly metrics: Metrics
  readonly door: Door
  /** Reaches servers that a test has started on this machine. */
  readonly http: Http
  readonly actAs: ActAs
  readonly ports: { readonly clock: C; readonly log: typeof silentLogger; readonly metrics: Metrics }
  /** Runs a controller until the world ends. */
  run(controller: Controller): void
  /** Lets everything come to rest after this much time has passed. */
  pass(ms: number): Promise<void>
  create<T = StoredObject>(manifest: KubeObject): Promise<T>
  get<T = StoredObject>(ref: {
    apiVersion: string
    kind: string
    namespace?: string
    name: string
  }): Promise<T | undefined>
  /** The names of all objects of a type, sorted. */
  names(type: Pick<ResourceType, 'group' | 'version' | 'plural'>): Promise<readonly string[]>
}

export interface WorldOptions {
  readonly startAt?: number
  readonly door?: DoorOptions
  /** Whether records keep the data of Secrets, encrypted. Defaults to false. */
  readonly recordSecrets?: boolean
  readonly server?: Partial<TestServerOptions>
  /** Who knows of Bonds. Defaults to nobody. */
  readonly bonds?: Parameters<typeof userDeletionRecords>[1]
}

/** A world on a clock that the test moves. Namespace `team` is there for tests to fill. */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const clock = new VirtualClock(options.startAt ?? Date.parse('2026-01-05T08:00:00Z'))
  return build(clock, options, { caches: quietClock(clock), settle: () => clock.settle() })
}

/** A world in real time, for real processes and sockets. */
export function startRealWorld(options: WorldOptions = {}): Promise<World<Clock>> {
  return build(systemClock, options, { caches: systemClock, settle: () => systemClock.breathe() })
}

/** How controllers act for others on a server that records creators. */
export function actAsOn(client: Client, clock: Clock): ActAs {
  return new ActAs({ client, reviews: new AccessReviews({ client, clock }), provesCreators: () => true })
}

/** Everyone in a world is its administrator. */
export const recordedCreators = creatorAdmission(
  () => true,
  () => false,
)

async function build<C extends Clock>(
  clock: C,
  options: WorldOptions,
  { caches, settle }: { readonly caches: Clock; readonly settle: () => Promise<void> },
): Promise<World<C>> {
  const server = await startTestServer({
    clock: caches,
    random: seededRandom(1),
    deletionRecords: userDeletionRecords(clock, options.bonds ?? { ...options, isNeeded: () => false }),
    cascadeRecordAccess: recordAccess,
    admission: [recordedCreators],
    ...options.server,
  })
  const client = new Client(server.transport)
  const metrics = new Metrics()
  const ports = { clock, log: silentLogger, metrics }
  const informers = new Informers({ clock: caches, log: silentLogger }, { freeze: true })
  const events = new EventRecorder('sojourn', { client, clock, log: silentLogger })

  async function create<T>(manifest: KubeObject): Promise<T> {
    const type = await client.discovery.typeOf(manifest)
    if (!type) throw new Error(`the server does not serve ${manifest.apiVersion} ${manifest.kind}`)
    return client.create<T>(type, manifest)
  }

  const namespaces = [sojournNamespace, 'team'].map((name) => ({
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name },
  }))
  // A store that was used before has them.
  for (const manifest of [...allKinds.map(({ crd }) => crd), ...namespaces])
    await create(manifest).catch(ignoring('AlreadyExists'))
  const keys = options.recordSecrets ? { keys: () => RecordKeys.read(client) } : {}
  const provesRecords = () => Promise.resolve(true)
  const door = new Door(
    { client, ...keys, informers, clock, events, log: silentLogger, metrics, provesRecords },
    options.door,
  )
  const stop = new AbortController()
  const running: Promise<void>[] = []
  await settle()
  await door.ready()

  const world: World<C> = {
    clock,
    server,
    client,
    informers,
    events,
    metrics,
    door,
    http: localNetwork().http,
    actAs: actAsOn(client, clock),
    ports,
    run: (controller) => void running.push(controller.start(stop.signal)),
    pass: async (ms) => {
      if (!(clock instanceof VirtualClock)) throw new Error('real time passes by itself')
      await clock.run(clock.now() + ms)
    },
    create,
    async get<T>(ref: { apiVersion: string; kind: string; namespace?: string; name: string }) {
      const type = await client.discovery.typeOf(ref)
      if (!type) return undefined
      return client.get<T>(type, ref).catch((error: { reason?: string }) => {
        if (error.reason === 'NotFound') return undefined
        throw error
      })
    },
    async names(type) {
      const found = await client.list({ ...type, kind: '', namespaced: true })
      // What the API server itself keeps in kube-system is not part of any test.
      const ours = found.items.filter(({ metadata }) => metadata.namespace !== 'kube-system')
      return ours.map(({ metadata }) => metadata.name).toSorted()
    },
    async [Symbol.asyncDispose]() {
      stop.abort()
      await settle()
      await Promise.all(running)
      door.close()
      informers.close()
      await server.close()
    },
  }
  return world
}
