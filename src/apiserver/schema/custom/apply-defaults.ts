import { isRecord, setOwn } from '../set-own.ts'
import type { StructuralSchema } from './structural-schema.ts'

/** The object with its schema's defaults, and without nulls its schema does not allow. Done at every request and read. */
export function applyDefaults<T>(schema: StructuralSchema, object: T): T {
  return fill(object, schema) as T
}

function fill(value: unknown, schema: StructuralSchema | undefined): unknown {
  if (!schema) return value
  if (Array.isArray(value)) return fillItems(value, schema.items)
  return isRecord(value) ? fillFields(value, schema) : value
}

function fillItems(items: readonly unknown[], schema: StructuralSchema | undefined): unknown {
  if (!schema) return items
  return items.map((item) =>
    fill(
      item === null && !schema.nullable && schema.default !== undefined ? structuredClone(schema.default) : item,
      schema,
    ),
  )
}

/** Copies only when something changes: most objects are complete already. A null the schema has no room for counts as absent. */
function fillFields(value: Record<string, unknown>, schema: StructuralSchema): Record<string, unknown> {
  let result = value
  const change = (): Record<string, unknown> => (result === value ? (result = { ...value }) : result)
  for (const name of Object.keys(value)) {
    const property = propertyOf(schema, name)
    if (!property) continue
    const given = value[name]
    if (given === null && !property.nullable && property.default === undefined) delete change()[name]
    else {
      const filled = fill(given === null && !property.nullable ? structuredClone(property.default) : given, property)
      if (filled !== given) setOwn(change(), name, filled)
    }
  }
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    if (property.default === undefined || Object.hasOwn(value, name)) continue
    setOwn(change(), name, fill(structuredClone(property.default), property))
  }
  return result
}

function propertyOf(
  { properties, additionalProperties }: StructuralSchema,
  name: string,
): StructuralSchema | undefined {
  if (properties && Object.hasOwn(properties, name)) return properties[name]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}
