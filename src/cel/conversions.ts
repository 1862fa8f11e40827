import { CelError } from './errors.ts'
import type { Frame } from './frame.ts'
import { CelDuration, CelTimestamp } from './moments.ts'
import { durationText, shown, timestampText } from './moment-text.ts'
import { doubleValue, intOverflow, isDouble, isInt, toDouble, toInt, toUint, uintOverflow } from './numbers.ts'
import { traceSeconds } from './calendar-trace.ts'
import { CelUint, type CelDouble, type CelValue } from './values.ts'

const twoTo63 = 2 ** 63
const twoTo64 = 2 ** 64

export function intFromDouble(value: number | CelDouble): CelValue {
  const number = doubleValue(value)
  // Both ends are refused: doubles there stand for values on either side of them.
  if (!(number > -twoTo63 && number < twoTo63)) return intOverflow
  return toInt(BigInt(Math.trunc(number)))
}

export function intFromText(text: string): CelValue {
  if (!/^[+-]?\d{1,40}$/.test(text)) return new CelError(`cannot convert ${shown(text)} to int`)
  return toInt(BigInt(text.replace('+', '')))
}

/** Whole seconds since 1970. */
export function intFromTimestamp(frame: Frame, moment: CelTimestamp): CelValue {
  if (frame.trace && moment.rate !== 0) traceSeconds(frame.trace, moment)
  return moment.seconds
}

/** Nanoseconds; they change with every tick, so there is no use in saying when. */
export function intFromDuration(frame: Frame, span: CelDuration): CelValue {
  if (frame.trace && span.rate !== 0) frame.trace.isOpaque = true
  return toInt(span.nanoseconds)
}

export function uintFromDouble(value: number | CelDouble): CelValue {
  const number = doubleValue(value)
  return number >= 0 && number < twoTo64 ? toUint(BigInt(Math.trunc(number))) : uintOverflow
}

export function uintFromText(text: string): CelValue {
  return /^\d{1,40}$/.test(text) ? toUint(BigInt(text)) : new CelError(`cannot convert ${shown(text)} to uint`)
}

const decimal = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

export function doubleFromText(text: string): CelValue {
  if (decimal.test(text)) return toDouble(Number(text))
  const word = text.toLowerCase()
  if (word === 'nan') return Number.NaN
  if (/^\+?inf(?:inity)?$/.test(word)) return Number.POSITIVE_INFINITY
  if (/^-inf(?:inity)?$/.test(word)) return Number.NEGATIVE_INFINITY
  return new CelError(`cannot convert ${shown(text)} to double`)
}

export function boolFromText(text: string): CelValue {
  if (['1', 't', 'true', 'TRUE', 'True'].includes(text)) return true
  if (['0', 'f', 'false', 'FALSE', 'False'].includes(text)) return false
  return new CelError(`cannot convert ${shown(text)} to bool`)
}

/** What `string()` makes of a number, bool, bytes or moment; `undefined` for other types. */
export function textOf(frame: Frame, value: CelValue): CelValue | undefined {
  if (typeof value === 'string') return value
  if (typeof value === 'boolean' || isInt(value)) return String(value)
  if (isDouble(value)) return doubleText(doubleValue(value))
  if (value instanceof CelUint) return String(value.value)
  if (value instanceof Uint8Array) return textFromBytes(frame, value)
  if (value instanceof CelTimestamp || value instanceof CelDuration) {
    // The text changes with every tick: no use in saying when.
    if (frame.trace && value.rate !== 0) frame.trace.isOpaque = true
    return value instanceof CelTimestamp ? timestampText(value) : durationText(value)
  }
  return undefined
}

/** A double as Go's shortest form writes it. */
export function doubleText(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return '+Inf'
  if (value === Number.NEGATIVE_INFINITY) return '-Inf'
  if (Object.is(value, -0)) return '-0'
  const text = String(value)
  const size = Math.abs(value)
  if (size !== 0 && (size < 1e-4 || size >= 1e21)) return exponentText(value)
  return text.includes('e') ? exponentText(value) : text
}

function exponentText(value: number): string {
  const [mantissa = '', exponent = ''] = value.toExponential().split('e')
  const sign = exponent.startsWith('-') ? '-' : '+'
  return `${mantissa}e${sign}${exponent.replace(/^[+-]/, '').padStart(2, '0')}`
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function textFromBytes(frame: Frame, bytes: Uint8Array): CelValue {
  frame.chargeText(bytes.length)
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return new CelError('invalid UTF-8 in bytes, cannot convert to string')
  }
}

export function bytesFromText(frame: Frame, text: string): Uint8Array {
  frame.chargeText(text.length)
  return new TextEncoder().encode(text)
}
