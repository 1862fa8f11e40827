/** The clock that the API server uses; `src/runtime/time/clock.ts` implements it. */
export interface Clock {
  /** Wall time in epoch milliseconds. */
  now(): number
  /** Calls back once, after at least this long; the result cancels. */
  after(delayMs: number, callback: () => void): () => void
  /** Yields to the event loop and resumes after pending work has run. */
  breathe(): Promise<void>
}

/** The clock for long reads: after `breathe` they resume one at a time, so that many of them leave time for other requests. */
export function inTurns(clock: Clock): Pick<Clock, 'after' | 'breathe'> {
  let last = Promise.resolve()
  return {
    after: (delayMs, callback) => clock.after(delayMs, callback),
    breathe: () => (last = last.then(() => clock.breathe())),
  }
}
