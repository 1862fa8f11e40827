import { decodeScalar, DecodeError, kindOfJson } from './decode-scalar.ts'
import { isRecord, setOwn } from '../../../kube/basics/json.ts'
import type { Field, StructType, TypeExpression } from '../types/type-table.ts'
import { completeStruct, isOmitted } from '../types/zero-values.ts'

/** The current position. Paths are built only for errors and unknown fields. */
interface Place {
  readonly up: Place | undefined
  /** The struct that holds the field. */
  readonly struct: StructType
  /** Undefined at the root, and for the values inside a list or map. */
  readonly field: Field | undefined
  /** A field's name, an item's index or a map's key. */
  readonly step: string | number
}

/**
 * Decodes a value of a built-in type as Go's decoder and encoder would. Unknown fields are dropped and added to
 * `unknown`; a value of the wrong type throws DecodeError.
 */
export function decodeStruct(value: unknown, struct: StructType, unknown: string[], at = ''): Record<string, unknown> {
  const root: Place = { up: undefined, struct, field: undefined, step: at }
  if (!isRecord(value)) throw mismatch(value, root, structGoName(struct))
  return structFrom(value, struct, root, unknown)
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
      unknown.push(pathOf({ up: place, struct, field, step: name }))
      continue
    }
    const given = value[name]
    if (given === null) continue
    const isPlain = typeof given === 'string' && field.type.is === 'scalar' && field.type.scalar === 'string'
    const decoded = isPlain ? given : decodeValue(given, field.type, { up: place, struct, field, step: name }, unknown)
    if (!isOmitted(field, decoded)) result[name] = decoded
  }
  return completeStruct(result, struct)
}

function decodeValue(value: unknown, type: TypeExpression, place: Place, unknown: string[]): unknown {
  switch (type.is) {
    case 'struct':
      if (!isRecord(value)) throw mismatch(value, place, structGoName(type.struct))
      return structFrom(value, type.struct, place, unknown)
    case 'list':
      if (!Array.isArray(value)) throw mismatch(value, place, place.field?.goType ?? 'slice')
      return value.map((item, index) => decodeInner(item, type.of, inside(place, index), unknown))
    case 'map':
      return decodeMap(value, type.of, place, unknown)
    case 'scalar':
      return decodeScalar(value, type.scalar, (given, goType) => mismatch(given, place, goType), place.field?.goType)
  }
}

/** A null in a list or map becomes the zero value of its type, as in Go. */
function decodeInner(value: unknown, type: TypeExpression, place: Place, unknown: string[]): unknown {
  if (value !== null) return decodeValue(value, type, place, unknown)
  if (type.is === 'struct') return completeStruct({}, type.struct)
  return type.is === 'scalar' && type.scalar === 'string' ? '' : null
}

function decodeMap(value: unknown, type: TypeExpression, place: Place, unknown: string[]): Record<string, unknown> {
  if (!isRecord(value)) throw mismatch(value, place, place.field?.goType ?? 'map')
  const result: Record<string, unknown> = {}
  for (const key of Object.keys(value)) setOwn(result, key, decodeInner(value[key], type, inside(place, key), unknown))
  return result
}

function inside(up: Place, step: string | number): Place {
  return { up, struct: up.struct, field: undefined, step }
}

/** `spec.containers[0].name`. */
function pathOf({ up, step }: Place): string {
  if (!up) return String(step)
  const above = pathOf(up)
  if (typeof step === 'number') return `${above}[${step}]`
  return above ? `${above}.${step}` : step
}

/** The path as Go's errors print it: without indices, with the names of embedded structs. */
function goPathOf({ up, struct, field, step }: Place): string {
  if (!up) return String(step)
  const above = goPathOf(up)
  if (!field) return above
  const own = struct.embeddingOf(field.name) + field.name
  return above ? `${above}.${own}` : own
}

function structGoName({ id }: StructType): string {
  return id.slice(id.lastIndexOf('/') + 1)
}

function mismatch(value: unknown, place: Place, goType: string): DecodeError {
  const goPath = goPathOf(place)
  const where = goPath ? `Go struct field ${place.struct.goName}.${goPath}` : 'Go value'
  return new DecodeError(`json: cannot unmarshal ${kindOfJson(value, goType)} into ${where} of type ${goType}`)
}
