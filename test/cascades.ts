import { configMaps, events } from '../src/kube/core-types.ts'
import { recordedCreators, startWorld, type World, type WorldOptions } from './world.ts'
import { bond, type Bond } from '../src/apis/bond.ts'
import { BondAdmission } from '../src/admission/bond-admission.ts'
import { authorizer } from '../src/admission/bond-authorizer.ts'
import { inProcessDeleter } from '../src/app/core/in-process-deleter.ts'
import { departure, type Departure } from '../src/apis/departure.ts'
import type { Store } from '../src/apiserver/store/store.ts'
import { Client } from '../src/client/client.ts'
import type { ObjectMeta, OwnerReference, StoredObject } from '../src/kube/object.ts'
import type { Transport } from '../src/kube/transport.ts'
import { bondController } from '../src/systems/collector/bonds/bond-controller.ts'
import { Collector } from '../src/systems/collector/controller.ts'
import { dependsOnController } from '../src/systems/collector/bonds/depends-on-controller.ts'

export interface CascadeOptions extends WorldOptions {
  /** Whether the collector deletes in the store of the server, as in `sojourn up`. Defaults to true. */
  readonly isInServer?: boolean
  readonly collectCycles?: boolean
  /** Whether Bonds leave marks for an admission policy, as in a real cluster. Defaults to no. */
  readonly needsLabels?: boolean
  /** Where everything is kept. Defaults to memory. */
  readonly store?: Store
  /** Whether the collector runs from the start. Defaults to yes. */
  readonly isRunning?: boolean
  /** What lies between the collector and the server. Defaults to nothing. */
  readonly through?: (server: Transport) => Transport
}

/** A cluster with the collector at work in it, and short words for what cases do with it. */
export class Cascades implements AsyncDisposable {
  readonly world: World
  readonly #options: CascadeOptions
  collector!: Collector

  constructor(world: World, options: CascadeOptions) {
    this.world = world
    this.#options = options
  }

  static async start(options: CascadeOptions = {}): Promise<Cascades> {
    const admission = new BondAdmission()
    const server = {
      ...options.server,
      admission: [recordedCreators, admission.hook],
      cascades: admission.cascades,
      ...(options.store ? { store: options.store } : {}),
    }
    const world = await startWorld({ ...options, server, bonds: admission })
    await admission.follow(world.informers, world.client, authorizer(world.server))
    const cascades = new Cascades(world, options)
    if (options.isRunning ?? true) await cascades.startCollector()
    return cascades
  }

  async startCollector(): Promise<Collector> {
    const { world } = this
    const { isInServer = true, collectCycles = false, needsLabels = false, through } = this.#options
    const collector = new Collector({
      ...world,
      ...(through ? { client: new Client(through(world.server.transport)) } : {}),
      ownsReferences: true,
      collectCycles,
      exists: (uid) => world.server.store.owners.addressOf(uid) !== undefined,
      ...(isInServer ? { inProcessDeleter: inProcessDeleter(world.server) } : {}),
    })
    world.run(collector as never)
    world.run(
      bondController({
        ...world,
        needsLabels,
        bondEdges: collector.bondEdges,
        cycleOf: (uid) => collector.cycleOf(uid),
      }),
    )
    world.run(dependsOnController({ ...world, world: collector.world }))
    await world.clock.settle()
    this.collector = collector
    return collector
  }

  create(name: string, owners: readonly OwnerReference[] = [], metadata: ObjectMeta = {}): Promise<StoredObject> {
    const given = { name, namespace: 'team', ...metadata, ...(owners.length > 0 ? { ownerReferences: owners } : {}) }
    return this.world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: given })
  }

  /** A Bond by which one ConfigMap needs another. */
  bind(
    dependent: string,
    dependency: string,
    onDelete: 'Cascade' | 'Orphan' | 'Hold' | 'Deny' = 'Cascade',
    given: { readonly namespace?: string; readonly dependencyNamespace?: string; readonly metadata?: ObjectMeta } = {},
  ): Promise<Bond> {
    const end = { apiVersion: 'v1', kind: 'ConfigMap' }
    const { namespace = 'team', dependencyNamespace, metadata } = given
    const place = dependencyNamespace ? { namespace: dependencyNamespace } : {}
    return this.world.create<Bond>({
      apiVersion: bond.apiVersion,
      kind: 'Bond',
      metadata: { name: `${dependent}-${dependency}`, namespace, ...metadata },
      spec: { dependent: { ...end, name: dependent }, dependency: { ...end, ...place, name: dependency }, onDelete },
    })
  }

  bond(name: string, namespace = 'team'): Promise<Bond | undefined> {
    return this.world.get<Bond>({ apiVersion: bond.apiVersion, kind: 'Bond', namespace, name })
  }

  get(name: string, namespace = 'team'): Promise<StoredObject | undefined> {
    return this.world.get<StoredObject>({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name })
  }

  /** Asks for a deletion and lets everything come to rest. */
  async remove(name: string, propagationPolicy: 'Background' | 'Foreground' | 'Orphan' = 'Background'): Promise<void> {
    await this.world.clock.settle()
    await this.world.client.deleteObject(configMaps, { namespace: 'team', name }, { propagationPolicy })
    await this.world.pass(20_000)
  }

  /** Takes all finalizers off an object, as their owner would. */
  async finalize(name: string): Promise<void> {
    const body = { metadata: { finalizers: null } }
    await this.world.client.patch(configMaps, { namespace: 'team', name }, { type: 'merge', body })
    await this.world.pass(20_000)
  }

  async left(namespace = 'team'): Promise<readonly string[]> {
    const { items } = await this.world.client.list(configMaps, { namespace })
    return items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt')
  }

  /** What Events of this reason say. */
  async told(reason: string): Promise<readonly string[]> {
    await this.world.events.flush()
    const { items } = await this.world.client.list<StoredObject & { reason?: string; message?: string; note?: string }>(
      events,
    )
    return items.filter((event) => event.reason === reason).map(({ message, note }) => message ?? note ?? '')
  }

  async records(): Promise<readonly Departure[]> {
    const { items } = await this.world.client.list<Departure>(departure.type, { labelSelector: '!sojourn.dev/page' })
    return items
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.world[Symbol.asyncDispose]()
  }
}

/** A reference to an owner. */
export function ownedBy(owner: StoredObject, given: Partial<OwnerReference> = {}): OwnerReference {
  const { apiVersion, kind, metadata } = owner
  return { apiVersion, kind, name: metadata.name, uid: metadata.uid, ...given }
}
