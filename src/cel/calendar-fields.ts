import { civilFromDays, daysFromCivil } from './calendar.ts'

/** `seconds` since 1970 are local ones. */
interface Field {
  readonly read: (seconds: number, nanos: number) => number
  /** First and one past the last local second in which the field keeps its value. */
  readonly period: (seconds: number) => Period
}

interface Period {
  readonly start: number
  readonly end: number
}

const day = 86_400

/** Months and days of the year and month count from 0, dates from 1. */
const fields = {
  FullYear: { read: (seconds) => dateOf(seconds).year, period: yearOf },
  Month: { read: (seconds) => dateOf(seconds).month - 1, period: monthOf },
  DayOfYear: { read: (seconds) => daysOf(seconds) - daysFromCivil(dateOf(seconds).year, 1, 1), period: every(day) },
  DayOfMonth: { read: (seconds) => dateOf(seconds).day - 1, period: every(day) },
  Date: { read: (seconds) => dateOf(seconds).day, period: every(day) },
  DayOfWeek: { read: (seconds) => (((daysOf(seconds) + 4) % 7) + 7) % 7, period: every(day) },
  Hours: { read: (seconds) => Math.floor(secondOfDay(seconds) / 3600), period: every(3600) },
  Minutes: { read: (seconds) => Math.floor(secondOfDay(seconds) / 60) % 60, period: every(60) },
  Seconds: { read: (seconds) => secondOfDay(seconds) % 60, period: every(1) },
  Milliseconds: { read: (_seconds, nanos) => Math.floor(nanos / 1e6), period: every(1) },
} satisfies Readonly<Record<string, Field>>

/** A part of a local date and time that an expression can ask for. */
export type CalendarField = keyof typeof fields

/** How each part is read. */
export const calendarFields: Readonly<Record<CalendarField, Field>> = fields

function daysOf(seconds: number): number {
  return Math.floor(seconds / day)
}

function secondOfDay(seconds: number): number {
  return seconds - daysOf(seconds) * day
}

function dateOf(seconds: number): ReturnType<typeof civilFromDays> {
  return civilFromDays(daysOf(seconds))
}

function every(unit: number): Field['period'] {
  return (seconds) => {
    const start = Math.floor(seconds / unit) * unit
    return { start, end: start + unit }
  }
}

function yearOf(seconds: number): Period {
  const { year } = dateOf(seconds)
  return { start: daysFromCivil(year, 1, 1) * day, end: daysFromCivil(year + 1, 1, 1) * day }
}

function monthOf(seconds: number): Period {
  const { year, month } = dateOf(seconds)
  const next = month === 12 ? { year: year + 1, month: 1 } : { year, month: month + 1 }
  return { start: daysFromCivil(year, month, 1) * day, end: daysFromCivil(next.year, next.month, 1) * day }
}
