import { forbidden, invalidValue, required, type FieldError } from '../types/field-error.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { patternFault } from './pattern.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/**
 * Faults inside allOf, anyOf, oneOf and not: in a structural schema these only constrain values and define no types.
 */
export function* nestedFaults(schema: StructuralSchema, path: string): Generator<FieldError> {
  for (const [branch, at] of branches(schema, path)) {
    if (isIntOrString(schema, branch)) continue
    yield* branchFaults(branch, at)
  }
}

/** Structural schemas must specify every field outside of the branches that constrain it. */
export function* completenessFaults(
  branch: StructuralSchema,
  schema: StructuralSchema | undefined,
  schemaPath: string,
  branchPath: string,
): Generator<FieldError> {
  for (const [inner, at] of branches(branch, branchPath)) yield* specifiedFaults(inner, schema, schemaPath, at)
}

function* specifiedFaults(
  branch: StructuralSchema,
  schema: StructuralSchema | undefined,
  schemaPath: string,
  branchPath: string,
): Generator<FieldError> {
  if (!schema) {
    yield required(schemaPath, `because it is defined in ${branchPath}`)
    return
  }
  yield* completenessFaults(branch, schema, schemaPath, branchPath)
  if (branch.items) yield* specifiedFaults(branch.items, schema.items, `${schemaPath}.items`, `${branchPath}.items`)
  for (const [name, property] of Object.entries(branch.properties ?? {})) {
    const step = `.properties[${name}]`
    yield* specifiedFaults(property, schema.properties?.[name], schemaPath + step, branchPath + step)
  }
}

const forbiddenInBranches: Readonly<Record<string, string>> = {
  type: 'must be empty to be structural',
  additionalProperties: 'must be undefined to be structural',
  default: 'must be undefined to be structural',
  title: 'must be empty to be structural',
  description: 'must be empty to be structural',
  nullable: 'must be false to be structural',
  'x-kubernetes-preserve-unknown-fields': 'must be false to be structural',
  'x-kubernetes-embedded-resource': 'must be false to be structural',
  'x-kubernetes-int-or-string': 'must be false to be structural',
  'x-kubernetes-list-map-keys': 'must be empty to be structural',
  'x-kubernetes-list-type': 'must be undefined to be structural',
  'x-kubernetes-map-type': 'must be undefined to be structural',
  'x-kubernetes-validations': 'must be empty to be structural',
}

function* branchFaults(branch: StructuralSchema, path: string): Generator<FieldError> {
  const said = branch as Readonly<Record<string, unknown>>
  for (const [key, detail] of Object.entries(forbiddenInBranches)) {
    if (said[key] !== undefined && said[key] !== false && said[key] !== '') yield forbidden(`${path}.${key}`, detail)
  }
  const fault = branch.pattern ? patternFault(branch.pattern) : undefined
  if (fault)
    yield invalidValue(`${path}.pattern`, branch.pattern, `must be a valid regular expression, but isn't: ${fault}`)
  if (branch.properties?.metadata) {
    yield forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context')
  }
  yield* nestedFaults(branch, path)
  if (branch.items) yield* branchFaults(branch.items, `${path}.items`)
  for (const [name, property] of Object.entries(branch.properties ?? {})) {
    yield* branchFaults(property, `${path}.properties[${name}]`)
  }
}

function* branches(schema: StructuralSchema, path: string): Generator<[StructuralSchema, string]> {
  for (const key of ['anyOf', 'allOf', 'oneOf'] as const) {
    for (const [index, branch] of (schema[key] ?? []).entries()) yield [branch, `${path}.${key}[${index}]`]
  }
  if (schema.not) yield [schema.not, `${path}.not`]
}

const intOrString = [{ type: 'integer' }, { type: 'string' }]

/** Whether a branch is part of the int-or-string pattern, the only one that may name types. */
function isIntOrString(schema: StructuralSchema, branch: StructuralSchema): boolean {
  if (deepEqual(schema.anyOf, intOrString)) return schema.anyOf?.includes(branch) === true
  return schema.allOf?.[0] === branch && deepEqual(branch.anyOf, intOrString)
}
