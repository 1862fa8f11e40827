import { CelError, noSuchOverload } from './errors.ts'
import type { Frame } from './frame.ts'
import { CelDuration, CelTimestamp, durationOf, timestampOf } from './moments.ts'
import { doubleValue, isDouble, isInt, toDouble, toInt, toUint } from './numbers.ts'
import type { CelInt } from './numbers.ts'
import { traceDurationRange, traceTimestampRange } from './ranges.ts'
import { CelUint } from './values.ts'
import type { CelValue } from './values.ts'

const divisionByZero = new CelError('division by zero')
const modulusByZero = new CelError('modulus by zero')

type ArithmeticOperator = '+' | '-' | '*' | '/' | '%'

/** `a + b` for numbers, strings, bytes, lists, timestamps and durations. */
export function add(frame: Frame, a: CelValue, b: CelValue): CelValue {
  if (typeof a === 'string') return typeof b === 'string' ? concatenate(frame, a, b) : noSuchOverload
  if (Array.isArray(a)) return Array.isArray(b) ? concatenateLists(frame, a, b) : noSuchOverload
  if (a instanceof CelTimestamp) return b instanceof CelDuration ? addDuration(frame, a, b) : noSuchOverload
  if (a instanceof CelDuration) {
    if (b instanceof CelTimestamp) return addDuration(frame, b, a)
    return b instanceof CelDuration ? sumDurations(frame, a, b) : noSuchOverload
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
    if (b instanceof CelTimestamp) return elapsed(frame, a, b)
    return b instanceof CelDuration ? addDuration(frame, a, negateDuration(b)) : noSuchOverload
  }
  if (a instanceof CelDuration)
    return b instanceof CelDuration ? sumDurations(frame, a, negateDuration(b)) : noSuchOverload
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
  if (isDouble(a)) return isDouble(b) ? double(operator, doubleValue(a), doubleValue(b)) : noSuchOverload
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
  return toInt(wide(operator, left, right))
}

function uint(operator: ArithmeticOperator, a: bigint, b: bigint): CelValue {
  if (b === 0n && operator === '/') return divisionByZero
  if (b === 0n && operator === '%') return modulusByZero
  return toUint(wide(operator, a, b))
}

function wide(operator: ArithmeticOperator, a: bigint, b: bigint): bigint {
  switch (operator) {
    case '+':
      return a + b
    case '-':
      return a - b
    case '*':
      return a * b
    case '/':
      return a / b
    case '%':
      return a % b
  }
}

function double(operator: ArithmeticOperator, a: number, b: number): CelValue {
  switch (operator) {
    case '+':
      return toDouble(a + b)
    case '-':
      return toDouble(a - b)
    case '*':
      return toDouble(a * b)
    case '/':
      return toDouble(a / b)
    case '%':
      return noSuchOverload
  }
}

function concatenate(frame: Frame, a: string, b: string): string {
  frame.chargeText(a.length + b.length)
  return a + b
}

function concatenateLists(frame: Frame, a: readonly CelValue[], b: readonly CelValue[]): CelValue {
  frame.charge(1 + ((a.length + b.length) >> 1))
  return [...a, ...b]
}

function addDuration(frame: Frame, moment: CelTimestamp, span: CelDuration): CelValue {
  const rate = moment.rate + span.rate
  const sum = { seconds: moment.seconds + span.seconds, nanos: moment.nanos + span.nanos, rate }
  if (rate !== 0 && frame.trace) traceTimestampRange(frame.trace, sum)
  return timestampOf(sum.seconds, sum.nanos, rate)
}

function sumDurations(frame: Frame, a: CelDuration, b: CelDuration): CelValue {
  const rate = a.rate + b.rate
  const sum = { seconds: a.seconds + b.seconds, nanos: a.nanos + b.nanos, rate }
  if (rate !== 0 && frame.trace) traceDurationRange(frame.trace, sum)
  return durationOf(sum.seconds, sum.nanos, rate)
}

function elapsed(frame: Frame, a: CelTimestamp, b: CelTimestamp): CelValue {
  const rate = a.rate - b.rate
  const span = { seconds: a.seconds - b.seconds, nanos: a.nanos - b.nanos, rate }
  if (rate !== 0 && frame.trace) traceDurationRange(frame.trace, span)
  return durationOf(span.seconds, span.nanos, rate)
}

/** May be one nanosecond out of range; the sum that uses it checks the range. */
function negateDuration({ seconds, nanos, rate }: CelDuration): CelDuration {
  return new CelDuration(-seconds, -nanos, -rate)
}
