import { BoundedMap } from '../kube/basics/bounded-map.ts'
import { daysFromCivil } from './calendar.ts'
import { CelError } from './errors.ts'
import type { Frame } from './frame.ts'

const fixed = /^([+-]?)(\d\d):(\d\d)$/
const zones = new BoundedMap<string, Zone | CelError>(100)
const day = 86_400

interface Zone {
  readonly formatter: Intl.DateTimeFormat
  /** The offset on days since 1970 in UTC that have one offset from start to end; NaN for other days. */
  readonly offsets: BoundedMap<number, number>
}

/** Seconds to add to UTC for local time in this zone at this instant: a fixed offset, or a name of the tz database. */
export function zoneOffset(frame: Frame, zone: string, seconds: number): number | CelError {
  if (zone === '' || zone === 'UTC') return 0
  const match = fixed.exec(zone)
  if (match) {
    const size = Number(match[2]) * 3600 + Number(match[3]) * 60
    return match[1] === '-' ? -size : size
  }
  const known = zoneOf(frame, zone)
  return known instanceof CelError ? known : namedOffset(frame, known, seconds)
}

function zoneOf(frame: Frame, name: string): Zone | CelError {
  const known = zones.get(name)
  if (known) return known
  frame.charge(5000)
  const formatter = makeFormatter(name)
  const made =
    formatter instanceof CelError ? formatter : { formatter, offsets: new BoundedMap<number, number>(10_000) }
  zones.set(name, made)
  return made
}

function namedOffset(frame: Frame, { formatter, offsets }: Zone, seconds: number): number {
  const today = Math.floor(seconds / day)
  let known = offsets.get(today)
  if (known === undefined) offsets.set(today, (known = dayOffset(frame, formatter, today)))
  if (!Number.isNaN(known)) return known
  frame.charge(750)
  return formattedOffset(formatter, seconds)
}

function dayOffset(frame: Frame, formatter: Intl.DateTimeFormat, today: number): number {
  frame.charge(1500)
  const first = formattedOffset(formatter, today * day)
  return first === formattedOffset(formatter, (today + 1) * day) ? first : Number.NaN
}

function makeFormatter(timeZone: string): Intl.DateTimeFormat | CelError {
  try {
    // The Gregorian calendar without the switch of 1582 that others have: `iso8601` is proleptic.
    return new Intl.DateTimeFormat('en-US-u-ca-iso8601', {
      timeZone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    return new CelError(`unknown time zone ${JSON.stringify(timeZone.slice(0, 64))}`)
  }
}

/** What the runtime's time zone data say, found by formatting. */
function formattedOffset(formatter: Intl.DateTimeFormat, seconds: number): number {
  const parts: Record<string, string> = {}
  for (const { type, value } of formatter.formatToParts(seconds * 1000)) parts[type] = value
  const year = parts['era']?.startsWith('B') ? 1 - Number(parts['year']) : Number(parts['year'])
  const days = daysFromCivil(year, Number(parts['month']), Number(parts['day']))
  const clock = Number(parts['hour']) * 3600 + Number(parts['minute']) * 60 + Number(parts['second'])
  return days * day + clock - seconds
}
