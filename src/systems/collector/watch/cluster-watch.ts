import type { ProcessParts } from '../../../runtime/process-parts.ts'
import { Serializer } from '../../../runtime/controller/serializer.ts'
import { customResourceDefinitions } from '../../../kube/core-types.ts'
import type { DiscoveredType } from '../../../client/discovery.ts'
import { apiVersionOf, groupResource, type ResourceType, type StoredObject } from '../../../kube/object.ts'
import { sleep } from '../../../runtime/time/clock.ts'
import type { Change, Informer } from '../../../runtime/cache/informer.ts'
import { Graph } from '../graph/graph.ts'

/** A change of an object. `isOutOfSight`: its kind is no longer served, so the object may still exist. */
export type ClusterChange = Change & { readonly isOutOfSight?: boolean }

/** Called with every change, after the graph has it. `owners` are the nodes of a deleted object's owners. */
export type OnChange = (change: ClusterChange, node: number, owners: readonly number[]) => void

export type ClusterWatchPorts = Pick<ProcessParts, 'client' | 'informers' | 'clock' | 'log'>

/** Watches the metadata of every kind that can be deleted and updates the graph. Follows kinds as their definitions are created and deleted. */
export class ClusterWatch {
  readonly graph = new Graph()
  readonly #ports: ClusterWatchPorts
  readonly #listeners = new Set<OnChange>()
  /** By `plural.group`. */
  readonly #watched = new Map<string, { readonly informer: Informer; readonly type: DiscoveredType }>()
  /** By `apiVersion Kind`, for every served version of a watched kind. */
  readonly #types = new Map<string, DiscoveredType>()
  readonly #definitions: Informer
  /** Kinds whose definition was deleted, by `plural.group`: all their objects are deleted, too. */
  readonly #ended = new Set<string>()
  readonly #refreshes = new Serializer()
  #refreshing: Promise<void> = Promise.resolve()
  /** Group versions whose kinds the last discovery could not read; undefined before the first discovery succeeds. */
  #unread: readonly string[] | undefined
  /** Cancels the scheduled retry of discovery. */
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

  /** Calls the listener with every change from now on. */
  subscribe(listener: OnChange): void {
    this.#listeners.add(listener)
  }

  /** The kinds that are watched. */
  get types(): IteratorObject<DiscoveredType> {
    return this.#types.values()
  }

  /** Runs discovery again. */
  refresh(): void {
    this.#refreshing = this.#refreshes.run('', () => this.#refresh()).catch((error: unknown) => this.#lookAgain(error))
  }

  /** Resolves when discovery has succeeded and every kind has synced or failed. */
  async ready(signal?: AbortSignal): Promise<void> {
    this.refresh()
    await this.#refreshing
    while (!this.#unread && !signal?.aborted) {
      await sleep(this.#ports.clock, lookAgainMs, signal).catch(() => {})
      await this.#refreshing
    }
    await Promise.all([...this.#watched.values()].map(({ informer }) => informer.whenListed(signal).catch(() => {})))
  }

  /** Kinds whose objects cannot be read at the moment. */
  get unknownKinds(): readonly string[] {
    const silent = [...this.#watched].filter(([, { informer }]) => !informer.synced || informer.lastError)
    return [...silent.map(([name]) => name), ...(this.#unread ?? [])]
  }

  /** The type of this version and kind, if it is watched. */
  typeOf({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): DiscoveredType | undefined {
    return this.#types.get(`${apiVersion} ${kind}`)
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
    // Kinds of a group version that cannot be read may still be served: keep watching them.
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

  /** Removes the objects of a kind that is no longer served from the graph. */
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

/** How long until a failed discovery is retried. */
const lookAgainMs = 10_000

/** Sets the real kind: a metadata-only watch delivers PartialObjectMetadata. */
function named(object: StoredObject, apiVersion: string, kind: string): StoredObject {
  return object.kind === kind && object.apiVersion === apiVersion ? object : { ...object, apiVersion, kind }
}
