import { CelError } from '../errors.ts'
import { overload, type Library } from '../functions.ts'
import { isMap, sizeOf } from '../maps.ts'
import { CelDuration, CelTimestamp } from '../moments.ts'
import { numericValue } from '../numbers.ts'
import { dynType, optionalType } from '../types.ts'
import { CelOptional, type CelValue } from '../values.ts'

const empty = new CelError('optional.none() has no value')

/** Whether a value is what its type starts out as: false, zero, empty or null. */
function isZero(value: CelValue): boolean {
  if (value === null || value === false || value === '') return true
  const number = numericValue(value)
  if (number !== undefined) return Number(number) === 0
  if (Array.isArray(value) || value instanceof Uint8Array) return value.length === 0
  if (value instanceof CelDuration || value instanceof CelTimestamp) return value.seconds === 0 && value.nanos === 0
  return isMap(value) && sizeOf(value) === 0
}

function unwrap(list: readonly CelValue[]): CelValue {
  return list.flatMap((element) => {
    if (!(element instanceof CelOptional)) return [element]
    return element.value === undefined ? [] : [element.value]
  })
}

/** Optional values, with the syntax `a.?b`, `a[?0]`, `[?x]`, `{?k: v}` that the parser has anyway. */
export const optionalsLibrary: Library = {
  name: 'optionals',
  overloads: [
    overload('optional.of(A) -> optional(A)', (_frame, value: CelValue) => new CelOptional(value)),
    overload('optional.none() -> optional(A)', () => CelOptional.none),
    overload('optional.ofNonZeroValue(A) -> optional(A)', (frame, value: CelValue) => {
      if (frame.trace && (value instanceof CelDuration || value instanceof CelTimestamp) && value.rate !== 0) {
        frame.trace.order(value, { seconds: 0, nanos: 0, rate: 0 })
      }
      return isZero(value) ? CelOptional.none : new CelOptional(value)
    }),
    overload('optional.unwrap(list(optional(A))) -> list(A)', (frame, list: readonly CelValue[]) => {
      frame.charge(list.length >> 1)
      return unwrap(list)
    }),
    overload('list(optional(A)).unwrapOpt() -> list(A)', (frame, list: readonly CelValue[]) => {
      frame.charge(list.length >> 1)
      return unwrap(list)
    }),
    overload('optional(A).hasValue() -> bool', (_frame, { value }: CelOptional) => value !== undefined),
    overload('optional(A).value() -> A', (_frame, { value }: CelOptional) => value ?? (value === null ? null : empty)),
    // Called only where the compiler could not make them lazy.
    overload('optional(A).or(optional(A)) -> optional(A)', (_frame, optional: CelOptional, other: CelOptional) =>
      optional.value === undefined ? other : optional,
    ),
    overload('optional(A).orValue(A) -> A', (_frame, { value }: CelOptional, other: CelValue) =>
      value === undefined ? other : value,
    ),
    overload('list(A).first() -> optional(A)', (_frame, list: readonly CelValue[]) => new CelOptional(list[0])),
    overload('list(A).last() -> optional(A)', (_frame, list: readonly CelValue[]) => new CelOptional(list.at(-1))),
  ],
  macros: ['optMap', 'optFlatMap'],
  types: [optionalType(dynType)],
}
