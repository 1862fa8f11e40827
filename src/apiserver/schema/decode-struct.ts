import { decodeScalar, DecodeError, kindOfJson } from './decode-scalar.ts'
import { isRecord, setOwn } from './set-own.ts'
import type { Field, StructType, TypeExpression } from './type-table.ts'
import { completeStruct, isOmitted } from './zero-values.ts'

/** Where decoding stands: the path for unknown fields, and Go's idea of it for errors. */
interface Place {
  readonly struct: StructType
  readonly field: Field | undefined
  /** `spec.containers`, without indices: what Go's decoder reports. */
  readonly goPath: string
  /** `spec.containers[0]`. */
  readonly path: string
}

/**
 * What Go's decoder and encoder would make of a JSON value of this type. Unknown fields are dropped and named in
 * `unknown`; a value of the wrong type throws DecodeError.
 */
export function decodeStruct(value: unknown, struct: StructType, unknown: string[], at = ''): Record<string, unknown> {
  const place = { struct, field: undefined, goPath: at, path: at }
  if (!isRecord(value)) throw mismatch(value, place, structGoName(struct))
  return structFrom(value, struct, place, unknown)
}

function structFrom(
  value: Record<string, unknown>,
  struct: StructType,
  place: Place,
  unknown: string[],
): Record<string, unknown> {
  const fields = struct.fields
  const result: Record<string, unknown> = {}
  for (const name of Object.keys(value)) {
    const field = fields.get(name)
    if (field === undefined) {
      unknown.push(place.path ? `${place.path}.${name}` : name)
      continue
    }
    const given = value[name]
    if (given === null) continue
    const decoded = decodeField(given, struct, field, place, unknown)
    if (!isOmitted(field, decoded)) result[name] = decoded
  }
  return completeStruct(result, struct)
}

function decodeField(value: unknown, struct: StructType, field: Field, place: Place, unknown: string[]): unknown {
  const { type } = field
  if (type.is === 'scalar' && typeof value === 'string' && type.scalar === 'string') return value
  const goPath = place.goPath ? `${place.goPath}.${field.name}` : field.name
  const path = place.path ? `${place.path}.${field.name}` : field.name
  return decodeValue(value, type, { struct, field, goPath, path }, unknown)
}

function decodeValue(value: unknown, type: TypeExpression, place: Place, unknown: string[]): unknown {
  switch (type.is) {
    case 'struct':
      if (!isRecord(value)) throw mismatch(value, place, structGoName(type.struct))
      return structFrom(value, type.struct, place, unknown)
    case 'list':
      if (!Array.isArray(value)) throw mismatch(value, place, place.field?.goType ?? 'slice')
      return value.map((item, index) =>
        decodeItem(item, type.of, { ...place, path: `${place.path}[${index}]` }, unknown),
      )
    case 'map':
      return decodeMap(value, type.of, place, unknown)
    case 'scalar':
      return decodeScalar(value, type.scalar, (given, goType) => mismatch(given, place, goType), place.field?.goType)
  }
}

/** A null in a list becomes the zero of its type, as in Go. */
function decodeItem(value: unknown, type: TypeExpression, place: Place, unknown: string[]): unknown {
  if (value !== null) {
    const inner = type.is === 'scalar' && place.field ? { ...place, field: undefined } : place
    return decodeValue(value, type, inner, unknown)
  }
  if (type.is === 'struct') return completeStruct({}, type.struct)
  return type.is === 'scalar' && type.scalar === 'string' ? '' : null
}

function decodeMap(value: unknown, type: TypeExpression, place: Place, unknown: string[]): Record<string, unknown> {
  if (!isRecord(value)) throw mismatch(value, place, place.field?.goType ?? 'map')
  const result: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    setOwn(result, key, decodeItem(value[key], type, { ...place, path: `${place.path}.${key}` }, unknown))
  }
  return result
}

function structGoName({ id }: StructType): string {
  return id.slice(id.lastIndexOf('/') + 1)
}

function mismatch(value: unknown, { struct, goPath }: Place, goType: string): DecodeError {
  const where = goPath ? `Go struct field ${struct.goName}.${goPath}` : 'Go value'
  return new DecodeError(`json: cannot unmarshal ${kindOfJson(value, goType)} into ${where} of type ${goType}`)
}
