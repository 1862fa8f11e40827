import type { Clock } from './clock.ts'
import type { Document } from './document.ts'
import { MemoryOwners } from './memory-owners.ts'
import type {
  Address,
  Change,
  Decision,
  LogPage,
  LogQuery,
  OwnerGraph,
  ScanQuery,
  Store,
  StoredRecord,
  StoreEvent,
  View,
} from './store.ts'

/** An object's state from this revision on. */
interface State {
  readonly revision: number
  /** Undefined: deleted at this revision. */
  readonly record: StoredRecord | undefined
}

/** The objects of one resource with their history. */
interface ResourceTable {
  /** Sorted; every key of `histories`. */
  readonly keys: string[]
  /** Oldest state first, never empty. */
  readonly histories: Map<string, State[]>
}

interface LoggedEvent {
  readonly event: StoreEvent
  readonly at: number
}

/** A store in memory, for tests and forecasts. */
export class MemoryStore implements Store {
  readonly #clock: Pick<Clock, 'now'>
  readonly #tables = new Map<string, ResourceTable>()
  readonly #owners = new MemoryOwners()
  readonly #listeners = new Set<(events: readonly StoreEvent[]) => void>()
  /** Ascending revisions, all above `compacted`. */
  #log: LoggedEvent[] = []
  #revision = 1
  #compacted = 0
  #closed = false

  constructor({ clock }: { readonly clock: Pick<Clock, 'now'> }) {
    this.#clock = clock
  }

  get revision(): number {
    return this.#revision
  }

  get decidedRevision(): number {
    return this.#revision
  }

  get compactedRevision(): number {
    return this.#compacted
  }

  get owners(): OwnerGraph {
    return this.#owners
  }

  async write<T>(decide: (view: View) => Decision<T>): Promise<T> {
    if (this.#closed) throw new Error('the store is closed')
    const { answer, changes } = decide(this.#view())
    const events = changes.map((change) => this.#apply(change))
    // As in SqliteStore: listeners run after the decision, and before the caller gets its answer.
    await Promise.resolve()
    if (events.length > 0) for (const listener of this.#listeners) listener(events)
    return answer
  }

  /** Loads a copy of another store, with its revisions. Call before the store is used; nothing is published. */
  fill(changes: readonly Change[]): void {
    for (const change of changes) {
      const { resource, namespace, name, uid, document } = change
      this.#append(change, { revision: document.revision, record: { resource, namespace, name, uid, document } })
      this.#owners.apply(change)
      this.#revision = Math.max(this.#revision, document.revision)
    }
    this.#compacted = this.#revision
  }

  get({ resource, namespace, name }: Address): StoredRecord | undefined {
    return this.#tables.get(resource)?.histories.get(keyOf(namespace, name))?.at(-1)?.record
  }

  scan(query: ScanQuery): readonly StoredRecord[] {
    const found: StoredRecord[] = []
    for (const record of this.#walk(query)) {
      if (found.length >= query.limit) break
      found.push(record)
    }
    return found
  }

  count(query: Omit<ScanQuery, 'limit'>): number {
    return this.#walk(query).reduce((count) => count + 1, 0)
  }

  changes({ resource, after, limit }: LogQuery): LogPage {
    if (after < this.#compacted) throw new RangeError(`revision ${after} is compacted away`)
    const found: StoreEvent[] = []
    for (let index = firstAfter(this.#log, after); index < this.#log.length && found.length < limit; index++) {
      const event = this.#log[index]?.event
      if (event?.resource === resource) found.push(event)
    }
    const last = found.at(-1)
    return { events: found, reached: last && found.length === limit ? last.document.revision : this.#revision }
  }

  whenDurable(): undefined {
    return undefined
  }

  subscribe(listener: (events: readonly StoreEvent[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async compact({ olderThanMs, keep }: { readonly olderThanMs: number; readonly keep: number }): Promise<void> {
    const before = this.#clock.now() - olderThanMs
    const newest = this.#log.findLast(({ at }) => at <= before)?.event.document.revision ?? 0
    const target = Math.min(newest, this.#revision - keep)
    if (target <= this.#compacted) return
    this.#compacted = target
    this.#log = this.#log.slice(firstAfter(this.#log, target))
    for (const table of this.#tables.values()) dropSuperseded(table, target)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#listeners.clear()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #view(): View {
    const owners = this.#owners
    return {
      nextRevision: this.#revision + 1,
      get: (address) => this.get(address),
      hasAny: (resource, namespace) =>
        this.scan({ resource, limit: 1, ...(namespace === undefined ? {} : { namespace }) }).length > 0,
      dependentsOf: (uid, limit) => owners.dependentsOf(uid, limit),
      countBlocking: (uid) => owners.countBlocking(uid),
      addressOf: (uid) => owners.addressOf(uid),
    }
  }

  #apply(change: Change): StoreEvent {
    const { type, resource, namespace, name, uid, document } = change
    const previous = this.get(change)?.document
    const record = type === 'delete' ? undefined : { resource, namespace, name, uid, document }
    this.#revision += 1
    this.#append({ resource, namespace, name }, { revision: this.#revision, record })
    this.#owners.apply(change)
    const event = { type, resource, namespace, name, uid, document, previous }
    this.#log.push({ event, at: this.#clock.now() })
    return event
  }

  #append({ resource, namespace, name }: Address, state: State): void {
    const table = this.#tables.get(resource) ?? { keys: [], histories: new Map<string, State[]>() }
    this.#tables.set(resource, table)
    const key = keyOf(namespace, name)
    const history = table.histories.get(key)
    if (history) return void history.push(state)
    table.histories.set(key, [state])
    table.keys.splice(firstNotBefore(table.keys, key), 0, key)
  }

  *#walk({ resource, namespace, after, at }: Omit<ScanQuery, 'limit'>): Generator<StoredRecord> {
    if (at !== undefined && at < this.#compacted) throw new RangeError(`revision ${at} is compacted away`)
    const table = this.#tables.get(resource)
    if (!table) return
    const prefix = namespace === undefined ? '' : keyOf(namespace, '')
    const start = after ? `${keyOf(after.namespace, after.name)}\0` : prefix
    for (let index = firstNotBefore(table.keys, start > prefix ? start : prefix); index < table.keys.length; index++) {
      const key = table.keys[index] ?? ''
      if (!key.startsWith(prefix)) return
      const record = stateAt(table.histories.get(key) ?? [], at)
      if (record) yield record
    }
  }
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}\0${name}`
}

function stateAt(history: readonly State[], at = Infinity): StoredRecord | undefined {
  const newest = history.at(-1)
  if (newest && newest.revision <= at) return newest.record
  return history.findLast(({ revision }) => revision <= at)?.record
}

/** Drops states that were replaced at or before `target`, and keys of objects deleted by then. */
function dropSuperseded(table: ResourceTable, target: number): void {
  for (const [key, history] of table.histories) {
    const newest = history.findLastIndex(({ revision }) => revision <= target)
    if (newest < 0) continue
    history.splice(0, history[newest]?.record ? newest : newest + 1)
    if (history.length > 0) continue
    table.histories.delete(key)
    table.keys.splice(firstNotBefore(table.keys, key), 1)
  }
}

function firstNotBefore(keys: readonly string[], key: string): number {
  return bisect(keys.length, (index) => (keys[index] ?? '') >= key)
}

function firstAfter(log: readonly LoggedEvent[], revision: number): number {
  return bisect(log.length, (index) => revisionOf(log[index]?.event.document) > revision)
}

function revisionOf(document: Document | undefined): number {
  return document?.revision ?? 0
}

/** The first index for which `holds` is true, given that it stays true from there on. */
function bisect(length: number, holds: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holds(middle)) high = middle
    else low = middle + 1
  }
  return low
}
