import { promisify } from 'node:util'
import { constants, gunzipSync, gzip } from 'node:zlib'
import { departure, type Departure, type DepartureSpec } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patch.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { removeOwn } from '../subjects/own-machinery.ts'
import { manifestOf, pageLabel } from './record.ts'

/** One dependent on a page: the uid it had, and what it was. */
export interface PageLine {
  readonly uid: string
  readonly manifest: KubeObject
}

/** How much a record's pages hold. */
interface Extent {
  readonly takes: number
  readonly pages: number
}

/** Writes what leaves with an object on pages of their own, before its record says that they are there. */
export async function writePages(
  client: Client,
  record: KubeObject & { readonly spec: DepartureSpec },
  objects: AsyncIterable<KubeObject> | Iterable<KubeObject>,
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
 * Writes on further pages what those of a record do not hold as it is now, and says how much they hold then. Killed anywhere, it may be called again: what is
 * on a page counts, whether its record speaks of it or not.
 */
export async function completePages(
  client: Client,
  record: Departure,
  objects: AsyncIterable<KubeObject> | Iterable<KubeObject>,
): Promise<Extent> {
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

/** What is on no page as it is now. One that was recorded and is on its way out since changes only by going. */
async function* missingFrom(
  held: ReadonlyMap<string, KubeObject>,
  objects: AsyncIterable<KubeObject> | Iterable<KubeObject>,
): AsyncGenerator<KubeObject, void, undefined> {
  for await (const object of objects) {
    const { uid = '', deletionTimestamp } = object.metadata
    const before = held.get(uid)
    if (!before || (!deletionTimestamp && !deepEqual(before, manifestOf(object)))) yield object
  }
}

/** As many at a time as make a good page. */
async function* batchesOf(
  objects: AsyncIterable<KubeObject> | Iterable<KubeObject>,
): AsyncGenerator<readonly KubeObject[], void, undefined> {
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
 * The manifests a record's pages hold, owners first. Throws NotFound when a page that the record speaks of is missing; one that its writer did not
 * live to speak of counts, too.
 */
export async function* readPages(client: Client, record: Departure): AsyncGenerator<PageLine, void, undefined> {
  for await (const lines of eachPage(client, record)) yield* lines
}

async function* eachPage(client: Client, record: Departure): AsyncGenerator<readonly PageLine[], void, undefined> {
  const { namespace = '', name } = record.metadata
  for (let number = 1; ; number++) {
    const isSpokenOf = number <= (record.spec.pages ?? 0)
    const page = await client
      .get<Departure>(departure.type, { namespace, name: pageName(name, number) })
      .catch((error: unknown) => {
        if (isSpokenOf || !isStatusError(error, 'NotFound')) throw error
      })
    if (!page) return
    const text = gunzipSync(Buffer.from(page.spec.page?.manifests ?? '', 'base64')).toString('utf8')
    yield text.split('\n').flatMap((line) => (line ? [JSON.parse(line) as PageLine] : []))
  }
}

/** Large enough to compress well, small enough for any API server after compression. */
const pageBytes = 2_000_000

const compress = promisify(gzip)

/** What an earlier try left behind is out of date: pages without a record that stands are written anew. */
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

/** Pages that an earlier try left behind and that this one has no use for would be taken for its own. */
async function dropPages(client: Client, { metadata }: KubeObject, first: number): Promise<void> {
  const { name = '', namespace = '' } = metadata
  for (let number = first; ; number++) {
    const place = { namespace, name: pageName(name, number) }
    const left = await client
      .get<StoredObject>(departure.type, place, { metadataOnly: true })
      .catch(ignoring('NotFound'))
    if (!left) return
    await removeOwn(client, departure.type, left)
  }
}

/** Writes one more page to a record that others may write to as well: a number that is taken stays theirs. Says which it became. */
async function addPage(
  client: Client,
  record: Departure,
  first: number,
  content: { readonly objects: readonly KubeObject[] },
): Promise<number> {
  for (let number = first; ; number++) {
    const page = await pageOf(record, number, content)
    const written = await client.create(departure.type, page).catch(ignoring('AlreadyExists'))
    if (written) return number
  }
}

/** On a page that names owners: others live by something on it. */
export const ownersLabel = 'sojourn.dev/owners'

/** The uids of what is on a page and owns others. */
export function ownersOn({ metadata }: KubeObject): readonly string[] {
  return metadata.annotations?.[ownersLabel]?.split(',') ?? []
}

/** One page of a record; compressed beside the loop, which has others to serve. */
export async function pageOf(
  record: KubeObject & { readonly spec: DepartureSpec },
  number: number,
  { objects, owners = [] }: { readonly objects: readonly KubeObject[]; readonly owners?: readonly string[] },
): Promise<KubeObject> {
  const { name = '', namespace, labels } = record.metadata
  const { manifest: _, ...spec } = record.spec
  const lines = objects.map((object) =>
    JSON.stringify({ uid: object.metadata.uid ?? '', manifest: manifestOf(object) } satisfies PageLine),
  )
  const manifests = (await compress(lines.join('\n'), { level: constants.Z_BEST_SPEED })).toString('base64')
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

/** The name of the record that a page is of. */
export function recordOfPage(page: string): string {
  return page.replace(/-p\d+$/, '')
}

function pageName(record: string, number: number): string {
  return `${record}-p${number}`
}
