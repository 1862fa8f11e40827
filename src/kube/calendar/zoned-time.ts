/** A calendar date, without a time zone. */
export interface CalendarDate {
  readonly year: number
  /** 1 to 12. */
  readonly month: number
  readonly day: number
}

/** A date and minute as the clocks of a time zone show them. */
export interface WallTime extends CalendarDate {
  /** Minutes since midnight by the wall clock. */
  readonly minute: number
}

/** Whether this machine knows the time zone. */
export function isTimeZone(zone: string): boolean {
  try {
    // Not Temporal: it would also take a whole timestamp for the name of a zone.
    return new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** What the clocks of a zone show at an instant. */
export function wallTimeAt(atMs: number, zone: string): WallTime {
  const { year, month, day, hour, minute } = zonedTime(atMs, zone)
  return { year, month, day, minute: hour * 60 + minute }
}

/** Seconds to add to UTC for the local time of a zone at an instant. */
export function zoneOffsetSeconds(atMs: number, zone: string): number {
  return zonedTime(atMs, zone).offsetNanoseconds / 1e9
}

/**
 * The instant at which the clocks of a zone show this. A time that spring skips means the end of the gap; one that
 * autumn repeats means its first occurrence.
 */
export function instantOf({ year, month, day, minute }: WallTime, zone: string): number {
  const shown = new Temporal.PlainDateTime(year, month, day).add({ minutes: minute })
  const zoned = shown.toZonedDateTime(zone, { disambiguation: 'earlier' })
  if (zoned.toPlainDateTime().equals(shown)) return zoned.epochMilliseconds
  return (zoned.getTimeZoneTransition('next') ?? zoned).epochMilliseconds
}

/** 1 is Monday, 7 is Sunday. */
export function weekdayOf({ year, month, day }: CalendarDate): number {
  return new Temporal.PlainDate(year, month, day).dayOfWeek
}

/** The date some days later, months and years carried over. */
export function addDays(date: CalendarDate, days: number): CalendarDate {
  const { year, month, day } = new Temporal.PlainDate(date.year, date.month, date.day).add({ days })
  return { year, month, day }
}

/** `2026-12-24`. */
export function formatDate({ year, month, day }: CalendarDate): string {
  return new Temporal.PlainDate(year, month, day).toString()
}

function zonedTime(atMs: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(Math.floor(atMs)).toZonedDateTimeISO(zone)
}
