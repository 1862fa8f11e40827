import { Serializer } from '../../../runtime/controller/serializer.ts'
import { customResourceDefinitions } from '../../../kube/core-types.ts'
import type { Client } from '../../../client/client.ts'
import type { DiscoveredType } from '../../../client/discovery.ts'
import { apiVersionOf, groupResource, type ResourceType, type StoredObject } from '../../../kube/object.ts'
import { sleep, type Clock } from '../../../runtime/time/clock.ts'
import type { Change, Informer } from '../../../runtime/cache/informer.ts'
import type { Informers } from '../../../runtime/cache/informers.ts'
import type { Logger } from '../../../runtime/observability/log.ts'
import { Graph } from '../graph/graph.ts'

/** A change of an object; one that is only out of sight may well live on. */
export type ClusterChange = Change & { readonly isOutOfSight?: boolean }

/** Told of every change of any object, after the graph has it. `owners` are the nodes of a removed object's owners. */
export type OnChange = (change: ClusterChange, node: number, owners: readonly number[]) => void

export interface ClusterWatchPorts {
  readonly client: Client
  readonly informers: Informers
  readonly clock: Clock
  readonly log: Logger
}

/** Watches the metadata of every kind that can be deleted and keeps the graph in step; kinds come and go with their definitions. */
export class ClusterWatch {
  readonly graph = new Graph()
  readonly #ports: ClusterWatchPorts
  readonly #listeners = new Set<OnChange>()
  /** By `plural.group`. */
  readonly #watched = new Map<string, { readonly informer: Informer; readonly type: DiscoveredType }>()
  /** By `apiVersion Kind`, for every served version of a watched kind. */
  readonly #types = new Map<string, DiscoveredType>()
  readonly #definitions: Informer
  /** Kinds whose definition was deleted, by `plural.group`: nothing of them is left. */
  readonly #ended = new Set<string>()
  readonly #refreshes = new Serializer()
  #refreshing: Promise<void> = Promise.resolve()
  /** Group versions whose kinds could not be read at the last look; undefined while nothing could ever be. */
  #unread: readonly string[] | undefined
  /** Ends the wait for the next look, if one is due. */
  #stopWaiting: (() => void) | undefined
  #isClosed = false

  constructor(ports: ClusterWatchPorts) {
    this.#ports = ports
    this.#definitions = ports.informers.open(ports.client, customResourceDefinitions, { metadataOnly: true })
    this.#definitions.subscribe(({ type, object, initial }) => {
      if (type === 'deleted') this.#ended.add(object.metadata.name)
      else this.#ended.delete(object.metadata.name)
      if (!initial) this.refresh()
    })
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
    this.#refreshing = this.#refreshes.run('', () => this.#refresh()).catch((error: unknown) => this.#lookAgain(error))
  }

  /** Resolves when everything there is has been seen, or cannot be; not before it is known which kinds there are. */
  async ready(signal?: AbortSignal): Promise<void> {
    this.refresh()
    await this.#refreshing
    while (!this.#unread && !signal?.aborted) {
      await sleep(this.#ports.clock, lookAgainMs, signal).catch(() => {})
      await this.#refreshing
    }
    await Promise.all([...this.#watched.values()].map(({ informer }) => firstLook(informer, signal)))
  }

  /** Kinds whose objects cannot be seen at the moment. */
  get unknownKinds(): readonly string[] {
    const silent = [...this.#watched].filter(([, { informer }]) => !informer.synced || informer.trouble)
    return [...silent.map(([name]) => name), ...(this.#unread ?? [])]
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
    this.#isClosed = true
    this.#stopWaiting?.()
    for (const { informer } of this.#watched.values()) informer.close()
    this.#definitions.close()
  }

  async #refresh(): Promise<void> {
    const { client } = this.#ports
    client.discovery.forget()
    const { types: served, unread } = await client.discovery.survey()
    this.#unread = unread
    // What cannot be read now is not gone: it is watched as before.
    const isUnread = (type: ResourceType) => unread.includes(apiVersionOf(type))
    const collectable = served.filter(
      ({ verbs, group, plural }) =>
        ['delete', 'list', 'watch'].every((verb) => verbs.includes(verb)) &&
        !(plural === 'events' && ['', 'events.k8s.io'].includes(group)),
    )
    const unseen = this.#types.values().filter(isUnread).toArray()
    this.#types.clear()
    for (const type of [...collectable, ...unseen]) this.#types.set(`${apiVersionOf(type)} ${type.kind}`, type)
    for (const type of collectable) if (!this.#watched.has(groupResource(type))) this.#watch(type)
    for (const [name, { informer, type }] of this.#watched) {
      if (isUnread(type) || collectable.some((other) => groupResource(other) === name)) continue
      informer.close()
      this.#watched.delete(name)
      this.#forget(type, !this.#ended.delete(name))
    }
    if (unread.length > 0) this.#lookAgain(new Error(`the kinds of ${unread.join(', ')} cannot be read`))
  }

  #lookAgain(error: unknown): void {
    const { clock, log } = this.#ports
    log.debug('kinds not read', { error: String(error) })
    this.#stopWaiting?.()
    if (!this.#isClosed) this.#stopWaiting = clock.after(lookAgainMs, () => this.refresh())
  }

  /** What was of a kind that is not served can no longer be seen: it is as if it had never been looked at. */
  #forget(type: DiscoveredType, isOutOfSight: boolean): void {
    const apiVersion = apiVersionOf(type)
    for (let node = 0; node < this.graph.capacity; node++) {
      const object = this.graph.object(node)
      if (object?.kind === type.kind && object.apiVersion === apiVersion)
        this.#apply({ type: 'deleted', object, previous: object, initial: false, isOutOfSight })
    }
  }

  #watch(type: DiscoveredType): void {
    const { client, informers } = this.#ports
    const informer = informers.open(client, type, { metadataOnly: true })
    this.#watched.set(groupResource(type), { informer, type })
    const apiVersion = apiVersionOf(type)
    informer.subscribe((change) => this.#apply({ ...change, object: named(change.object, apiVersion, type.kind) }))
  }

  #apply(change: ClusterChange): void {
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

/** How soon kinds that could not be read are asked for again. */
const lookAgainMs = 10_000

/** Metadata comes as PartialObjectMetadata; what it is the metadata of is known from where it was asked for. */
function named(object: StoredObject, apiVersion: string, kind: string): StoredObject {
  return object.kind === kind && object.apiVersion === apiVersion ? object : { ...object, apiVersion, kind }
}

function firstLook(informer: Informer, signal?: AbortSignal): Promise<void> {
  if (informer.trouble) return Promise.resolve()
  return new Promise((resolve) => {
    const done = informer.onTrouble((trouble) => trouble && resolve())
    informer.whenSynced(signal).then(resolve, resolve).finally(done)
  })
}
