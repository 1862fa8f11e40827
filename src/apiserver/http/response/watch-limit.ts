import type { ServerResponse } from 'node:http'
import { StatusError } from '../../../kube/status-error.ts'

/** Limits the open watches of each user, so that one user cannot exhaust the server's memory. */
export class WatchLimit {
  readonly #perUser: number
  readonly #open = new Map<string, Set<ServerResponse>>()

  constructor(perUser: number) {
    this.#perUser = perUser
  }

  /** Counts a watch until its response closes; throws TooManyRequests at the user's limit. */
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

  /** Ends every watch as a timeout would: clients reconnect. */
  endAll(): void {
    for (const open of this.#open.values()) for (const response of open) response.end()
  }
}
