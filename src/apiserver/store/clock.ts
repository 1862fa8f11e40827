/** The time the API server needs, given from outside; `src/runtime/time/clock.ts` has the machine's own. */
export interface Clock {
  /** Wall time in epoch milliseconds. */
  now(): number
  /** Calls back once, after at least this long; the result cancels. */
  after(delayMs: number, callback: () => void): () => void
  /** Lets everything else that is ready run, then resumes. */
  breathe(): Promise<void>
}
