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

/** Keeps what a cascade takes along on pages of its root's record, before it goes. */
export class CascadeRecorder {
  readonly #client: Client
  readonly #clock: Clock
  /** Records that were written to lately, by root uid: how many pages and dependents they have. */
  readonly #written = new Map<
    string,
    { readonly name: string; readonly namespace: string; pages: number; takes: number }
  >()

  constructor(client: Client, clock: Clock) {
    this.#client = client
    this.#clock = clock
  }

  /** Writes one more page. The root's own record is made if nobody has: then by the one who deleted it, without its manifest. */
  async write({ object, by }: CascadeRoot, dependents: readonly KubeObject[]): Promise<void> {
    const { uid } = object.metadata
    const wanted = departureRecord({ cluster: '', object, because: 'deleted', by, now: this.#clock.now() })
    const entry = this.#written.get(uid) ?? (await this.#open(wanted))
    this.#written.set(uid, entry)
    entry.pages++
    entry.takes += dependents.length
    const placed = { ...wanted, metadata: { ...wanted.metadata, namespace: entry.namespace } }
    await this.#client
      .create(departure.type, pageOf(placed, entry.pages, dependents))
      .catch(ignoring('AlreadyExists', 'NotFound', 'Forbidden'))
    const spec = { takes: entry.takes, pages: entry.pages }
    await this.#client.patch(departure.type, entry, { type: 'merge', body: { spec } }).catch(ignoring('NotFound'))
    if (this.#written.size > mostOpen) this.#written.delete(this.#written.keys().next().value ?? '')
  }

  async #open(wanted: ReturnType<typeof departureRecord>) {
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
      // Its namespace is going too: there is no place beside it any more, and what goes with a namespace is not kept.
      if (!isStatusError(error, 'AlreadyExists', 'Forbidden', 'NotFound')) throw error
    }
    return { name, namespace, pages: 0, takes: 0 }
  }
}

const mostOpen = 1000
