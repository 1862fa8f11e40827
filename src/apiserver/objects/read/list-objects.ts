import { StatusError, type Status } from '../../../kube/status-error.ts'
import type { Clock } from '../../store/clock.ts'
import type { Document } from '../../store/document.ts'
import { chunk, isLast, type ScanQuery, type Store, type StoredRecord } from '../../store/store.ts'
import { formatContinue, parseContinue, type ContinueToken } from './continue-token.ts'
import { badRequest, expired } from '../contract/failures.ts'
import { parseCount, requestedSnapshot, type RequestedSnapshot } from '../contract/list-options.ts'
import { waitForRevision } from './wait-for-revision.ts'
import type { ListRequest, ListResult } from '../contract/request.ts'
import { filterOf, type Filter } from './selection.ts'

/** What reads need. */
export interface ReadPorts {
  readonly store: Store
  readonly clock: Pick<Clock, 'after' | 'breathe'>
}

/** Lists objects at one revision: one page, or everything in chunks. */
export async function listObjects(ports: ReadPorts, request: ListRequest): Promise<ListResult> {
  const limit = parseCount(request.limit)
  parseCount(request.timeoutSeconds)
  const filter = filterOf(request.type, request)
  const wanted = requestedSnapshot(request, limit)
  const token = request.continue ? parseContinue(request.continue) : undefined
  if (token && wanted.state !== 'newest')
    throw badRequest('specifying resource version is not allowed when using continue')
  const revision = await snapshotRevision(ports, wanted, token)
  const reader = new SnapshotReader(ports, { request, filter, revision })
  if (limit === undefined && !token) {
    const metadata = { resourceVersion: String(revision) }
    return { metadata, items: reader.chunks() }
  }
  return reader.page(limit ?? Infinity, token)
}

/** The revision to list at: that of the token, the requested one, or the newest. Waits until it is durable. */
async function snapshotRevision(
  ports: ReadPorts,
  wanted: RequestedSnapshot,
  token: ContinueToken | undefined,
): Promise<number> {
  const { store } = ports
  if (wanted.state !== 'newest') await waitForRevision(ports, wanted.revision)
  const revision = token?.revision ?? (wanted.state === 'exactly' ? wanted.revision : store.decidedRevision)
  if (revision < store.compactedRevision)
    throw token ? new SnapshotExpired(token) : expired('The resourceVersion for the provided list is too old.')
  await waitForRevision(ports, revision)
  return revision
}

/** A page ends early when its objects are large: clients continue where there is a token. */
const maxPageSize = 4 * 1024 * 1024

/** Reads the objects of one snapshot, ordered by namespace and name. */
class SnapshotReader {
  readonly #ports: ReadPorts
  readonly #request: ListRequest
  readonly filter: Filter
  readonly revision: number

  constructor(ports: ReadPorts, options: { request: ListRequest; filter: Filter; revision: number }) {
    this.#ports = ports
    this.#request = options.request
    this.filter = options.filter
    this.revision = options.revision
  }

  async *chunks(): AsyncGenerator<readonly Document[]> {
    const { type } = this.#request
    for await (const { records } of this.#scan(undefined, chunk.limit)) {
      const chosen = records.filter((record) => this.#accepts(record)).map(({ document }) => type.serve(document))
      if (chosen.length > 0) yield chosen
    }
  }

  async page(limit: number, token: ContinueToken | undefined): Promise<ListResult> {
    const { type } = this.#request
    const chosen: StoredRecord[] = []
    let [more, size] = [false, 0]
    const most = this.filter.selectsAll ? Math.min(limit + 1, chunk.limit) : chunk.limit
    for await (const { records } of this.#scan(token, most)) {
      for (const record of records) {
        more = chosen.length >= limit || size >= maxPageSize
        if (more) break
        if (!this.#accepts(record)) continue
        chosen.push(record)
        size += record.document.text.length
      }
      if (more) break
    }
    const documents = chosen.map(({ document }) => type.serve(document))
    const last = chosen.at(-1)
    return { metadata: this.#pageMetadata(more ? last : undefined, token, chosen.length), items: once(documents) }
  }

  #pageMetadata(
    last: StoredRecord | undefined,
    token: ContinueToken | undefined,
    size: number,
  ): ListResult['metadata'] {
    const resourceVersion = String(this.revision)
    if (!last) return { resourceVersion }
    const remaining = this.filter.selectsAll ? this.#remaining(last, token, size) : undefined
    const { namespace, name } = last
    return {
      resourceVersion,
      continue: formatContinue({ revision: this.revision, namespace, name, remaining }),
      ...(remaining === undefined ? {} : { remainingItemCount: remaining }),
    }
  }

  /** Counted for the first page only; later pages subtract, because the snapshot does not change. */
  #remaining(last: StoredRecord, token: ContinueToken | undefined, size: number): number {
    if (token?.remaining !== undefined && token.revision === this.revision) return token.remaining - size
    return this.#ports.store.count({ ...this.#scope(), after: last, at: this.revision })
  }

  async *#scan(
    after: { readonly namespace: string; readonly name: string } | undefined,
    limit: number,
  ): AsyncGenerator<{ readonly records: readonly StoredRecord[] }> {
    const single = after ? undefined : readSingle(this.#ports.store, this.#request, this)
    if (single) return yield { records: single }
    let last = after
    for (;;) {
      const bounds = { limit, maxSize: chunk.maxSize }
      const records = this.#read({ ...this.#scope(), ...(last ? { after: last } : {}), ...bounds, at: this.revision })
      yield { records }
      last = keyOf(records.at(-1))
      if (isLast(records, bounds) || !last) return
      await this.#ports.clock.breathe()
    }
  }

  #read(query: ScanQuery): readonly StoredRecord[] {
    try {
      return this.#ports.store.scan(query)
    } catch (error) {
      if (error instanceof RangeError) throw expired('The resourceVersion for the provided list is too old.')
      throw error
    }
  }

  #scope(): { resource: string; namespace?: string } {
    const { type } = this.#request
    const namespace = type.namespaced ? (this.#request.namespace ?? this.filter.onlyNamespace) : undefined
    return { resource: type.resource, ...(namespace === undefined ? {} : { namespace }) }
  }

  #accepts({ name, document }: StoredRecord): boolean {
    const { onlyName } = this.filter
    if (onlyName !== undefined && onlyName !== name) return false
    return this.filter.accepts(this.#request.type.serve(document))
  }
}

/** The key of a record; a record held instead would hold its whole text. */
export function keyOf(record: StoredRecord | undefined): ScanQuery['after'] {
  return record && { namespace: record.namespace, name: record.name }
}

/** What a filter by name selects, where the newest state is that of the snapshot: one lookup replaces the scan. */
export function readSingle(
  store: Store,
  { type, namespace }: Pick<ListRequest, 'type' | 'namespace'>,
  { filter, revision }: { readonly filter: Filter; readonly revision: number },
): readonly StoredRecord[] | undefined {
  const { onlyName, onlyNamespace } = filter
  const place = type.namespaced ? (namespace ?? onlyNamespace) : ''
  if (onlyName === undefined || place === undefined || (place === '' && type.namespaced)) return undefined
  const record = store.get({ resource: type.resource, namespace: place, name: onlyName })
  if ((record?.document.revision ?? store.decidedRevision) > revision) return undefined
  return record ? [record] : []
}

/** The 410 for a compacted snapshot. Its Status carries a token that continues with the newest state. */
class SnapshotExpired extends StatusError {
  readonly #token: string

  constructor(token: ContinueToken) {
    super(
      'Expired',
      'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
        'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
        'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
        'deleted between the time the first chunk was returned and now may show up in the list.',
    )
    this.#token = formatContinue({ ...token, revision: undefined, remaining: undefined })
  }

  override toStatus(): Status {
    return { ...super.toStatus(), metadata: { continue: this.#token } }
  }
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value
}
