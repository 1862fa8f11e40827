/** The clock that the API server uses; `src/runtime/time/clock.ts` implements it. */
export interface Clock {
  /** Wall time in epoch milliseconds. */
  now(): number
  /** Calls back once, after at least this long; the result cancels. */
  after(delayMs: number, callback: () => void): () => void
  /** Yields to the event loop and resumes after pending work has run. */
  breathe(): Promise<void>
}

/** How many reads resume in one turn of the event loop. */
const readsPerTurn = 8

/** The clock for long reads: after `breathe` a few at a time resume, so that many of them leave time for other requests. */
export function inTurns(clock: Clock): Pick<Clock, 'after' | 'breathe'> {
  const waiting: (() => void)[] = []
  async function resume(): Promise<void> {
    while (waiting.length > 0) {
      await clock.breathe()
      for (const next of waiting.splice(0, readsPerTurn)) next()
    }
  }
  return {
    after: (delayMs, callback) => clock.after(delayMs, callback),
    breathe: () =>
      new Promise((resolve) => {
        if (waiting.push(resolve) === 1) void resume()
      }),
  }
}
