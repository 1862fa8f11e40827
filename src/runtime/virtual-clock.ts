import type { Clock } from './clock.ts'

/** A clock that jumps from event to event, and only when everything that runs on it has come to rest. */
export declare class VirtualClock implements Clock {
  constructor(startAt?: number)
  now(): number
  monotonic(): number
  after(delayMs: number, callback: () => void): () => void
  breathe(): Promise<void>
  track<T>(work: () => Promise<T>): Promise<T>
  /** When the next timer fires; undefined when none is set. */
  readonly nextAt: number | undefined
  /** Lets everything that is ready run, without time passing. */
  settle(): Promise<void>
  /** Runs until this time (epoch milliseconds): timers fire in order, each after all work before it has come to rest. */
  run(untilMs: number): Promise<void>
  /** The same for a duration. */
  runFor(durationMs: number): Promise<void>
  /** Sets the wall clock forward or back, as an administrator would: timers do not notice. */
  stepWall(byMs: number): void
}
