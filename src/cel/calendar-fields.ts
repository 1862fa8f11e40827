import { civilFromDays, daysFromCivil } from './calendar.ts'

/** A part of a local date and time that an expression can ask for. */
export type CalendarField =
  | 'FullYear'
  | 'Month'
  | 'DayOfYear'
  | 'DayOfMonth'
  | 'Date'
  | 'DayOfWeek'
  | 'Hours'
  | 'Minutes'
  | 'Seconds'
  | 'Milliseconds'

const day = 86_400

/** The field's value; `seconds` since 1970 are local ones. Months and days of the year and month count from 0, dates from 1. */
export function fieldOf(field: CalendarField, seconds: number, nanos: number): number {
  const days = Math.floor(seconds / day)
  switch (field) {
    case 'FullYear':
      return civilFromDays(days).year
    case 'Month':
      return civilFromDays(days).month - 1
    case 'DayOfYear':
      return days - daysFromCivil(civilFromDays(days).year, 1, 1)
    case 'DayOfMonth':
      return civilFromDays(days).day - 1
    case 'Date':
      return civilFromDays(days).day
    case 'DayOfWeek':
      return (((days + 4) % 7) + 7) % 7
    case 'Hours':
      return Math.floor((seconds - days * day) / 3600)
    case 'Minutes':
      return Math.floor((seconds - days * day) / 60) % 60
    case 'Seconds':
      return (seconds - days * day) % 60
    case 'Milliseconds':
      return Math.floor(nanos / 1e6)
  }
}

/** First and one past the last local second in which the field keeps its value, as far as the calendar goes. */
export function fieldPeriod(field: CalendarField, seconds: number): { readonly start: number; readonly end: number } {
  switch (field) {
    case 'FullYear':
      return yearOf(seconds)
    case 'Month':
      return monthOf(seconds)
    case 'DayOfYear':
    case 'DayOfMonth':
    case 'Date':
    case 'DayOfWeek':
      return around(seconds, day)
    case 'Hours':
      return around(seconds, 3600)
    case 'Minutes':
      return around(seconds, 60)
    case 'Seconds':
    case 'Milliseconds':
      return around(seconds, 1)
  }
}

function around(seconds: number, unit: number): { readonly start: number; readonly end: number } {
  const start = Math.floor(seconds / unit) * unit
  return { start, end: start + unit }
}

function yearOf(seconds: number): { readonly start: number; readonly end: number } {
  const { year } = civilFromDays(Math.floor(seconds / day))
  return { start: daysFromCivil(year, 1, 1) * day, end: daysFromCivil(year + 1, 1, 1) * day }
}

function monthOf(seconds: number): { readonly start: number; readonly end: number } {
  const { year, month } = civilFromDays(Math.floor(seconds / day))
  const next = month === 12 ? { year: year + 1, month: 1 } : { year, month: month + 1 }
  return { start: daysFromCivil(year, month, 1) * day, end: daysFromCivil(next.year, next.month, 1) * day }
}
