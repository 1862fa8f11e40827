import { Attempt } from '../../../runtime/time/attempt.ts'
import type { Clock } from '../../../runtime/time/clock.ts'

/** Asks another cluster something, and does not wait for ever: whoever has Bonds to others waits behind it. */
export async function withTimeout<R>(clock: Clock, work: () => Promise<R>): Promise<R> {
  const attempt = new Attempt(clock, patienceMs, new AbortController().signal)
  try {
    return await attempt.run(work)
  } finally {
    attempt.end()
  }
}

const patienceMs = 10_000
