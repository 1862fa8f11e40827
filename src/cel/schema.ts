import { parseDuration, parseTimestamp } from './moment-text.ts'
import { toDouble } from './numbers.ts'
import { isReserved } from './parser.ts'
import * as types from './types.ts'
import type { Field, ObjectType, Type } from './types.ts'
import { isJsonMap, type CelValue } from './values.ts'

/** The parts of an OpenAPI v3 schema that types follow from. */
export interface Schema {
  readonly type?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: Schema | boolean
  readonly items?: Schema
  readonly nullable?: boolean
  readonly 'x-kubernetes-int-or-string'?: boolean
  readonly 'x-kubernetes-preserve-unknown-fields'?: boolean
  readonly 'x-kubernetes-embedded-resource'?: boolean
}

/**
 * The type of values that a structural schema describes: selecting a field it does not declare is a compile error.
 * `isRoot` adds what every object has: apiVersion, kind, and of the metadata only the names.
 */
export function typeFromSchema(schema: Schema, { isRoot = false, name = 'object' } = {}): Type {
  if (schema['x-kubernetes-int-or-string']) return types.dynType
  switch (schema.type) {
    case 'object':
      return objectFrom(schema, isRoot || schema['x-kubernetes-embedded-resource'] === true, name)
    case 'array':
      return types.listType(typeFromSchema(schema.items ?? {}, { name: `${name}.@items` }))
    case 'string':
      return textFormats.get(schema.format)?.type ?? types.stringType
    case 'boolean':
      return types.boolType
    case 'integer':
      return types.intType
    case 'number':
      return types.doubleType
    default:
      return types.dynType
  }
}

function objectFrom(schema: Schema, hasMetadata: boolean, name: string): Type {
  const { properties, additionalProperties } = schema
  if (typeof additionalProperties === 'object') {
    return types.mapType(types.stringType, typeFromSchema(additionalProperties, { name: `${name}.@values` }))
  }
  if (additionalProperties === true) return types.mapType(types.stringType, types.dynType)
  if (!properties && schema['x-kubernetes-preserve-unknown-fields'] && !hasMetadata) return types.dynType
  const fields = new Map<string, Field>(hasMetadata ? rootFields() : [])
  for (const [key, inner] of Object.entries(properties ?? {})) {
    if (hasMetadata && key === 'metadata') continue
    const field = fieldFrom(key, inner, `${name}.${key}`)
    fields.set(escapeField(key), field)
    // Behind a dot a reserved word is no problem: as in Kubernetes, both spellings are accepted.
    if (isReserved(key)) fields.set(key, field)
  }
  return { kind: 'object', name, fields } satisfies ObjectType
}

function rootFields(): [string, Field][] {
  const text = (key: string): [string, Field] => [key, { key, type: types.stringType }]
  const metadata: Type = { kind: 'object', name: 'metadata', fields: new Map([text('name'), text('generateName')]) }
  return [text('apiVersion'), text('kind'), ['metadata', { key: 'metadata', type: metadata }]]
}

function fieldFrom(key: string, schema: Schema, name: string): Field {
  const type = schema.nullable ? types.dynType : typeFromSchema(schema, { name })
  const adapt = schema.nullable ? undefined : adapterOf(schema)
  return adapt ? { key, type, adapt } : { key, type }
}

type Adapt = (json: CelValue) => CelValue

/** Makes typed values from JSON where the two differ; `undefined` where JSON is used as it is. */
function adapterOf(schema: Schema): Adapt | undefined {
  if (schema['x-kubernetes-int-or-string']) return undefined
  if (schema.type === 'string') return textAdapter(schema.format)
  // JSON does not tell 1.0 from 1; the schema does.
  if (schema.type === 'number') return (json) => (typeof json === 'number' ? toDouble(json) : json)
  const inner = innerSchema(schema)
  const adapt = inner && adapterOf(inner)
  if (!adapt) return undefined
  if (schema.type === 'array') return (json) => (Array.isArray(json) ? json.map(adapt) : json)
  return (json) =>
    isJsonMap(json) ? Object.fromEntries(Object.entries(json).map(([key, value]) => [key, adapt(value)])) : json
}

/** Elements of lists and maps; fields of objects are adapted where they are selected. */
function innerSchema({ type, items, additionalProperties }: Schema): Schema | undefined {
  if (type === 'array') return items
  return type === 'object' && typeof additionalProperties === 'object' ? additionalProperties : undefined
}

function textAdapter(format: string | undefined): Adapt | undefined {
  const read = textFormats.get(format)?.read
  return read && ((json) => (typeof json === 'string' ? read(json) : json))
}

const bytes = { type: types.bytesType, read: (text: string) => new Uint8Array(Buffer.from(text, 'base64')) }

/** Formats of strings that have a type of their own, and how JSON's text becomes a value of it. */
const textFormats = new Map<string | undefined, { readonly type: Type; readonly read: (text: string) => CelValue }>([
  ['date', { type: types.timestampType, read: (text) => parseTimestamp(`${text}T00:00:00Z`) }],
  ['date-time', { type: types.timestampType, read: parseTimestamp }],
  ['duration', { type: types.durationType, read: parseDuration }],
  ['byte', bytes],
  ['binary', bytes],
])

const escapes: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '-': '__dash__',
  '/': '__slash__',
}

/** The name by which expressions select a field whose own name is no identifier. */
export function escapeField(key: string): string {
  if (isReserved(key)) return `__${key}__`
  return key.replaceAll(/__|[.\-/]/g, (part) => escapes[part] ?? part)
}
