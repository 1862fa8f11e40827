import { deepEqual } from '../../../kube/patches/patch.ts'
import {
  invalidType,
  invalidValue,
  maxErrors,
  required,
  tooLong,
  tooMany,
  unsupported,
  type FieldError,
} from '../types/field-error.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { hasFormat } from './formats.ts'
import { matchesPattern } from './pattern.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/**
 * Faults of a value against the OpenAPI part of a schema. Parts that equal their counterpart in `old` are not checked
 * (validation ratcheting): an object stored under an older schema can still be updated.
 */
export function schemaFaults(schema: StructuralSchema, value: unknown, old?: unknown, path = ''): FieldError[] {
  if (old !== undefined && deepEqual(value, old)) return []
  const typeFault = typeFaults(schema, value, path)
  if (value === null || value === undefined)
    return [...typeFault, ...(schema.nullable ? [] : enumFaults(schema, value, path))]
  const errors = typeFault
  if (hasJunctors(schema)) errors.push(...junctorFaults(schema, value, old, path))
  if (typeof value === 'string') errors.push(...stringFaults(schema, value, path))
  if (typeof value === 'number') errors.push(...numberFaults(schema, value, path))
  if (Array.isArray(value)) errors.push(...arrayFaults(schema, value, old, path))
  if (schema.enum) errors.push(...enumFaults(schema, value, path))
  if (isRecord(value)) errors.push(...objectFaults(schema, value, old, path))
  return errors
}

function hasJunctors({ anyOf, oneOf, allOf, not }: StructuralSchema): boolean {
  return anyOf !== undefined || oneOf !== undefined || allOf !== undefined || not !== undefined
}

function typeFaults(schema: StructuralSchema, value: unknown, path: string): FieldError[] {
  const actual = typeName(value)
  if (actual === schema.type) return []
  const wanted = schema['x-kubernetes-int-or-string'] ? ['integer', 'string'] : schema.type ? [schema.type] : []
  if (wanted.length === 0 || (actual === 'null' && schema.nullable)) return []
  if (wanted.includes(actual) || (actual === 'integer' && wanted.includes('number'))) return []
  return [
    invalidType(
      path || '<nil>',
      actual,
      `${path} in body must be of type ${wanted.join(',')}: ${JSON.stringify(actual)}`,
    ),
  ]
}

function typeName(value: unknown): string {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number'
  return typeof value
}

/** Faults of anyOf, oneOf, allOf and not. Those of the closest branch follow the summary, as in kube-openapi. */
function junctorFaults(schema: StructuralSchema, value: unknown, old: unknown, path: string): FieldError[] {
  const errors: FieldError[] = []
  const { anyOf = [], oneOf = [], allOf = [], not } = schema
  const fails = (branch: StructuralSchema): FieldError[] => schemaFaults(branch, value, old, path)
  if (anyOf.length > 0) {
    const results = anyOf.map(fails)
    if (results.every((each) => each.length > 0)) {
      errors.push(composite(`${JSON.stringify(path)} must validate at least one schema (anyOf)`), ...best(results))
    }
  }
  if (oneOf.length > 0) {
    const results = oneOf.map(fails)
    const valid = results.filter((each) => each.length === 0).length
    if (valid !== 1) {
      const detail = valid === 0 ? 'Found none valid' : `Found ${valid} valid alternatives`
      errors.push(composite(`${JSON.stringify(path)} must validate one and only one schema (oneOf). ${detail}`))
      if (valid === 0) errors.push(...best(results))
    }
  }
  if (allOf.length > 0) {
    const results = allOf.map(fails)
    const failed = results.filter((each) => each.length > 0)
    if (failed.length > 0) {
      const detail = failed.length === results.length ? '. None validated' : ''
      errors.push(
        ...failed.flat().slice(0, maxErrors),
        composite(`${JSON.stringify(path)} must validate all the schemas (allOf)${detail}`),
      )
    }
  }
  if (not && fails(not).length === 0)
    errors.push(composite(`${JSON.stringify(path)} must not validate the schema (not)`))
  return errors
}

/** The faults of the closest branch: the one with the fewest. */
function best(results: readonly FieldError[][]): FieldError[] {
  return results.toSorted((a, b) => a.length - b.length)[0] ?? []
}

function composite(detail: string): FieldError {
  return invalidValue('<nil>', '', detail)
}

function stringFaults(schema: StructuralSchema, value: string, path: string): FieldError[] {
  const errors: FieldError[] = []
  const { minLength, maxLength, pattern, format } = schema
  const length = minLength === undefined && maxLength === undefined ? 0 : Array.from(value).length
  const isStringFormat = format !== undefined && (schema.type === 'string' || schema.type === undefined)
  if (maxLength !== undefined && length > maxLength) errors.push(tooLong(path, maxLength))
  if (minLength !== undefined && length < minLength)
    errors.push(at(path, value, `should be at least ${minLength} chars long`))
  if (pattern && !matchesPattern(pattern, value)) errors.push(at(path, value, `should match '${pattern}'`))
  if (isStringFormat && !hasFormat(format, value)) {
    errors.push(
      invalidType(path || '<nil>', value, `${path} in body must be of type ${format}: ${JSON.stringify(value)}`),
    )
  }
  return errors
}

function numberFaults(schema: StructuralSchema, value: number, path: string): FieldError[] {
  const errors: FieldError[] = []
  const { maximum, exclusiveMaximum, minimum, exclusiveMinimum, multipleOf, type, format } = schema
  if (multipleOf && Math.abs(value / multipleOf - Math.round(value / multipleOf)) > 1e-9) {
    errors.push(at(path, value, `should be a multiple of ${multipleOf}`))
  }
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum)) {
    errors.push(at(path, value, `should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`))
  }
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum)) {
    errors.push(at(path, value, `should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`))
  }
  if (type === 'integer' && !isInFormat(value, format)) {
    const kind = format ? `integer with format ${format}` : 'integer (default format)'
    errors.push(composite(`Checked value must be of type ${kind} in ${path}`))
  }
  return errors
}

function isInFormat(value: number, format: string | undefined): boolean {
  if (!Number.isInteger(value)) return false
  return format !== 'int32' || (value >= -2_147_483_648 && value <= 2_147_483_647)
}

function arrayFaults(schema: StructuralSchema, value: readonly unknown[], old: unknown, path: string): FieldError[] {
  const { items, minItems, maxItems } = schema
  const errors: FieldError[] = []
  if (items) {
    const before = correlate(schema, old)
    for (const [index, item] of value.entries()) {
      if (errors.length >= maxErrors) break
      errors.push(...schemaFaults(items, item, before(item), `${path}[${index}]`))
    }
  }
  if (minItems !== undefined && value.length < minItems)
    errors.push(at(path, value.length, `should have at least ${minItems} items`))
  if (maxItems !== undefined && value.length > maxItems) errors.push(tooMany(path, value.length, maxItems))
  return errors
}

/** Finds the old value of an item. Only lists of type map identify their items. */
function correlate(schema: StructuralSchema, old: unknown): (item: unknown) => unknown {
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  if (schema['x-kubernetes-list-type'] !== 'map' || !Array.isArray(old)) return () => undefined
  const keyOf = (item: unknown): string => (isRecord(item) ? JSON.stringify(keys.map((key) => item[key] ?? null)) : '')
  const byKey = new Map(old.map((item) => [keyOf(item), item as unknown]))
  return (item) => byKey.get(keyOf(item))
}

function enumFaults(schema: StructuralSchema, value: unknown, path: string): FieldError[] {
  if (!schema.enum || schema.enum.some((allowed) => deepEqual(allowed, value))) return []
  const texts = schema.enum.map((allowed) => (typeof allowed === 'string' ? allowed : JSON.stringify(allowed)))
  return [unsupported(path, value, texts)]
}

function objectFaults(
  schema: StructuralSchema,
  value: Record<string, unknown>,
  old: unknown,
  path: string,
): FieldError[] {
  const { properties = {}, additionalProperties, required: needed = [], minProperties, maxProperties } = schema
  const errors: FieldError[] = []
  const names = Object.keys(value)
  const before = isRecord(old) ? old : undefined
  const below = (name: string): string => (path ? `${path}.${name}` : name)
  if (maxProperties !== undefined && names.length > maxProperties)
    errors.push(tooMany(path, names.length, maxProperties))
  if (minProperties !== undefined && names.length < minProperties) {
    errors.push(at(path, names.length, `should have at least ${minProperties} properties`))
  }
  for (const name of names) {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined
    const inner = known ?? (typeof additionalProperties === 'object' ? additionalProperties : undefined)
    if (inner && errors.length < maxErrors)
      errors.push(...schemaFaults(inner, value[name], before?.[name], below(name)))
  }
  const isEmbedded = schema['x-kubernetes-embedded-resource'] === true
  for (const name of [...needed, ...(isEmbedded ? ['apiVersion', 'kind'] : [])]) {
    if (!Object.hasOwn(value, name)) errors.push(required(below(name)))
  }
  return errors
}

function at(path: string, value: unknown, fault: string): FieldError {
  return invalidValue(path || '<nil>', value, `${path} in body ${fault}`)
}
