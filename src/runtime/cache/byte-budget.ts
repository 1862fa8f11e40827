import { GarbledError } from './watch-stream.ts'

/** What the caches of other clusters may hold, as JSON, for the GitopsClusters of one namespace: their servers may be a tenant's own. */
export const maxForeignBytes = 128 * 1024 * 1024

/** Bytes that several caches share. */
export class ByteBudget {
  readonly #limit: number
  #used = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Throws when that is too many: what the server lists is then not known whole. */
  take(bytes: number): void {
    if (this.#used + bytes > this.#limit)
      throw new GarbledError(
        `other clusters list more than ${this.#limit} bytes for this namespace: watch fewer objects there`,
      )
    this.#used += bytes
  }

  giveBack(bytes: number): void {
    this.#used -= bytes
  }
}
