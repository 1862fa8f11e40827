import type { Clock } from './clock.ts'

/** One user's part of the alarms: its keys are its own. */
export interface AlarmSet {
  /** Rings at this time; replaces a former time. */
  set(key: string, at: number): void
  /** Rings at this time, unless it is to ring earlier already. */
  setEarliest(key: string, at: number): void
  /** Does not ring. */
  delete(key: string): boolean
  at(key: string): number | undefined
  readonly size: number
  close(): void
}

/** Every "wake me at t" of the process: one wheel, one timer, rung in slices so that a crowd due at once blocks nobody. */
export declare class Alarms {
  constructor(clock: Clock, options?: { readonly sliceMs?: number })
  open(ring: (key: string, at: number) => void): AlarmSet
  readonly size: number
  close(): void
}
