import { chmodSync, closeSync, existsSync, fdatasync, fsyncSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Clock } from './clock.ts'
import { migrate } from './sqlite-schema.ts'
import { SqliteTables } from './sqlite-tables.ts'
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

/** Options of a store file. */
export interface SqliteStoreOptions {
  readonly path: string
  readonly clock: Pick<Clock, 'now' | 'breathe'>
  /**
   * Whether acknowledged writes survive a power failure; otherwise they survive only the end of the process. Defaults
   * to true.
   */
  readonly durable?: boolean
  /** Characters of JSON to cache. Defaults to 16 Mi. */
  readonly cacheSize?: number
}

/** A decision that waits for the next transaction, with the promise of its caller. */
interface QueuedDecision {
  readonly decide: (view: View) => Decision<unknown>
  readonly resolve: (answer: never) => void
  readonly reject: (error: unknown) => void
}

/** The outcome of one transaction. */
interface Batch {
  readonly settle: readonly (() => void)[]
  readonly events: readonly StoreEvent[]
}

/** Decisions per transaction: longer ones would delay the answers of the first. */
const batchLimit = 256
const compactionChunk = 1000
/** SQLite's name for a database without a file. */
const memoryPath = ':memory:'
/** Revisions skipped after an unclean stop of a store with relaxed durability. */
const skipAfterCrash = 10_000

/** Opens or creates a store file. Only one process may have it open. */
export function openSqliteStore(options: SqliteStoreOptions): SqliteStore {
  if (options.path !== memoryPath) keepPrivate(options.path)
  const database = new DatabaseSync(options.path)
  try {
    database.exec(`
      PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
      PRAGMA cache_size = -16000; PRAGMA wal_autocheckpoint = 4000; PRAGMA foreign_keys = OFF`)
    migrate(database)
    return new SqliteStore(database, options)
  } catch (error) {
    database.close()
    throw error
  }
}

/** A store that ends with the process, for tests and forecasts. */
export function openMemoryStore(clock: Pick<Clock, 'now'>): SqliteStore {
  // Writes need no turn of the event loop: a virtual clock that stands still gives none.
  const immediate = { now: () => clock.now(), breathe: async () => {} }
  return openSqliteStore({ path: memoryPath, clock: immediate, durable: false, cacheSize: 1 << 26 })
}

/**
 * A store in one SQLite file. The decisions of one turn of the event loop share a transaction and a sync of the
 * write-ahead log. The sync runs on another thread; answers and events wait for it.
 */
export class SqliteStore implements Store {
  readonly #database: DatabaseSync
  readonly #tables: SqliteTables
  readonly #clock: Pick<Clock, 'now' | 'breathe'>
  readonly #listeners = new Set<(events: readonly StoreEvent[]) => void>()
  /** The write-ahead log, open for syncing; undefined when durability is relaxed. */
  readonly #logFile: number | undefined
  #queue: QueuedDecision[] = []
  /** Resolves when the queue is empty; undefined while nothing is queued. */
  #flushing: Promise<void> | undefined
  #revision: number
  #closed = false
  /** Set after a failed sync. The content of the disk is unknown then, so no further write is acknowledged. */
  #diskError: Error | undefined

  constructor(database: DatabaseSync, { path, clock, durable = true, cacheSize = 1 << 24 }: SqliteStoreOptions) {
    this.#database = database
    this.#clock = clock
    const clean = database.prepare("SELECT value FROM meta WHERE key = 'clean'").get() as { value: number }
    // With relaxed durability, a power failure may have lost revisions that clients have seen: never reuse them.
    this.#tables = new SqliteTables(database, { cacheSize, skip: durable || clean.value === 1 ? 0 : skipAfterCrash })
    this.#tables.setMeta('clean', 0)
    this.#revision = this.#tables.revision
    this.#logFile = durable ? openLog(path) : undefined
  }

  get revision(): number {
    return this.#revision
  }

  get decidedRevision(): number {
    return this.#tables.revision
  }

  get compactedRevision(): number {
    return this.#tables.compactedRevision
  }

  get owners(): OwnerGraph {
    return this.#tables.owners
  }

  write<T>(decide: (view: View) => Decision<T>): Promise<T> {
    if (this.#closed) return Promise.reject(new Error('the store is closed'))
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({ decide, resolve, reject })
      this.#flushing ??= this.#flush()
    })
  }

  /** Loads a copy of another store, with its revisions. Call before the store is used; nothing is published. */
  fill(changes: readonly Change[]): void {
    this.#transact(() => this.#tables.fill(changes))
    this.#revision = this.#tables.revision
  }

  get(address: Address): StoredRecord | undefined {
    return this.#tables.get(address)
  }

  scan(query: ScanQuery): readonly StoredRecord[] {
    this.#requireKept(query.at)
    return this.#tables.scan(query)
  }

  count(query: Omit<ScanQuery, 'limit'>): number {
    this.#requireKept(query.at)
    return this.#tables.count(query)
  }

  changes(query: LogQuery): LogPage {
    this.#requireKept(query.after)
    return this.#tables.changes(query, this.#revision)
  }

  whenDurable(revision: number): Promise<void> | undefined {
    if (revision <= this.#revision) return undefined
    return this.write(() => ({ answer: undefined, changes: [] }))
  }

  subscribe(listener: (events: readonly StoreEvent[]) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async compact({ olderThanMs, keep }: { readonly olderThanMs: number; readonly keep: number }): Promise<void> {
    const target = this.#tables.compactionTarget(this.#revision - keep, this.#clock.now() - olderThanMs)
    while (this.compactedRevision < target && !this.#closed) {
      this.#transact(() => this.#tables.forget(Math.min(target, this.compactedRevision + compactionChunk)))
      await this.#clock.breathe()
    }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#flushing
    this.#listeners.clear()
    if (!this.#diskError) this.#tables.setMeta('clean', 1)
    if (this.#logFile !== undefined) closeSync(this.#logFile)
    this.#database.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #requireKept(revision: number | undefined): void {
    if (revision !== undefined && revision < this.compactedRevision)
      throw new RangeError(`revision ${revision} is compacted away`)
  }

  /** Processes the queue: one transaction and one sync per batch. */
  async #flush(): Promise<void> {
    await this.#clock.breathe()
    while (this.#queue.length > 0) {
      const queued = this.#queue.splice(0, batchLimit)
      try {
        const batch = this.#decideAll(queued)
        if (batch.events.length > 0) await this.#sync()
        this.#publish(batch)
      } catch (error) {
        for (const { reject } of queued) reject(error)
      }
    }
    this.#flushing = undefined
  }

  /** A decision that throws rejects only its own caller; the others of the batch are committed. */
  #decideAll(queued: readonly QueuedDecision[]): Batch {
    if (this.#diskError) throw this.#diskError
    return this.#transact(() => {
      const events: StoreEvent[] = []
      const now = this.#clock.now()
      const apply = (change: Change) => events.push(this.#tables.apply(change, now))
      const settle = queued.map(({ decide, resolve, reject }) => {
        const outcome = attempt(() => decide(this.#tables.view()))
        if ('error' in outcome) return () => reject(outcome.error)
        outcome.value.changes.forEach(apply)
        return () => resolve(outcome.value.answer as never)
      })
      return { settle, events }
    })
  }

  #transact<T>(work: () => T): T {
    const revision = this.#tables.revision
    this.#tables.begin()
    try {
      const result = work()
      this.#tables.commit()
      return result
    } catch (error) {
      this.#tables.rollback(revision)
      throw error
    }
  }

  #sync(): Promise<void> {
    const file = this.#logFile
    if (file === undefined) return Promise.resolve()
    return new Promise((resolve, reject) =>
      fdatasync(file, (error) => {
        if (!error) return resolve()
        this.#diskError = new Error(
          'syncing the write-ahead log failed; no further write is accepted. Check the disk and restart',
          { cause: error },
        )
        reject(this.#diskError)
      }),
    )
  }

  /**
   * Listeners run before answers: when a client's write is answered, every index that follows the store (kinds, roles,
   * service addresses) already contains it.
   */
  #publish({ settle, events }: Batch): void {
    this.#revision = this.#tables.revision
    if (events.length > 0) for (const listener of this.#listeners) listener(events)
    for (const answer of settle) answer()
  }
}

type Outcome<T> = { readonly value: T } | { readonly error: unknown }

function attempt<T>(work: () => T): Outcome<T> {
  try {
    return { value: work() }
  } catch (error) {
    return { error }
  }
}

/** Opens the write-ahead log, and syncs its folder so that the file itself survives a power failure. */
/** The store holds every Secret. SQLite gives the files beside it the mode of the store itself. */
function keepPrivate(path: string): void {
  closeSync(openSync(path, 'a', privateMode))
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, privateMode)
}

const privateMode = 0o600

function openLog(path: string): number {
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
  return openSync(`${path}-wal`, 'r+')
}
