import { civilFromDays, daysFromCivil, daysInMonth } from './calendar.ts'
import { CelError } from './errors.ts'
import { CelDuration, durationOfNanoseconds, durationOutOfRange, timestampOf, type CelTimestamp } from './moments.ts'

const zero = 48
const shortest = '0001-01-01T00:00:00Z'.length

/** Reads RFC 3339 as Go does: upper-case T and Z, real days only, fractions cut after nine digits. */
export function parseTimestamp(text: string): CelTimestamp | CelError {
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 2)
  const day = digits(text, 8, 2)
  const hour = digits(text, 11, 2)
  const minute = digits(text, 14, 2)
  const second = digits(text, 17, 2)
  const isShaped = text.length >= shortest && hasSeparators(text)
  const isReal = year >= 0 && month >= 1 && month <= 12 && day >= 1 && hour >= 0 && minute >= 0 && second >= 0
  if (!isShaped || !isReal || hour > 23 || minute > 59 || second > 59 || day > daysInMonth(year, month)) {
    return new CelError(`invalid timestamp: ${shown(text)}`)
  }
  const seconds = daysFromCivil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second
  if (text.length === shortest && text.charCodeAt(19) === 90) return timestampOf(seconds, 0)
  return withTail(text, seconds)
}

function hasSeparators(text: string): boolean {
  return (
    text.charCodeAt(4) === 45 &&
    text.charCodeAt(7) === 45 &&
    text.charCodeAt(10) === 84 &&
    text.charCodeAt(13) === 58 &&
    text.charCodeAt(16) === 58
  )
}

const tail = /^(?:\.(\d+))?(?:Z|([+-])([01]\d|2[0-3]):([0-5]\d))$/

function withTail(text: string, seconds: number): CelTimestamp | CelError {
  const match = tail.exec(text.slice(19))
  if (!match) return new CelError(`invalid timestamp: ${shown(text)}`)
  const [, fraction, sign, hours, minutes] = match
  const nanos = fraction ? Number(fraction.slice(0, 9).padEnd(9, '0')) : 0
  const offset = sign ? Number(hours) * 3600 + Number(minutes) * 60 : 0
  return timestampOf(sign === '-' ? seconds + offset : seconds - offset, nanos)
}

/** The number these digits make, NaN when one is none; NaN fails every range test. */
function digits(text: string, start: number, count: number): number {
  let value = 0
  for (let at = start; at < start + count; at++) {
    const digit = text.charCodeAt(at) - zero
    if (!(digit >= 0 && digit <= 9)) return Number.NaN
    value = value * 10 + digit
  }
  return value
}

/** RFC 3339 in UTC, the fraction without trailing zeros. */
export function timestampText({ seconds, nanos }: CelTimestamp): string {
  const days = Math.floor(seconds / 86_400)
  const { year, month, day } = civilFromDays(days)
  const rest = seconds - days * 86_400
  const clock = [Math.floor(rest / 3600), Math.floor(rest / 60) % 60, rest % 60]
    .map((part) => padded(part, 2))
    .join(':')
  return `${padded(year, 4)}-${padded(month, 2)}-${padded(day, 2)}T${clock}${fractionText(nanos)}Z`
}

/** Seconds with a fraction and the unit `s`, as protobuf's JSON writes durations. */
export function durationText({ seconds, nanos }: CelDuration): string {
  const isNegative = seconds < 0
  const whole = isNegative && nanos > 0 ? -seconds - 1 : Math.abs(seconds)
  const fraction = isNegative && nanos > 0 ? 1_000_000_000 - nanos : nanos
  return `${isNegative ? '-' : ''}${whole}${fractionText(fraction)}s`
}

function fractionText(nanos: number): string {
  return nanos === 0 ? '' : `.${padded(nanos, 9).replace(/0+$/, '')}`
}

function padded(value: number, width: number): string {
  return String(value).padStart(width, '0')
}

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
}
const maxTextLength = 128

/** Reads Go's form: numbers with units from ns to h, as `1h30m` or `-1.5s`. */
export function parseDuration(text: string): CelDuration | CelError {
  const isNegative = text.startsWith('-')
  const body = isNegative || text.startsWith('+') ? text.slice(1) : text
  if (body === '0') return new CelDuration(0, 0)
  if (!body || body.length > maxTextLength) return new CelError(`invalid duration: ${shown(text)}`)
  const part = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|h|m|s)/y
  let total = 0n
  while (part.lastIndex < body.length) {
    const match = part.exec(body)
    if (!match || (!match[1] && !match[2])) return new CelError(`invalid duration: ${shown(text)}`)
    total += scaled(match[1] ?? '', match[2] ?? '', units[match[3] ?? ''] ?? 0n)
  }
  return total > 1n << 64n ? durationOutOfRange : durationOfNanoseconds(isNegative ? -total : total)
}

function scaled(whole: string, fraction: string, unit: bigint): bigint {
  const kept = fraction.slice(0, 18)
  return BigInt(whole || '0') * unit + (kept ? (BigInt(kept) * unit) / 10n ** BigInt(kept.length) : 0n)
}

/** A text as error messages quote it. */
export function shown(text: string): string {
  return JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)
}
