import { CelBox } from './box.ts'
import type { CelError } from './errors.ts'
import type { Frame } from './frame.ts'
import { isMap } from './maps.ts'
import { CelDuration, CelTimestamp } from './moments.ts'
import { isDouble, isInt } from './numbers.ts'
import { parseSignature, type Signature } from './signature.ts'
import type { Type } from './types.ts'
import { CelOpaque, CelOptional, CelType, CelUint, type CelValue } from './values.ts'

export type Implementation = (frame: Frame, ...args: CelValue[]) => CelValue

/** One form of a function: what it takes, and what it does. Arguments are of the declared types when it is called. */
export interface Overload extends Signature {
  readonly call: Implementation
  readonly guards: readonly Guard[]
  /** The result of a call on literals is computed once, when the expression is compiled. */
  readonly isConstant?: boolean
  /** Looks at the arguments that are literals (others are undefined) when the expression is compiled. */
  readonly checkLiterals?: (frame: Frame, values: readonly (CelValue | undefined)[]) => CelValue | undefined
}

type Guard = (value: CelValue) => boolean

/** A set of functions, macros and type names that an environment can have. */
export interface Library {
  readonly name: string
  readonly overloads: readonly Overload[]
  readonly macros?: readonly string[]
  readonly types?: readonly Type[]
}

/** Declares an overload by its signature; see `parseSignature` for the notation. */
export function overload(signature: string, call: (frame: Frame, ...args: never[]) => CelValue | CelError): Overload {
  const parsed = parseSignature(signature)
  return { ...parsed, call: call as Implementation, guards: parsed.parameters.map(guardOf) }
}

/** Declares a function of one literal that is looked at, and called, when the expression is compiled. */
export function literalOverload(signature: string, call: (argument: never) => CelValue | CelError): Overload {
  const convert = call as (argument: CelValue) => CelValue
  return {
    ...overload(signature, (frame, argument) => {
      frame.charge(16)
      return call(argument)
    }),
    isConstant: true,
    checkLiterals: (_frame, [literal]) => (literal === undefined ? undefined : convert(literal)),
  }
}

/** Declares how values of a library's own type compare. */
export function comparisons<T extends CelOpaque>(type: string, order: (a: T, b: T) => number): Overload[] {
  const both = (name: string, result: string, of: (order: number) => CelValue) =>
    overload(`${type}.${name}(${type}) -> ${result}`, (_frame, a: T, b: T) => of(order(a, b)))
  return [
    both('isLessThan', 'bool', (found) => found < 0),
    both('isGreaterThan', 'bool', (found) => found > 0),
    both('compareTo', 'int', (found) => found),
  ]
}

/** The test a value must pass to be of a type; of containers only the outside is looked at. */
function guardOf(type: Type): Guard {
  if (type.kind !== 'opaque') return guards[type.kind]
  return (value) => value instanceof CelBox && value instanceof CelOpaque && value.typeName === type.name
}

const guards: Readonly<Record<Exclude<Type['kind'], 'opaque'>, Guard>> = {
  dyn: () => true,
  variable: () => true,
  null: (value) => value === null,
  bool: (value) => typeof value === 'boolean',
  int: isInt,
  uint: (value) => value instanceof CelUint,
  double: isDouble,
  string: (value) => typeof value === 'string',
  bytes: (value) => value instanceof Uint8Array,
  timestamp: (value) => value instanceof CelTimestamp,
  duration: (value) => value instanceof CelDuration,
  list: Array.isArray,
  map: isMap,
  object: isMap,
  optional: (value) => value instanceof CelOptional,
  type: (value) => value instanceof CelType,
}
