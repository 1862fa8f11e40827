import { CelBox } from './box.ts'
import { CelError } from './errors.ts'

const giga = 1_000_000_000
const earliestSecond = -62_135_596_800
const latestSecond = 253_402_300_799
const maxSeconds = 9_223_372_036
const maxNanos = 854_775_807

const timestampOutOfRange = new CelError('timestamp out of range')
export const durationOutOfRange = new CelError('duration out of range')

/**
 * A count of nanoseconds: `seconds` rounded down, plus `nanos` from 0 to 999 999 999.
 * `rate` says how much it grows while `time` grows by one: 0 for constants.
 */
abstract class Moment extends CelBox {
  readonly seconds: number
  readonly nanos: number
  readonly rate: number

  constructor(seconds: number, nanos: number, rate = 0) {
    super()
    this.seconds = seconds
    this.nanos = nanos
    this.rate = rate
  }

  get nanoseconds(): bigint {
    return nanosecondsOf(this.seconds, this.nanos)
  }
}

/** A span of time to the nanosecond. */
export class CelDuration extends Moment {}

/** An instant to the nanosecond, counted from 1970 in UTC. */
export class CelTimestamp extends Moment {
  /** The instant so many milliseconds after 1970, as the rest of the project counts time. */
  static fromMilliseconds(ms: number): CelTimestamp {
    const seconds = Math.floor(ms / 1000)
    return new CelTimestamp(seconds, Math.round((ms - seconds * 1000) * 1e6))
  }
}

/** The timestamp, with nanos carried over, or an error outside the years 1 to 9999. */
export function timestampOf(seconds: number, nanos: number, rate = 0): CelTimestamp | CelError {
  const carry = Math.floor(nanos / giga)
  const whole = seconds + carry
  if (!(whole >= earliestSecond && whole <= latestSecond)) return timestampOutOfRange
  return new CelTimestamp(whole, nanos - carry * giga, rate)
}

/** The duration, with nanos carried over, or an error beyond 64 bits of nanoseconds. */
export function durationOf(seconds: number, nanos: number, rate = 0): CelDuration | CelError {
  const carry = Math.floor(nanos / giga)
  const whole = seconds + carry
  const rest = nanos - carry * giga
  if (isTooLong(whole, rest)) return durationOutOfRange
  return new CelDuration(whole, rest, rate)
}

export function timestampOfNanoseconds(total: bigint): CelTimestamp | CelError {
  const { seconds, nanos } = split(total)
  return timestampOf(seconds, nanos)
}

export function durationOfNanoseconds(total: bigint): CelDuration | CelError {
  const { seconds, nanos } = split(total)
  return durationOf(seconds, nanos)
}

function isTooLong(seconds: number, nanos: number): boolean {
  if (seconds > -maxSeconds && seconds < maxSeconds) return false
  if (seconds >= maxSeconds) return seconds > maxSeconds || nanos > maxNanos
  // The least value is one nanosecond further from zero than the greatest.
  return seconds < -maxSeconds - 1 || (seconds === -maxSeconds - 1 && nanos < giga - maxNanos - 1)
}

function split(total: bigint): { readonly seconds: number; readonly nanos: number } {
  const nanos = ((total % 1_000_000_000n) + 1_000_000_000n) % 1_000_000_000n
  return { seconds: Number((total - nanos) / 1_000_000_000n), nanos: Number(nanos) }
}

/** Nanoseconds in whole numbers, for spans too long for exact doubles. */
export function nanosecondsOf(seconds: number, nanos: number): bigint {
  return BigInt(seconds) * 1_000_000_000n + BigInt(nanos)
}

export const timestampRange = { earliestSecond, latestSecond } as const
