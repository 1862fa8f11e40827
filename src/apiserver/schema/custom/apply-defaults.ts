import { isRecord, setOwn } from '../../../kube/basics/json.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/** Applies the defaults of a schema. Nulls of non-nullable fields are dropped unless `keepsNulls`. */
export function applyDefaults<T>(schema: StructuralSchema, object: T, { keepsNulls = false } = {}): T {
  return new Filler(keepsNulls).fill(object, schema) as T
}

/** Applies defaults at every level. */
class Filler {
  readonly #keepsNulls: boolean

  constructor(keepsNulls: boolean) {
    this.#keepsNulls = keepsNulls
  }

  fill(value: unknown, schema: StructuralSchema | undefined): unknown {
    if (!schema) return value
    if (Array.isArray(value)) return this.#items(value, schema.items)
    return isRecord(value) ? this.#fields(value, schema) : value
  }

  #items(items: readonly unknown[], schema: StructuralSchema | undefined): unknown {
    if (!schema) return items
    const filled = items.map((item) =>
      this.fill(
        item === null && !schema.nullable && schema.default !== undefined ? structuredClone(schema.default) : item,
        schema,
      ),
    )
    // Unchanged parts keep their reference, so that comparing them with the stored object is cheap.
    return filled.some((item, index) => item !== items[index]) ? filled : items
  }

  /** Copies only when something changes: most objects are complete. A null in a non-nullable field counts as absent. */
  #fields(value: Record<string, unknown>, schema: StructuralSchema): Record<string, unknown> {
    let result = value
    const change = (): Record<string, unknown> => (result === value ? (result = { ...value }) : result)
    for (const name of Object.keys(value)) {
      const property = propertyOf(schema, name)
      if (!property) continue
      const given = value[name]
      if (given === null && !property.nullable && property.default === undefined) {
        if (!this.#keepsNulls) delete change()[name]
        continue
      }
      const filled = this.fill(
        given === null && !property.nullable ? structuredClone(property.default) : given,
        property,
      )
      if (filled !== given) setOwn(change(), name, filled)
    }
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      if (property.default === undefined || Object.hasOwn(value, name)) continue
      setOwn(change(), name, this.fill(structuredClone(property.default), property))
    }
    return result
  }
}

function propertyOf(
  { properties, additionalProperties }: StructuralSchema,
  name: string,
): StructuralSchema | undefined {
  if (properties && Object.hasOwn(properties, name)) return properties[name]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}
