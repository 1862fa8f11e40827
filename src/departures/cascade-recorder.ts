import { departure, type Departure } from '../apis/departure.ts'
import type { Client } from '../client/client.ts'
import type { KubeObject, StoredObject } from '../kube/object.ts'
import { ignoring, isStatusError } from '../kube/status-error.ts'
import type { Clock } from '../runtime/clock.ts'
import { pageOf } from './pages.ts'
import { departureRecord, type By } from './record.ts'

/** The object whose leaving takes others along. */
export interface CascadeRoot {
  readonly object: StoredObject
  readonly by: By
}

/** A record that is being written to. */
interface Entry {
  readonly name: string
  readonly namespace: string
  pages: number
  takes: number
}

/** Keeps what a cascade takes along on pages of its root's record, before it goes. */
export class CascadeRecorder {
  readonly #client: Client
  readonly #clock: Clock
  /** Records that were written to lately, by root uid; each resolves when its last page is written: pages are numbered one after the other. */
  readonly #written = new Map<string, Promise<Entry>>()

  constructor(client: Client, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  /** Writes one more page. The root's own record is made if nobody has: then by the one who deleted it, without its manifest. */
  async write({ object, by }: CascadeRoot, dependents: readonly KubeObject[]): Promise<void> {
    const { uid } = object.metadata
    const wanted = departureRecord({ cluster: '', object, because: 'deleted', by, now: this.#clock.now() })
    const before = this.#written.get(uid) ?? this.#open(wanted)
    const after = before.then((entry) => this.#add(entry, wanted, dependents))
    this.#written.set(uid, after)
    if (this.#written.size > mostOpen) this.#written.delete(this.#written.keys().next().value ?? '')
    try {
      await after
    } catch (error) {
      // The next one reads again how far the record has got.
      this.#written.delete(uid)
      throw error
    }
  }

  async #add(
    entry: Entry,
    wanted: ReturnType<typeof departureRecord>,
    dependents: readonly KubeObject[],
  ): Promise<Entry> {
    const placed = { ...wanted, metadata: { ...wanted.metadata, namespace: entry.namespace } }
    const pages = await this.#createPage(placed, entry.pages + 1, dependents)
    const takes = entry.takes + dependents.length
    await this.#client
      .patch(departure.type, entry, { type: 'merge', body: { spec: { takes, pages } } })
      .catch(ignoring('NotFound'))
    return { ...entry, pages, takes }
  }

  /** A page that a process wrote and did not live to tell of stands: the next number is taken. */
  async #createPage(
    record: ReturnType<typeof departureRecord>,
    first: number,
    dependents: readonly KubeObject[],
  ): Promise<number> {
    for (let number = first; ; number++) {
      try {
        await this.#client.create(departure.type, await pageOf(record, number, dependents))
        return number
      } catch (error) {
        // Its namespace is going too: what goes with a namespace is on the record of that.
        if (isStatusError(error, 'NotFound', 'Forbidden')) return number
        if (!isStatusError(error, 'AlreadyExists')) throw error
      }
    }
  }

  async #open(wanted: ReturnType<typeof departureRecord>): Promise<Entry> {
    const { name = '', namespace = '' } = wanted.metadata
    const found = await this.#client.get<Departure>(departure.type, { namespace, name }).catch(ignoring('NotFound'))
    if (found) return { name, namespace, pages: found.spec.pages ?? 0, takes: found.spec.takes ?? 0 }
    const { manifest: _, ...spec } = wanted.spec
    try {
      await this.#client.create(departure.type, { ...wanted, spec })
      await this.#client.patch(
        departure.type,
        { namespace, name },
        { type: 'merge', body: { status: { phase: 'Gone' } } },
        { subresource: 'status' },
      )
    } catch (error) {
      if (!isStatusError(error, 'AlreadyExists', 'Forbidden', 'NotFound')) throw error
    }
    return { name, namespace, pages: 0, takes: 0 }
  }
}

const mostOpen = 1000
