import { compile } from '../../../cel/compile.ts'
import { kubernetesEnvironment } from '../../../cel/environments.ts'
import { CelCompileError } from '../../../cel/errors.ts'
import { dynType, typeText } from '../../../cel/types.ts'
import { describeIssues } from '../custom/compile-rule.ts'
import { invalidValue, required, type FieldError } from '../types/field-error.ts'
import { at, entries, given, oneOf, size, strings, text, type Json } from './parts/checks.ts'

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']

/** Faults of a ValidatingAdmissionPolicy. */
export function* admissionPolicyFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  yield* oneOf('spec.failurePolicy', spec.failurePolicy, ['Fail', 'Ignore'])
  const match = given(spec, 'matchConstraints')
  if (!match) yield required('spec.matchConstraints')
  else if (size(match.resourceRules) === 0) yield required('spec.matchConstraints.resourceRules')
  for (const [rule, path] of entries(match, 'resourceRules', 'spec.matchConstraints')) {
    for (const [operation, where] of strings(rule, 'operations', path)) yield* oneOf(where, operation, operations)
  }
  for (const [variable, path] of entries(spec, 'variables', 'spec')) {
    const name = text(variable.name)
    if (!/^[_a-zA-Z]\w*$/.test(name)) yield invalidValue(`${path}.name`, name, 'must be a valid CEL identifier')
    yield* expressionFaults(text(variable.expression), `${path}.expression`, undefined)
  }
  if (size(spec.validations) === 0 && size(spec.auditAnnotations) === 0) {
    const detail = 'validations or auditAnnotations must contain at least one item'
    yield required('spec.validations', detail)
    yield required('spec.auditAnnotations', detail)
  }
  for (const [validation, path] of entries(spec, 'validations', 'spec')) {
    yield* expressionFaults(text(validation.expression), `${path}.expression`, 'bool')
  }
}

/** Faults of a ValidatingAdmissionPolicyBinding. */
export function* admissionBindingFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  const actions = Array.isArray(spec.validationActions) ? (spec.validationActions as unknown[]) : []
  if (!text(spec.policyName)) yield required('spec.policyName')
  const parameters = given(spec, 'paramRef')
  if (parameters && !text(parameters.parameterNotFoundAction)) yield required('spec.paramRef.parameterNotFoundAction')
  if (actions.length === 0) yield required('spec.validationActions', 'at least one validation action is required')
  for (const [action, path] of strings(spec, 'validationActions', 'spec'))
    yield* oneOf(path, action, ['Audit', 'Deny', 'Warn'])
  if (actions.includes('Deny') && actions.includes('Warn')) {
    const detail =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)'
    yield invalidValue('spec.validationActions', actions, detail)
  }
}

const variables = ['object', 'oldObject', 'request', 'params', 'namespaceObject', 'authorizer', 'variables']
const environment = kubernetesEnvironment(Object.fromEntries(variables.map((name) => [name, dynType])))

function* expressionFaults(expression: string, path: string, kind: 'bool' | undefined): Generator<FieldError> {
  if (!expression.trim()) {
    yield required(path, 'expression is not specified')
    return
  }
  // This server stores policies without enforcing them and does not define the authorizer's functions.
  if (/\bauthorizer\s*\./.test(expression)) return
  const program = compile(expression, environment)
  if (program instanceof CelCompileError) {
    yield invalidValue(path, expression, `compilation failed: ${describeIssues(program, expression)}`)
  } else if (kind && program.type.kind !== kind && program.type.kind !== 'dyn') {
    yield invalidValue(path, expression, `must evaluate to ${kind} but got ${typeText(program.type)}`)
  }
}
