import type { DatabaseSync } from 'node:sqlite'
import { Document } from './document.ts'
import { RecordCache } from './record-cache.ts'
import { SqliteOwners } from './sqlite-owners.ts'
import { prepareStatements, type Statements } from './sqlite-statements.ts'
import type { Address, Change, LogPage, LogQuery, ScanQuery, StoredRecord, StoreEvent, View } from './store.ts'

const types = ['create', 'update', 'delete'] as const
/** Bounds one read of the log to a few milliseconds. */
const maxRevisionsPerRead = 5000

type RecordRow = [namespace: string, name: string, uid: string, revision: number, body: string]
type EventRow = [
  revision: number,
  namespace: string,
  name: string,
  type: number,
  uid: string,
  body: string,
  previous: number | null,
  previousBody: string | null,
]

/** Reads and writes the tables. Writes must run inside a transaction that the caller opened. */
export class SqliteTables {
  readonly owners: SqliteOwners
  readonly #statements: Statements
  readonly #cache: RecordCache
  readonly #ids = new Map<string, number>()
  readonly #names = new Map<number, string>()
  /** The revision of the last change of each resource since the store was opened. */
  readonly #lastChanges = new Map<string, number>()
  readonly #startRevision: number
  #revision: number
  #compacted: number

  constructor(database: DatabaseSync, options: { readonly cacheSize: number; readonly skip: number }) {
    this.#statements = prepareStatements(database)
    this.#cache = new RecordCache(options.cacheSize)
    this.owners = new SqliteOwners(this.#statements, (resource) => this.#names.get(resource) ?? '')
    for (const [id, name] of rows<[number, string]>(this.#statements.resources.all())) this.#remember(id, name)
    this.#compacted = this.meta('compacted')
    const [[newest] = [null]] = rows<[number | null]>(this.#statements.newestRevision.all())
    this.#revision = Math.max(newest ?? 0, this.#compacted, this.meta('floor')) + options.skip
    if (options.skip > 0) this.setMeta('floor', this.#revision)
    this.#startRevision = this.#revision
  }

  get revision(): number {
    return this.#revision
  }

  get compactedRevision(): number {
    return this.#compacted
  }

  begin(): void {
    this.#statements.begin.run()
  }

  commit(): void {
    this.#statements.commit.run()
  }

  /** Rolls the transaction back and drops cached rows, which may be of that transaction. */
  rollback(revision: number): void {
    this.#statements.rollback.run()
    this.#revision = revision
    this.#cache.clear()
    this.#ids.clear()
    this.#names.clear()
    for (const [id, name] of rows<[number, string]>(this.#statements.resources.all())) this.#remember(id, name)
  }

  view(): View {
    return {
      nextRevision: this.#revision + 1,
      get: (address) => this.get(address),
      dependentsOf: (uid, limit) => this.owners.dependentsOf(uid, limit),
      countBlocking: (uid) => this.owners.countBlocking(uid),
      addressOf: (uid) => this.owners.addressOf(uid),
    }
  }

  get(address: Address): StoredRecord | undefined {
    const cached = this.#cache.get(address)
    if (cached) return cached
    const id = this.#ids.get(address.resource)
    if (id === undefined) return undefined
    const row = this.#statements.get.get(id, address.namespace, address.name) as unknown as RecordRow | undefined
    if (!row) return undefined
    const record = toRecord(address.resource, row)
    this.#cache.put(record)
    return record
  }

  scan({ resource, namespace, after, limit, maxSize = Infinity, at }: ScanQuery): readonly StoredRecord[] {
    const id = this.#ids.get(resource)
    if (id === undefined) return []
    const from = after ?? { namespace: '', name: '' }
    const place = [id, namespace ?? from.namespace, startOf(namespace, from), limit] as const
    const { scanAll, scanNamespace, scanAllAt, scanNamespaceAt } = this.#statements
    const [now, past] = namespace === undefined ? [scanAll, scanAllAt] : [scanNamespace, scanNamespaceAt]
    const found = this.#isNewest(resource, at) ? now.iterate(...place) : past.iterate(...place, at ?? 0)
    const { taken } = firstOf<RecordRow>(found, maxSize, ([, , , , body]) => body.length)
    return taken.map((row) => toRecord(resource, row))
  }

  count({ resource, namespace, after, at }: Omit<ScanQuery, 'limit'>): number {
    const id = this.#ids.get(resource)
    if (id === undefined) return 0
    const from = after ?? { namespace: '', name: '' }
    const place = [id, namespace ?? from.namespace, startOf(namespace, from)] as const
    const { countAll, countNamespace, countAllAt, countNamespaceAt } = this.#statements
    const found = this.#isNewest(resource, at)
      ? (namespace === undefined ? countAll : countNamespace).all(...place)
      : (namespace === undefined ? countAllAt : countNamespaceAt).all(...place, -1, at ?? 0)
    return rows<[number]>(found)[0]?.[0] ?? 0
  }

  changes({ resource, after, limit, maxSize = Infinity }: LogQuery, upTo: number): LogPage {
    const id = this.#ids.get(resource)
    const newest = this.#lastChanges.get(resource) ?? this.#startRevision
    if (id === undefined || newest <= after) return { events: [], reached: Math.max(after, upTo) }
    // Bounded, because most of the rows may belong to other resources.
    const end = Math.min(upTo, after + maxRevisionsPerRead)
    const sizeOf = ([, , , , , body, , before]: EventRow) => body.length + (before?.length ?? 0)
    const { taken, isCut } = firstOf(this.#statements.changes.iterate(id, after, end, limit), maxSize, sizeOf)
    const events = taken.map((row) => toEvent(resource, row))
    return { events, reached: isCut || events.length === limit ? (events.at(-1)?.document.revision ?? end) : end }
  }

  /** Writes one change; returns its event with the state it replaced. */
  apply(change: Change, now: number): StoreEvent {
    const { type, resource, namespace, name, uid, document } = change
    const id = this.#idOf(resource)
    const previous = this.get(change)?.document
    const revision = ++this.#revision
    if (document.revision !== revision) throw new Error(`a change for revision ${revision} says ${document.revision}`)
    this.#statements.addLog.run(
      revision,
      id,
      namespace,
      name,
      types.indexOf(type),
      uid,
      previous?.revision ?? null,
      now,
      document.text,
    )
    this.#moveHead(change, id)
    this.#lastChanges.set(resource, revision)
    return { type, resource, namespace, name, uid, document, previous }
  }

  /** Writes objects that have revisions of their own, each another one; none of their history is kept. */
  fill(changes: readonly Change[]): void {
    const newest = changes.reduce((highest, { document }) => Math.max(highest, document.revision), this.#revision)
    for (const change of changes) {
      this.#revision = change.document.revision - 1
      this.apply(change, 0)
    }
    this.#revision = newest
    this.#setCompacted(newest)
  }

  /** The newest revision up to `newest` that was written by `before`. Bisects: times increase with revisions. */
  compactionTarget(newest: number, before: number): number {
    let low = this.#compacted
    let high = newest
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      const [row] = rows<[number]>(this.#statements.writtenAt.all(middle))
      if (row && row[0] <= before) low = middle
      else high = middle - 1
    }
    return low
  }

  /** Deletes states that were replaced up to this revision. */
  forget(upTo: number): void {
    this.#statements.dropSuperseded.run(this.#compacted, upTo)
    this.#statements.dropTombstones.run(this.#compacted, upTo)
    this.#setCompacted(upTo)
  }

  meta(key: 'floor' | 'compacted' | 'clean'): number {
    return rows<[number]>(this.#statements.getMeta.all(key))[0]?.[0] ?? 0
  }

  setMeta(key: 'floor' | 'compacted' | 'clean', value: number): void {
    this.#statements.setMeta.run(key, value)
  }

  #setCompacted(revision: number): void {
    this.setMeta('compacted', revision)
    this.#compacted = revision
  }

  #isNewest(resource: string, at: number | undefined): boolean {
    return at === undefined || (this.#lastChanges.get(resource) ?? this.#startRevision) <= at
  }

  #moveHead(change: Change, id: number): void {
    const { type, namespace, name, uid, owners } = change
    const { addHead, moveHead, dropHead } = this.#statements
    if (type === 'create') addHead.run(id, namespace, name, this.#revision, uid)
    if (type === 'update') moveHead.run(this.#revision, id, namespace, name)
    if (type === 'delete') dropHead.run(id, namespace, name)
    if (type === 'delete') this.#cache.drop(change)
    else this.#cache.put({ resource: change.resource, namespace, name, uid, document: change.document })
    if (owners) this.owners.set(change, id)
  }

  #idOf(resource: string): number {
    const known = this.#ids.get(resource)
    if (known !== undefined) return known
    const id = this.#ids.size + 1
    this.#statements.addResource.run(id, resource)
    this.#remember(id, resource)
    return id
  }

  #remember(id: number, name: string): void {
    this.#ids.set(name, id)
    this.#names.set(id, name)
  }
}

function startOf(namespace: string | undefined, after: { readonly namespace: string; readonly name: string }): string {
  return namespace === undefined || namespace === after.namespace ? after.name : ''
}

function toRecord(resource: string, [namespace, name, uid, revision, body]: RecordRow): StoredRecord {
  return { resource, namespace, name, uid, document: new Document(revision, body) }
}

function toEvent(resource: string, row: EventRow): StoreEvent {
  const [revision, namespace, name, type, uid, body, previous, previousBody] = row
  return {
    type: types[type] ?? 'update',
    resource,
    namespace,
    name,
    uid,
    document: new Document(revision, body),
    previous: previousBody === null ? undefined : new Document(previous ?? 0, previousBody),
  }
}

/** The rows up to the one with which they have this size; whether there may be more. */
function firstOf<T>(found: Iterable<unknown>, maxSize: number, sizeOf: (row: T) => number) {
  const taken: T[] = []
  let size = 0
  for (const row of found as Iterable<T>) {
    taken.push(row)
    size += sizeOf(row)
    if (size >= maxSize) return { taken, isCut: true }
  }
  return { taken, isCut: false }
}

/** node:sqlite types its rows as records even when it returns arrays. */
function rows<T>(found: readonly unknown[]): T[] {
  return found as T[]
}
