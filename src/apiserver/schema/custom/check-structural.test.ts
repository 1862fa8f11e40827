import { describe, expect, it } from 'vitest'
import type { StatusCause } from '../../../kube/status-error.ts'
import { recorded } from '../../../../test/apiserver/recorded/recorded.ts'
import { compileRules } from './cel-rules.ts'
import { checkStructural } from './check-structural.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

interface Refused {
  readonly schema: StructuralSchema
  readonly causes: readonly StatusCause[]
}

const path = 'spec.validation.openAPIV3Schema'

/** Causes of a CRD with this schema: rules are looked at only when the schema is structural. */
function causesOf(schema: StructuralSchema): readonly string[] {
  const shape = checkStructural(schema, path)
  const found =
    shape.length > 0
      ? shape
      : compileRules(schema, path).errors.map((error) => ({ ...error, field: `${path}.${error.field}` }))
  return [...new Set(found.map(({ type, field, message }) => `${type} ${field} ${message}`))].toSorted()
}

const theirs = (causes: readonly StatusCause[]): readonly string[] =>
  [...new Set(causes.map(({ reason, field, message }) => `${reason} ${field} ${message}`))].toSorted()

/**
 * Where we differ: cost is measured when a rule runs instead of estimated, and CEL's own messages are worded
 * otherwise.
 */
const unlike = ({ schema, causes }: Refused): boolean =>
  schema.default !== undefined ||
  causes.some(({ message = '' }) => /estimated rule cost|Syntax error|found no matching overload/.test(message))

const schemas = recorded<readonly Refused[]>('invalid-schemas')
const named = (list: readonly Refused[]) =>
  list.map(({ schema, causes }) => [JSON.stringify(schema.properties?.spec ?? schema), schema, causes] as const)

describe('checkStructural', () => {
  it.each(named(schemas.filter((each) => !unlike(each))))(
    'gives the causes the API gives for %s',
    (_, schema, causes) => {
      expect(causesOf(schema)).toEqual(theirs(causes))
    },
  )

  it.each(
    named(
      schemas.filter(({ causes }) => causes.some(({ message = '' }) => /Syntax error|matching overload/.test(message))),
    ),
  )('refuses the rule in %s where the API does', (_, schema, causes) => {
    const [error] = compileRules(schema, path).errors
    expect(`${path}.${error?.field}`).toBe(causes[0]?.field)
  })
})
