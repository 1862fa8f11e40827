import { CelBox } from './box.ts'
import type { CelError } from './errors.ts'
import type { Frame } from './frame.ts'
import { isMap } from './maps.ts'
import { CelDuration, CelTimestamp } from './moments.ts'
import { isDouble, isInt } from './numbers.ts'
import { parseSignature } from './signature.ts'
import type { Signature } from './signature.ts'
import type { Type } from './types.ts'
import { CelOpaque, CelOptional, CelType, CelUint } from './values.ts'
import type { CelValue } from './values.ts'

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

/** The test a value must pass to be of a type; of containers only the outside is looked at. */
function guardOf(type: Type): Guard {
  switch (type.kind) {
    case 'dyn':
    case 'variable':
      return () => true
    case 'null':
      return (value) => value === null
    case 'bool':
      return (value) => typeof value === 'boolean'
    case 'int':
      return isInt
    case 'uint':
      return (value) => value instanceof CelUint
    case 'double':
      return isDouble
    case 'string':
      return (value) => typeof value === 'string'
    case 'bytes':
      return (value) => value instanceof Uint8Array
    case 'timestamp':
      return (value) => value instanceof CelTimestamp
    case 'duration':
      return (value) => value instanceof CelDuration
    case 'list':
      return Array.isArray
    case 'map':
    case 'object':
      return isMap
    case 'optional':
      return (value) => value instanceof CelOptional
    case 'type':
      return (value) => value instanceof CelType
    case 'opaque':
      return (value) => value instanceof CelBox && value instanceof CelOpaque && value.typeName === type.name
  }
}
