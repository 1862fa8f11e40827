import { addDays, instantOf, wallTimeAt, weekdayOf, type WallTime } from './zoned-time.ts'

/** Five cron fields, read into the numbers they allow. */
export interface Cron {
  /** Minutes of the day, ascending. */
  readonly minutesOfDay: readonly number[]
  /** Whether it fires on a day at all. */
  firesOn(date: Pick<WallTime, 'year' | 'month' | 'day'>): boolean
}

/** Reads `minute hour day-of-month month day-of-week`; undefined when it is not that. */
export function parseCron(text: string): Cron | undefined {
  const fields = text.trim().split(/\s+/)
  if (fields.length !== 5) return undefined
  const [minutes, hours, days, months, weekdays] = fields.map((field, index) => parseField(field, ranges[index]!))
  if (!minutes || !hours || !days || !months || !weekdays) return undefined
  const anyDay = isAny(fields[2])
  const anyWeekday = isAny(fields[4])
  return {
    minutesOfDay: [...hours]
      .flatMap((hour) => [...minutes].map((minute) => hour * 60 + minute))
      .toSorted((a, b) => a - b),
    firesOn(date) {
      if (!months.has(date.month)) return false
      const weekday = weekdayOf(date) % 7
      const onDay = days.has(date.day)
      const onWeekday = weekdays.has(weekday) || (weekday === 0 && weekdays.has(7))
      // As cron has it: when both are restricted, either will do.
      if (!anyDay && !anyWeekday) return onDay || onWeekday
      return onDay && onWeekday
    },
  }
}

/** The first time after an instant at which an expression fires, by the clocks of a zone; undefined when it never does or cannot be read. */
export function nextCronTime(expression: string, afterMs: number, zone: string): number | undefined {
  const cron = parseCron(macros[expression.trim().toLowerCase()] ?? expression)
  if (!cron) return undefined
  const start = wallTimeAt(afterMs, zone)
  for (let offset = 0; offset <= horizonDays; offset++) {
    const date = addDays(start, offset)
    if (!cron.firesOn(date)) continue
    for (const minute of cron.minutesOfDay) {
      // An hour's leeway: clocks may have gone back since.
      if (offset === 0 && minute < start.minute - 60) continue
      const at = instantOf({ ...date, minute }, zone)
      if (at > afterMs) return at
    }
  }
  return undefined
}

const horizonDays = 366 * 5
const macros: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
}

interface Range {
  readonly from: number
  readonly to: number
  readonly names?: readonly string[]
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const ranges: readonly Range[] = [
  { from: 0, to: 59 },
  { from: 0, to: 23 },
  { from: 1, to: 31 },
  { from: 1, to: 12, names: monthNames },
  { from: 0, to: 7, names: dayNames },
]

function parseField(field: string, range: Range): Set<number> | undefined {
  const numbers = new Set<number>()
  for (const part of field.toLowerCase().split(',')) {
    const match = /^(\*|\?|[a-z0-9]+)(?:-([a-z0-9]+))?(?:\/(\d+))?$/.exec(part)
    if (!match) return undefined
    const [, first = '', last, step] = match
    const isStar = first === '*' || first === '?'
    const from = isStar ? range.from : numberOf(first, range)
    const to = last !== undefined ? numberOf(last, range) : isStar || step ? range.to : from
    const stride = Number(step ?? 1)
    if (from === undefined || to === undefined || from > to || stride < 1) return undefined
    for (let number = from; number <= to; number += stride) numbers.add(number)
  }
  return numbers
}

function numberOf(text: string, { from, to, names }: Range): number | undefined {
  const named = names?.indexOf(text) ?? -1
  const number = named >= 0 ? named + from : /^\d+$/.test(text) ? Number(text) : NaN
  return number >= from && number <= to ? number : undefined
}

function isAny(field: string | undefined): boolean {
  return field === '*' || field === '?'
}
