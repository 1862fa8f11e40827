import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import { departure, type Departure, type DepartureSpec } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import { ownersLabel, ownersOn, pageOf, recordOfPage } from './pages.ts'
import { departureRecord, hasNoPlace, recordName, recordNamespace, type By } from './record.ts'
import { pagesOf } from './removed.ts'

/** The object whose leaving takes others along. */
export interface CascadeRoot {
  readonly object: StoredObject
  readonly by: By
  /** Whether it is no more; otherwise it is on its way, and waits for what goes with it. */
  readonly isGone: boolean
  /** Whether it may itself have gone along with another, when nobody who remembers it looked. */
  readonly mayHaveFollowed: boolean
}

/** What goes along: the whole object, and whether others live by it. */
export interface Companion {
  readonly object: KubeObject
  readonly isOwner: boolean
}

/** A record as it was last written; without a version where it could not be stored. */
type WrittenRecord = KubeObject & { readonly spec: DepartureSpec }

/** How far a record has got. */
interface Written {
  readonly record: WrittenRecord
  /** The number of the last page. */
  readonly pages: number
  /** Resolves when the record speaks of it. */
  readonly told: Promise<WrittenRecord>
}

/** Keeps what a cascade takes along on pages of its root's record, before it goes. */
export class CascadeRecorder {
  readonly #client: Client
  readonly #clock: Clock
  readonly #wholeOf: (root: StoredObject) => Promise<StoredObject | undefined>
  /** Records that were written to lately, by root uid; each resolves when its last page is written: pages are numbered one after the other. */
  readonly #written = new BoundedMap<string, Promise<Written>>(1000)

  constructor(
    client: Client,
    clock: Clock,
    { wholeOf }: { readonly wholeOf: (root: StoredObject) => Promise<StoredObject | undefined> },
  ) {
    this.#client = client
    this.#clock = clock
    this.#wholeOf = wholeOf
  }

  /**
   * Writes one more page of the record of whatever began the cascade: the root's own, or that of what the root itself went along with. Where there is
   * none, the root is recorded as deleted by a user, with its manifest while it is there. What is on the page may go when this resolves: a restore finds
   * it. `told` resolves when the record itself speaks of it, too; `cascadeRecord` is where it is.
   */
  async write(
    root: CascadeRoot,
    companions: readonly Companion[],
  ): Promise<{ readonly told: Promise<unknown>; readonly cascadeRecord: string }> {
    const { uid } = root.object.metadata
    const before = this.#written.get(uid) ?? this.#open(root)
    const after = before.then((written) => this.#add(written, companions))
    this.#written.set(uid, after)
    // The next one reads again how far the record has got.
    const forget = () => void this.#written.delete(uid)
    try {
      const { told, record } = await after
      told.catch(forget)
      return { told, cascadeRecord: placeOf(record) }
    } catch (error) {
      forget()
      throw error
    }
  }

  /** Where what goes with a root is recorded; undefined where there is no record. */
  async find(root: CascadeRoot): Promise<string | undefined> {
    const record = (await this.#written.get(root.object.metadata.uid))?.record ?? (await this.#find(root))
    return record && placeOf(record)
  }

  /** Says on the record of a root that is still there what it waits for. What went along with another has none. */
  async tell(root: StoredObject, message: string): Promise<void> {
    await this.#client
      .patch(
        departure.type,
        { namespace: recordNamespace('', root), name: recordName('', root) },
        { type: 'merge', body: { status: { message } } },
        { subresource: 'status' },
      )
      .catch(ignoring('NotFound'))
  }

  async #add({ record, pages, told }: Written, companions: readonly Companion[]): Promise<Written> {
    const page = await this.#createPage(record, pages + 1, companions)
    return { record, pages: page, told: told.then((at) => this.#mention(at, { page, takes: companions.length })) }
  }

  /** A page that somebody else wrote and did not tell of yet, or did not live to, stands: the next number is taken. */
  async #createPage(record: WrittenRecord, first: number, companions: readonly Companion[]): Promise<number> {
    const objects = companions.map(({ object }) => object)
    const owners = companions.flatMap(({ object, isOwner }) => (isOwner ? (object.metadata.uid ?? []) : []))
    for (let number = first; ; number++) {
      try {
        await this.#client.create(departure.type, await pageOf(record, number, { objects, owners }))
        return number
      } catch (error) {
        if (hasNoPlace(error)) return number
        if (!isStatusError(error, 'AlreadyExists')) throw error
      }
    }
  }

  /** Counts on from what the record says by now: another collector may write to it, too. */
  async #mention(
    record: WrittenRecord,
    { page, takes }: { readonly page: number; readonly takes: number },
  ): Promise<WrittenRecord> {
    const { namespace = '', name = '' } = record.metadata
    for (let at: WrittenRecord = record, attempt = 1; ; attempt++) {
      const spec = { pages: Math.max(at.spec.pages ?? 0, page), takes: (at.spec.takes ?? 0) + takes }
      const { resourceVersion } = at.metadata
      try {
        return await this.#client.patch<Departure>(
          departure.type,
          { namespace, name },
          { type: 'merge', body: { metadata: { resourceVersion }, spec } },
        )
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return { ...at, spec: { ...at.spec, ...spec } }
        if (!isStatusError(error, 'Conflict') || attempt === attempts) throw error
      }
      at = await this.#client.get<Departure>(departure.type, { namespace, name })
    }
  }

  async #open(root: CascadeRoot): Promise<Written> {
    const record = await this.#recordOf(root)
    return { record, pages: record.spec.pages ?? 0, told: Promise.resolve(record) }
  }

  async #recordOf(root: CascadeRoot): Promise<WrittenRecord> {
    const found = await this.#find(root)
    return found && !isGivenUp(found, root) ? found : this.#begin(root, found)
  }

  /** Writes the record of a root that nobody has recorded, or writes one anew that was given up. */
  async #begin({ by, object, isGone }: CascadeRoot, old: Departure | undefined): Promise<WrittenRecord> {
    const facts = { cluster: '', because: 'deleted', by, now: this.#clock.now() }
    const whole = isGone ? undefined : await this.#wholeOf(object)
    const { manifest, ...told } = departureRecord({ ...facts, object: whole ?? object }).spec
    const { metadata, ...kind } = old ?? departureRecord({ ...facts, object })
    const record = { ...kind, metadata, spec: { ...told, ...pagesOf(old), ...(whole ? { manifest } : {}) } }
    const { name = '', namespace = '' } = metadata
    const status = { phase: isGone ? 'Gone' : 'Leaving', message: whole ? null : rootIsUnknown }
    try {
      await (old ? this.#client.update(departure.type, record) : this.#client.create(departure.type, record))
      return await this.#client.patch<Departure>(
        departure.type,
        { namespace, name },
        { type: 'merge', body: { status } },
        { subresource: 'status' },
      )
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return this.#client.get<Departure>(departure.type, { namespace, name })
      if (!hasNoPlace(error)) throw error
      return record
    }
  }

  /** A root that is gone has been recorded by the server, if it is ours; what leaves by the door, by the door, in our own namespace where its own has no place. */
  async #find({ object, mayHaveFollowed }: CascadeRoot): Promise<Departure | undefined> {
    const name = recordName('', object)
    const home = recordNamespace('', object)
    for (const namespace of new Set([home, sojournNamespace])) {
      const found = await this.#client.get<Departure>(departure.type, { namespace, name }).catch(ignoring('NotFound'))
      if (found) return found
    }
    return mayHaveFollowed ? this.#recordThatTook(object.metadata.uid, home) : undefined
  }

  /** The record of the cascade in which an owner went, by the pages that name it. */
  async #recordThatTook(uid: string, namespace: string): Promise<Departure | undefined> {
    for (const home of new Set([namespace, sojournNamespace])) {
      const where = { namespace: home, labelSelector: ownersLabel, metadataOnly: true }
      for await (const { items } of this.#client.listAll(departure.type, where)) {
        const page = items.find((candidate) => ownersOn(candidate).includes(uid))
        if (!page) continue
        const place = { namespace: home, name: recordOfPage(page.metadata.name) }
        return this.#client.get<Departure>(departure.type, place).catch(ignoring('NotFound'))
      }
    }
    return undefined
  }
}

/** Whether a record is of a former wish that this very root leaves, which came to nothing. */
function isGivenUp({ spec, status }: Departure, { object }: CascadeRoot): boolean {
  return status?.phase === 'Abandoned' && spec.object.uid === object.metadata.uid
}

function placeOf({ metadata }: WrittenRecord): string {
  return `${metadata.namespace}/${metadata.name}`
}

const rootIsUnknown = 'its own manifest is not recorded: it was gone before anything was known that would follow it'

const attempts = 20
