import type { Type } from 'typebox'

type Options = Readonly<Record<string, unknown>>
type Fields = Readonly<Record<string, object>>

/** Schemas of optional fields; `object` leaves their names out of `required`. */
const optionals = new WeakSet<object>()

const plain =
  (type: string) =>
  (options: Options = {}) => ({ type, ...options })

function object(properties: Fields, options: Options = {}): object {
  const names = Object.keys(properties)
  const required = names.filter((name) => !optionals.has(properties[name] ?? {}))
  return {
    type: 'object',
    ...(required.length > 0 ? { required } : {}),
    // The API server drops an empty `properties`: written, the CRD would look changed at every start.
    ...(names.length > 0 ? { properties } : {}),
    ...options,
  }
}

function list(items: object, options: Options = {}): object {
  return { type: 'array', items, ...options }
}

function optional(schema: object): object {
  const made = { ...schema }
  optionals.add(made)
  return made
}

const builders = {
  Object: object,
  String: plain('string'),
  Integer: plain('integer'),
  Number: plain('number'),
  Boolean: plain('boolean'),
  Array: list,
  Optional: optional,
  Unsafe: (schema: object) => schema,
}

/**
 * The few builders of TypeBox that we use, with its types and plain JSON Schema for values: loading the library itself, some
 * four hundred modules, would take most of the time of every start.
 */
export const schemaBuilders = builders as unknown as Pick<typeof Type, keyof typeof builders>
