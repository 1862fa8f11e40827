/** Time as a port: nothing else in the product reads a clock or starts a timer. */
export interface Clock {
  /** Wall time in epoch milliseconds. */
  now(): number
  /** Milliseconds on a clock that never goes back, for leases and timeouts. */
  monotonic(): number
  /** Calls back once, after at least this long, however long that is; the result cancels. */
  after(delayMs: number, callback: () => void): () => void
  /** Lets everything else that is ready run, then resumes. */
  breathe(): Promise<void>
  /** Runs work during which time must not jump. Only a virtual clock has it: use `tracked`. */
  track?<T>(work: () => Promise<T>): Promise<T>
}

/** Runs work that a virtual clock has to wait for, even while it waits for something other than the clock. */
export function tracked<T>(clock: Clock, work: () => Promise<T>): Promise<T> {
  return clock.track ? clock.track(work) : work()
}

/** Resolves after this long, or rejects with the signal's reason when it aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      cancel()
      reject(signal?.reason)
    }
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** The result of the work; rejects with the signal's reason when it aborts first. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const onAbort = () => aborted.reject(signal.reason)
  if (signal.aborted) onAbort()
  else signal.addEventListener('abort', onAbort, { once: true })
  try {
    return await Promise.race([aborted.promise, work])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, callback) => startTimer(performance.now() + delayMs, callback),
  breathe: () => new Promise((resolve) => setImmediate(resolve)),
}

// A longer setTimeout overflows 32 bits and fires at once, which in a product that deletes on time is a mass deletion.
const maxTimerMs = 3_600_000

function startTimer(dueAt: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout
  const arm = () => {
    const leftMs = dueAt - performance.now()
    if (leftMs > maxTimerMs) timer = setTimeout(arm, maxTimerMs)
    else timer = setTimeout(callback, Math.max(0, leftMs))
  }
  arm()
  return () => clearTimeout(timer)
}
