import { estimateCost, mostInRequest } from '../../../cel/cost.ts'
import { kubernetesEnvironment } from '../../../cel/environments.ts'
import { forbidden, type FieldError } from '../types/field-error.ts'
import type { StructuralSchema } from '../types/structural-schema.ts'

/** Kubernetes' limits of the estimated cost: of one rule, for all values it may be evaluated for, and of all rules of a schema. */
const ruleLimit = 10_000_000
const schemaLimit = 100_000_000

/** Rules that could take too long, because the schema does not bound what they walk. The rules must be known to compile. */
export function costFaults(schema: StructuralSchema, path: string): readonly FieldError[] {
  const rules = [...ruleCosts(schema, path, 1)]
  const total = rules.reduce((sum, { cost }) => sum + cost, 0)
  const tooExpensive = rules.filter(({ cost }) => cost > ruleLimit)
  const faults = tooExpensive.map(({ at, cost }) => forbidden(at, message('estimated rule cost', cost / ruleLimit)))
  if (total <= schemaLimit) return faults
  const [dearest] = rules.toSorted((left, right) => right.cost - left.cost)
  const contributed = 'contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema'
  const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema'
  return [
    ...faults,
    ...(dearest ? [forbidden(dearest.at, contributed)] : []),
    forbidden(path, message(what, total / schemaLimit)),
  ]
}

const { macros } = kubernetesEnvironment({})

interface RuleCost {
  readonly at: string
  readonly cost: number
}

/** `times` is how often the schema's value may occur in an object; undefined: as often as fits in a request. */
function* ruleCosts(schema: StructuralSchema, path: string, times: number | undefined): Generator<RuleCost> {
  const variables = { self: schema, oldSelf: schema }
  for (const [index, { rule }] of (schema['x-kubernetes-validations'] ?? []).entries()) {
    const cost = estimateCost(rule, macros, variables) * (times ?? mostInRequest(schema))
    yield { at: `${path}.x-kubernetes-validations[${index}].rule`, cost }
  }
  const { properties = {}, additionalProperties, items, maxProperties, maxItems } = schema
  const multiplied = (most: number | undefined) =>
    times === undefined || most === undefined ? undefined : times * most
  for (const [name, property] of Object.entries(properties))
    yield* ruleCosts(property, `${path}.properties[${name}]`, times)
  if (typeof additionalProperties === 'object')
    yield* ruleCosts(additionalProperties, `${path}.additionalProperties`, multiplied(maxProperties))
  if (items) yield* ruleCosts(items, `${path}.items`, multiplied(maxItems))
}

function message(what: string, factor: number): string {
  const shown = factor > 100 ? 'more than 100x' : factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`
  return `${what} exceeds budget by factor of ${shown} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)`
}
