import type { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import { apiVersionOf, groupResource, type ResourceType, type StoredObject } from '../../kube/object.ts'
import type { Change, Informer } from '../../runtime/informer.ts'
import type { Informers } from '../../runtime/informers.ts'
import type { Logger } from '../../runtime/log.ts'
import { Graph } from './graph.ts'

/** Told of every change of any object, after the graph has it. `owners` are the nodes of a removed object's owners. */
export type OnChange = (change: Change, node: number, owners: readonly number[]) => void

/** Watches the metadata of every kind that can be deleted and keeps the graph in step; kinds come and go with their definitions. */
export class WorldWatch {
  readonly graph = new Graph()
  readonly #ports: { readonly client: Client; readonly informers: Informers; readonly log: Logger }
  readonly #listeners = new Set<OnChange>()
  /** By `plural.group`. */
  readonly #watched = new Map<string, { readonly informer: Informer; readonly type: DiscoveredType }>()
  /** By `apiVersion Kind`, for every served version of a watched kind. */
  readonly #types = new Map<string, DiscoveredType>()
  readonly #definitions: Informer
  #refreshing: Promise<void> = Promise.resolve()

  constructor(ports: { readonly client: Client; readonly informers: Informers; readonly log: Logger }) {
    this.#ports = ports
    this.#definitions = ports.informers.open(ports.client, definitions, { metadataOnly: true })
    this.#definitions.subscribe(({ initial }) => !initial && this.refresh())
  }

  /** Calls with every change from now on. */
  subscribe(listener: OnChange): void {
    this.#listeners.add(listener)
  }

  /** The kinds that are watched. */
  get types(): IteratorObject<DiscoveredType> {
    return this.#types.values()
  }

  /** Looks again which kinds there are. */
  refresh(): void {
    this.#refreshing = this.#refreshing
      .then(() => this.#refresh())
      .catch((error: unknown) => this.#ports.log.debug('kinds not read', { error: String(error) }))
  }

  /** Resolves when everything there is has been seen, or cannot be. */
  async ready(signal?: AbortSignal): Promise<void> {
    this.refresh()
    await this.#refreshing
    await Promise.all([...this.#watched.values()].map(({ informer }) => firstLook(informer, signal)))
  }

  /** Kinds whose objects cannot be seen at the moment. */
  get unknownKinds(): readonly string[] {
    return [...this.#watched].filter(([, { informer }]) => !informer.synced || informer.trouble).map(([name]) => name)
  }

  /** The type that serves objects of this version and kind, if we watch it. */
  typeOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): DiscoveredType | undefined {
    return this.#types.get(`${apiVersion} ${kind}`)
  }

  /** Whether what is known of this kind is all there is. */
  isComplete(type: ResourceType): boolean {
    const informer = this.#watched.get(groupResource(type))?.informer
    return informer !== undefined && informer.synced && informer.trouble === undefined
  }

  close(): void {
    for (const { informer } of this.#watched.values()) informer.close()
    this.#definitions.close()
  }

  async #refresh(): Promise<void> {
    const { client } = this.#ports
    client.discovery.forget()
    const served = await client.discovery.all()
    const collectable = served.filter(
      ({ verbs, group, plural }) =>
        ['delete', 'list', 'watch'].every((verb) => verbs.includes(verb)) &&
        !(plural === 'events' && ['', 'events.k8s.io'].includes(group)),
    )
    this.#types.clear()
    for (const type of collectable) this.#types.set(`${apiVersionOf(type)} ${type.kind}`, type)
    for (const type of collectable) if (!this.#watched.has(groupResource(type))) this.#watch(type)
    for (const [name, { informer, type }] of this.#watched) {
      if (collectable.some((other) => groupResource(other) === name)) continue
      informer.close()
      this.#watched.delete(name)
      this.#forget(type)
    }
  }

  /** What was of a kind that is gone can no longer be seen: it is as if it had never been looked at. */
  #forget(type: DiscoveredType): void {
    const apiVersion = apiVersionOf(type)
    for (let node = 0; node < this.graph.capacity; node++) {
      const object = this.graph.object(node)
      if (object?.kind === type.kind && object.apiVersion === apiVersion)
        this.#apply({ type: 'deleted', object, previous: object, initial: false })
    }
  }

  #watch(type: DiscoveredType): void {
    const { client, informers } = this.#ports
    const informer = informers.open(client, type, { metadataOnly: true })
    this.#watched.set(groupResource(type), { informer, type })
    const apiVersion = apiVersionOf(type)
    informer.subscribe((change) => this.#apply({ ...change, object: named(change.object, apiVersion, type.kind) }))
  }

  #apply(change: Change): void {
    const { type, object } = change
    if (type === 'deleted') {
      const node = this.graph.find(object.metadata.uid) ?? -1
      return this.#tell(change, node, this.graph.remove(object.metadata.uid))
    }
    this.#tell(change, this.graph.put(object), [])
  }

  #tell(...told: Parameters<OnChange>): void {
    for (const listener of this.#listeners) listener(...told)
  }
}

const definitions: ResourceType = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
}

/** Metadata comes as PartialObjectMetadata; what it is the metadata of is known from where it was asked for. */
function named(object: StoredObject, apiVersion: string, kind: string): StoredObject {
  return object.kind === kind && object.apiVersion === apiVersion ? object : { ...object, apiVersion, kind }
}

function firstLook(informer: Informer, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = informer.onTrouble((trouble) => trouble && resolve())
    informer.whenSynced(signal).then(resolve, resolve).finally(done)
  })
}
