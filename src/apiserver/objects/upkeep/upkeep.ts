import type { StoredObject } from '../../../kube/object.ts'
import type { Kinds } from '../../kinds/kinds.ts'
import type { Clock } from '../../store/clock.ts'
import type { Store } from '../../store/store.ts'
import { DefinitionCleaner } from './definition-cleaner.ts'
import { EventExpiry } from './event-expiry.ts'
import type { Objects } from '../objects.ts'

/** What the periodic work of the server needs. */
export interface UpkeepPorts {
  readonly store: Store
  readonly objects: Objects
  readonly kinds: Kinds
  readonly clock: Clock
  /** Awaited before the instances of a deleted CRD are deleted; a rejection postpones that. Defaults to nothing. */
  readonly beforeEmptying?: (definition: StoredObject) => Promise<void>
  /** Called with errors of work that will be retried. Defaults to nothing. */
  readonly onError?: (error: unknown) => void
}

const roundMs = 60_000
const keepMs = 5 * 60_000
const keepRevisions = 1000

/** Compacts old revisions, expires Events and deletes the instances of deleted CRDs, until closed. */
export class Upkeep implements AsyncDisposable {
  readonly #ports: UpkeepPorts
  readonly #expiry: EventExpiry
  readonly #cleaner: DefinitionCleaner
  #cancel: () => void
  #round: Promise<void> = Promise.resolve()

  constructor(ports: UpkeepPorts) {
    this.#ports = ports
    this.#expiry = new EventExpiry(ports)
    this.#cleaner = new DefinitionCleaner(ports)
    this.#cancel = this.#schedule()
  }

  /** Compacts and expires once; also runs every minute. */
  async run(): Promise<void> {
    await this.#ports.store.compact({ olderThanMs: keepMs, keep: keepRevisions })
    await this.#expiry.run()
  }

  async close(): Promise<void> {
    this.#cancel()
    this.#expiry.close()
    await Promise.all([this.#round, this.#cleaner.close()])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #schedule(): () => void {
    return this.#ports.clock.after(roundMs, () => {
      this.#round = this.run().catch((error: unknown) => this.#ports.onError?.(error))
      this.#cancel = this.#schedule()
    })
  }
}
