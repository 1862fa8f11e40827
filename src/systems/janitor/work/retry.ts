const firstMs = 10_000

/** How long to wait after so many failures in a row: seconds after a slip, hours where it is hopeless. */
export function retryDelay(attempts: number, longestMs: number): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(attempts - 1, 30))
}
