import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from './clock.ts'

interface Timer {
  readonly dueAt: number
  /** Undefined once cancelled. */
  callback: (() => void) | undefined
  readonly work: Work | undefined
}

/** One piece of tracked work. While it has a timer set it waits for the clock, so the clock need not wait for it. */
interface Work {
  timers: number
}

/** A clock that jumps from event to event, and only when everything that runs on it has come to rest. */
export class VirtualClock implements Clock {
  readonly #startAt: number
  /** Since the start; never goes back. */
  #elapsedMs = 0
  /** How far an administrator has moved the wall clock. */
  #wallShiftMs = 0
  /** The next one last: by due time on the elapsed scale. */
  readonly #timers: Timer[] = []
  /** How often the clock was asked for something: standing still means that nothing runs. */
  #requests = 0
  /** Those who gave way and resume at the next turn of the event loop. */
  #breathing: (() => void)[] = []
  readonly #works = new Set<Work>()
  readonly #currentWork = new AsyncLocalStorage<Work | undefined>()
  #running = false

  constructor(startAt = 0) {
    this.#startAt = startAt
  }

  now(): number {
    return this.#startAt + this.#elapsedMs + this.#wallShiftMs
  }

  monotonic(): number {
    return this.#elapsedMs
  }

  after(delayMs: number, callback: () => void): () => void {
    const work = this.#currentWork.getStore()
    const dueAt = this.#elapsedMs + Math.max(0, delayMs)
    this.#requests++
    const timer: Timer = { dueAt, callback, work }
    if (work) work.timers++
    this.#timers.splice(placeOf(timer, this.#timers), 0, timer)
    return () => this.#cancel(timer)
  }

  breathe(): Promise<void> {
    this.#requests++
    return new Promise((resolve) => this.#breathing.push(resolve))
  }

  async track<T>(work: () => Promise<T>): Promise<T> {
    const token: Work = { timers: 0 }
    this.#works.add(token)
    this.#requests++
    try {
      return await this.#currentWork.run(token, work)
    } finally {
      this.#works.delete(token)
      this.#requests++
    }
  }

  /** When the next timer fires, in epoch milliseconds; undefined when none is set. */
  get nextAt(): number | undefined {
    const next = this.#peek()
    return next === undefined ? undefined : this.#startAt + next.dueAt + this.#wallShiftMs
  }

  /** Lets everything that is ready run, without time passing. */
  async settle(): Promise<void> {
    let busySince = performance.now()
    for (let quiet = 0; quiet < quietTurns || this.#isBusy();) {
      const before = this.#requests
      const breathing = this.#breathing
      this.#breathing = []
      for (const resume of breathing) resume()
      await nextTurn()
      if (this.#requests !== before) busySince = performance.now()
      else if (this.#isBusy() && performance.now() - busySince > stuckMs)
        throw new Error('tracked work waits for something that does not come: time cannot go on')
      // The caller of the clock has just done some work, and may have woken other tasks.
      quiet = this.#requests === before && breathing.length === 0 ? quiet + 1 : 0
    }
  }

  /**
   * Runs until this time (epoch milliseconds): timers fire in order, each after all work before it has come to rest.
   * Stops as soon as a caller says `enough`.
   */
  async run(untilMs: number, enough: () => boolean = () => false): Promise<void> {
    if (this.#running) throw new Error('the clock is running already')
    this.#running = true
    try {
      await this.#currentWork.run(undefined, () => this.#runTo(untilMs, enough))
    } finally {
      this.#running = false
    }
  }

  /** The same for a duration. */
  runFor(durationMs: number): Promise<void> {
    return this.run(this.now() + durationMs)
  }

  /** Sets the wall clock forward or back, as an administrator would: timers do not notice. */
  stepWall(byMs: number): void {
    this.#wallShiftMs += byMs
  }

  async #runTo(untilMs: number, enough: () => boolean): Promise<void> {
    for (;;) {
      await this.settle()
      const untilElapsed = untilMs - this.#startAt - this.#wallShiftMs
      const next = this.#peek()
      if (next === undefined || next.dueAt > untilElapsed) {
        this.#elapsedMs = Math.max(this.#elapsedMs, untilElapsed)
        return
      }
      if (enough()) return
      this.#timers.pop()
      this.#elapsedMs = Math.max(this.#elapsedMs, next.dueAt)
      const { callback } = next
      this.#cancel(next)
      callback?.()
    }
  }

  #isBusy(): boolean {
    return this.#breathing.length > 0 || this.#works.values().some(({ timers }) => timers === 0)
  }

  #cancel(timer: Timer): void {
    if (!timer.callback) return
    timer.callback = undefined
    if (timer.work) timer.work.timers--
  }

  #peek(): Timer | undefined {
    while (this.#timers.length > 0 && !this.#timers.at(-1)?.callback) this.#timers.pop()
    return this.#timers.at(-1)
  }
}

/** How many turns of the event loop must pass in silence: work that goes through the loop itself shows in one or two. */
const quietTurns = 3

/** In real time: how long tracked work may show no sign of life. */
const stuckMs = 20_000

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/** Where a timer belongs among others that are sorted latest first. Those of one instant fire in the order they were set. */
function placeOf({ dueAt }: Timer, timers: readonly Timer[]): number {
  let low = 0
  let high = timers.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((timers[middle]?.dueAt ?? 0) > dueAt) low = middle + 1
    else high = middle
  }
  return low
}
