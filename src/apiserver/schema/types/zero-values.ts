import type { Field, StructType, TypeExpression } from './type-table.ts'

/** Adds fields that Go writes even when unset: nested structs, and fields without omitempty. Changes `object`. */
export function completeStruct(object: Record<string, unknown>, struct: StructType): Record<string, unknown> {
  for (const field of alwaysWritten(struct)) {
    if (object[field.name] === undefined) object[field.name] = field.isPointer ? null : zeroValue(field.type)
  }
  return object
}

/** Whether Go would omit this decoded value of a field. */
export function isOmitted(field: Field, value: unknown): boolean {
  if (field.isPointer) return false
  if (isStructLike(field)) return field.omitZero && value === null
  // An empty managedFields list has a meaning: reset all managers.
  if (!field.omitEmpty || field.name === 'managedFields') return false
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0
  return value === '' || value === 0 || value === false || value === null
}

const written = new WeakMap<StructType, readonly Field[]>()

function alwaysWritten(struct: StructType): readonly Field[] {
  const known = written.get(struct)
  if (known) return known
  const fields = [...struct.fields.values()].filter(
    (field) => !field.omitZero && (!field.omitEmpty || (!field.isPointer && isStructLike(field))),
  )
  written.set(struct, fields)
  return fields
}

/** Types that Go's omitempty does not omit. */
function isStructLike({ type }: Field): boolean {
  if (type.is === 'struct') return true
  return type.is === 'scalar' && structScalars.has(type.scalar)
}

const structScalars = new Set(['Time', 'MicroTime', 'Duration', 'Quantity', 'IntOrString', 'RawExtension'])

/** The JSON that Go writes for an unset value of this type. */
export function zeroValue(type: TypeExpression): unknown {
  if (type.is === 'struct') return completeStruct({}, type.struct)
  if (type.is !== 'scalar') return null
  switch (type.scalar) {
    case 'string':
      return ''
    case 'bool':
      return false
    case 'int32':
    case 'int64':
    case 'double':
    case 'IntOrString':
      return 0
    case 'Quantity':
      return '0'
    case 'Duration':
      return '0s'
    default:
      return null
  }
}
