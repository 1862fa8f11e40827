import { DecodeError, decodeScalar } from './decode-scalar.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import type { Field, TypeExpression } from '../types/type-table.ts'

/**
 * Why a merged value does not have its type, with the message of the converter that Kubernetes uses for strategic
 * merge patches. Its messages differ from those of Go's JSON decoder; undefined when the converter would accept the
 * value.
 */
export function restoreFault(value: unknown, type: TypeExpression, field?: Field): string | undefined {
  if (value === null || value === undefined) return undefined
  switch (type.is) {
    case 'struct':
      if (!isRecord(value)) return `cannot restore struct from: ${kindOf(value)}`
      return firstOf([...type.struct.fields], ([name, each]) => restoreFault(value[name], each.type, each))
    case 'map':
      if (!isRecord(value)) return `cannot restore map from ${kindOf(value)}`
      return firstOf(Object.values(value), (each) => restoreFault(each, type.of))
    case 'list':
      if (!Array.isArray(value)) return `cannot restore slice from ${kindOf(value)}`
      return firstOf(value, (each) => restoreFault(each, type.of))
    case 'scalar':
      return scalarFault(value, type.scalar, field)
  }
}

function scalarFault(value: unknown, scalar: string, field: Field | undefined): string | undefined {
  const kind = kindOf(value)
  const goType = field?.goType.replace(/^\*/, '') || scalar
  switch (scalar) {
    case 'string':
      if (typeof value === 'string') return undefined
      return typeof value === 'number' ? `cannot convert ${kind} to ${goType}` : 'unrecognized type: string'
    case 'bool':
      return typeof value === 'boolean' ? undefined : 'unrecognized type: bool'
    case 'int32':
    case 'int64':
      if (typeof value !== 'number') return `unrecognized type: ${scalar}`
      return Number.isInteger(value) ? undefined : `cannot convert ${kind} to ${goType}`
    case 'bytes':
      if (typeof value !== 'string') return `cannot restore slice from ${kind}`
      return base64Fault(value)
    default:
      return undefined
  }
}

function base64Fault(value: string): string | undefined {
  try {
    decodeScalar(value, 'bytes', () => new DecodeError(''))
    return undefined
  } catch (error) {
    return `error decoding from json: ${(error as Error).message}`
  }
}

function firstOf<T>(items: readonly T[], faultOf: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const fault = faultOf(item)
    if (fault !== undefined) return fault
  }
  return undefined
}

/** What Go calls the kind of a JSON value. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'slice'
  if (isRecord(value)) return 'map'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64'
  return typeof value === 'boolean' ? 'bool' : typeof value
}
