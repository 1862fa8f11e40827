import { deepEqual } from '../../../kube/patches/patch.ts'
import { forbidden, invalidValue, type FieldError } from '../types/field-error.ts'
import { isRecord } from '../../../kube/basics/json.ts'
import { prune } from '../decode/prune.ts'
import { schemaFaults } from './schema-faults.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/** Faults of defaults: invalid by their own schema, or where they cannot take effect. */
export function* checkDefaults(schema: StructuralSchema, path: string, isRoot = true): Generator<FieldError> {
  if (schema.default !== undefined && schema.default !== null) yield* defaultFaults(schema, path)
  if (schema.items) yield* checkDefaults(schema.items, `${path}.items`, false)
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const at = `${path}.properties[${name}]`
    if (isRoot && metaFields.has(name) && property.default !== undefined) {
      yield forbidden(`${at}.default`, `must not be set in top-level ${name}`)
    } else yield* checkDefaults(property, at, false)
  }
  if (isRecord(schema.additionalProperties)) {
    yield* checkDefaults(schema.additionalProperties, `${path}.additionalProperties`, false)
  }
}

const metaFields = new Set(['apiVersion', 'kind', 'metadata'])

function* defaultFaults(schema: StructuralSchema, path: string): Generator<FieldError> {
  const at = `${path}.default`
  const holder: StructuralSchema = { type: 'object', properties: { value: schema } }
  const { object } = prune(holder, { value: schema.default })
  if (!deepEqual(object.value, schema.default)) yield invalidValue(at, schema.default, 'must not have unknown fields')
  for (const fault of schemaFaults(schema, schema.default)) {
    const field = fault.field === '' || fault.field === '<nil>' ? at : `${at}.${fault.field}`
    yield { ...fault, field }
  }
}
