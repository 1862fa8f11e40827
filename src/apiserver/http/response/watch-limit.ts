import type { ServerResponse } from 'node:http'
import { StatusError } from '../../../kube/status-error.ts'

/** What all watches of a user may buffer together, and after how many written characters that is checked. */
const maxBuffered = 128 * 1024 * 1024
const checkEvery = 16 * 1024 * 1024

/** Limits the open watches of each user and what they buffer, so that one user cannot exhaust the server's memory. */
export class WatchLimit {
  readonly #perUser: number
  readonly #users = new Map<string, { readonly open: Set<ServerResponse>; unchecked: number }>()

  constructor(perUser: number) {
    this.#perUser = perUser
  }

  /** Counts a watch until its response closes; throws TooManyRequests at the user's limit. */
  take(name: string, response: ServerResponse): void {
    const user = this.#users.get(name) ?? { open: new Set(), unchecked: 0 }
    const { open } = user
    if (open.size >= this.#perUser) {
      const message = `too many watches are open for this user: the limit is ${this.#perUser}`
      throw new StatusError('TooManyRequests', message, { details: { retryAfterSeconds: 1 } })
    }
    open.add(response)
    this.#users.set(name, user)
    response.once('close', () => {
      open.delete(response)
      if (open.size === 0) this.#users.delete(name)
    })
  }

  /** Counts what a watch of a user writes. Ends those that buffer most when their client does not read them. */
  wrote(name: string, size: number): void {
    const user = this.#users.get(name)
    if (!user || (user.unchecked += size) < checkEvery) return
    user.unchecked = 0
    let buffered = user.open.values().reduce((sum, { writableLength }) => sum + writableLength, 0)
    if (buffered <= maxBuffered) return
    for (const response of [...user.open].toSorted((a, b) => b.writableLength - a.writableLength)) {
      if (buffered <= maxBuffered) return
      buffered -= response.writableLength
      response.destroy()
    }
  }

  /** Ends every watch as a timeout would: clients reconnect. */
  endAll(): void {
    for (const { open } of this.#users.values()) for (const response of open) response.end()
  }
}
