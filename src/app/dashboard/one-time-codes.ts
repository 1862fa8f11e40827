import { hash, randomBytes } from 'node:crypto'
import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import type { Clock } from '../../runtime/time/clock.ts'

/** Codes that each sign one browser in, once, soon after they were made. Only their digests are kept. */
export class OneTimeCodes {
  readonly #tokens = new BoundedMap<string, { readonly token: string; readonly until: number }>(100)
  readonly #clock: Pick<Clock, 'now'>

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  /** A code for the user of this token. */
  make(token: string, forMs: number): string {
    const code = randomBytes(32).toString('base64url')
    this.#tokens.set(digest(code), { token, until: this.#clock.now() + forMs })
    return code
  }

  /** The token behind a code, which is invalid from then on. */
  use(code: string): string | undefined {
    const found = this.#tokens.get(digest(code))
    this.#tokens.delete(digest(code))
    return found && this.#clock.now() < found.until ? found.token : undefined
  }
}

function digest(code: string): string {
  return hash('sha256', code, 'base64')
}
