import type { Document } from './document.ts'

/** Where an object is kept. `resource` is `pods` or `deployments.apps`: one for all versions of a kind. */
export interface Address {
  readonly resource: string
  /** Empty for a cluster-scoped object. */
  readonly namespace: string
  readonly name: string
}

/** A stored object: its address and its state at `document.revision`. */
export interface StoredRecord extends Address {
  readonly uid: string
  readonly document: Document
}

/** One entry of an object's ownerReferences, as the collector asks for it. */
export interface OwnerEdge {
  readonly ownerUid: string
  readonly blocking: boolean
  readonly controller: boolean
}

/** A dependent of some uid. */
export interface Dependent extends Address, OwnerEdge {
  readonly uid: string
}

/** One write of one object. The n-th change of a decision gets revision `view.nextRevision + n`, which its document carries. */
export interface Change extends Address {
  readonly type: 'create' | 'update' | 'delete'
  readonly uid: string
  readonly document: Document
  /** All owners it has from now on; left out when they stay as they are. */
  readonly owners?: readonly OwnerEdge[]
}

/** A change that has happened, with the state it replaced. */
export interface StoreEvent extends Address {
  readonly type: 'create' | 'update' | 'delete'
  readonly uid: string
  readonly document: Document
  readonly previous: Document | undefined
}

/** What a decision sees: everything decided before it, whether durable yet or not. */
export interface View {
  /** The revision the first change of this decision will get. */
  readonly nextRevision: number
  get(address: Address): StoredRecord | undefined
  hasAny(resource: string, namespace?: string): boolean
  dependentsOf(ownerUid: string, limit: number): readonly Dependent[]
  countBlocking(ownerUid: string): number
  addressOf(uid: string): Address | undefined
}

/** What to change, and what to answer once that is durable. */
export interface Decision<T> {
  readonly answer: T
  readonly changes: readonly Change[]
}

/** Which records to read, in order of namespace and name. */
export interface ScanQuery {
  readonly resource: string
  readonly namespace?: string
  /** Only what comes after this. */
  readonly after?: { readonly namespace: string; readonly name: string }
  readonly limit: number
  /** The state at this revision; the newest when left out. */
  readonly at?: number
}

/** Which changes to read, oldest first. */
export interface LogQuery {
  readonly resource: string
  readonly after: number
  readonly limit: number
}

/** A stretch of the log. */
export interface LogPage {
  /** Those of the resource, oldest first. */
  readonly events: readonly StoreEvent[]
  /** Every change up to this revision is in `events`; ask on from here. */
  readonly reached: number
}

/** Answers about ownership, exact at every moment: edges are written with their object. */
export interface OwnerGraph {
  dependentsOf(ownerUid: string, limit: number): readonly Dependent[]
  /** How many dependents have this owner with blockOwnerDeletion. */
  countBlocking(ownerUid: string): number
  /** Owner uids that edges name and no object has, after the given one, in order. */
  danglingOwners(limit: number, after?: string): readonly string[]
  /** Where the living object with this uid is kept. */
  addressOf(uid: string): Address | undefined
}

/** Keeps all objects and their recent past. One writer: decisions run one after the other. */
export interface Store extends AsyncDisposable {
  /** The newest revision that will survive a crash. */
  readonly revision: number
  /** States and changes older than this are gone. */
  readonly compactedRevision: number
  readonly owners: OwnerGraph
  /** Runs the decision, which must not do anything else, and answers when its changes are durable. */
  write<T>(decide: (view: View) => Decision<T>): Promise<T>
  /** The newest state; wait for `whenDurable(document.revision)` before telling anybody. */
  get(address: Address): StoredRecord | undefined
  /** Throws RangeError when `at` is compacted away. */
  scan(query: ScanQuery): readonly StoredRecord[]
  count(query: Omit<ScanQuery, 'limit'>): number
  /** Durable changes only, as many as can be read in a moment. Throws RangeError when some after `after` are compacted away. */
  changes(query: LogQuery): LogPage
  /** The revision of the newest decision, durable or not. */
  readonly decidedRevision: number
  /** Undefined when this revision is durable already. */
  whenDurable(revision: number): Promise<void> | undefined
  /** Calls back with durable changes, in order, in batches. */
  subscribe(listener: (events: readonly StoreEvent[]) => void): () => void
  /** Forgets superseded states older than this, but keeps the newest `keep` revisions. Resolves when done. */
  compact(options: { readonly olderThanMs: number; readonly keep: number }): Promise<void>
  close(): Promise<void>
}
