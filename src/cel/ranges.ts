import { nanosecondsOf, timestampRange } from './moments.ts'
import type { Moving, Trace } from './trace.ts'

const giga = 1_000_000_000n
const earliest = BigInt(timestampRange.earliestSecond) * giga
const afterLatest = BigInt(timestampRange.latestSecond + 1) * giga
const shortest = -(1n << 63n)
const afterLongest = 1n << 63n

/** Notes when a moving timestamp leaves, or comes back into, the years 1 to 9999: there it becomes an error, or stops being one. */
export function traceTimestampRange(trace: Trace, moment: Moving): void {
  traceLimits(trace, moment, [earliest, afterLatest])
}

/** Notes when a moving duration passes the ends of 64 bits of nanoseconds. */
export function traceDurationRange(trace: Trace, span: Moving): void {
  traceLimits(trace, span, [shortest, afterLongest])
}

function traceLimits(trace: Trace, value: Moving, [least, beyond]: readonly [bigint, bigint]): void {
  const now = nanosecondsOf(value.seconds, value.nanos)
  if (now >= least && now < beyond) trace.staysWithin(value, least, beyond)
  else if (now < least && value.rate > 0) trace.staysWithin(value, now, least)
  else if (now >= beyond && value.rate < 0) trace.staysWithin(value, beyond, now + 1n)
}
