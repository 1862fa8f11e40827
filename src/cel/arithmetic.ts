import { CelError, noSuchOverload } from './errors.ts'
import type { Frame } from './frame.ts'
import { CelDuration, CelTimestamp, durationOf, timestampOf } from './moments.ts'
import { doubleValue, isDouble, isInt, toDouble, toInt, toUint, type CelInt } from './numbers.ts'
import { traceDurationRange, traceTimestampRange } from './ranges.ts'
import type { Moving } from './trace.ts'
import { CelUint, type CelValue } from './values.ts'

const divisionByZero = new CelError('division by zero')
const modulusByZero = new CelError('modulus by zero')

type ArithmeticOperator = '+' | '-' | '*' | '/' | '%'

/** `a + b` for numbers, strings, bytes, lists, timestamps and durations. */
export function add(frame: Frame, a: CelValue, b: CelValue): CelValue {
  if (typeof a === 'string') return typeof b === 'string' ? concatenate(frame, a, b) : noSuchOverload
  if (Array.isArray(a)) return Array.isArray(b) ? concatenateLists(frame, a, b) : noSuchOverload
  if (a instanceof CelTimestamp) return b instanceof CelDuration ? addTimestamp(frame, a, b) : noSuchOverload
  if (a instanceof CelDuration) {
    if (b instanceof CelTimestamp) return addTimestamp(frame, b, a)
    return b instanceof CelDuration ? addDuration(frame, a, b) : noSuchOverload
  }
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    frame.chargeText(a.length + b.length)
    return Buffer.concat([a, b])
  }
  return numeric(frame, '+', a, b)
}

/** `a - b` for numbers, timestamps and durations. */
export function subtract(frame: Frame, a: CelValue, b: CelValue): CelValue {
  if (a instanceof CelTimestamp) {
    if (b instanceof CelTimestamp) return addDuration(frame, a, negated(b))
    return b instanceof CelDuration ? addTimestamp(frame, a, negated(b)) : noSuchOverload
  }
  if (a instanceof CelDuration) return b instanceof CelDuration ? addDuration(frame, a, negated(b)) : noSuchOverload
  return numeric(frame, '-', a, b)
}

/** Any operator on two numbers of one type. */
export function numeric(frame: Frame, operator: ArithmeticOperator, a: CelValue, b: CelValue): CelValue {
  if (typeof a === 'number' && typeof b === 'number') {
    const quick = safeIntResult(operator, a, b)
    if (quick !== undefined) return quick
  }
  frame.charge(4)
  if (isInt(a)) return isInt(b) ? bigintResult(operator, a, b) : noSuchOverload
  if (isDouble(a)) return isDouble(b) ? double[operator](doubleValue(a), doubleValue(b)) : noSuchOverload
  if (a instanceof CelUint && b instanceof CelUint) return uint(operator, a.value, b.value)
  return noSuchOverload
}

/** `-a`. */
export function negate(a: CelValue): CelValue {
  if (isInt(a)) return typeof a === 'number' && Number.isSafeInteger(a) ? 0 - a : toInt(-BigInt(a))
  return isDouble(a) ? toDouble(-doubleValue(a)) : noSuchOverload
}

/** The exact result when operands and result are ints of safe size; `undefined` if bigints are needed. */
function safeIntResult(operator: ArithmeticOperator, a: number, b: number): CelValue | undefined {
  if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) return undefined
  const result = safeResult(operator, a, b)
  // Adding zero turns -0, which is not a CEL int, into 0.
  return result !== undefined && Number.isSafeInteger(result) ? result + 0 : undefined
}

function safeResult(operator: ArithmeticOperator, a: number, b: number): number | undefined {
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return b === 0 ? undefined : Math.trunc(a / b)
    case '%':
      return b === 0 ? undefined : a % b
  }
}

function bigintResult(operator: ArithmeticOperator, a: CelInt, b: CelInt): CelValue {
  const left = BigInt(a)
  const right = BigInt(b)
  if (right === 0n && operator === '/') return divisionByZero
  if (right === 0n && operator === '%') return modulusByZero
  // The least int modulo -1 overflows in 64 bits, as its division does.
  if (operator === '%' && right === -1n && toInt(left / right) instanceof CelError) return toInt(left / right)
  return toInt(wide[operator](left, right))
}

function uint(operator: ArithmeticOperator, a: bigint, b: bigint): CelValue {
  if (b === 0n && operator === '/') return divisionByZero
  if (b === 0n && operator === '%') return modulusByZero
  return toUint(wide[operator](a, b))
}

const wide: Readonly<Record<ArithmeticOperator, (a: bigint, b: bigint) => bigint>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
  '%': (a, b) => a % b,
}

const double: Readonly<Record<ArithmeticOperator, (a: number, b: number) => CelValue>> = {
  '+': (a, b) => toDouble(a + b),
  '-': (a, b) => toDouble(a - b),
  '*': (a, b) => toDouble(a * b),
  '/': (a, b) => toDouble(a / b),
  '%': () => noSuchOverload,
}

function concatenate(frame: Frame, a: string, b: string): string {
  frame.chargeText(a.length + b.length)
  return a + b
}

function concatenateLists(frame: Frame, a: readonly CelValue[], b: readonly CelValue[]): CelValue {
  frame.charge(1 + ((a.length + b.length) >> 1))
  return [...a, ...b]
}

function addTimestamp(frame: Frame, a: Moving, b: Moving): CelValue {
  const { seconds, nanos, rate } = sumOf(a, b)
  if (rate !== 0 && frame.trace) traceTimestampRange(frame.trace, { seconds, nanos, rate })
  return timestampOf(seconds, nanos, rate)
}

function addDuration(frame: Frame, a: Moving, b: Moving): CelValue {
  const { seconds, nanos, rate } = sumOf(a, b)
  if (rate !== 0 && frame.trace) traceDurationRange(frame.trace, { seconds, nanos, rate })
  return durationOf(seconds, nanos, rate)
}

function sumOf(a: Moving, b: Moving): Moving {
  return { seconds: a.seconds + b.seconds, nanos: a.nanos + b.nanos, rate: a.rate + b.rate }
}

/** May be out of range; the sum that uses it checks the range. */
function negated({ seconds, nanos, rate }: Moving): Moving {
  return { seconds: -seconds, nanos: -nanos, rate: -rate }
}
