import { setTimeout } from 'node:timers/promises'

/** Waits, unless somebody wants to stop before. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return setTimeout(ms, undefined, { signal }).catch(() => {})
}
