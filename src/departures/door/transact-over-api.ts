import { departurePage } from '../../apis/departure-page.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import type { Client } from '../../client/client.ts'
import { placeOf, type KubeObject, type ResourceType, type StoredObject, type Place } from '../../kube/object.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import type { DeleteTransaction, PlannedRead, Transact } from './depart-together.ts'

interface Removal {
  readonly type: ResourceType
  readonly object: StoredObject
}

/**
 * Deletes together over the API, with few requests: one read of each object that no cache has, one record for all, and one delete of each, of exactly the version
 * that was judged. The record's own object is deleted first: while it exists, nothing of the record is gone, and the record can be abandoned.
 */
export function transactOverApi(client: Client): Transact {
  return {
    isAtomic: false,
    async run(work, reads) {
      const steps = new Steps(await readAll(client, reads))
      const answer = work(steps)
      const undone = new Set<number>()
      for (const record of steps.records) await carryOut(client, steps, { record, undone })
      return { answer, undone }
    },
  }
}

/** Notes what is to be done. */
class Steps implements DeleteTransaction {
  /** By attempt. */
  readonly removals: Removal[][] = []
  readonly #found: ReadonlyMap<string, StoredObject>
  readonly #gone = new Set<string>()
  readonly #put: KubeObject[] = []

  constructor(found: ReadonlyMap<string, StoredObject>) {
    this.#found = found
  }

  /** Records, each with its pages. */
  get records(): readonly (readonly [Departure, readonly KubeObject[]])[] {
    const roots = this.#put.filter(({ kind }) => kind === departure.kind) as unknown as readonly Departure[]
    return roots.map((root) => [
      root,
      this.#put.filter(({ spec }) => (spec as { readonly of?: string }).of === root.metadata.name),
    ])
  }

  read(type: ResourceType, place: Place): StoredObject | undefined {
    const key = keyOf(type, place)
    return this.#gone.has(key) ? undefined : this.#found.get(key)
  }

  attempt(step: () => boolean): boolean {
    const removals: Removal[] = []
    this.removals.push(removals)
    if (step()) return true
    for (const { type, object } of removals.splice(0)) this.#gone.delete(keyOf(type, placeOf(object.metadata)))
    return false
  }

  /** What a finalizer holds is deleted on its own. */
  remove(type: ResourceType, object: StoredObject): boolean {
    const { finalizers = [], deletionTimestamp } = object.metadata
    if (finalizers.length > 0 || deletionTimestamp !== undefined) return false
    this.removals.at(-1)?.push({ type, object })
    this.#gone.add(keyOf(type, placeOf(object.metadata)))
    return true
  }

  /** The server says: a record that it refuses stops everything. */
  canRecord(): boolean {
    return true
  }

  put(object: KubeObject): void {
    this.#put.push(object)
  }
}

interface Slice {
  readonly record: readonly [Departure, readonly KubeObject[]]
  readonly undone: Set<number>
}

/** Throws what the server answers where the record cannot be written: then nothing was deleted. */
async function carryOut(client: Client, { removals }: Steps, { record, undone }: Slice): Promise<void> {
  const [{ status = {}, ...root }, pages] = record
  const { namespace = '', name } = root.metadata
  const setStatus = async (body: object) => {
    const patch = { type: 'merge', body: { status: body } } as const
    // The settle controller corrects the phase later.
    await client.patch(departure.type, { namespace, name }, patch, { subresource: 'status' }).catch(() => {})
  }
  const pending = [...removals.entries()].filter(([, all]) => all[0]?.object.metadata.namespace === namespace)
  const first = pending.findIndex(([, all]) => all.some(({ object }) => object.metadata.uid === root.spec.object.uid))
  const [before] = pending.splice(first, 1)
  for (const page of pages) await client.create(departurePage.type, page)
  await client.create(departure.type, root)
  const removed = before ? await removeAll(client, before[1]) : 0
  if (removed === 0) {
    for (const [index] of [...pending, ...(before ? [before] : [])]) undone.add(index)
    return setStatus({ phase: 'Abandoned', message: 'nothing was deleted together: the first of them has changed' })
  }
  if (before && removed < before[1].length) undone.add(before[0])
  await inParallel(pending, async ([index, all]) => {
    if ((await removeAll(client, all)) < all.length) undone.add(index)
  })
  await setStatus(status)
}

/** Deletes the objects of one attempt in their order, up to one that has changed or that the server refuses. How many are gone. */
async function removeAll(client: Client, removals: readonly Removal[]): Promise<number> {
  for (const [done, { type, object }] of removals.entries()) {
    const { uid, resourceVersion } = object.metadata
    try {
      const preconditions = { uid, resourceVersion, propagationPolicy: 'Background' } as const
      await client.deleteObject(type, placeOf(object.metadata), preconditions)
    } catch (error) {
      if (!isStatusError(error)) throw error
      if (error.reason !== 'NotFound') return done
    }
  }
  return removals.length
}

async function readAll(client: Client, reads: readonly PlannedRead[]): Promise<ReadonlyMap<string, StoredObject>> {
  const found = new Map<string, StoredObject>()
  await inParallel(reads, async ({ type, place, known }) => {
    const object = known ?? (await client.get<StoredObject>(type, place).catch(ignoring('NotFound', 'Forbidden')))
    if (object) found.set(keyOf(type, place), object)
  })
  return found
}

const atOnce = 16

async function inParallel<T>(all: readonly T[], work: (each: T) => Promise<void>): Promise<void> {
  const left = all.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const each of left) await work(each)
    }),
  )
}

function keyOf({ group, plural }: ResourceType, { namespace = '', name }: Place): string {
  return `${plural}.${group}/${namespace}/${name}`
}
