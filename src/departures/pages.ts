import { promisify } from 'node:util'
import { constants, gunzipSync, gzip } from 'node:zlib'
import { departure, type Departure, type DepartureSpec } from '../apis/departure.ts'
import type { Client } from '../client/client.ts'
import type { KubeObject } from '../kube/object.ts'
import { isStatusError } from '../kube/status-error.ts'
import { manifestOf, pageLabel } from './record.ts'

/** One dependent on a page: the uid it had, and what it was. */
export interface PageLine {
  readonly uid: string
  readonly manifest: KubeObject
}

/** Writes what leaves with an object on pages of their own, before its record says that they are there. */
export async function writePages(
  client: Client,
  record: KubeObject & { readonly spec: DepartureSpec },
  objects: AsyncIterable<KubeObject> | Iterable<KubeObject>,
): Promise<{ takes: number; pages: number } | undefined> {
  let takes = 0
  let pages = 0
  let batch: KubeObject[] = []
  let size = 0
  const flush = async () => {
    if (batch.length === 0) return
    pages++
    await putPage(client, await pageOf(record, pages, { objects: batch }))
    batch = []
    size = 0
  }
  for await (const object of objects) {
    takes++
    batch.push(object)
    size += JSON.stringify(object).length
    if (size >= pageBytes) await flush()
  }
  await flush()
  return takes === 0 ? undefined : { takes, pages }
}

/**
 * The manifests a record's pages hold, owners first. Throws NotFound when a page that the record speaks of is missing; one that its writer did not
 * live to speak of counts, too.
 */
export async function* readPages(client: Client, record: Departure): AsyncGenerator<PageLine, void, undefined> {
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
    for (const line of text.split('\n')) if (line) yield JSON.parse(line) as PageLine
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
