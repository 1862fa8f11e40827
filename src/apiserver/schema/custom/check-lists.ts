import { invalidValue, required, unsupported, type FieldError } from '../types/field-error.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/** Faults of x-kubernetes-list-type, -list-map-keys and -map-type in one node of a schema. */
export function* checkLists(schema: StructuralSchema, path: string): Generator<FieldError> {
  const { type = '' } = schema
  const mapType = schema['x-kubernetes-map-type']
  const listType: string | undefined = schema['x-kubernetes-list-type']
  if (mapType && type !== 'object') yield wrongType(path, type, 'must be object if x-kubernetes-map-type is specified')
  if (mapType && mapType !== 'atomic' && mapType !== 'granular') {
    yield unsupported(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular'])
  }
  if (listType && type !== 'array') yield wrongType(path, type, 'must be array if x-kubernetes-list-type is specified')
  else if (listType === 'set' && schema.items) yield* setFaults(schema.items, path)
  if (listType && !['atomic', 'set', 'map'].includes(listType)) {
    yield unsupported(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'set', 'map'])
  }
  yield* keyFaults(schema, path)
}

function wrongType(path: string, type: string, detail: string): FieldError {
  return type ? invalidValue(`${path}.type`, type, detail) : required(`${path}.type`, detail)
}

function* setFaults(items: StructuralSchema, path: string): Generator<FieldError> {
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set'
  const itemList = items['x-kubernetes-list-type']
  if (items.type === 'array' && itemList && itemList !== 'atomic') {
    yield invalidValue(`${path}.items.x-kubernetes-list-type`, itemList, detail)
  }
  if (items.type === 'object' && items['x-kubernetes-map-type'] !== 'atomic') {
    yield invalidValue(`${path}.items.x-kubernetes-map-type`, null, detail)
  }
}

function* keyFaults(schema: StructuralSchema, path: string): Generator<FieldError> {
  const keys = schema['x-kubernetes-list-map-keys'] ?? []
  const listType = schema['x-kubernetes-list-type']
  const at = `${path}.x-kubernetes-list-map-keys`
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty'
    yield listType
      ? invalidValue(`${path}.x-kubernetes-list-type`, listType, detail)
      : required(`${path}.x-kubernetes-list-type`, detail)
  }
  if (listType !== 'map') return
  if (keys.length === 0) yield required(at, 'must not be empty if x-kubernetes-list-type is map')
  const { items } = schema
  if (!items) {
    yield required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map')
    return
  }
  if (items.type !== 'object') {
    yield invalidValue(
      `${path}.items.type`,
      items.type ?? '',
      "must be object if parent array's x-kubernetes-list-type is map",
    )
    return
  }
  for (const [index, key] of keys.entries()) {
    const property = items.properties?.[key]
    if (!property) yield invalidValue(at, keys, 'entries must all be names of item properties')
    else if (property.type === 'array' || property.type === 'object') {
      yield invalidValue(
        `${path}.items.properties[${key}].type`,
        items.type,
        "must be a scalar type if parent array's x-kubernetes-list-type is map",
      )
    } else if (property.default === undefined && !items.required?.includes(key)) {
      yield required(
        `${path}.items.properties[${key}].default`,
        'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
      )
    }
    if (keys.indexOf(key) < index) yield invalidValue(at, keys, 'must not contain duplicate entries')
  }
}
