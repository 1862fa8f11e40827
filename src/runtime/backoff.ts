import type { Random } from './random.ts'

export interface BackoffOptions {
  /** The first wait. Defaults to 50 ms. */
  readonly baseMs?: number
  /** The longest wait. Defaults to 5 min. */
  readonly capMs?: number
  /** `exponential` doubles, with jitter; `decorrelated` draws between the base and three times the last. Defaults to exponential. */
  readonly growth?: 'exponential' | 'decorrelated'
  readonly random: Random
}

/** How long to wait before trying again, for each key that fails. */
export declare class Backoff<K = string> {
  constructor(options: BackoffOptions)
  /** One more failure: how long to wait now. */
  next(key: K): number
  /** How often it has failed since it last went well. */
  failures(key: K): number
  /** It went well: the next failure starts anew. */
  reset(key: K): void
}
