/** How delays grow with failures in a row. */
export interface BackoffLimits {
  /** The delay after the first failure. */
  readonly baseMs: number
  readonly maxMs: number
}

/** The delay after so many failures in a row: doubles each time, without jitter. */
export function backoffDelay(failures: number, { baseMs, maxMs }: BackoffLimits): number {
  return Math.min(maxMs, baseMs * 2 ** Math.max(0, failures - 1))
}
