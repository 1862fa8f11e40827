import { Attempt } from '../../../runtime/time/attempt.ts'
import type { Clock } from '../../../runtime/time/clock.ts'

/** Runs requests to another cluster with a timeout: a silent cluster must not delay Bonds to others. */
export async function withTimeout<R>(clock: Clock, work: () => Promise<R>): Promise<R> {
  const attempt = new Attempt(clock, timeoutMs, new AbortController().signal)
  try {
    return await attempt.run(work)
  } finally {
    attempt.end()
  }
}

const timeoutMs = 10_000
