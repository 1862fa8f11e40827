import type { ProcessParts } from '../../runtime/process-parts.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import { ignoring } from '../../kube/status-error.ts'
import { isRecreatedByController } from '../subjects/contents.ts'
import { batchesOf, ownersLabel, ownersOn, pageTypes, recordOfPage, type PageContent } from './pages.ts'
import { departureRecord, pagesOf, recordName, recordNamespace, type By, type UnwrittenRecord } from './record.ts'
import type { KeySource } from './record-keys.ts'
import { RecordWriter } from './record-writer.ts'

/** The object whose deletion started a cascade. */
export interface CascadeRoot {
  readonly object: StoredObject
  readonly by: By
  /** False while it is still being deleted and waits for its dependents. */
  readonly isGone: boolean
  /** Whether it may itself have been deleted by another cascade that this process did not see. */
  readonly mayHaveFollowed: boolean
}

/** A dependent that a cascade deletes. */
export interface Follower {
  readonly type: ResourceType
  /** At least its metadata. */
  readonly object: StoredObject
  /** Whether it has dependents itself. */
  readonly isOwner: boolean
}

/** A batch of dependents that is on a page. They may be deleted: a restore finds them. */
export interface RecordedBatch {
  /** Resolves when the record counts the page, too. Deletion need not wait for it. */
  readonly counted: Promise<unknown>
  /** `namespace/name` of the record, if there is one. */
  readonly cascadeRecord?: string | undefined
}

export interface CascadeRecorderPorts extends Pick<ProcessParts, 'client' | 'clock'> {
  /** The keys that encrypt the data of Secrets. Without, records keep none. */
  readonly keys?: KeySource
  /** The complete object; undefined when it is gone. */
  readonly read: (type: ResourceType, object: StoredObject) => Promise<StoredObject | undefined>
}

/** How far a record has been written. */
interface Progress {
  readonly record: UnwrittenRecord
  /** The number of its last page. */
  readonly pages: number
  /** Resolves to the record when it counts that page. */
  readonly counted: Promise<UnwrittenRecord>
}

/** Records what a cascade deletes, before it does, on pages of its root's record. */
export class CascadeRecorder {
  readonly #ports: CascadeRecorderPorts
  readonly #writer: RecordWriter
  /** Recently written records by root uid. Each promise resolves when the last page is written: pages are numbered one after the other. */
  readonly #written = new BoundedMap<string, Promise<Progress>>(1000)

  constructor(ports: CascadeRecorderPorts) {
    this.#ports = ports
    this.#writer = new RecordWriter(ports)
  }

  /**
   * Writes the followers a restore needs on one page of the record of the root, or of the cascade that deleted the root. A root without a record is recorded
   * as deleted by a user, with its manifest while it still exists. Rejects when the page cannot be written: then the followers must not be deleted.
   */
  async record(followers: readonly Follower[], root: CascadeRoot | undefined): Promise<RecordedBatch> {
    if (!root) return notRecorded
    const restorable = followers.filter(({ object }) => !isRecreatedByController(object))
    if (restorable.length === 0) return this.#withoutPage(followers, root)
    const content = await this.#pageContent(restorable)
    return content.objects.length > 0 ? this.#write(root, content) : notRecorded
  }

  /** Says on the record of a root that still exists what its deletion waits for. A root that another cascade deletes has no record. */
  async setMessage(root: StoredObject, message: string): Promise<void> {
    const metadata = { namespace: recordNamespace('', root), name: recordName('', root) }
    await this.#writer.setStatus({ metadata }, { message }).catch(ignoring('NotFound'))
  }

  /** Objects that a controller recreates are on no page, but their dependents will be: those need the record's name. */
  async #withoutPage(followers: readonly Follower[], root: CascadeRoot): Promise<RecordedBatch> {
    if (!followers.some(({ isOwner }) => isOwner)) return notRecorded
    const record = (await this.#written.get(root.object.metadata.uid))?.record ?? (await this.#find(root))
    return { ...notRecorded, cascadeRecord: record && placeOf(record) }
  }

  async #pageContent(followers: readonly Follower[]): Promise<Required<PageContent>> {
    const complete = await Promise.all(followers.map(({ type, object }) => this.#ports.read(type, object)))
    const owners = followers.flatMap(({ object, isOwner }, index) =>
      isOwner && complete[index] ? object.metadata.uid : [],
    )
    return { objects: complete.filter((object) => object !== undefined), owners }
  }

  async #write(root: CascadeRoot, content: Required<PageContent>): Promise<RecordedBatch> {
    const { uid } = root.object.metadata
    const before = this.#written.get(uid) ?? this.#open(root)
    const after = before.then((progress) => this.#addPages(progress, content))
    this.#written.set(uid, after)
    // After a failure the next batch reads again how far the record was written.
    const forget = () => void this.#written.delete(uid)
    try {
      const { counted, record } = await after
      counted.catch(forget)
      return { counted, cascadeRecord: placeOf(record) }
    } catch (error) {
      forget()
      throw error
    }
  }

  async #addPages(progress: Progress, { objects, owners }: Required<PageContent>): Promise<Progress> {
    let { pages, counted } = progress
    const hasDependents = new Set(owners)
    for await (const batch of batchesOf(objects)) {
      const its = batch.flatMap(({ metadata: { uid = '' } }) => (hasDependents.has(uid) ? [uid] : []))
      const page = await this.#writer.addPage(progress.record, pages + 1, { objects: batch, owners: its })
      const takes = batch.length
      pages = page
      counted = counted.then((at) => this.#writer.countPage(at, { page, takes }))
    }
    return { record: progress.record, pages, counted }
  }

  async #open(root: CascadeRoot): Promise<Progress> {
    const found = await this.#find(root)
    const record = found && !isAbandoned(found, root) ? found : await this.#begin(root, found)
    return { record, pages: record.spec.pages ?? 0, counted: Promise.resolve(record) }
  }

  async #begin({ by, object, isGone }: CascadeRoot, old: Departure | undefined): Promise<UnwrittenRecord> {
    const complete = isGone ? undefined : await this.#readRoot(object)
    const keys = complete && (await this.#writer.keysFor(complete))
    const facts = { cluster: '', because: 'deleted', by, now: this.#ports.clock.now(), keys }
    const { spec, ...record } = departureRecord({ ...facts, object: complete ?? object })
    const { manifest, ...rest } = spec
    const phase = isGone ? 'Gone' : 'Leaving'
    return this.#writer.begin(
      { ...record, spec: { ...rest, ...pagesOf(old), ...(complete && manifest ? { manifest } : {}) } },
      { old, status: { phase, message: complete ? null : rootNotRecorded } },
    )
  }

  async #readRoot(root: StoredObject): Promise<StoredObject | undefined> {
    const type = await this.#ports.client.discovery.typeOf(root)
    const found = type && (await this.#ports.read(type, root))
    return found?.metadata.uid === root.metadata.uid ? found : undefined
  }

  /** The record of a root: the embedded server has written it, or the door, or the cascade that deleted the root. */
  async #find({ object, mayHaveFollowed }: CascadeRoot): Promise<Departure | undefined> {
    const found = await this.#writer.find(object)
    if (found || !mayHaveFollowed) return found
    return this.#recordListing(object.metadata.uid, recordNamespace('', object))
  }

  /** The record of the cascade that deleted an owner, by the page that lists it. */
  async #recordListing(uid: string, namespace: string): Promise<Departure | undefined> {
    const { client } = this.#ports
    for (const home of new Set([namespace, sojournNamespace]))
      for (const type of pageTypes) {
        const where = { namespace: home, labelSelector: ownersLabel, metadataOnly: true }
        for await (const { items } of client.listAll(type, where)) {
          const page = items.find((candidate) => ownersOn(candidate).includes(uid))
          if (!page) continue
          const place = { namespace: home, name: recordOfPage(page.metadata.name) }
          return client.get<Departure>(departure.type, place).catch(ignoring('NotFound'))
        }
      }
    return undefined
  }
}

/** Whether a record is of an earlier attempt to delete this root that was abandoned. */
function isAbandoned({ spec, status }: Departure, { object }: CascadeRoot): boolean {
  return status?.phase === 'Abandoned' && spec.object.uid === object.metadata.uid
}

function placeOf({ metadata }: UnwrittenRecord): string {
  return `${metadata.namespace}/${metadata.name}`
}

const rootNotRecorded = 'its own manifest is not recorded: it was gone before its dependents were known'
const notRecorded: RecordedBatch = { counted: Promise.resolve() }
