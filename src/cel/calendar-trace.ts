import { calendarFields, type CalendarField } from './calendar-fields.ts'
import { CelError } from './errors.ts'
import type { Frame } from './frame.ts'
import type { CelDuration, CelTimestamp } from './moments.ts'
import { zoneOffset } from './time-zone.ts'
import type { Trace } from './trace.ts'

const giga = 1_000_000_000n
const mega = 1_000_000n

/** Notes how long a moving timestamp's whole seconds stay the same. */
export function traceSeconds(trace: Trace, moment: CelTimestamp): void {
  const start = BigInt(moment.seconds) * giga
  trace.staysWithin(moment, start, start + giga)
}

/** Notes how long a calendar field of a moving timestamp is sure to stay the same in this zone. */
export function traceField(frame: Frame, field: CalendarField, moment: CelTimestamp, zone: string): void {
  const { trace } = frame
  if (!trace || moment.rate === 0) return
  if (field === 'Milliseconds') {
    const start = BigInt(moment.seconds) * giga + BigInt(Math.floor(moment.nanos / 1e6)) * mega
    return trace.staysWithin(moment, start, start + mega)
  }
  const offset = zoneOffset(frame, zone, moment.seconds)
  if (offset instanceof CelError) return
  const local = calendarFields[field].period(moment.seconds + offset)
  const start = sameOffsetFrom(frame, zone, { from: moment.seconds, to: local.start - offset, offset })
  const end = sameOffsetFrom(frame, zone, { from: moment.seconds, to: local.end - offset, offset })
  trace.staysWithin(moment, BigInt(start) * giga, BigInt(end) * giga)
}

/** Notes how long a moving duration keeps its whole number of units, counted towards zero. */
export function traceUnits(trace: Trace, span: CelDuration, unit: bigint): void {
  const count = span.nanoseconds / unit
  const start = count <= 0n ? (count - 1n) * unit + 1n : count * unit
  const end = count < 0n ? count * unit + 1n : (count + 1n) * unit
  trace.staysWithin(span, start, end)
}

interface Stretch {
  readonly from: number
  readonly to: number
  readonly offset: number
}

const step = 7 * 86_400

/**
 * How far from an instant towards another the zone keeps its offset: `to`, or the instant of the first change on the way.
 * Changes are at least a week apart in every zone there is, so weekly looks find the first, and halving its second.
 */
function sameOffsetFrom(frame: Frame, zone: string, { from, to, offset }: Stretch): number {
  const isForward = to > from
  let same = from
  while (same !== to) {
    const next = isForward ? Math.min(same + step, to) : Math.max(same - step, to)
    if (zoneOffset(frame, zone, next) !== offset) return firstChange(frame, zone, { same, other: next, offset })
    same = next
  }
  return to
}

function firstChange(frame: Frame, zone: string, search: { same: number; other: number; offset: number }): number {
  let { same, other } = search
  while (Math.abs(other - same) > 1) {
    const middle = Math.floor((same + other) / 2)
    if (zoneOffset(frame, zone, middle) === search.offset) same = middle
    else other = middle
  }
  return Math.max(same, other)
}
