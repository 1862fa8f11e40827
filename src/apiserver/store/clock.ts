/** The clock that the API server uses; `src/runtime/time/clock.ts` implements it. */
export interface Clock {
  /** Wall time in epoch milliseconds. */
  now(): number
  /** Calls back once, after at least this long; the result cancels. */
  after(delayMs: number, callback: () => void): () => void
  /** Yields to the event loop and resumes after pending work has run. */
  breathe(): Promise<void>
}
