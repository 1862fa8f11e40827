import type { ProcessParts } from '../../runtime/process-parts.ts'
import { gzipSync, constants } from 'node:zlib'
import { departure } from '../../apis/departure.ts'
import { namespaces, secrets } from '../../kube/core-types.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { refOf, type KubeObject, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'
import { pageBytes, pageLine, pageSize, pageWith } from '../records/pages.ts'
import { hasDataToSeal, recordKeysPlace, RecordKeyError, RecordKeys } from '../records/record-keys.ts'
import { departureRecord, recordName, recordNamespace } from '../records/record.ts'
import { isRecreatedByController } from '../subjects/contents.ts'
import type { Door } from './door.ts'

export type Place = { readonly namespace?: string; readonly name: string }

/** One transaction of the embedded server's store, or what comes closest over the API. Reads see the deletes before them. */
export interface DeleteTransaction {
  read(type: ResourceType, place: Place): StoredObject | undefined
  /** Runs a step. Nothing of it happens if it answers false, or if the server refuses one of its deletes. */
  attempt(step: () => boolean): boolean
  /** Deletes exactly this version. False where it would not be gone at once, or its dependents need a record of it. */
  remove(type: ResourceType, object: StoredObject): boolean
  /** Whether a record of this object can be stored, and none is yet. */
  canRecord(object: StoredObject): boolean
  put(record: KubeObject): void
}

/** An object that a plan reads. */
export interface PlannedRead {
  readonly type: ResourceType
  readonly place: Place
  /** As a cache has it. Its delete names this version. */
  readonly known?: StoredObject
}

export interface Transact {
  /** Whether all deletes of an attempt happen, or none, whatever happens to the process. */
  readonly isAtomic: boolean
  /** Runs work, which must be free of side effects, and carries out what it asked for. `undone`: attempts, by number, that were not carried out after all. */
  run<T>(
    work: (transaction: DeleteTransaction) => T,
    reads: readonly PlannedRead[],
  ): Promise<{ readonly answer: T; readonly undone: ReadonlySet<number> }>
}

/** An object to delete, as the transaction reads it. */
export interface PlannedDelete {
  readonly type: ResourceType
  readonly object: StoredObject
  readonly because: string
  readonly schedules?: readonly string[]
  readonly dryRun?: boolean
}

/** What an object such as a Cleaner deletes with itself. */
export interface Plan {
  readonly namespace: string
  /** What `decide` reads. */
  readonly reads: readonly PlannedRead[]
  /** Judges inside the transaction, from what it reads there: what to delete, the planning object last. Undefined: nothing, like this. */
  decide(read: DeleteTransaction['read']): readonly PlannedDelete[] | undefined
}

export interface DepartTogetherPorts extends Pick<ProcessParts, 'clock' | 'log' | 'events'> {
  readonly door: Pick<Door, 'allows' | 'countDeparted' | 'keys'>
  readonly transact: Transact
}

interface Queued {
  readonly plan: Plan
  readonly resolve: (isDone: boolean) => void
  readonly reject: (error: unknown) => void
}

/** The plans of one namespace that one transaction carries out, and their record. */
interface Slice {
  readonly namespace: string
  readonly deletes: PlannedDelete[]
  /** The planning object whose record lists the others. */
  root?: StoredObject
  readonly lines: string[]
  bytes: number
}

/**
 * Carries out plans that are due at the same time in slices, each with one record, and finishes each slice before the next begins. On the embedded server judge,
 * record and delete are one transaction; over the API the record comes first, and each delete names the version that was judged. Every rule of the door is
 * asked for every object.
 */
export class DepartTogether {
  readonly #ports: DepartTogetherPorts
  #queue: Queued[] = []
  #isFlushing = false

  constructor(ports: DepartTogetherPorts) {
    this.#ports = ports
  }

  /** Whether the plan was carried out, together with others. If not, nothing was deleted, and each object goes through `Door.depart`. */
  carryOut(plan: Plan): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#queue.push({ plan, resolve, reject })
      if (!this.#isFlushing) void this.#flush()
    })
  }

  async #flush(): Promise<void> {
    this.#isFlushing = true
    while (this.#queue.length > 0) {
      // Plans that are due in the same turn of the event loop join the slice.
      await this.#ports.clock.breathe()
      const batch = this.#queue.splice(0, sliceSize)
      if (batch.length < minTogether) for (const { resolve } of batch) resolve(false)
      else await this.#carryOutAll(batch)
    }
    this.#isFlushing = false
  }

  async #carryOutAll(batch: readonly Queued[]): Promise<void> {
    try {
      const { door, transact } = this.#ports
      const keys = door.keys ? [{ type: secrets, place: recordKeysPlace }] : []
      const { answer, undone } = await transact.run(
        (transaction) => {
          const all = new Map<string, Slice>()
          const carriedOut = batch.map(({ plan }) => {
            const { namespace } = plan
            const slice = all.getOrInsert(namespace, { namespace, deletes: [], lines: [], bytes: 0 })
            return transaction.attempt(() => this.#take(transaction, slice, plan))
          })
          const kept = [...all.values()].filter(({ root }) => root !== undefined)
          for (const slice of kept) this.#record(transaction, slice)
          return { done: carriedOut, slices: kept }
        },
        [...keys, ...batch.flatMap(({ plan }) => plan.reads)],
      )
      for (const slice of answer.slices) this.#report(slice)
      for (const [index, { resolve }] of batch.entries()) resolve(answer.done[index] === true && !undone.has(index))
    } catch (error) {
      // Refused as a whole, for example because the record is too large: then each is deleted for itself.
      if (isStatusError(error)) for (const { resolve } of batch) resolve(false)
      else for (const { reject } of batch) reject(error)
    }
  }

  #take(transaction: DeleteTransaction, slice: Slice, plan: Plan): boolean {
    const deletes = plan.decide((type, place) => transaction.read(type, place))
    const root = deletes?.at(-1)?.object
    if (!deletes || !root) return false
    const others = slice.root ? deletes : deletes.slice(0, -1)
    const kept = others.flatMap(({ object }) => (isRecreatedByController(object) ? [] : object))
    const keys = this.#keysIn(transaction, kept)
    if (keys === 'missing') return false
    const lines = kept.map((object) => pageLine(object, keys, `${root.kind}/${root.metadata.name}`))
    const bytes = kept.reduce((sum, object, index) => sum + pageSize(object, lines[index]), slice.bytes)
    if (bytes > pageBytes || (!slice.root && !transaction.canRecord(root))) return false
    for (const each of deletes)
      if (!each.type.namespaced || !this.#ports.door.allows(each) || !transaction.remove(each.type, each.object))
        return false
    slice.root ??= root
    slice.bytes = bytes
    slice.lines.push(...lines)
    slice.deletes.push(...deletes)
    return true
  }

  /** The keys, read in the transaction, if records keep the data of Secrets and one of these objects has any. */
  #keysIn(transaction: DeleteTransaction, objects: readonly StoredObject[]): RecordKeys | 'missing' | undefined {
    if (!this.#ports.door.keys || !objects.some(hasDataToSeal)) return undefined
    try {
      return new RecordKeys(transaction.read(secrets, recordKeysPlace))
    } catch (error) {
      if (error instanceof RecordKeyError) return 'missing'
      throw error
    }
  }

  /** Stores the record in its final phase: it exists only together with the deletes. */
  #record(transaction: DeleteTransaction, { root, lines, deletes }: Slice): void {
    if (!root) return
    const now = this.#ports.clock.now()
    const by = { system: 'cleaner', object: refOf(root) } as const
    const facts = {
      cluster: '',
      object: root,
      because,
      by,
      propagation: 'Background',
      unbudgeted: 'planned',
      now,
    } as const
    const { spec, metadata, ...record } = departureRecord(facts)
    const full = {
      ...record,
      metadata: { ...metadata, name: this.#recordName(root) },
      spec: { ...spec, ...(lines.length > 0 ? { pages: 1, takes: lines.length } : {}) },
    }
    const text = gzipSync(lines.join('\n'), { level: constants.Z_BEST_SPEED }).toString('base64')
    if (lines.length > 0) transaction.put(pageWith(full, { number: 1, manifests: text }))
    transaction.put({ ...full, status: { phase: 'Gone', goneAt: formatTime(now), message: messageOf(deletes) } })
  }

  /** Where record and deletes can come apart, an abandoned record must not be taken for that of its object. */
  #recordName(root: StoredObject): string {
    return recordName('', root) + (this.#ports.transact.isAtomic ? '' : '-together')
  }

  #report({ root, deletes }: Slice): void {
    const { door, events, log } = this.#ports
    if (!root) return
    for (const { object } of deletes) door.countDeparted('cleaner', object.kind, because)
    const metadata = { name: this.#recordName(root), namespace: recordNamespace('', root) }
    const record = { apiVersion: departure.apiVersion, kind: departure.kind, metadata }
    events.record(record, { type: 'Normal', reason: 'Departed', message: messageOf(deletes) })
    log.info('deleted together', { count: deletes.length, because, system: 'cleaner', record: metadata.name })
  }
}

const because = 'expired-together'
/** How many plans go into one transaction: larger ones would delay the answers to other clients. */
const sliceSize = 100
/** Fewer plans have a record each, which is easier to find. */
const minTogether = 20

/** Not where the namespace is being deleted, and not if an earlier attempt to delete the object was recorded: that record is resumed. */
export function canRecord(read: DeleteTransaction['read'], object: StoredObject): boolean {
  const namespace = recordNamespace('', object)
  const home = read(namespaces, { name: namespace })
  if (!home || home.metadata.deletionTimestamp !== undefined) return false
  return read(departure.type, { namespace, name: recordName('', object) }) === undefined
}

function messageOf(deletes: readonly PlannedDelete[]): string {
  const kinds = Map.groupBy(deletes, ({ object }) => object.kind)
  return `deleted together: ${[...kinds].map(([kind, all]) => `${all.length} ${kind}`).join(', ')}`
}
