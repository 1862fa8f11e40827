import { deepEqual } from '../../../kube/patches/patch.ts'
import { duplicate, invalidValue, type FieldError } from '../types/field-error.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/**
 * Faults of lists of type set and map: items that share an identity. A list that equals its counterpart in `old` is
 * not checked again (validation ratcheting).
 */
export function* listFaults(schema: StructuralSchema, value: unknown, old?: unknown, path = ''): Generator<FieldError> {
  if (old !== undefined && deepEqual(value, old)) return
  if (Array.isArray(value)) {
    if (schema['x-kubernetes-list-type'] === 'set') yield* repeated(value, (index) => value[index], path)
    if (schema['x-kubernetes-list-type'] === 'map') yield* keyFaults(schema, value, path)
    if (schema.items)
      for (const [index, item] of value.entries()) yield* listFaults(schema.items, item, undefined, `${path}[${index}]`)
  } else if (isRecord(value)) {
    const { properties = {}, additionalProperties } = schema
    const before = isRecord(old) ? old : {}
    for (const name of Object.keys(value)) {
      const known = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (known) yield* listFaults(known, value[name], before[name], path ? `${path}.${name}` : name)
      else if (typeof additionalProperties === 'object')
        yield* listFaults(additionalProperties, value[name], before[name], `${path}[${name}]`)
    }
  }
}

function keyFaults(schema: StructuralSchema, items: readonly unknown[], path: string): FieldError[] {
  const wrong = items.findIndex((item) => item !== null && !isRecord(item))
  if (wrong >= 0)
    return [invalidValue(`${path}[${wrong}]`, items[wrong], 'must be an object for an array of list-type map')]
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const keyOf = (index: number): unknown => {
    const item = items[index]
    return Object.fromEntries(
      keys.flatMap((key) => (isRecord(item) && Object.hasOwn(item, key) ? [[key, item[key]]] : [])),
    )
  }
  return repeated(items, keyOf, path)
}

/** One fault for each identity that occurs more than once, reported at its second occurrence. */
function repeated(items: readonly unknown[], identity: (index: number) => unknown, path: string): FieldError[] {
  const times = new Map<string, number>()
  return items.flatMap((_, index) => {
    const key = canonical(identity(index))
    const before = times.get(key) ?? 0
    times.set(key, before + 1)
    return before === 1 ? [duplicate(`${path}[${index}]`, identity(index))] : []
  })
}

function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) =>
      isRecord(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
    ) ?? 'undefined'
  )
}
