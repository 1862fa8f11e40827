import type { Clock } from './clock.ts'

/** What is due: called once per entry, which is out of the schedule by then. */
export type DueFunction = (handle: number, dueAt: number, kind: number) => void

/** Handles in time: a hierarchical timing wheel off the heap. Never early, whatever the clock does. */
export declare class Schedule {
  constructor(clock: Clock)
  readonly size: number
  readonly byteLength: number
  /** Due at this time; replaces a former time. `kind` (0 to 255) comes back with it. */
  set(handle: number, dueAt: number, kind?: number): void
  /** Due at this time, unless it is due earlier already. */
  setEarliest(handle: number, dueAt: number, kind?: number): void
  delete(handle: number): boolean
  dueAt(handle: number): number | undefined
  /** When to call `drain` next: never later than the first entry is due. Undefined when empty. */
  nextAt(): number | undefined
  /** Hands out what is due, for at most this long. True when nothing due is left. */
  drain(now: number, sliceMs: number, due: DueFunction): boolean
}
