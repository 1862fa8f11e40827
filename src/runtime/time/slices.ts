import type { Clock } from './clock.ts'

const sliceMs = 5
const stepsPerLook = 16

const ready = Promise.resolve()

/** Long work in short pieces: await it at each step, and now and then it lets the rest of the process run. */
export function slices(clock: Clock): () => Promise<void> {
  let steps = 0
  let endsAt = clock.monotonic() + sliceMs
  return () => {
    if (++steps % stepsPerLook !== 0 || clock.monotonic() < endsAt) return ready
    return clock.breathe().then(() => {
      endsAt = clock.monotonic() + sliceMs
    })
  }
}
