/** The clock that the API server uses; `src/runtime/time/clock.ts` implements it. */
export interface Clock {
  /** Wall time in epoch milliseconds. */
  now(): number
  /** Calls back once, after at least this long; the result cancels. */
  after(delayMs: number, callback: () => void): () => void
  /** Yields to the event loop and resumes after pending work has run. */
  breathe(): Promise<void>
}

/** How many resume in one turn of the event loop, and after how long a turn it is only one of each user. */
const perTurn = 8
const slowTurnMs = 20

/** Resumes work a little at a time, each user in turn, so that one with many requests leaves time for those of others. */
export class Turns {
  readonly #clock: Pick<Clock, 'now' | 'breathe'>
  /** By user, the next one first. */
  readonly #waiting = new Map<unknown, (() => void)[]>()
  #isBusy = false

  constructor(clock: Pick<Clock, 'now' | 'breathe'>) {
    this.#clock = clock
  }

  /** Resolves at once while nothing else waits or has begun in this turn of the event loop, otherwise as `next` does. */
  async begin(user: string): Promise<void> {
    if (this.#isBusy) return this.next(user)
    void this.#run()
  }

  /** Resolves when it is this user's turn, in a later turn of the event loop. Without a user, it is one of its own. */
  next(user: unknown = {}): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.getOrInsertComputed(user, () => []).push(resolve)
      if (!this.#isBusy) void this.#run()
    })
  }

  async #run(): Promise<void> {
    this.#isBusy = true
    do {
      const startedAt = this.#clock.now()
      await this.#clock.breathe()
      const isSlow = this.#clock.now() - startedAt > slowTurnMs
      // Other work may be what makes turns slow: no user waits for another then.
      const many = isSlow ? Math.min(perTurn, this.#waiting.size) : perTurn
      for (let resumed = 0; resumed < many; resumed++) this.#resume()
    } while (this.#waiting.size > 0)
    this.#isBusy = false
  }

  #resume(): void {
    for (const [user, queue] of this.#waiting) {
      this.#waiting.delete(user)
      queue.shift()?.()
      if (queue.length > 0) this.#waiting.set(user, queue)
      return
    }
  }
}
