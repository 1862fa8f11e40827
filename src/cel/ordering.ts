import { noSuchOverload, type CelError } from './errors.ts'
import type { Frame } from './frame.ts'
import { CelDuration, CelTimestamp } from './moments.ts'
import { isDouble, numericValue } from './numbers.ts'
import type { CelValue } from './values.ts'

/** Below, equal or above zero as `a` is before, with or after `b`; NaN when a number is; an error across types. */
export function compare(frame: Frame, a: CelValue, b: CelValue): number | CelError {
  const order = compareSimple(frame, a, b)
  if (order !== undefined) return order
  if (isMoment(a) && isMoment(b) && a.constructor === b.constructor) {
    frame.trace?.order(a, b)
    return a.seconds - b.seconds || a.nanos - b.nanos
  }
  return noSuchOverload
}

/** `a < b`. For moments it notes when exactly this answer changes, which `compare` must not know so well. */
export const isLess = ordered(false)

/** `a <= b`; not the contrary of `b < a` only where NaN takes part. */
export const isAtMost = ordered(true)

function ordered(orSame: boolean) {
  return (frame: Frame, a: CelValue, b: CelValue): boolean | CelError => {
    if (typeof a === 'number' && typeof b === 'number') return orSame ? a <= b : a < b
    if (isMoment(a) && isMoment(b) && a.constructor === b.constructor) {
      if (orSame) frame.trace?.less(b, a)
      else frame.trace?.less(a, b)
      const order = a.seconds - b.seconds || a.nanos - b.nanos
      return orSame ? order <= 0 : order < 0
    }
    const order = compareSimple(frame, a, b)
    return order === undefined ? noSuchOverload : orSame ? order <= 0 : order < 0
  }
}

/** Compares strings by code point, as their UTF-8 bytes would compare. */
export function compareText(a: string, b: string): number {
  if (a === b) return 0
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const left = a.charCodeAt(at)
    const right = b.charCodeAt(at)
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

/** Lifts surrogates over the rest of the basic plane, where the code points they stand for belong. */
function rank(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

function isMoment(value: CelValue): value is CelTimestamp | CelDuration {
  return value instanceof CelTimestamp || value instanceof CelDuration
}

/** Numbers as they are compared: an int or uint beside a double is taken as a double, precision lost or not. */
export function comparableNumbers(a: CelValue, b: CelValue): readonly [number | bigint, number | bigint] | undefined {
  const left = numericValue(a)
  const right = numericValue(b)
  if (left === undefined || right === undefined) return undefined
  return isDouble(a) || isDouble(b) ? [Number(left), Number(right)] : [left, right]
}

function compareSimple(frame: Frame, a: CelValue, b: CelValue): number | undefined {
  if (typeof a === 'string' && typeof b === 'string') {
    frame.chargeText(Math.min(a.length, b.length) * 2)
    return compareText(a, b)
  }
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) {
    frame.chargeText(Math.min(a.length, b.length))
    return Buffer.compare(a, b)
  }
  const pair = comparableNumbers(a, b)
  return pair && compareNumbers(...pair)
}

function compareNumbers(a: number | bigint, b: number | bigint): number {
  if (a < b) return -1
  if (a > b) return 1
  return Number.isNaN(a) || Number.isNaN(b) ? Number.NaN : 0
}
