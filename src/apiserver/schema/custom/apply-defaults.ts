import { isRecord, setOwn } from '../../../kube/basics/json.ts'
import { StatusError } from '../../../kube/status-error.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

interface FillOptions {
  /** Nulls of non-nullable fields are dropped otherwise. */
  readonly keepsNulls?: boolean
  /** How many characters defaults may add: a short list of empty items can have gigabytes of them. */
  readonly maxAdded?: number
}

/** Applies the defaults of a schema. Throws RequestEntityTooLarge when they are too large. */
export function applyDefaults<T>(schema: StructuralSchema, object: T, options: FillOptions = {}): T {
  return new Filler(options).fill(object, schema) as T
}

const sizes = new WeakMap<StructuralSchema, number>()
const sizeOf = (schema: StructuralSchema) =>
  sizes.getOrInsertComputed(schema, (each) => JSON.stringify(each.default).length)

/** Applies defaults at every level. */
class Filler {
  readonly #keepsNulls: boolean
  #room: number

  constructor({ keepsNulls = false, maxAdded = Infinity }: FillOptions) {
    this.#keepsNulls = keepsNulls
    this.#room = maxAdded
  }

  fill(value: unknown, schema: StructuralSchema | undefined): unknown {
    if (!schema) return value
    if (Array.isArray(value)) return this.#items(value, schema.items)
    return isRecord(value) ? this.#fields(value, schema) : value
  }

  #items(items: readonly unknown[], schema: StructuralSchema | undefined): unknown {
    if (!schema) return items
    const usesDefault = !schema.nullable && schema.default !== undefined
    const filled = items.map((item) => this.fill(item === null && usesDefault ? this.#defaultOf(schema) : item, schema))
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
      const filled = this.fill(given === null && !property.nullable ? this.#defaultOf(property) : given, property)
      if (filled !== given) setOwn(change(), name, filled)
    }
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      if (property.default === undefined || Object.hasOwn(value, name)) continue
      setOwn(change(), name, this.fill(this.#defaultOf(property), property))
    }
    return result
  }

  #defaultOf(schema: StructuralSchema): unknown {
    this.#room -= sizeOf(schema)
    if (this.#room < 0)
      throw new StatusError(
        'RequestEntityTooLarge',
        'Request entity too large: the defaults of its schema make it too large',
      )
    return structuredClone(schema.default)
  }
}

function propertyOf(
  { properties, additionalProperties }: StructuralSchema,
  name: string,
): StructuralSchema | undefined {
  if (properties && Object.hasOwn(properties, name)) return properties[name]
  return typeof additionalProperties === 'object' ? additionalProperties : undefined
}
