import { randomInt } from 'node:crypto'

/** Chance as a port: a number in [0, 1). */
export type Random = () => number

const steps = 2 ** 47

/** The machine's own chance. */
export const systemRandom: Random = () => randomInt(steps) / steps

/** The same numbers again for the same seed, for tests and forecasts. */
export function seededRandom(seed: number): Random {
  let state = seed | 0
  return () => {
    state = (state + 0x9e3779b9) | 0
    let mixed = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32
  }
}

/** A duration of `ms`, more or less by at most this share. */
export function jittered(ms: number, share: number, random: Random): number {
  return ms * (1 + share * (2 * random() - 1))
}
