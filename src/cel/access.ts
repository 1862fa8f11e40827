import { CelBox } from './box.ts'
import { CelError, noSuchOverload } from './errors.ts'
import { isMap, lookup, type AnyMap } from './maps.ts'
import { indexValue } from './numbers.ts'
import { CelOptional, type CelValue, type JsonMap } from './values.ts'

/** Reads a field or a string key; made once per place in the source, so that its error and its checks are ready. */
export type Selector = (operand: CelValue) => CelValue

/** A selector of one field. Objects are read in place; what they merely inherit is not there. */
export function selectorOf(field: string): Selector {
  const missing = new CelError(`no such key: ${field}`, 'evaluation', true)
  // Arrays and prototypes have members of their own under a few names; for all others reading is proof enough.
  const isSuspect = field in [] || field in {} || /^\d+$/.test(field)
  const careful = (operand: CelValue): CelValue => {
    if (operand instanceof CelError) return operand
    if (operand instanceof CelOptional) return selectOptional(operand, field)
    if (operand === null) return missing
    return isMap(operand) ? found(lookup(operand, field), missing) : noSuchOverload
  }
  if (isSuspect) return careful
  return (operand) => {
    if (typeof operand !== 'object' || operand === null || operand instanceof CelBox) return careful(operand)
    return (operand as JsonMap)[field] ?? absent(operand as JsonMap, field, missing)
  }
}

/** The value, null included, or the error when there is none. */
function found(value: CelValue | undefined, missing: CelError): CelValue {
  return value === undefined ? missing : value
}

function absent(operand: JsonMap, field: string, missing: CelError): CelValue {
  if (Array.isArray(operand) || operand instanceof Uint8Array) return noSuchOverload
  return operand[field] === null ? null : missing
}

/** `operand.?field`: an optional that is empty when the field is absent. */
export function selectOptional(operand: CelValue, field: string): CelValue {
  if (operand instanceof CelError) return operand
  const inner = operand instanceof CelOptional ? operand.value : operand
  if (inner === undefined) return CelOptional.none
  if (!isMap(inner)) return noSuchOverload
  const value = lookup(inner, field)
  return value === undefined ? CelOptional.none : new CelOptional(value)
}

/** `has(operand.field)`. */
export function hasField(operand: CelValue, field: string): CelValue {
  if (operand instanceof CelError) return operand
  const inner = operand instanceof CelOptional ? operand.value : operand
  if (inner === undefined) return false
  return isMap(inner) ? lookup(inner, field) !== undefined : noSuchOverload
}

/** `operand[index]`. */
export function indexInto(operand: CelValue, index: CelValue): CelValue {
  if (operand instanceof CelOptional) return indexOptional(operand, index)
  if (Array.isArray(operand)) {
    const at = indexValue(index)
    if (at === undefined) return noSuchOverload
    return (operand as readonly CelValue[])[at] ?? outside(operand, at)
  }
  if (!isMap(operand)) return noSuchOverload
  const value = lookup(operand, index)
  return value === undefined ? new CelError(`no such key: ${shown(index)}`) : value
}

function outside(list: readonly CelValue[], at: number): CelValue {
  return at >= 0 && at < list.length ? null : new CelError(`index out of bounds: ${at}`)
}

/** `operand[?index]`: empty where `indexInto` would find nothing. */
export function indexOptional(operand: CelValue, index: CelValue): CelValue {
  const inner = operand instanceof CelOptional ? operand.value : operand
  if (inner === undefined) return CelOptional.none
  const value = indexInto(inner, index)
  if (value === noSuchOverload) return value
  return value instanceof CelError ? CelOptional.none : new CelOptional(value)
}

/** Whether a list has an equal element is the caller's; this tells whether a map has the key. */
export function hasKey(map: AnyMap, key: CelValue): boolean {
  return lookup(map, key) !== undefined
}

function shown(key: CelValue): string {
  return typeof key === 'string' || typeof key === 'number' ? String(key) : 'of that type'
}
