import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import type { Clock } from './clock.ts'

export interface TokenBucketsOptions {
  readonly clock: Clock
  /** How many at once. */
  readonly burst: number
  /** One more after each such time. */
  readonly refillMs: number
  /** How many keys are remembered; who is forgotten starts with a full bucket. */
  readonly most: number
}

/** How much each key may still do: a burst at first, then one at a time. */
export class TokenBuckets {
  readonly #options: TokenBucketsOptions
  /** Least recently used first. `tokens` were there at `at` and lie between zero and the burst. */
  readonly #buckets: BoundedMap<string, { readonly tokens: number; readonly at: number }>

  constructor(options: TokenBucketsOptions) {
    this.#options = options
    this.#buckets = new BoundedMap(options.most)
  }

  /** Takes one token; false when there is none. */
  take(key: string): boolean {
    const { clock, burst, refillMs } = this.#options
    const now = clock.monotonic()
    const bucket = this.#buckets.get(key) ?? { tokens: burst, at: now }
    const tokens = Math.min(burst, bucket.tokens + (now - bucket.at) / refillMs)
    const granted = tokens >= 1
    this.#buckets.set(key, { tokens: granted ? tokens - 1 : tokens, at: now })
    return granted
  }
}
