import type { Document } from './document.ts'

/**
 * The key of an object in the store. `resource` is `pods` or `deployments.apps`, the same for all versions of a kind.
 */
export interface Address {
  readonly resource: string
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
}

/** A stored object: its address and its state as of `document.revision`. */
export interface StoredRecord extends Address {
  readonly uid: string
  readonly document: Document
}

/** An owner reference, as the garbage collector reads it. */
export interface OwnerEdge {
  readonly ownerUid: string
  readonly blocking: boolean
  readonly controller: boolean
}

/** An object that names an owner. */
export interface Dependent extends Address, OwnerEdge {
  readonly uid: string
}

/**
 * One write of one object. The n-th change (from 0) of a decision gets revision `view.nextRevision + n`; its document
 * must carry it.
 */
export interface Change extends Address {
  readonly type: 'create' | 'update' | 'delete'
  readonly uid: string
  readonly document: Document
  /** All owners after the change; absent when they do not change. */
  readonly owners?: readonly OwnerEdge[]
}

/** A committed change, with the state it replaced. */
export interface StoreEvent extends Omit<Change, 'owners'> {
  readonly previous: Document | undefined
}

/** The store as a decision sees it: all earlier decisions, durable or not. */
export interface View extends Omit<OwnerGraph, 'danglingOwners'> {
  /** The revision the first change of this decision will get. */
  readonly nextRevision: number
  get(address: Address): StoredRecord | undefined
  /** What earlier attempts of this write learned outside the transaction; absent where nothing is asked. */
  readonly answers?: Map<string, unknown>
}

/** The changes of a write, and its answer, which is returned once they are durable. */
export interface Decision<T> {
  readonly answer: T
  readonly changes: readonly Change[]
}

/** A read of records, ordered by namespace and name. */
export interface ScanQuery {
  readonly resource: string
  readonly namespace?: string
  /** Start after this key. */
  readonly after?: { readonly namespace: string; readonly name: string }
  readonly limit: number
  /** Ends the read once its texts have this many characters together: more may follow, see `isLast`. */
  readonly maxSize?: number
  /** The state at this revision; the newest when left out. */
  readonly at?: number
}

/** How much is read at once of what has no end, however large its objects are. */
export const chunk = { limit: 500, maxSize: 1024 * 1024 } as const

/** Whether nothing follows the records of a read with these bounds. */
export function isLast(
  records: readonly StoredRecord[],
  { limit, maxSize }: { readonly limit: number; readonly maxSize: number },
): boolean {
  return records.length < limit && records.reduce((sum, { document }) => sum + document.text.length, 0) < maxSize
}

/** A read of changes, oldest first. */
export interface LogQuery {
  readonly resource: string
  readonly after: number
  readonly limit: number
  readonly maxSize?: number
}

/** A page of the log. */
export interface LogPage {
  /** The changes of the resource, oldest first. */
  readonly events: readonly StoreEvent[]
  /** `events` has every change up to this revision; continue from here. */
  readonly reached: number
}

/** Owner references as a graph. Always consistent: edges are written in the transaction of their object. */
export interface OwnerGraph {
  dependentsOf(ownerUid: string, limit: number): readonly Dependent[]
  /** The number of dependents that name this owner with blockOwnerDeletion. */
  countBlocking(ownerUid: string): number
  /** Owner uids that no existing object has, ordered, after the given one. */
  danglingOwners(limit: number, after?: string): readonly string[]
  /** The address of the existing object with this uid. */
  addressOf(uid: string): Address | undefined
}

/** Stores all objects and their recent history. Decisions run one after the other, each in its own view. */
export interface Store extends AsyncDisposable {
  /** The newest durable revision. */
  readonly revision: number
  /** Older states and changes have been compacted away. */
  readonly compactedRevision: number
  readonly owners: OwnerGraph
  /**
   * Runs a decision, which must be free of side effects, and resolves when its changes are durable. Throwing changes
   * nothing.
   */
  write<T>(decide: (view: View) => Decision<T>): Promise<T>
  /** The newest state. Await `whenDurable(document.revision)` before sending it to a client. */
  get(address: Address): StoredRecord | undefined
  /** Throws RangeError when `at` is compacted away. */
  scan(query: ScanQuery): readonly StoredRecord[]
  count(query: Omit<ScanQuery, 'limit'>): number
  /** Durable changes only, as many as can be read quickly. Throws RangeError when `after` is compacted away. */
  changes(query: LogQuery): LogPage
  /** The revision of the newest decision, durable or not. */
  readonly decidedRevision: number
  /** Resolves when this revision is durable; undefined when it already is. */
  whenDurable(revision: number): Promise<void> | undefined
  /** Calls back with durable changes, in order, in batches. */
  subscribe(listener: (events: readonly StoreEvent[]) => void): () => void
  /** Drops replaced states older than this, except for the newest `keep` revisions. */
  compact(options: { readonly olderThanMs: number; readonly keep: number }): Promise<void>
  close(): Promise<void>
}
