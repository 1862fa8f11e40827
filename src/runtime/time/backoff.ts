import { backoffDelay } from '../../kube/basics/backoff-delay.ts'
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
export class Backoff<K = string> {
  readonly #baseMs: number
  readonly #capMs: number
  readonly #growth: 'exponential' | 'decorrelated'
  readonly #random: Random
  /** Only keys whose last try failed. `lastMs` lies between base and cap. */
  readonly #failing = new Map<K, { failures: number; lastMs: number }>()

  constructor({ baseMs = 50, capMs = 300_000, growth = 'exponential', random }: BackoffOptions) {
    this.#baseMs = baseMs
    this.#capMs = Math.max(baseMs, capMs)
    this.#growth = growth
    this.#random = random
  }

  /** One more failure: how long to wait now. */
  next(key: K): number {
    const state = this.#failing.get(key)
    const lastMs = Math.min(this.#capMs, this.#grow(state))
    this.#failing.set(key, { failures: (state?.failures ?? 0) + 1, lastMs })
    return lastMs
  }

  /** How often it has failed since it last went well. */
  failures(key: K): number {
    return this.#failing.get(key)?.failures ?? 0
  }

  /** It went well: the next failure starts anew. */
  reset(key: K): void {
    this.#failing.delete(key)
  }

  /** How many keys failed when they were last tried. */
  get size(): number {
    return this.#failing.size
  }

  #grow(state: { readonly failures: number; readonly lastMs: number } | undefined): number {
    if (this.#growth === 'decorrelated') {
      const upper = 3 * (state?.lastMs ?? this.#baseMs)
      return this.#baseMs + this.#random() * (upper - this.#baseMs)
    }
    const doubled = backoffDelay((state?.failures ?? 0) + 1, { baseMs: this.#baseMs, maxMs: this.#capMs })
    // Up to a quarter more, never less: those that failed together part, and the base stays the shortest wait.
    return doubled * (1 + this.#random() / 4)
  }
}
