import type { TransportError } from '../client/transport-error.ts'
import type { ResourceType, StoredObject } from '../kube/object.ts'
import type { StatusError } from '../kube/status-error.ts'

/** One difference between what the cache held and what it holds. `initial`: it was there when we came. */
export interface Change<T extends StoredObject = StoredObject> {
  readonly type: 'added' | 'modified' | 'deleted'
  readonly object: T
  /** What the cache held before; absent for 'added'. */
  readonly previous?: T
  readonly initial: boolean
}

/** The values under which an object is found in an index. */
export type IndexFunction<T extends StoredObject = StoredObject> = (object: T) => readonly string[]

/** Which objects of a type are of interest, and how they are to be found. */
export interface InformerOptions<T extends StoredObject = StoredObject> {
  /** Defaults to all namespaces. */
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Keep metadata only. Defaults to false. */
  readonly metadataOnly?: boolean
  readonly indexes?: Readonly<Record<string, IndexFunction<T>>>
}

/** One use of a shared cache of one cluster's objects of one type. Reads are synchronous; what they return must not be changed. */
export declare class Informer<T extends StoredObject = StoredObject> {
  readonly type: ResourceType
  readonly cluster: string
  /** Everything that was there when we came is in the cache. Never goes back to false. */
  readonly synced: boolean
  /** The newest version the cache has seen; '' before the first list. */
  readonly resourceVersion: string
  /** Why the cache cannot follow its cluster at the moment; what it holds is then of uncertain age. */
  readonly trouble: StatusError | TransportError | undefined
  readonly size: number

  whenSynced(signal?: AbortSignal): Promise<void>
  /** The object; `namespace` is '' for what has none. */
  get(namespace: string, name: string): T | undefined
  /** All objects, or those of one namespace. */
  list(namespace?: string): readonly T[]
  /** The objects under this value of a declared index. */
  byIndex(index: string, value: string): readonly T[]
  /** Whether the cache has reached this version. */
  hasReached(resourceVersion: string): boolean
  /** Calls once, when the cache has reached this version; the result cancels. */
  onReached(resourceVersion: string, callback: () => void): () => void
  /** Tells of each change after the cache has it; first, at once, of what is there. The result ends it. */
  subscribe(handler: (change: Change<T>) => void): () => void
  /** Calls when `trouble` comes or goes. The result ends it. */
  onTrouble(handler: (trouble: StatusError | TransportError | undefined) => void): () => void
  /** Ends this use and its subscriptions; the cache goes with its last use. */
  close(): void
  [Symbol.dispose](): void
}
