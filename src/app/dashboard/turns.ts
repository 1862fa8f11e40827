import type { RouteResponse, RouteUser } from '../../runtime/http/route.ts'

const maxConcurrent = 2

/** Answers that cost much: each user has one at a time, and all users together two. */
export class Turns {
  readonly #what: string
  /** Whose answers are under way. */
  readonly #running = new Set<string>()

  /** What an answer is, for the message to others: `a forecast`. */
  constructor(what: string) {
    this.#what = what
  }

  async take(user: RouteUser, work: () => Promise<RouteResponse>): Promise<RouteResponse> {
    const caller = callerOf(user)
    if (this.#running.has(caller))
      return busy(`${this.#what} of ${caller} is running, and each user has one at a time: try again in 5 seconds`)
    if (this.#running.size >= maxConcurrent)
      return busy(`${this.#what} of two other users is running: try again in 5 seconds`)
    this.#running.add(caller)
    try {
      return await work()
    } finally {
      this.#running.delete(caller)
    }
  }
}

/** Who has one at a time: a user, or all ServiceAccounts of a namespace, which its tenant creates at will. */
function callerOf({ name }: RouteUser): string {
  return /^system:serviceaccount:[^:]+/.exec(name)?.[0] ?? name
}

function busy(message: string): RouteResponse {
  return { status: 429, headers: { 'retry-after': '5' }, body: { message } }
}
