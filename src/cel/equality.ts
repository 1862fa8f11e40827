import { CelBox } from './box.ts'
import type { Frame } from './frame.ts'
import { entriesOf, isMap, lookup, sizeOf, type AnyMap } from './maps.ts'
import { CelDuration, CelTimestamp } from './moments.ts'
import { numericValue } from './numbers.ts'
import { comparableNumbers } from './ordering.ts'
import { CelOpaque, CelOptional, CelType, type CelValue } from './values.ts'

/** Whether two values are equal: numbers across their types, containers by content; different types are unequal. */
export function isEqual(frame: Frame, a: CelValue, b: CelValue): boolean {
  if (typeof a === 'string') {
    if (typeof b !== 'string') return false
    if (a.length === b.length) frame.chargeText(a.length)
    return a === b
  }
  if (typeof a === 'number' && typeof b === 'number') return a === b
  if (a === b && typeof a !== 'object') return true
  if (a === null || b === null) return a === b
  if (typeof a === 'boolean' || typeof b === 'boolean' || typeof b === 'string') return false
  if (numericValue(a) !== undefined) return isSameNumber(comparableNumbers(a, b))
  if (Array.isArray(a)) return Array.isArray(b) && areEqualLists(frame, a, b)
  if (a instanceof CelBox && !isMap(a)) return areEqualBoxes(frame, a, b)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && areEqualBytes(frame, a, b)
  return isMap(a) && isMap(b) && areEqualMaps(frame, a, b)
}

function isSameNumber(pair: readonly [number | bigint, number | bigint] | undefined): boolean {
  // Loose on purpose: a bigint and a number are equal when they are the same number.
  return pair !== undefined && pair[0] == pair[1]
}

function areEqualLists(frame: Frame, a: readonly CelValue[], b: readonly CelValue[]): boolean {
  if (a.length !== b.length) return false
  frame.charge(a.length)
  return a.every((element, index) => isEqual(frame, element, b[index]!))
}

function areEqualBytes(frame: Frame, a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false
  frame.chargeText(a.length)
  return a.every((byte, index) => byte === b[index])
}

function areEqualMaps(frame: Frame, a: AnyMap, b: AnyMap): boolean {
  const size = sizeOf(a)
  frame.charge(1 + size * 24)
  if (size !== sizeOf(b)) return false
  for (const [key, value] of entriesOf(a)) {
    const other = lookup(b, key)
    if (other === undefined || !isEqual(frame, value, other)) return false
  }
  return true
}

function areEqualBoxes(frame: Frame, a: CelBox, b: CelValue): boolean {
  if (a instanceof CelTimestamp) return b instanceof CelTimestamp && isSameMoment(frame, a, b)
  if (a instanceof CelDuration) return b instanceof CelDuration && isSameMoment(frame, a, b)
  if (a instanceof CelType) return b instanceof CelType && a.name === b.name
  if (a instanceof CelOptional) return b instanceof CelOptional && areEqualOptionals(frame, a, b)
  return a instanceof CelOpaque && b instanceof CelOpaque && a.typeName === b.typeName && a.equals(b)
}

function areEqualOptionals(frame: Frame, a: CelOptional, b: CelOptional): boolean {
  if (a.value === undefined || b.value === undefined) return a.value === b.value
  return isEqual(frame, a.value, b.value)
}

function isSameMoment(frame: Frame, a: CelTimestamp | CelDuration, b: CelTimestamp | CelDuration): boolean {
  if (frame.trace && a.rate !== b.rate) frame.trace.order(a, b)
  return a.seconds === b.seconds && a.nanos === b.nanos
}
