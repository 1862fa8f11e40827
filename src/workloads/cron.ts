import { addDays, instantOf, wallTimeAt, weekdayOf } from '../kube/zoned-time.ts'

/** The first time after an instant at which a cron expression fires, by the clocks of a zone; undefined when it never does or cannot be read. */
export function nextCronTime(expression: string, afterMs: number, zone: string): number | undefined {
  const fields = parseCron(expression)
  if (!fields) return undefined
  const start = wallTimeAt(afterMs, zone)
  for (let offset = 0; offset <= horizonDays; offset++) {
    const date = addDays(start, offset)
    if (!isOnDay(fields, date)) continue
    for (const hour of fields.hours) {
      for (const minute of fields.minutes) {
        if (offset === 0 && hour * 60 + minute < start.minute - 60) continue
        const at = instantOf({ ...date, minute: hour * 60 + minute }, zone)
        if (at > afterMs) return at
      }
    }
  }
  return undefined
}

interface CronFields {
  readonly minutes: readonly number[]
  readonly hours: readonly number[]
  readonly days: ReadonlySet<number>
  readonly months: ReadonlySet<number>
  readonly weekdays: ReadonlySet<number>
  /** Whether both days were restricted: then either will do. */
  readonly eitherDay: boolean
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
const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']

function parseCron(expression: string): CronFields | undefined {
  const text = macros[expression.trim().toLowerCase()] ?? expression
  const [minute = '', hour = '', day = '', month = '', weekday = '', ...rest] = text.trim().split(/\s+/)
  if (!weekday || rest.length > 0) return undefined
  const minutes = parseField(minute, 0, 59)
  const hours = parseField(hour, 0, 23)
  const days = parseField(day, 1, 31)
  const months = parseField(named(month, monthNames, 1), 1, 12)
  const weekdays = parseField(named(weekday, dayNames, 0), 0, 7)
  if (!minutes || !hours || !days || !months || !weekdays) return undefined
  return {
    minutes,
    hours,
    days: new Set(days),
    months: new Set(months),
    weekdays: new Set(weekdays.map((value) => (value === 0 ? 7 : value))),
    eitherDay: !isAny(day) && !isAny(weekday),
  }
}

function isOnDay(
  { days, months, weekdays, eitherDay }: CronFields,
  date: { year: number; month: number; day: number },
): boolean {
  if (!months.has(date.month)) return false
  const byDay = days.has(date.day)
  const byWeekday = weekdays.has(weekdayOf(date))
  return eitherDay ? byDay || byWeekday : byDay && byWeekday
}

function parseField(field: string, least: number, most: number): readonly number[] | undefined {
  const values = new Set<number>()
  for (const part of field.split(',')) {
    const match = /^(\*|\?|\d+)(?:-(\d+))?(?:\/(\d+))?$/.exec(part)
    if (!match) return undefined
    const [, from = '', to, step] = match
    const isStar = from === '*' || from === '?'
    const first = isStar ? least : Number(from)
    const last = isStar ? most : to === undefined ? (step === undefined ? first : most) : Number(to)
    const stride = step === undefined ? 1 : Number(step)
    if (first < least || last > most || first > last || stride < 1) return undefined
    for (let value = first; value <= last; value += stride) values.add(value)
  }
  return [...values].toSorted((left, right) => left - right)
}

function isAny(field: string): boolean {
  return field === '*' || field === '?'
}

function named(field: string, names: readonly string[], first: number): string {
  return field
    .toLowerCase()
    .replaceAll(/[a-z]{3}/g, (name) => (names.includes(name) ? String(names.indexOf(name) + first) : name))
}
