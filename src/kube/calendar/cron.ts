import { parseDuration } from '../time.ts'
import { addDays, instantOf, wallTimeAt, weekdayOf, type CalendarDate } from './zoned-time.ts'

/** Five cron fields, read into the times they allow. */
export interface Cron {
  /** Minutes of the day, ascending. */
  readonly minutesOfDay: readonly number[]
  /** Whether it fires on a day at all. */
  firesOn(date: CalendarDate): boolean
}

/** Reads `minute hour day-of-month month day-of-week`; undefined when it is not that. Sunday is 0 or 7. */
export function parseCron(text: string): Cron | undefined {
  const parts = fieldsOf(text)
  if (parts.length !== 5) return undefined
  const fields = parts.map((part, index) => readField(part, ranges[index]!))
  if (fields.some((field) => typeof field === 'string')) return undefined
  const [minutes, hours, days, months, weekdays] = fields as [Field, Field, Field, Field, Field]
  return {
    minutesOfDay: [...hours.numbers]
      .flatMap((hour) => [...minutes.numbers].map((minute) => hour * 60 + minute))
      .toSorted((a, b) => a - b),
    firesOn(date) {
      if (!months.numbers.has(date.month)) return false
      const weekday = weekdayOf(date) % 7
      const onDay = days.numbers.has(date.day)
      const onWeekday = weekdays.numbers.has(weekday) || (weekday === 0 && weekdays.numbers.has(7))
      // As cron has it: when both are restricted, either is enough.
      return days.isAny || weekdays.isAny ? onDay && onWeekday : onDay || onWeekday
    },
  }
}

/**
 * Why a text is not the schedule of a CronJob, in the words of kube-apiserver; undefined when it is one. What passes
 * here, `nextCronTime` can run.
 */
export function scheduleFault(schedule: string): string | undefined {
  if (schedule.startsWith('@')) return descriptorFault(schedule)
  const parts = fieldsOf(schedule)
  if (parts.length !== 5) return `expected exactly 5 fields, found ${parts.length}: [${parts.join(' ')}]`
  return parts
    .map((part, index) => readField(part, index === 4 ? strictWeekdays : ranges[index]!))
    .find((field) => typeof field === 'string')
}

export interface CronClock {
  readonly afterMs: number
  /** IANA zone whose clocks count. */
  readonly zone: string
  /** When it last ran, or was created: `@every` counts from there. Defaults to `afterMs`. */
  readonly sinceMs?: number
}

/** The first time after an instant at which a schedule fires; undefined when it never does or cannot be read. */
export function nextCronTime(expression: string, { afterMs, zone, sinceMs = afterMs }: CronClock): number | undefined {
  const text = expression.trim()
  const everyMs = intervalOf(text)
  if (everyMs !== undefined) return sinceMs + (Math.floor((afterMs - sinceMs) / everyMs) + 1) * everyMs
  const cron = parseCron(macros[text.toLowerCase()] ?? text)
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

/** The numbers one field allows. */
interface Field {
  readonly numbers: ReadonlySet<number>
  /** `*` or `?` in it, without a step: the field restricts nothing. */
  readonly isAny: boolean
}

interface Range {
  readonly min: number
  readonly max: number
  readonly names?: readonly string[]
}

const monthNames = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const dayNames = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const ranges: readonly Range[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: monthNames },
  { min: 0, max: 7, names: dayNames },
]
/** kube-apiserver does not take 7 for Sunday. */
const strictWeekdays: Range = { min: 0, max: 6, names: dayNames }

function fieldsOf(text: string): string[] {
  return text.trim().split(/\s+/)
}

/** `@every 90s` in whole seconds, at least one, as robfig/cron rounds it; undefined for anything else. */
function intervalOf(schedule: string): number | undefined {
  const durationMs = parseDuration(/^@every (.+)$/.exec(schedule)?.[1] ?? '')
  return durationMs === undefined ? undefined : Math.max(1000, Math.floor(durationMs / 1000) * 1000)
}

function descriptorFault(schedule: string): string | undefined {
  if (Object.hasOwn(macros, schedule) || intervalOf(schedule) !== undefined) return undefined
  const every = /^@every (.+)$/.exec(schedule)?.[1]
  return every === undefined
    ? `unrecognized descriptor: ${schedule}`
    : `failed to parse duration ${schedule}: time: invalid duration ${JSON.stringify(every)}`
}

/** What a field allows, or why it cannot be read. */
function readField(text: string, range: Range): Field | string {
  const numbers = new Set<number>()
  let isAny = false
  for (const part of text.split(',')) {
    const read = readPart(part, range)
    if (typeof read === 'string') return read
    isAny ||= read.isAny
    for (let number = read.first; number <= read.last; number += read.step) numbers.add(number)
  }
  return { numbers, isAny }
}

interface Part {
  readonly first: number
  readonly last: number
  readonly step: number
  readonly isAny: boolean
}

/** One item of a field's list: `*`, `5`, `mon-fri`, `10/20`, a step. */
function readPart(text: string, range: Range): Part | string {
  const [span = '', by, ...moreSlashes] = text.split('/')
  const [low = '', high, ...moreHyphens] = span.split('-')
  if (moreHyphens.length > 0) return `too many hyphens: ${text}`
  if (moreSlashes.length > 0) return `too many slashes: ${text}`
  const isStar = low === '*' || low === '?'
  const first = isStar ? range.min : numberOf(low, range)
  if (first === undefined) return notANumber(low)
  const last = high !== undefined ? numberOf(high, range) : isStar || by !== undefined ? range.max : first
  if (last === undefined) return notANumber(high)
  const step = by === undefined ? 1 : /^\d+$/.test(by) ? Number(by) : undefined
  if (step === undefined) return notANumber(by)
  if (first < range.min) return `beginning of range (${first}) below minimum (${range.min}): ${text}`
  if (last > range.max) return `end of range (${last}) above maximum (${range.max}): ${text}`
  if (first > last) return `beginning of range (${first}) beyond end of range (${last}): ${text}`
  if (step === 0) return `step of range should be a positive number: ${text}`
  return { first, last, step, isAny: isStar && step === 1 }
}

function numberOf(text: string, { min, names }: Range): number | undefined {
  if (/^\d+$/.test(text)) return Number(text)
  const index = names?.indexOf(text.toLowerCase()) ?? -1
  return index < 0 ? undefined : index + min
}

function notANumber(text = ''): string {
  return `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`
}
