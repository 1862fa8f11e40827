import { setTimeout } from 'node:timers/promises'

/** Waits; returns early when the signal aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  return setTimeout(ms, undefined, { signal }).catch(() => {})
}
