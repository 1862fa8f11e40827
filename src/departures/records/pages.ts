import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { departurePage, type DeparturePage } from '../../apis/departure-page.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { limits } from '../../parsing/limits.ts'
import { parsingThread } from '../../parsing/parsing-thread.ts'
import { removeOwn } from '../subjects/own-machinery.ts'
import { hasDataToSeal, RecordKeyError, type KeySource, type RecordKeys, type SealedData } from './record-keys.ts'
import { manifestOf, pageLabel, type UnwrittenRecord } from './record.ts'

/** One object on a page: the uid it had, its manifest, and the encrypted data of a Secret. */
export interface PageLine {
  readonly uid: string
  readonly manifest: KubeObject
  readonly sealed?: SealedData
  /** `Cleaner/NAME`: whose decision deleted it, where the record holds several decisions. */
  readonly decidedBy?: string
}

/** What writing pages needs. */
export interface PagePorts {
  readonly client: Client
  /** The keys that encrypt the data of Secrets. Without, records keep none. */
  readonly keys?: KeySource
}

type Objects = AsyncIterable<KubeObject> | Iterable<KubeObject>

/** What goes on a page. */
export interface PageContent {
  readonly objects: readonly KubeObject[]
  /** Uids of those objects that have dependents: by them a later cascade finds this record. */
  readonly owners?: readonly string[]
}

/** How much a record's pages hold. */
interface Extent {
  readonly takes: number
  readonly pages: number
}

/** Writes the objects that are deleted together with another on pages of its record, before the record counts them. */
export async function writePages(
  ports: PagePorts,
  record: UnwrittenRecord,
  objects: Objects,
): Promise<Extent | undefined> {
  const { client } = ports
  let takes = 0
  let pages = 0
  for await (const batch of batchesOf(objects)) {
    await putPage(client, await pageOf(record, ++pages, { objects: batch, keys: await keysFor(ports, batch) }))
    takes += batch.length
  }
  await dropPages(client, departurePage.type, record, pages + 1)
  await dropPages(client, departure.type, record, 1)
  return takes === 0 ? undefined : { takes, pages }
}

/**
 * Adds pages for objects that a record's pages do not hold in their current state; returns the new extent. May be called again after a crash: a page counts
 * as written even if the record does not count it yet.
 */
export async function completePages(ports: PagePorts, record: Departure, objects: Objects): Promise<Extent> {
  const held = new Map<string, PageLine>()
  let pages = 0
  for await (const lines of eachPage(ports.client, record)) {
    pages++
    for (const line of lines) held.set(line.uid, line)
  }
  const uids = new Set(held.keys())
  for await (const batch of batchesOf(missingFrom(held, objects, ports.keys))) {
    pages = await addPage(ports, record, pages + 1, { objects: batch })
    for (const { metadata } of batch) uids.add(metadata.uid ?? '')
  }
  return { takes: uids.size, pages }
}

/** Objects that no page holds in their current state. An object that was recorded and is being deleted since is complete: only its deletion changes it. */
async function* missingFrom(
  held: ReadonlyMap<string, PageLine>,
  objects: Objects,
  keys: KeySource,
): AsyncGenerator<KubeObject, void, undefined> {
  for await (const object of objects) {
    const { uid = '', deletionTimestamp } = object.metadata
    const before = held.get(uid)
    if (!before) yield object
    else if (deletionTimestamp) continue
    else if (!deepEqual(before.manifest, manifestOf(object)) || !(await isSealedAs(before, object, keys))) yield object
  }
}

/** Whether a line holds the current data of a Secret, if records keep it. */
async function isSealedAs(line: PageLine, object: KubeObject, keys: KeySource): Promise<boolean> {
  if (!keys || !hasDataToSeal(object)) return true
  if (!line.sealed) return false
  const { sealed } = line
  const all = await keys()
  try {
    return deepEqual(all.open(sealed, line), object.data)
  } catch (error) {
    if (error instanceof RecordKeyError) return false
    throw error
  }
}

/** Batches that each fit on one page. */
export async function* batchesOf(objects: Objects): AsyncGenerator<readonly KubeObject[], void, undefined> {
  let batch: KubeObject[] = []
  let size = 0
  for await (const object of objects) {
    const added = pageSize(object)
    if (batch.length > 0 && size + added > pageBytes) {
      yield batch
      batch = []
      size = 0
    }
    batch.push(object)
    size += added
  }
  if (batch.length > 0) yield batch
}

/**
 * The manifests on a record's pages, owners first. Throws NotFound when a page that the record counts is missing. Includes a page that is not counted
 * because its writer crashed.
 */
export async function* readPages(client: Client, record: Departure): AsyncGenerator<PageLine, void, undefined> {
  for await (const lines of eachPage(client, record)) yield* lines
}

async function* eachPage(client: Client, record: Departure): AsyncGenerator<readonly PageLine[], void, undefined> {
  const { namespace = '', name } = record.metadata
  for (let number = 1; ; number++) {
    const place = { namespace, name: pageName(name, number) }
    // After an upgrade from version 0.1.0 both kinds can have a page of the same number.
    const old = await client.get<Departure>(departure.type, place).catch(ignoring('NotFound'))
    const page = await client.get<DeparturePage>(departurePage.type, place).catch((error: unknown) => {
      const isMissing = number <= (record.spec.pages ?? 0) && !old
      if (isMissing || !isStatusError(error, 'NotFound')) throw error
    })
    if (!old && !page) return
    if (old) yield await linesOn(old.spec.page?.manifests ?? '')
    if (page) yield await linesOn(page.spec.manifests)
  }
}

/** The lines of one page. */
export function linesOn(manifests: string): Promise<readonly PageLine[]> {
  return parsingThread.read({
    reader: 'departure-page',
    input: manifests,
    timeMs: limits.departurePage.timeMs,
  })
}

/** The kinds of pages. Up to version 0.1.0 a page was a Departure with the label of its number. */
export const pageTypes = [departurePage.type, departure.type]

/** Uncompressed: large enough to compress well, and well below the API server's limit afterwards. */
export const pageBytes = 2_000_000

/** How much room an object takes on a page. Binary and encrypted data hardly compress. */
export function pageSize(object: KubeObject, line = JSON.stringify(object)): number {
  return line.length * (object.binaryData || hasDataToSeal(object) ? 2 : 1)
}

const compress = promisify(gzip)

/** Replaces a page of an earlier, interrupted attempt: it is out of date. */
async function putPage(client: Client, page: KubeObject): Promise<void> {
  try {
    await client.create(departurePage.type, page)
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
    const { namespace = '', name = '' } = page.metadata
    const { metadata } = await client.get<DeparturePage>(departurePage.type, { namespace, name })
    await client.update(departurePage.type, { ...page, metadata })
  }
}

/** Deletes surplus pages of an earlier attempt: readers would take them for this record's own. */
async function dropPages(client: Client, type: ResourceType, { metadata }: KubeObject, first: number): Promise<void> {
  const { name = '', namespace = '' } = metadata
  for (let number = first; ; number++) {
    const place = { namespace, name: pageName(name, number) }
    const surplus = await client.get<StoredObject>(type, place, { metadataOnly: true }).catch(ignoring('NotFound'))
    if (!surplus) return
    await removeOwn(client, type, surplus)
  }
}

/** Adds a page under the first free number from `first` on: a number taken belongs to another writer. Returns its number. */
export async function addPage(
  ports: PagePorts,
  record: UnwrittenRecord,
  first: number,
  content: PageContent,
): Promise<number> {
  const keys = await keysFor(ports, content.objects)
  for (let number = first; ; number++) {
    const page = await pageOf(record, number, { ...content, keys })
    const written = await ports.client.create(departurePage.type, page).catch(ignoring('AlreadyExists'))
    if (written) return number
  }
}

/** Label and annotation of a page with objects that have dependents; the annotation lists their uids. */
export const ownersLabel = 'sojourn.dev/owners'

/** The uids of the objects on a page that have dependents. */
export function ownersOn({ metadata }: KubeObject): readonly string[] {
  return metadata.annotations?.[ownersLabel]?.split(',') ?? []
}

/** Builds one page of a record; compressed off the event loop. */
async function pageOf(
  record: UnwrittenRecord,
  number: number,
  { objects, owners = [], keys }: PageContent & { readonly keys: RecordKeys | undefined },
): Promise<KubeObject> {
  const text = objects.map((object) => pageLine(object, keys)).join('\n')
  const manifests = (await compress(text, { level: constants.Z_BEST_SPEED })).toString('base64')
  return pageWith(record, { number, manifests, owners })
}

/** One object as a line of a page. */
export function pageLine(object: KubeObject, keys: RecordKeys | undefined, decidedBy?: string): string {
  const { uid = '' } = object.metadata
  const sealed = keys?.seal(object)
  const line: PageLine = { uid, manifest: manifestOf(object), ...(sealed ? { sealed } : {}) }
  return JSON.stringify(decidedBy === undefined ? line : { ...line, decidedBy })
}

/** The keys, if records keep the data of Secrets and one of these objects has any. */
export async function keysFor({ keys }: PagePorts, objects: readonly KubeObject[]): Promise<RecordKeys | undefined> {
  return keys && objects.some(hasDataToSeal) ? keys() : undefined
}

/** A page with its compressed lines. */
export function pageWith(
  record: UnwrittenRecord,
  {
    number,
    manifests,
    owners = [],
  }: { readonly number: number; readonly manifests: string; readonly owners?: readonly string[] },
): KubeObject {
  const { name = '', namespace, labels } = record.metadata
  return departurePage.object(
    {
      name: pageName(name, number),
      ...(namespace ? { namespace } : {}),
      labels: {
        ...labels,
        [pageLabel]: String(number),
        ...(owners.length > 0 ? { [ownersLabel]: 'true' } : {}),
      },
      ...(owners.length > 0 ? { annotations: { [ownersLabel]: owners.join(',') } } : {}),
    },
    { of: name, number, manifests } satisfies DeparturePage['spec'],
  )
}

/** The name of the record that a page belongs to. */
export function recordOfPage(page: string): string {
  return page.replace(/-p\d+$/, '')
}

function pageName(record: string, number: number): string {
  return `${record}-p${number}`
}
