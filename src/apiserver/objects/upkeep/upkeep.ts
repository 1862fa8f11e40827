import type { StoredObject } from '../../../kube/object.ts'
import type { Kinds } from '../../kinds/kinds.ts'
import type { Clock } from '../../store/clock.ts'
import type { Store } from '../../store/store.ts'
import { DefinitionCleaner } from './definition-cleaner.ts'
import { EventExpiry } from './event-expiry.ts'
import type { Objects } from '../objects.ts'

/** What the server's own house-keeping works with. */
export interface UpkeepPorts {
  readonly store: Store
  readonly objects: Objects
  readonly kinds: Kinds
  readonly clock: Clock
  /** Asked before the objects of a CRD that is on its way out are deleted. Defaults to nobody. */
  readonly beforeEmptying?: (definition: StoredObject) => Promise<void>
  /** Told of work that failed and will be tried again. Defaults to nobody. */
  readonly onError?: (error: unknown) => void
}

const roundMs = 60_000
const keepMs = 5 * 60_000
const keepRevisions = 1000

/** Forgets old revisions, lets Events expire and empties the kinds of deleted CRDs, until closed. */
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

  /** One round of what is done every minute. */
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
