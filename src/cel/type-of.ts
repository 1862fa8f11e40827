import { CelDuration, CelTimestamp } from './moments.ts'
import { isInt } from './numbers.ts'
import { CelDouble, CelOpaque, CelOptional, CelType, CelUint, type CelValue } from './values.ts'

/** The name of a value's type at run time. */
export function typeNameOf(value: CelValue): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool'
    case 'string':
      return 'string'
    case 'bigint':
      return 'int'
    case 'number':
      return isInt(value) ? 'int' : 'double'
    default:
      return nameOfObject(value)
  }
}

function nameOfObject(value: CelValue): string {
  if (value === null) return 'null_type'
  if (Array.isArray(value)) return 'list'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof CelDouble) return 'double'
  if (value instanceof CelUint) return 'uint'
  if (value instanceof CelTimestamp) return 'google.protobuf.Timestamp'
  if (value instanceof CelDuration) return 'google.protobuf.Duration'
  if (value instanceof CelType) return 'type'
  if (value instanceof CelOptional) return 'optional_type'
  if (value instanceof CelOpaque) return value.typeName
  return 'map'
}
