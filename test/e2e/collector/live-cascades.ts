import { bond, type Bond } from '../../../src/apis/bond.ts'
import { BondAdmission } from '../../../src/admission/bond-admission.ts'
import { authorizer } from '../../../src/admission/bond-authorizer.ts'
import { inProcessDeleter } from '../../../src/app/core/in-process-deleter.ts'
import { Client, type DeleteOptions } from '../../../src/client/client.ts'
import { networkTransport } from '../../../src/client/network-transport.ts'
import { resourcePath } from '../../../src/client/resource-path.ts'
import {
  groupResource,
  type KubeObject,
  type ObjectMeta,
  type ResourceType,
  type StoredObject,
  placeOf,
} from '../../../src/kube/object.ts'
import { ignoring } from '../../../src/kube/status-error.ts'
import type { ApiRequest, ApiResponse } from '../../../src/kube/transport.ts'
import type { Clock } from '../../../src/runtime/time/clock.ts'
import type { Controller } from '../../../src/runtime/controller/controller.ts'
import { Informers } from '../../../src/runtime/cache/informers.ts'
import type { InProcessDeleter } from '../../../src/systems/collector/owners/dependent-deleter.ts'
import { bondController } from '../../../src/systems/collector/bonds/bond-controller.ts'
import { Collector } from '../../../src/systems/collector/controller.ts'
import { startRealWorld, type World } from '../../world.ts'
import { trusting } from '../../trusting.ts'

export interface LiveOptions {
  /** Whether the collector deletes in the store of the server, as in `sojourn up`; otherwise it only has HTTPS, as in `sojourn run`. */
  readonly isInServer: boolean
  /** Whether a collector runs from the start. Defaults to yes. */
  readonly isRunning?: boolean
}

/** Both places a collector can run in. */
export const lanes: readonly (readonly [string, LiveOptions])[] = [
  ['in the server', { isInServer: true }],
  ['over HTTPS', { isInServer: false }],
]

/** What a manifest may leave out: most of it. */
export type Draft = Partial<Omit<KubeObject, 'metadata'>> & { readonly metadata?: ObjectMeta }

/** The embedded server behind real HTTPS in real time, a collector at work in it, and a namespace per case. */
export class LiveCascades implements AsyncDisposable {
  readonly world: World<Clock>
  /** The user's. */
  readonly client: Client
  readonly #options: LiveOptions
  readonly #network: Network
  /** Kinds of which collectors hear nothing for now, by plural; each resolves when they may. */
  readonly #hushed = new Map<string, Promise<void>>()
  readonly #collectors = new Set<Running>()
  /** Where things are made that name no namespace. */
  namespace = 'team'
  /** What happens just before a request of a collector goes out; may take its time, and may fail in its place. */
  meddle: (request: ApiRequest) => Promise<void> | void = () => {}
  /** What collectors asked for in this case, as `METHOD name`, lists and watches left out. */
  readonly requests: string[] = []
  #cases = 0

  private constructor(world: World<Clock>, network: Network, options: LiveOptions) {
    this.world = world
    this.#network = network
    this.client = new Client(network.transport)
    this.#options = options
  }

  static async start(options: LiveOptions): Promise<LiveCascades> {
    const admission = new BondAdmission()
    const world = await startRealWorld({
      server: {
        admission: [admission.hook],
        cascades: admission.cascades,
      },
    })
    await admission.follow(world.informers, world.client, authorizer(world.server))
    const { url } = await world.server.listen({ port: 0 })
    const { authority, tokens } = world.server.credentials
    const network = networkTransport({
      server: url,
      ca: authority,
      namespace: 'team',
      credentials: () => Promise.resolve({ token: tokens.tokenOf('system:admin') ?? '' }),
    })
    const live = new LiveCascades(world, network, options)
    if (options.isRunning ?? true) await live.collect()
    return live
  }

  /** Starts a collector. */
  async collect(): Promise<Running> {
    const { world } = this
    const { clock, door, events, ports } = world
    const informers = new Informers({ clock, log: ports.log })
    const common = { client: new Client((request) => this.#send(request)), informers, door, events, ports }
    const collector = new Collector({
      ...common,
      ownsReferences: true,
      ...(this.#options.isInServer
        ? {
            exists: (uid: string) => world.server.store.owners.addressOf(uid) !== undefined,
            inProcessDeleter: this.#inProcessDeleter(),
          }
        : {}),
    })
    const bonds = bondController({
      actAs: trusting(this.client),
      ...common,
      bondEdges: collector.bondEdges,
      cycleOf: (uid) => collector.cycleOf(uid),
    })
    const stop = new AbortController()
    const ends = [collector.start(stop.signal), bonds.start(stop.signal)]
    const running: Running = {
      collector,
      controllers: [collector.controller, bonds],
      bonds: informers.open<Bond>(common.client, bond.type),
      stop: async () => {
        this.#collectors.delete(running)
        stop.abort()
        await Promise.all(ends)
        informers.close()
      },
    }
    this.#collectors.add(running)
    await collector.world.ready()
    return running
  }

  /** A collector's way to the server. */
  async #send(request: ApiRequest): Promise<ApiResponse> {
    const { namespace, name } =
      /\/namespaces\/(?<namespace>[^/]+)\/[^/]+\/(?<name>[^/]+)/.exec(request.path)?.groups ?? {}
    if (namespace === this.namespace && name) this.requests.push(`${request.method} ${name}`)
    await this.meddle(request)
    const answer = await this.#network.transport(request)
    const { stream } = answer
    return stream ? { ...answer, stream: this.#heard(stream, request.path.split('/').at(-1) ?? '') } : answer
  }

  /** Keeps what happens to a kind from collectors, until the result is called. */
  hush(plural: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#hushed.set(plural, promise)
    return () => {
      this.#hushed.delete(plural)
      resolve()
    }
  }

  async *#heard(stream: AsyncIterable<unknown>, plural: string): AsyncGenerator<unknown, void, undefined> {
    for await (const event of stream) {
      await this.#hushed.get(plural)
      yield event
    }
  }

  #inProcessDeleter(): InProcessDeleter {
    const deleter = inProcessDeleter(this.world.server)
    return {
      read: (type, object) => deleter.read(type, object),
      remove: async (type, object, options) => {
        await this.meddle({ method: 'DELETE', path: resourcePath(type, placeOf(object.metadata)) })
        return deleter.remove(type, object, options)
      },
      endForeground: async (type, object, settled) => {
        await this.meddle({ method: 'PATCH', path: resourcePath(type, placeOf(object.metadata)) })
        return deleter.endForeground(type, object, settled)
      },
    }
  }

  /** The collectors at work. */
  get running(): readonly Running[] {
    return [...this.#collectors]
  }

  /** The only one, if there is one. */
  get collector(): Collector {
    const [running] = this.#collectors
    if (!running) throw new Error('no collector is running')
    return running.collector
  }

  /** Begins a case in a namespace of its own. */
  async begin(): Promise<string> {
    this.namespace = `case-${++this.#cases}`
    this.meddle = () => {}
    this.requests.length = 0
    await this.make('v1', 'Namespace', this.namespace)
    return this.namespace
  }

  /** Makes something, in the namespace of the case where its kind has namespaces. */
  async make(apiVersion: string, kind: string, name: string, draft: Draft = {}): Promise<StoredObject> {
    const type = await this.type(apiVersion, kind)
    const place = type.namespaced ? { namespace: this.namespace } : {}
    return this.client.create(type, { ...draft, apiVersion, kind, metadata: { name, ...place, ...draft.metadata } })
  }

  configMap(name: string, metadata: ObjectMeta = {}): Promise<StoredObject> {
    return this.make('v1', 'ConfigMap', name, { metadata })
  }

  /** A Bond by which one object of the case needs another, both ConfigMaps. */
  bind(dependent: string, dependency: string, onDelete: Bond['spec']['onDelete'] = 'Cascade'): Promise<StoredObject> {
    const end = { apiVersion: 'v1', kind: 'ConfigMap' }
    const spec = { dependent: { ...end, name: dependent }, dependency: { ...end, name: dependency }, onDelete }
    return this.make(bond.apiVersion, bond.kind, `${dependent}-${dependency}`, { spec })
  }

  async type(apiVersion: string, kind: string): Promise<ResourceType> {
    const type = await this.client.discovery.typeOf({ apiVersion, kind })
    if (!type) throw new Error(`the server does not serve ${apiVersion} ${kind}`)
    return type
  }

  /** As it is now; undefined when it is gone. */
  async now({ apiVersion, kind, metadata }: StoredObject): Promise<StoredObject | undefined> {
    return this.client
      .get<StoredObject>(await this.type(apiVersion, kind), placeOf(metadata))
      .catch(ignoring('NotFound'))
  }

  /** Changes metadata as a user does. */
  async change({ apiVersion, kind, metadata }: StoredObject, change: Record<string, unknown>): Promise<StoredObject> {
    const type = await this.type(apiVersion, kind)
    return this.client.patch(type, placeOf(metadata), { type: 'merge', body: { metadata: change } })
  }

  /** Asks for a deletion, without waiting for what follows. */
  async ask({ apiVersion, kind, metadata }: StoredObject, options: DeleteOptions = {}): Promise<KubeObject> {
    return this.client.deleteObject(await this.type(apiVersion, kind), placeOf(metadata), options)
  }

  /** Asks for a deletion and waits until the collectors have done what they will do. */
  async remove(object: StoredObject, propagationPolicy?: DeleteOptions['propagationPolicy']): Promise<void> {
    await this.ask(object, propagationPolicy ? { propagationPolicy } : {})
    await this.rest()
  }

  /** The names of what is left of a kind in the namespace of the case. */
  async left(apiVersion = 'v1', kind = 'ConfigMap'): Promise<readonly string[]> {
    const type = await this.type(apiVersion, kind)
    const { items } = await this.client.list(type, type.namespaced ? { namespace: this.namespace } : {})
    return items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt')
  }

  /** Waits until every collector knows all there is and has nothing to do. What it put off to a later time does not count. */
  async rest(): Promise<void> {
    for (let calm = 0; calm < 3;) {
      await new Promise((resolve) => setTimeout(resolve, 2))
      calm = [...this.#collectors].every((running) => this.#isAtRest(running)) ? calm + 1 : 0
    }
  }

  #isAtRest({ collector, controllers, bonds }: Running): boolean {
    if (!controllers.every(({ idle }) => idle)) return false
    const { store } = this.world.server
    const { graph, types } = collector.world
    const resources = new Set([...types].map((type) => groupResource(type)))
    const stored = [...resources].flatMap((resource) => store.scan({ resource, limit: 1_000_000 }))
    const isSeen = (uid: string, revision: number) =>
      Number(graph.object(graph.find(uid) ?? -1)?.metadata.resourceVersion) === revision
    return (
      store.decidedRevision === store.revision &&
      stored.length === graph.size &&
      stored.every(({ uid, document }) => isSeen(uid, document.revision)) &&
      bonds.list().every(({ metadata }) => isSeen(metadata.uid, Number(metadata.resourceVersion)))
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const running of this.#collectors) await running.stop()
    this.#network.close()
    await this.world[Symbol.asyncDispose]()
  }
}

type Network = ReturnType<typeof networkTransport>

/** A collector at work. */
export interface Running {
  readonly collector: Collector
  readonly controllers: readonly Controller[]
  readonly bonds: { list(): readonly Bond[] }
  stop(): Promise<void>
}
