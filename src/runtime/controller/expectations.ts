import type { Clock } from '../time/clock.ts'

/** Something that follows a cluster and knows how far it has come. */
export interface Follower {
  hasReached(resourceVersion: string): boolean
  onReached(resourceVersion: string, callback: () => void): () => void
}

interface Expectation {
  /** On the monotonic clock. */
  readonly endsAt: number
  readonly handle: number
  cancel(): void
}

/** Own writes that a cache has not shown yet, by handle: for at most so long, then reading goes on without. */
export class Expectations {
  readonly #clock: Clock
  readonly #patienceMs: number
  readonly #met: (handle: number, inTime: boolean) => void
  /** What is waited for, oldest first, and therefore by end: all wait equally long. */
  readonly #waiting = new Set<Expectation>()
  /** How many of `waiting` a handle has; never zero. */
  readonly #counts = new Map<number, number>()
  /** Cancels the timer; set exactly while `waiting` is not empty. */
  #disarm: (() => void) | undefined

  constructor(clock: Clock, patienceMs: number, met: (handle: number, inTime: boolean) => void) {
    this.#clock = clock
    this.#patienceMs = patienceMs
    this.#met = met
  }

  /** Whether a handle still waits for a write of its own to be shown. */
  has(handle: number): boolean {
    return this.#counts.has(handle)
  }

  /** Waits until the follower has reached a version; false when it has already. */
  add(handle: number, resourceVersion: string, follower: Follower): boolean {
    if (follower.hasReached(resourceVersion)) return false
    const expectation: Expectation = {
      endsAt: this.#clock.monotonic() + this.#patienceMs,
      handle,
      cancel: follower.onReached(resourceVersion, () => this.#end(expectation, true)),
    }
    this.#waiting.add(expectation)
    this.#counts.set(handle, (this.#counts.get(handle) ?? 0) + 1)
    this.#disarm ??= this.#clock.after(this.#patienceMs, () => this.#expire())
    return true
  }

  close(): void {
    this.#disarm?.()
    for (const expectation of this.#waiting) expectation.cancel()
    this.#waiting.clear()
    this.#counts.clear()
  }

  #expire(): void {
    this.#disarm = undefined
    const now = this.#clock.monotonic()
    for (const expectation of this.#waiting) {
      if (expectation.endsAt > now) {
        this.#disarm = this.#clock.after(expectation.endsAt - now, () => this.#expire())
        return
      }
      expectation.cancel()
      this.#end(expectation, false)
    }
  }

  #end(expectation: Expectation, inTime: boolean): void {
    if (!this.#waiting.delete(expectation)) return
    if (this.#waiting.size === 0) {
      this.#disarm?.()
      this.#disarm = undefined
    }
    const left = (this.#counts.get(expectation.handle) ?? 1) - 1
    if (left > 0) this.#counts.set(expectation.handle, left)
    else {
      this.#counts.delete(expectation.handle)
      this.#met(expectation.handle, inTime)
    }
  }
}
