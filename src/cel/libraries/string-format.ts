import { doubleText } from '../conversions.ts'
import { CelError } from '../errors.ts'
import type { Frame } from '../frame.ts'
import { entriesOf, isMap, type AnyMap } from '../maps.ts'
import { CelDuration, CelTimestamp } from '../moments.ts'
import { durationText, timestampText } from '../moment-text.ts'
import { doubleValue, isDouble, isInt, numericValue } from '../numbers.ts'
import { compareText } from '../ordering.ts'
import { typeNameOf } from '../type-of.ts'
import { CelOpaque, CelType, CelUint, type CelValue } from '../values.ts'

const clause = /%(%|(?:\.(\d+))?([a-zA-Z])|)/g
const maxPrecision = 100

/** `"%s: %d".format([…])`, with the verbs s d f e b x X o. */
export function formatText(frame: Frame, template: string, args: readonly CelValue[]): CelValue {
  let next = 0
  let error: CelError | undefined
  const replaceClause = (whole: string, body: string, precision: string | undefined, verb: string): string => {
    if (body === '%') return '%'
    const value = args[next]
    next += 1
    if (!verb) error ??= new CelError(`could not parse formatting clause ${whole}`)
    else if (value === undefined) error ??= new CelError(`index ${next - 1} out of range: not enough arguments`)
    if (error || value === undefined) return ''
    const made = formatOne(frame, verb, value, precision)
    if (typeof made === 'string') return made
    error = made
    return ''
  }
  frame.charge(4 + (template.length >> 2))
  const text = template.replaceAll(clause, replaceClause)
  frame.chargeText(text.length)
  return error ?? text
}

function formatOne(frame: Frame, verb: string, value: CelValue, precision: string | undefined): string | CelError {
  switch (verb) {
    case 's':
      return shown(frame, value)
    case 'd':
      return decimal(value)
    case 'f':
    case 'e':
      return fraction(verb, value, precision)
    case 'b':
      return typeof value === 'boolean' ? String(Number(value)) : inBase(2, value, verb)
    case 'o':
      return inBase(8, value, verb)
    case 'x':
      return hexadecimal(frame, value)
    case 'X': {
      const text = hexadecimal(frame, value)
      return typeof text === 'string' ? text.toUpperCase() : text
    }
    default:
      return new CelError(`unrecognized formatting clause %${verb}`)
  }
}

function misfit(verb: string, value: CelValue): CelError {
  return new CelError(`formatting clause %${verb} does not take type ${typeNameOf(value)}`)
}

/** The form of `%s`: what a reader expects to see, containers included. */
function shown(frame: Frame, value: CelValue): string | CelError {
  frame.charge(1)
  if (typeof value === 'string') return paid(frame, value)
  if (value === null || typeof value === 'boolean' || isInt(value)) return String(value)
  if (isDouble(value)) return infinityWord(doubleValue(value)) ?? doubleText(doubleValue(value))
  if (value instanceof CelUint) return String(value.value)
  if (value instanceof Uint8Array) return new TextDecoder().decode(value)
  if (Array.isArray(value)) return shownList(frame, value)
  if (isMap(value)) return shownMap(frame, value)
  return shownBox(frame, value)
}

function shownBox(frame: Frame, value: CelValue): string | CelError {
  if (value instanceof CelType) return value.name
  if (value instanceof CelTimestamp || value instanceof CelDuration) {
    if (frame.trace && value.rate !== 0) frame.trace.isOpaque = true
    return value instanceof CelTimestamp ? timestampText(value) : durationText(value)
  }
  return value instanceof CelOpaque ? value.toString() : misfit('s', value)
}

function shownList(frame: Frame, list: readonly CelValue[]): string | CelError {
  const parts: string[] = []
  for (const element of list) {
    const text = shown(frame, element)
    if (text instanceof CelError) return text
    parts.push(text)
  }
  return bracketed(frame, '[]', parts)
}

function shownMap(frame: Frame, map: AnyMap): string | CelError {
  const parts: [string, string][] = []
  for (const [key, value] of entriesOf(map)) {
    const name = shown(frame, key)
    const text = shown(frame, value)
    if (name instanceof CelError) return name
    if (text instanceof CelError) return text
    parts.push([name, text])
  }
  const sorted = parts.toSorted(([a], [b]) => compareText(a, b))
  return bracketed(
    frame,
    '{}',
    sorted.map(([key, value]) => `${key}: ${value}`),
  )
}

function bracketed(frame: Frame, [open, close]: string, parts: readonly string[]): string {
  for (const part of parts) paid(frame, part)
  return `${open}${parts.join(', ')}${close}`
}

/** A text that becomes a part of a longer one: the same one can be many parts. */
function paid(frame: Frame, text: string): string {
  frame.chargeText(text.length)
  return text
}

function decimal(value: CelValue): string | CelError {
  if (isInt(value)) return String(value)
  if (value instanceof CelUint) return String(value.value)
  const word = isDouble(value) ? infinityWord(doubleValue(value)) : undefined
  return word ?? misfit('d', value)
}

function infinityWord(value: number): string | undefined {
  if (Number.isNaN(value)) return 'NaN'
  return Number.isFinite(value) ? undefined : value > 0 ? 'Infinity' : '-Infinity'
}

function fraction(verb: 'f' | 'e', value: CelValue, precision: string | undefined): string | CelError {
  const number = numericValue(value)
  if (number === undefined) return misfit(verb, value)
  const digits = precision === undefined ? 6 : Number(precision)
  if (digits > maxPrecision) return new CelError(`precision of %${verb} is over ${maxPrecision}`)
  const word = infinityWord(Number(number))
  if (word) return word
  if (verb === 'e') return exponential(Number(number), digits)
  return typeof number === 'bigint' ? wholeNumber(number, digits) : fixedText(number, digits)
}

/** `toFixed` gives up at 1e21; above it a double is a whole number. */
function fixedText(value: number, digits: number): string {
  if (Math.abs(value) >= 1e21) return wholeNumber(BigInt(value), digits)
  const text = value.toFixed(digits)
  return isTie(value, digits) && /[13579]$/.test(text) ? towardsZero(value, digits) : text
}

/** Whether the value lies exactly between two numbers of so many digits; Go then takes the even one. */
function isTie(value: number, digits: number): boolean {
  const exact = value.toFixed(maxPrecision)
  return /^50*$/.test(exact.slice(exact.indexOf('.') + 1 + digits))
}

function towardsZero(value: number, digits: number): string {
  const exact = value.toFixed(maxPrecision)
  const point = exact.indexOf('.')
  return exact.slice(0, digits ? point + 1 + digits : point)
}

function wholeNumber(value: bigint, digits: number): string {
  return digits ? `${value}.${'0'.repeat(digits)}` : String(value)
}

function exponential(value: number, digits: number): string {
  const [mantissa = '', exponent = ''] = value.toExponential(digits).split('e')
  return `${mantissa}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`
}

function inBase(base: number, value: CelValue, verb: string): string | CelError {
  if (isInt(value)) return value.toString(base)
  return value instanceof CelUint ? value.value.toString(base) : misfit(verb, value)
}

function hexadecimal(frame: Frame, value: CelValue): string | CelError {
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) return inBase(16, value, 'x')
  frame.chargeText(value.length * 4)
  return Buffer.from(value as string).toString('hex')
}
