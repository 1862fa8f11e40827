import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { placeOf, refOf, type KubeObject, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { restorable } from '../subjects/contents.ts'
import { kubeSubject } from '../subjects/subject.ts'
import { addPage, completePages, keysFor, writePages, type PageContent, type PagePorts } from './pages.ts'
import type { RecordKeys } from './record-keys.ts'
import { departureByUser, hasNoPlace, recordName, recordNamespace, type UnwrittenRecord } from './record.ts'

type DepartureStatus = NonNullable<Departure['status']>
/** Null removes a field. */
type StatusPatch = { readonly [field in keyof DepartureStatus]?: DepartureStatus[field] | null }

/**
 * Writes Departure records over the API: before the door deletes, before a cascade deletes, and before a namespace or definition that a user deletes is emptied.
 * Records that the embedded server stores inside a delete transaction are built by `userDeletionRecord`.
 */
export class RecordWriter {
  readonly #client: Client
  readonly #ports: PagePorts

  constructor(ports: PagePorts) {
    this.#client = ports.client
    this.#ports = ports
  }

  /** The record of an object: in its namespace, or in ours where its own is being deleted and takes no new objects. */
  async find(object: KubeObject): Promise<Departure | undefined> {
    const name = recordName('', object)
    for (const namespace of new Set([recordNamespace('', object), sojournNamespace])) {
      const found = await this.#client.get<Departure>(departure.type, { namespace, name }).catch(ignoring('NotFound'))
      if (found) return found
    }
    return undefined
  }

  /** Writes the record of an object that the door is about to delete, `contents` on its pages. Resumes the record of an interrupted attempt. */
  async writeBeforeDelete(record: UnwrittenRecord, contents?: AsyncIterable<KubeObject>): Promise<Departure> {
    const pages = contents && (await writePages(this.#ports, record, restorable(contents)))
    const wanted = { ...record, spec: { ...record.spec, ...pages } }
    try {
      return await this.#client.create<Departure>(departure.type, wanted)
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return this.#resume(wanted)
      // Nothing can be created in a namespace that is being deleted: its record goes to ours.
      if (!isStatusError(error, 'Forbidden') || wanted.metadata.namespace === sojournNamespace) throw error
      return this.#writeToOurNamespace(wanted)
    }
  }

  /**
   * Like `writeBeforeDelete`, for a deletion of several steps: what the pages of an earlier record of this object hold stays on them, although
   * earlier steps have deleted it since.
   */
  async completeBeforeDelete(record: UnwrittenRecord, contents: AsyncIterable<KubeObject>): Promise<Departure> {
    const { namespace = '', name = '' } = record.metadata
    const found = await this.#client.get<Departure>(departure.type, { namespace, name }).catch(ignoring('NotFound'))
    if (!found) return this.writeBeforeDelete(record, contents)
    const pages = await completePages(this.#ports, found, restorable(contents))
    const renewed = await this.#replace(found, { ...record, spec: { ...record.spec, ...pages } })
    return this.setStatus(renewed, { phase: 'Recorded', message: null })
  }

  /**
   * Records a namespace or a CustomResourceDefinition that a user deletes, with its contents, before any of them is deleted. The door's own record only gets
   * what was created or changed since. Writes nothing where records cannot be stored because their own namespace or kind is being deleted.
   */
  async recordWithContents(object: StoredObject, now: number): Promise<void> {
    const record = departureByUser(object, { now })
    const found = await this.find(object)
    const type = await this.#client.discovery.typeOf(object)
    if (!type) throw new Error(`${object.apiVersion} ${object.kind} is not served`)
    const contents = restorable(
      kubeSubject(this.#client, type, refOf(object)).contents?.({ metadataOnly: false }) ?? [],
    )
    if (found && isStanding(found)) return this.#addMissing(found, contents)
    if (!(await this.#canBeStored(record))) return
    const spec = { ...record.spec, ...(await writePages(this.#ports, record, contents)) }
    await this.#put({ ...record, spec }, found, leaving)
  }

  /** Records an object that a user deletes and that waits for its dependents by Bond, before any of those is deleted. An existing record stays as it is. */
  async recordNeeded(type: ResourceType, object: StoredObject, now: number): Promise<void> {
    const found = await this.find(object)
    if (found && isStanding(found)) return
    const { apiVersion, kind } = object
    const { name, namespace, uid } = object.metadata
    const place = placeOf({ name, namespace })
    const complete = await this.#client.get<StoredObject>(type, place).catch(ignoring('NotFound'))
    if (complete?.metadata.uid !== uid) return
    const record = departureByUser({ ...complete, apiVersion, kind }, { now, keys: await this.keysFor(complete) })
    if (await this.#canBeStored(record)) await this.#put(record, found, leaving)
  }

  /** Writes the record of a cascade's root, replacing an abandoned one. Returns it unwritten where records cannot be stored. */
  async begin(
    record: UnwrittenRecord,
    { old, status }: { readonly old: Departure | undefined; readonly status: StatusPatch },
  ): Promise<UnwrittenRecord> {
    try {
      return await this.#put(record, old, status)
    } catch (error) {
      const { name = '', namespace = '' } = record.metadata
      if (isStatusError(error, 'AlreadyExists')) return this.#client.get<Departure>(departure.type, { namespace, name })
      if (!hasNoPlace(error)) throw error
      return record
    }
  }

  /** `addPage` in pages.ts. Writes nothing where records cannot be stored. */
  async addPage(record: UnwrittenRecord, first: number, content: PageContent): Promise<number> {
    return addPage(this.#ports, record, first, content).catch((error: unknown) => {
      if (hasNoPlace(error)) return first
      throw error
    })
  }

  /** The keys for the data of an object, if it is a Secret and records keep that. Throws RecordKeyError. */
  keysFor(object: KubeObject): Promise<RecordKeys | undefined> {
    return keysFor(this.#ports, [object])
  }

  /** Counts a page on its record. Retries on conflict from the record as it is then: another collector may write to it. */
  async countPage(
    record: UnwrittenRecord,
    { page, takes }: { readonly page: number; readonly takes: number },
  ): Promise<UnwrittenRecord> {
    const { namespace = '', name = '' } = record.metadata
    for (let at = record, attempt = 1; ; attempt++) {
      const spec = { pages: Math.max(at.spec.pages ?? 0, page), takes: (at.spec.takes ?? 0) + takes }
      const body = { metadata: { resourceVersion: at.metadata.resourceVersion }, spec }
      try {
        return await this.#client.merge<Departure>(departure.type, { namespace, name }, body)
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return { ...at, spec: { ...at.spec, ...spec } }
        if (!isStatusError(error, 'Conflict') || attempt === attempts) throw error
      }
      at = await this.#client.get<Departure>(departure.type, { namespace, name })
    }
  }

  async setStatus({ metadata }: Pick<KubeObject, 'metadata'>, status: StatusPatch): Promise<Departure> {
    const { namespace = '', name = '' } = metadata
    const patch = { type: 'merge', body: { status } } as const
    return this.#client.patch<Departure>(departure.type, { namespace, name }, patch, { subresource: 'status' })
  }

  async #put(record: UnwrittenRecord, old: Departure | undefined, status: StatusPatch): Promise<Departure> {
    const written = old
      ? await this.#replace(old, record)
      : await this.#client.create<Departure>(departure.type, record)
    return this.setStatus(written, status)
  }

  #replace({ metadata }: Departure, record: UnwrittenRecord): Promise<Departure> {
    const { labels = {} } = record.metadata
    return this.#client.update<Departure>(departure.type, { ...record, metadata: { ...metadata, labels } })
  }

  /** Keeps the record of an earlier attempt, unless that attempt was abandoned or the object has changed since. */
  async #resume(record: UnwrittenRecord): Promise<Departure> {
    const { namespace = '', name = '' } = record.metadata
    const found = await this.#client.get<Departure>(departure.type, { namespace, name })
    const isCurrent = found.spec.object.resourceVersion === record.spec.object.resourceVersion
    const hasPages = found.spec.pages === record.spec.pages && found.spec.takes === record.spec.takes
    if (isCurrent && hasPages && isStanding(found)) return found
    const renewed = await this.#replace(found, record)
    // The settle controller would correct the phase, so a failure here must not stop the deletion.
    await this.setStatus(renewed, { phase: 'Recorded' }).catch(() => {})
    return renewed
  }

  async #writeToOurNamespace(record: UnwrittenRecord): Promise<Departure> {
    const moved = { ...record, metadata: { ...record.metadata, namespace: sojournNamespace } }
    const written = await this.#client.create<Departure>(departure.type, moved).catch(ignoring('AlreadyExists'))
    return written ?? this.#resume(moved)
  }

  /** Only onto the version that was read: another writer of pages counts them as well. */
  async #addMissing(record: Departure, contents: AsyncIterable<KubeObject>): Promise<void> {
    const { namespace = '', name, resourceVersion } = record.metadata
    const { takes, pages } = await completePages(this.#ports, record, contents)
    if (takes === (record.spec.takes ?? 0) && pages === (record.spec.pages ?? 0)) return
    const body = { metadata: { resourceVersion }, spec: { takes, pages } }
    await this.#client.merge(departure.type, { namespace, name }, body)
  }

  /** Asked before the contents are read: a kind that disappears while they are read must not pass for a place without records. */
  async #canBeStored(record: KubeObject): Promise<boolean> {
    try {
      await this.#client.create(departure.type, record, { dryRun: true })
    } catch (error) {
      if (hasNoPlace(error)) return false
      if (!isStatusError(error, 'AlreadyExists')) throw error
    }
    return true
  }
}

/** Whether a record is about the current deletion, not about an earlier attempt that was abandoned. */
function isStanding({ status }: Departure): boolean {
  return status?.phase !== 'Abandoned'
}

const leaving: StatusPatch = { phase: 'Leaving', message: null }
const attempts = 20
