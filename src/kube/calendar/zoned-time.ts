/** A day and minute as the clocks of a time zone show them. */
export interface WallTime {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  readonly day: number
  /** Minutes since midnight by the wall clock. */
  readonly minute: number
}

/** Whether this machine knows the zone. */
export function isTimeZone(zone: string): boolean {
  try {
    return formatterOf(zone) !== undefined
  } catch {
    return false
  }
}

/** What the clocks of a zone show at an instant. */
export function wallTimeAt(atMs: number, zone: string): WallTime {
  const parts: Record<string, number> = {}
  for (const { type, value } of formatterOf(zone).formatToParts(atMs))
    if (type !== 'literal') parts[type] = Number(value)
  const { year = 0, month = 0, day = 0, hour = 0, minute = 0 } = parts
  return { year, month, day, minute: hour * 60 + minute }
}

/**
 * The instant at which the clocks of a zone show this. A time that spring skips means the moment after the gap; one that
 * autumn repeats means its first occurrence.
 */
export function instantOf({ year, month, day, minute }: WallTime, zone: string): number {
  const asUtc = utcOf(year, month, day) + minute * 60_000
  // The offset before any change of that day, and after it: at most one of them fits a time in a gap or an overlap.
  const before = asUtc - offsetAt(asUtc - 86_400_000, zone)
  const after = asUtc - offsetAt(asUtc + 86_400_000, zone)
  const fits = (instant: number) => instant + offsetAt(instant, zone) === asUtc
  const fitting = [before, after].filter(fits)
  if (fitting.length > 0) return Math.min(...fitting)
  return endOfGap(Math.min(before, after), Math.max(before, after), zone)
}

/** 1 is Monday, 7 is Sunday. */
export function weekdayOf({ year, month, day }: Pick<WallTime, 'year' | 'month' | 'day'>): number {
  // The epoch was a Thursday.
  return ((((utcOf(year, month, day) / 86_400_000 + 3) % 7) + 7) % 7) + 1
}

/** The date some days later, months and years carried over. */
export function addDays(
  date: Pick<WallTime, 'year' | 'month' | 'day'>,
  days: number,
): Pick<WallTime, 'year' | 'month' | 'day'> {
  const shown = wallTimeAt(utcOf(date.year, date.month, date.day) + days * 86_400_000, 'UTC')
  return { year: shown.year, month: shown.month, day: shown.day }
}

/** `2026-12-24`. */
export function formatDate({ year, month, day }: Pick<WallTime, 'year' | 'month' | 'day'>): string {
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
}

function utcOf(year: number, month: number, day: number): number {
  const [y, m] = month <= 2 ? [year - 1, month + 9] : [year, month - 3]
  // Days from civil: counts from March so that the leap day comes last.
  const era = Math.floor(y / 400)
  const yearOfEra = y - era * 400
  const dayOfYear = Math.floor((153 * m + 2) / 5) + day - 1
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear
  return (era * 146_097 + dayOfEra - 719_468) * 86_400_000
}

function offsetAt(atMs: number, zone: string): number {
  const { year, month, day, minute } = wallTimeAt(atMs, zone)
  const minuteStart = Math.floor(atMs / 60_000) * 60_000
  return utcOf(year, month, day) + minute * 60_000 - minuteStart
}

/** The instant at which the zone's offset changes between two instants, to the minute. */
function endOfGap(earlier: number, later: number, zone: string): number {
  const offset = offsetAt(earlier, zone)
  let low = earlier
  let high = later
  while (high - low > 60_000) {
    const middle = Math.floor((low + high) / 2 / 60_000) * 60_000
    if (offsetAt(middle, zone) === offset) low = middle
    else high = middle
  }
  return high
}

const formatters = new Map<string, Intl.DateTimeFormat>()

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  })
  formatters.set(zone, made)
  return made
}
