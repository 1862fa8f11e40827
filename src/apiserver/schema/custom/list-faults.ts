import { deepEqual } from '../../../kube/patch.ts'
import { duplicate, invalidValue, type FieldError } from '../types/field-error.ts'
import { isRecord } from '../types/set-own.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/** Items that repeat an identity in lists of type set and map. Lists that did not change are let pass. */
export function listFaults(schema: StructuralSchema, object: unknown, old?: unknown): FieldError[] {
  const errors: FieldError[] = []
  visit(schema, object, old, '', errors)
  return errors
}

function visit(schema: StructuralSchema, value: unknown, old: unknown, path: string, errors: FieldError[]): void {
  if (old !== undefined && deepEqual(value, old)) return
  if (Array.isArray(value)) {
    if (schema['x-kubernetes-list-type'] === 'set') errors.push(...repeated(value, (index) => value[index], path))
    if (schema['x-kubernetes-list-type'] === 'map') errors.push(...keyFaults(schema, value, path))
    if (schema.items)
      for (const [index, item] of value.entries()) visit(schema.items, item, undefined, `${path}[${index}]`, errors)
  } else if (isRecord(value)) {
    const { properties = {}, additionalProperties } = schema
    const before = isRecord(old) ? old : {}
    for (const name of Object.keys(value)) {
      const known = Object.hasOwn(properties, name) ? properties[name] : undefined
      if (known) visit(known, value[name], before[name], path ? `${path}.${name}` : name, errors)
      else if (typeof additionalProperties === 'object')
        visit(additionalProperties, value[name], before[name], `${path}[${name}]`, errors)
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

/** One fault per identity that stands more than once, at its second place. */
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
