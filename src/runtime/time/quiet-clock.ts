import type { Clock } from './clock.ts'

/**
 * A clock on which nothing long ever rings. Watches between parts of one process need no time-outs, bookmarks or relists; without them a virtual
 * clock jumps from one real event to the next, and thirty days take as long as what happens in them.
 */
export function quietClock(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after: (delayMs, callback) => (delayMs < shortMs ? clock.after(delayMs, callback) : () => {}),
    breathe: () => clock.breathe(),
  }
}

const shortMs = 5000
