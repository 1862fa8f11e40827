import type { ServerResponse } from 'node:http'
import { StatusError } from '../../../kube/status-error.ts'

/** Counts the open watches of each user, so that one cannot take the memory of all. */
export class WatchLimit {
  readonly #perUser: number
  readonly #open = new Map<string, Set<ServerResponse>>()

  constructor(perUser: number) {
    this.#perUser = perUser
  }

  /** Counts a watch until its response closes; throws TooManyRequests when the user has too many. */
  take(user: string, response: ServerResponse): void {
    const open = this.#open.get(user) ?? new Set()
    if (open.size >= this.#perUser) {
      throw new StatusError(
        'TooManyRequests',
        `too many watches are open for this user: the limit is ${this.#perUser}`,
        {
          details: { retryAfterSeconds: 1 },
        },
      )
    }
    this.#open.set(user, open.add(response))
    response.once('close', () => {
      open.delete(response)
      if (open.size === 0) this.#open.delete(user)
    })
  }

  /** Ends every watch as if its time were up: clients resume elsewhere, or later. */
  endAll(): void {
    for (const open of this.#open.values()) for (const response of open) response.end()
  }
}
