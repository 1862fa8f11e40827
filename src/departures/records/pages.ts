import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { departure, type Departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { limits } from '../../parsing/limits.ts'
import { parsingThread } from '../../parsing/parsing-thread.ts'
import { removeOwn } from '../subjects/own-machinery.ts'
import { manifestOf, pageLabel, type UnwrittenRecord } from './record.ts'

/** One object on a page: the uid it had, and its manifest. */
export interface PageLine {
  readonly uid: string
  readonly manifest: KubeObject
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
  client: Client,
  record: UnwrittenRecord,
  objects: Objects,
): Promise<Extent | undefined> {
  let takes = 0
  let pages = 0
  for await (const batch of batchesOf(objects)) {
    await putPage(client, await pageOf(record, ++pages, { objects: batch }))
    takes += batch.length
  }
  await dropPages(client, record, pages + 1)
  return takes === 0 ? undefined : { takes, pages }
}

/**
 * Adds pages for objects that a record's pages do not hold in their current state; returns the new extent. May be called again after a crash: a page counts
 * as written even if the record does not count it yet.
 */
export async function completePages(client: Client, record: Departure, objects: Objects): Promise<Extent> {
  const held = new Map<string, KubeObject>()
  let pages = 0
  for await (const lines of eachPage(client, record)) {
    pages++
    for (const { uid, manifest } of lines) held.set(uid, manifest)
  }
  const uids = new Set(held.keys())
  for await (const batch of batchesOf(missingFrom(held, objects))) {
    pages = await addPage(client, record, pages + 1, { objects: batch })
    for (const { metadata } of batch) uids.add(metadata.uid ?? '')
  }
  return { takes: uids.size, pages }
}

/** Objects that no page holds in their current state. An object that was recorded and is being deleted since is complete: only its deletion changes it. */
async function* missingFrom(
  held: ReadonlyMap<string, KubeObject>,
  objects: Objects,
): AsyncGenerator<KubeObject, void, undefined> {
  for await (const object of objects) {
    const { uid = '', deletionTimestamp } = object.metadata
    const before = held.get(uid)
    if (!before || (!deletionTimestamp && !deepEqual(before, manifestOf(object)))) yield object
  }
}

/** Batches of about one page. */
async function* batchesOf(objects: Objects): AsyncGenerator<readonly KubeObject[], void, undefined> {
  let batch: KubeObject[] = []
  let size = 0
  for await (const object of objects) {
    batch.push(object)
    size += JSON.stringify(object).length
    if (size < pageBytes) continue
    yield batch
    batch = []
    size = 0
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
    const isCounted = number <= (record.spec.pages ?? 0)
    const page = await client
      .get<Departure>(departure.type, { namespace, name: pageName(name, number) })
      .catch((error: unknown) => {
        if (isCounted || !isStatusError(error, 'NotFound')) throw error
      })
    if (!page) return
    yield await parsingThread.read<readonly PageLine[]>({
      reader: 'departure-page',
      input: page.spec.page?.manifests ?? '',
      timeMs: limits.departurePage.timeMs,
    })
  }
}

/** Uncompressed: large enough to compress well, and well below the API server's limit afterwards. */
export const pageBytes = 2_000_000

const compress = promisify(gzip)

/** Replaces a page of an earlier, interrupted attempt: it is out of date. */
async function putPage(client: Client, page: KubeObject): Promise<void> {
  try {
    await client.create(departure.type, page)
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
    const { namespace = '', name = '' } = page.metadata
    const { metadata } = await client.get<Departure>(departure.type, { namespace, name })
    await client.update(departure.type, { ...page, metadata })
  }
}

/** Deletes surplus pages of an earlier attempt: readers would take them for this record's own. */
async function dropPages(client: Client, { metadata }: KubeObject, first: number): Promise<void> {
  const { name = '', namespace = '' } = metadata
  for (let number = first; ; number++) {
    const place = { namespace, name: pageName(name, number) }
    const surplus = await client
      .get<StoredObject>(departure.type, place, { metadataOnly: true })
      .catch(ignoring('NotFound'))
    if (!surplus) return
    await removeOwn(client, departure.type, surplus)
  }
}

/** Adds a page under the first free number: a number taken belongs to another writer. Returns its number. */
async function addPage(client: Client, record: Departure, first: number, content: PageContent): Promise<number> {
  for (let number = first; ; number++) {
    const page = await pageOf(record, number, content)
    const written = await client.create(departure.type, page).catch(ignoring('AlreadyExists'))
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
export async function pageOf(
  record: UnwrittenRecord,
  number: number,
  { objects, owners = [] }: PageContent,
): Promise<KubeObject> {
  const text = objects.map(pageLine).join('\n')
  const manifests = (await compress(text, { level: constants.Z_BEST_SPEED })).toString('base64')
  return pageWith(record, { number, manifests, owners })
}

/** One object as a line of a page. */
export function pageLine(object: KubeObject): string {
  return JSON.stringify({ uid: object.metadata.uid ?? '', manifest: manifestOf(object) } satisfies PageLine)
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
  const { manifest: _, ...spec } = record.spec
  return {
    apiVersion: departure.apiVersion,
    kind: departure.kind,
    metadata: {
      name: pageName(name, number),
      ...(namespace ? { namespace } : {}),
      labels: {
        ...labels,
        [pageLabel]: String(number),
        ...(owners.length > 0 ? { [ownersLabel]: 'true' } : {}),
      },
      ...(owners.length > 0 ? { annotations: { [ownersLabel]: owners.join(',') } } : {}),
    },
    spec: { ...spec, page: { of: name, number, manifests } },
  }
}

/** The name of the record that a page belongs to. */
export function recordOfPage(page: string): string {
  return page.replace(/-p\d+$/, '')
}

function pageName(record: string, number: number): string {
  return `${record}-p${number}`
}
