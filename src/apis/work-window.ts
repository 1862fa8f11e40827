import {
  addDays,
  formatDate,
  instantOf,
  isTimeZone,
  wallTimeAt,
  weekdayOf,
  type WallTime,
} from '../kube/calendar/zoned-time.ts'
import type { WorkScheduleSpec } from './work-schedule.ts'

/** Whether work may happen now; if not, when next, if ever within two years. */
export type WindowState =
  | { readonly open: true; readonly until: number }
  | { readonly open: false; readonly nextOpenAt: number | undefined }

/** Where a schedule stands at an instant. */
export function windowState(schedule: WorkScheduleSpec, atMs: number): WindowState {
  const zone = schedule.timeZone ?? 'UTC'
  const today = wallTimeAt(atMs, zone)
  // Yesterday's windows may reach into today.
  for (let offset = -1; offset <= horizonDays; offset++) {
    const date = addDays(today, offset)
    if (isSkipped(schedule, date)) continue
    const next = windowsOn(schedule, date, zone).find(({ closesAt }) => closesAt > atMs)
    if (next)
      return next.opensAt <= atMs ? { open: true, until: next.closesAt } : { open: false, nextOpenAt: next.opensAt }
  }
  return { open: false, nextOpenAt: undefined }
}

/** Whether a day counts as a business day: some window opens on it. */
export function isWorkDay(schedule: WorkScheduleSpec, date: Pick<WallTime, 'year' | 'month' | 'day'>): boolean {
  return (
    !isSkipped(schedule, date) &&
    schedule.windows.some(({ days }) => days.includes(dayNames[weekdayOf(date) - 1] ?? 'Monday'))
  )
}

/** The same time of day, this many business days later. */
export function addWorkDays(schedule: WorkScheduleSpec, atMs: number, days: number): number | undefined {
  const zone = schedule.timeZone ?? 'UTC'
  const start = wallTimeAt(atMs, zone)
  let left = days
  for (let offset = 1; offset <= horizonDays && left > 0; offset++) {
    const date = addDays(start, offset)
    if (isWorkDay(schedule, date) && --left === 0)
      return instantOf({ ...date, minute: start.minute }, zone) + (atMs % 60_000)
  }
  return left === 0 ? atMs : undefined
}

/** What is wrong with a schedule that its schema cannot say, by field. */
export function scheduleProblems({
  timeZone,
  skip = [],
}: WorkScheduleSpec): readonly { readonly field: string; readonly problem: string }[] {
  return [
    ...(timeZone === undefined || isTimeZone(timeZone)
      ? []
      : [{ field: 'spec.timeZone', problem: `"${timeZone}" is not a time zone` }]),
    ...skip.flatMap(({ from, to }, index) =>
      from > to ? [{ field: `spec.skip[${index}]`, problem: `ends (${to}) before it begins (${from})` }] : [],
    ),
  ]
}

const horizonDays = 731
const dayNames = ['Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'] as const

type CalendarDate = Pick<WallTime, 'year' | 'month' | 'day'>

function isSkipped({ holidays = [], skip = [] }: WorkScheduleSpec, date: CalendarDate): boolean {
  const text = formatDate(date)
  return holidays.includes(text) || skip.some(({ from, to }) => from <= text && text <= to)
}

/** The windows that open on a day, as instants, earliest closing first. */
function windowsOn(
  { windows }: WorkScheduleSpec,
  date: CalendarDate,
  zone: string,
): { opensAt: number; closesAt: number }[] {
  const name = dayNames[weekdayOf(date) - 1] ?? 'Monday'
  return windows
    .filter(({ days }) => days.includes(name))
    .map(({ start = '00:00', end = '24:00' }) => {
      const closing =
        minuteOf(end) <= minuteOf(start)
          ? { ...addDays(date, 1), minute: minuteOf(end) }
          : atMinute(date, minuteOf(end))
      return { opensAt: instantOf({ ...date, minute: minuteOf(start) }, zone), closesAt: instantOf(closing, zone) }
    })
    .filter(({ opensAt, closesAt }) => opensAt < closesAt)
    .toSorted((left, right) => left.opensAt - right.opensAt)
}

function atMinute(date: CalendarDate, minute: number): WallTime {
  return minute === 1440 ? { ...addDays(date, 1), minute: 0 } : { ...date, minute }
}

function minuteOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5))
}
