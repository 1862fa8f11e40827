import { daysFromCivil } from './calendar.ts'
import { CelError } from './errors.ts'
import type { Frame } from './frame.ts'

const fixed = /^([+-]?)(\d\d):(\d\d)$/
const formatters = new Map<string, Intl.DateTimeFormat | CelError>()
const mostFormatters = 100

/** Seconds to add to UTC for local time in this zone at this instant: a fixed offset, or a name of the tz database. */
export function zoneOffset(frame: Frame, zone: string, seconds: number): number | CelError {
  if (zone === '' || zone === 'UTC') return 0
  const match = fixed.exec(zone)
  if (match) {
    const size = Number(match[2]) * 3600 + Number(match[3]) * 60
    return match[1] === '-' ? -size : size
  }
  frame.charge(60)
  const formatter = formatterOf(frame, zone)
  return formatter instanceof CelError ? formatter : namedOffset(formatter, seconds)
}

function formatterOf(frame: Frame, zone: string): Intl.DateTimeFormat | CelError {
  const known = formatters.get(zone)
  if (known) return known
  frame.charge(1000)
  if (formatters.size >= mostFormatters) formatters.clear()
  const made = makeFormatter(zone)
  formatters.set(zone, made)
  return made
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

function namedOffset(formatter: Intl.DateTimeFormat, seconds: number): number {
  const parts: Record<string, string> = {}
  for (const { type, value } of formatter.formatToParts(seconds * 1000)) parts[type] = value
  const year = parts['era']?.startsWith('B') ? 1 - Number(parts['year']) : Number(parts['year'])
  const days = daysFromCivil(year, Number(parts['month']), Number(parts['day']))
  const clock = Number(parts['hour']) * 3600 + Number(parts['minute']) * 60 + Number(parts['second'])
  return days * 86_400 + clock - seconds
}
