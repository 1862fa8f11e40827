import { forbidden, invalidValue, required, unsupported, type FieldError } from '../types/field-error.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { checkDefaults } from './check-defaults.ts'
import { checkLists } from './check-lists.ts'
import { completenessFaults, nestedFaults } from './check-nested.ts'
import { patternFault } from './pattern.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

type Level = 'root' | 'item' | 'field'

/** Why a schema is not structural, with the API's messages. `path` is the path of the schema in its CRD. */
export function checkStructural(schema: StructuralSchema, path: string): readonly FieldError[] {
  const shape = [...faultsOf(schema, 'root', path), ...completenessFaults(schema, schema, path, path)]
  return shape.length > 0 ? shape : [...checkDefaults(schema, path)]
}

function* faultsOf(schema: StructuralSchema, level: Level, path: string): Generator<FieldError> {
  if (!isRecord(schema)) return
  yield* typeFaults(schema, level, path)
  yield* forbiddenFaults(schema, path)
  yield* extensionFaults(schema, path)
  yield* checkLists(schema, path)
  yield* metadataFaults(schema, level, path)
  yield* nestedFaults(schema, path)
  if (schema.items && !Array.isArray(schema.items)) yield* faultsOf(schema.items, 'item', `${path}.items`)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    yield* faultsOf(property, 'field', `${path}.properties[${name}]`)
  }
  if (schema.additionalProperties !== undefined && level === 'root') {
    yield forbidden(`${path}.additionalProperties`, 'must not be used at the root')
  }
  if (isRecord(schema.additionalProperties)) {
    yield* faultsOf(schema.additionalProperties, 'field', `${path}.additionalProperties`)
  }
}

const types = ['array', 'boolean', 'integer', 'number', 'object', 'string']
const emptyTypes: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
}

function* typeFaults(schema: StructuralSchema, level: Level, path: string): Generator<FieldError> {
  const { type = '' } = schema
  const isOpen = schema['x-kubernetes-int-or-string'] || schema['x-kubernetes-preserve-unknown-fields']
  if (type && !types.includes(type)) yield unsupported(`${path}.type`, type, types)
  if (schema['x-kubernetes-embedded-resource'] && type !== 'object') {
    const detail = 'must be object if x-kubernetes-embedded-resource is true'
    yield type ? invalidValue(`${path}.type`, type, detail) : required(`${path}.type`, detail)
  } else if (!type && !isOpen) yield required(`${path}.type`, emptyTypes[level])
  if (level === 'root' && type && type !== 'object')
    yield invalidValue(`${path}.type`, type, 'must be object at the root')
  if (type === 'array' && !schema.items) yield required(`${path}.items`, 'must be specified')
  if (Array.isArray(schema.items)) yield forbidden(`${path}.items`, 'items must be a schema object and not an array')
}

const unsupportedKeys: Readonly<Record<string, string>> = {
  definitions: 'definitions is not supported',
  dependencies: 'dependencies is not supported',
  additionalItems: 'additionalItems is not supported',
  patternProperties: 'patternProperties is not supported',
  id: 'id is not supported',
  $ref: '$ref is not supported',
}

function* forbiddenFaults(schema: StructuralSchema, path: string): Generator<FieldError> {
  for (const [key, detail] of Object.entries(unsupportedKeys))
    if (key in schema) yield forbidden(`${path}.${key}`, detail)
  if (schema.uniqueItems) {
    yield forbidden(
      `${path}.uniqueItems`,
      'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    )
  }
  const hasProperties = Object.keys(schema.properties ?? {}).length > 0
  if (hasProperties && schema.additionalProperties !== undefined && schema.additionalProperties !== true) {
    yield forbidden(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive')
  }
  const fault = schema.pattern ? patternFault(schema.pattern) : undefined
  if (fault)
    yield invalidValue(`${path}.pattern`, schema.pattern, `must be a valid regular expression, but isn't: ${fault}`)
}

function* extensionFaults(schema: StructuralSchema, path: string): Generator<FieldError> {
  const keeps = schema['x-kubernetes-preserve-unknown-fields']
  const at = (key: string): string => `${path}.x-kubernetes-${key}`
  if (keeps === false) yield invalidValue(at('preserve-unknown-fields'), false, 'must be true or undefined')
  if (schema['x-kubernetes-int-or-string'] && keeps) {
    yield invalidValue(at('preserve-unknown-fields'), true, 'must be false if x-kubernetes-int-or-string is true')
  }
  if (!schema['x-kubernetes-embedded-resource']) return
  if (schema['x-kubernetes-int-or-string']) {
    yield invalidValue(at('embedded-resource'), true, 'must be false if x-kubernetes-int-or-string is true')
  }
  if (schema.additionalProperties !== undefined) {
    yield forbidden(`${path}.additionalProperties`, 'must not be used if x-kubernetes-embedded-resource is set')
  }
  if (!keeps && Object.keys(schema.properties ?? {}).length === 0) {
    const detail =
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields'
    yield required(`${path}.properties`, detail)
  }
}

/** A CRD may constrain only `name` and `generateName` of its objects' metadata. */
function* metadataFaults(schema: StructuralSchema, level: Level, path: string): Generator<FieldError> {
  if (level !== 'root' && !schema['x-kubernetes-embedded-resource']) return
  const { kind, apiVersion, metadata } = schema.properties ?? {}
  const at = (name: string): string => `${path}.properties[${name}]`
  if (kind && kind.type !== 'string') yield invalidValue(`${at('kind')}.type`, kind.type ?? '', 'must be string')
  if (apiVersion && apiVersion.type !== 'string') {
    yield invalidValue(`${at('apiVersion')}.type`, apiVersion.type ?? '', 'must be string')
  }
  if (!metadata) return
  if (metadata.type !== 'object') yield invalidValue(`${at('metadata')}.type`, metadata.type ?? '', 'must be object')
  if (level !== 'root') return
  const { type: _type, description: _description, default: _default, properties = {}, ...rest } = metadata
  const strays = Object.keys(properties).filter((name) => name !== 'name' && name !== 'generateName')
  if (strays.length > 0 || Object.keys(rest).length > 0) {
    yield forbidden(
      at('metadata'),
      'must not specify anything other than name and generateName, but metadata is implicitly specified',
    )
  }
}
