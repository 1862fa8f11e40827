import { sleep, systemClock } from '../runtime/clock.ts'

/** Waits, unless somebody wants to stop before. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return sleep(systemClock, ms, signal).catch(() => {})
}
