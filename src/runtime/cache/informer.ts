import type { ResourceType, StoredObject } from '../../kube/object.ts'
import type { IndexFunction } from './object-cache.ts'
import type { WatchError, Selection } from './reflector.ts'
import { unlessAborted } from '../time/clock.ts'
import { isAtLeast } from './resource-version.ts'
import type { SharedCache } from './shared-cache.ts'

/** One difference between what the cache held and what it holds. `initial`: it was there when we came. */
export interface Change<T extends StoredObject = StoredObject> {
  readonly type: 'added' | 'modified' | 'deleted'
  readonly object: T
  /** What the cache held before; absent for 'added'. */
  readonly previous?: T
  readonly initial: boolean
}

/** Drops parts of an object that no user of the shared cache needs. It must keep the metadata. */
export type Trim = (object: StoredObject) => StoredObject

/** Which objects of a type are of interest, and how they are to be found. */
export interface InformerOptions<T extends StoredObject = StoredObject> extends Omit<Selection, 'type'> {
  /** Defaults to keeping everything. Caches with the same function are shared. */
  readonly trim?: Trim
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>
}

/** Where an informer's objects come from, and what ends with it. */
export interface InformerSource {
  readonly type: ResourceType
  readonly cluster: string
  readonly cache: SharedCache
  readonly indexes: Readonly<Record<string, IndexFunction>>
  readonly release: () => void
}

/** One use of a shared cache of one cluster's objects of one type. Reads are synchronous; what they return must not be changed. */
export class Informer<T extends StoredObject = StoredObject> {
  readonly type: ResourceType
  readonly cluster: string
  readonly #source: InformerSource
  /** Typed as the caller of `open` declared; the cache itself does not check. */
  readonly #cache: SharedCache
  /** What ends with this use. */
  readonly #endings = new Set<() => void>()
  #closed = false

  constructor(source: InformerSource) {
    this.type = source.type
    this.cluster = source.cluster
    this.#source = source
    this.#cache = source.cache
    for (const index of Object.values(source.indexes)) this.#cache.objects.addIndex(index)
  }

  /** Whether the first list is in the cache. Never goes back to false. */
  get synced(): boolean {
    return this.#cache.synced
  }

  /** Resolves with the first list, or once it fails. Rejects when the signal aborts before. */
  async whenListed(signal?: AbortSignal): Promise<void> {
    if (this.synced || this.lastError) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const stop = this.onError((error) => error && resolve())
    await Promise.race([this.whenSynced(signal), promise]).finally(stop)
  }

  /** Why list or watch fails now; undefined once they work again. While set, the objects may be stale. */
  get lastError(): WatchError | undefined {
    return this.#cache.lastError
  }

  /** As `lastError`, for one namespace: where only some may be followed, those are current. */
  errorIn(namespace: string): WatchError | undefined {
    return this.#cache.errorIn(namespace)
  }

  /** The only namespaces that this process may follow; undefined when it may follow all. */
  get namespaces(): readonly string[] | undefined {
    return this.#cache.namespaces
  }

  get size(): number {
    return this.#cache.objects.size
  }

  /** True after `close()`: the informer receives no more changes, and its indexes are removed. */
  get closed(): boolean {
    return this.#closed
  }

  whenSynced(signal?: AbortSignal): Promise<void> {
    return signal ? unlessAborted(this.#cache.whenSynced, signal) : this.#cache.whenSynced
  }

  /** The object; `namespace` is '' for cluster-scoped kinds. */
  get(namespace: string, name: string): T | undefined {
    return this.#cache.objects.get(namespace, name) as T | undefined
  }

  /** All objects, or those of one namespace. */
  list(namespace?: string): readonly T[] {
    return this.#cache.objects.all(namespace) as T[]
  }

  /** The objects under this value of a declared index. */
  byIndex(index: string, value: string): readonly T[] {
    const valuesOf = this.#source.indexes[index]
    if (!valuesOf) throw new Error(`no index ${index} was declared for ${this.type.plural}`)
    return [...this.#cache.objects.byIndex(valuesOf, value)] as T[]
  }

  /** Whether the cache has reached this version. */
  hasReached(resourceVersion: string): boolean {
    return isAtLeast(this.#cache.resourceVersion, resourceVersion)
  }

  /** Calls back once, when the cache has reached this version. The result cancels. */
  onReached(resourceVersion: string, callback: () => void): () => void {
    return this.#ending(this.#cache.onReached(resourceVersion, callback))
  }

  /** Calls back synchronously for each object in the cache, then after each change. The result unsubscribes. */
  subscribe(handler: (change: Change<T>) => void): () => void {
    return this.#ending(this.#cache.subscribe(handler as (change: Change) => void))
  }

  /** Calls back when `lastError` changes. The result unsubscribes. */
  onError(handler: (error: WatchError | undefined) => void): () => void {
    return this.#ending(this.#cache.onError(handler))
  }

  /** Ends this informer and its subscriptions. The shared cache ends with its last informer. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const end of this.#endings) end()
    this.#endings.clear()
    for (const index of Object.values(this.#source.indexes)) this.#cache.objects.removeIndex(index)
    this.#source.release()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #ending(end: () => void): () => void {
    this.#endings.add(end)
    return () => {
      this.#endings.delete(end)
      end()
    }
  }
}
