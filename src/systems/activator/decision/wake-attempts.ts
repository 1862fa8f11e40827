import { backoffDelay } from '../../../kube/basics/backoff-delay.ts'
import type { WakeBackoff } from './decide.ts'

interface Attempt {
  failures: number
  retryAt: number
  because: WakeBackoff['because']
  /** Since when a request waits for it to become ready. */
  since: number | undefined
}

/** Backoff of attempts to wake workloads. Kept in memory only: after a restart the first attempt is immediate. */
export class WakeAttempts {
  readonly #attempts = new Map<string, Attempt>()

  of(workload: string): WakeBackoff {
    const { failures = 0, retryAt = 0, because = 'backoff' } = this.#attempts.get(workload) ?? {}
    return { failures, retryAt, because }
  }

  /** Notes that it is being woken; returns since when. */
  began(workload: string, now: number): number {
    const attempt = this.#attempt(workload)
    attempt.since ??= Math.max(now, attempt.retryAt)
    return attempt.since
  }

  /** Since when it is being woken without a pod that is ready; undefined if it is not. */
  since(workload: string): number | undefined {
    return this.#attempts.get(workload)?.since
  }

  /** Notes a failed attempt: the next one is 1, 2, 4 … 60 seconds away. Returns when. */
  failed(workload: string, because: WakeBackoff['because'], now: number): number {
    const attempt = this.#attempt(workload)
    attempt.failures++
    attempt.because = because
    attempt.since = undefined
    attempt.retryAt = now + backoffDelay(attempt.failures, { baseMs: 1000, maxMs: 60_000 })
    return attempt.retryAt
  }

  /** It is ready, or asleep again, or gone. */
  forget(workload: string): void {
    this.#attempts.delete(workload)
  }

  #attempt(workload: string): Attempt {
    return this.#attempts.getOrInsert(workload, { failures: 0, retryAt: 0, because: 'backoff', since: undefined })
  }
}
