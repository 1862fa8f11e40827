import { CelCompileError } from '../../../cel/errors.ts'
import { describeIssues } from '../../../cel/go-messages.ts'
import { PolicyProgram, type Expressions } from '../../../cel/policy-program.ts'
import type { Program } from '../../../cel/program.ts'
import { typeText } from '../../../cel/types.ts'
import { invalidValue, required, type FieldError } from '../types/field-error.ts'
import { at, entries, given, number, oneOf, size, strings, text, type Json } from './parts/checks.ts'

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE']

/** Faults of a Validating- or MutatingAdmissionPolicy. */
export function* admissionPolicyFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  yield* oneOf('spec.failurePolicy', spec.failurePolicy, ['Fail', 'Ignore'])
  const match = given(spec, 'matchConstraints')
  if (!match) yield required('spec.matchConstraints')
  else if (size(match.resourceRules) === 0) yield required('spec.matchConstraints.resourceRules')
  for (const [rule, path] of entries(match, 'resourceRules', 'spec.matchConstraints')) {
    for (const [operation, where] of strings(rule, 'operations', path)) yield* oneOf(where, operation, operations)
  }
  const program = new PolicyProgram(spec as Expressions)
  for (const [index, { name, expression, program: compiled }] of program.variables.entries()) {
    const path = `spec.variables[${index}]`
    if (!/^[_a-zA-Z]\w*$/.test(name)) yield invalidValue(`${path}.name`, name, 'must be a valid CEL identifier')
    yield* expressionFaults(compiled, { expression, path: `${path}.expression` })
  }
  yield* conditionFaults(spec, program, 'spec')
  if (object.kind === 'MutatingAdmissionPolicy') {
    yield* mutationFaults(spec, program)
    return
  }
  if (size(spec.validations) === 0 && size(spec.auditAnnotations) === 0) {
    const detail = 'validations or auditAnnotations must contain at least one item'
    yield required('spec.validations', detail)
    yield required('spec.auditAnnotations', detail)
  }
  for (const [validation, path] of entries(spec, 'validations', 'spec')) {
    const { expression, messageExpression } = validation
    yield* expressionFaults(program.compiled(text(expression)), {
      expression,
      path: `${path}.expression`,
      kind: 'bool',
    })
    if (messageExpression) {
      const place = { expression: messageExpression, path: `${path}.messageExpression`, kind: 'string' } as const
      yield* expressionFaults(program.compiled(text(messageExpression)), place)
    }
  }
}

function* mutationFaults(spec: Json, program: PolicyProgram): Generator<FieldError> {
  yield* oneOf('spec.reinvocationPolicy', spec.reinvocationPolicy, ['IfNeeded', 'Never'])
  if (size(spec.mutations) === 0) yield required('spec.mutations', 'mutations must contain at least one item')
  for (const [mutation, path] of entries(spec, 'mutations', 'spec')) {
    yield* oneOf(`${path}.patchType`, mutation.patchType, ['ApplyConfiguration', 'JSONPatch'])
    const field = mutation.patchType === 'JSONPatch' ? 'jsonPatch' : 'applyConfiguration'
    const { expression } = at(mutation, field)
    yield* expressionFaults(program.compiled(text(expression)), { expression, path: `${path}.${field}.expression` })
  }
}

/** Faults of a Validating- or MutatingAdmissionPolicyBinding. */
export function* admissionBindingFaults(object: Json): Generator<FieldError> {
  const spec = at(object, 'spec')
  const actions = Array.isArray(spec.validationActions) ? (spec.validationActions as unknown[]) : []
  if (!text(spec.policyName)) yield required('spec.policyName')
  const parameters = given(spec, 'paramRef')
  if (parameters && !text(parameters.parameterNotFoundAction)) yield required('spec.paramRef.parameterNotFoundAction')
  if (object.kind === 'MutatingAdmissionPolicyBinding') return
  if (actions.length === 0) yield required('spec.validationActions', 'at least one validation action is required')
  for (const [action, path] of strings(spec, 'validationActions', 'spec'))
    yield* oneOf(path, action, ['Audit', 'Deny', 'Warn'])
  if (actions.includes('Deny') && actions.includes('Warn')) {
    const detail =
      'must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)'
    yield invalidValue('spec.validationActions', actions, detail)
  }
}

/** Faults of a Validating- or MutatingWebhookConfiguration. */
export function* webhookConfigurationFaults(object: Json): Generator<FieldError> {
  for (const [webhook, path] of entries(object, 'webhooks', '')) {
    const name = text(webhook.name)
    if (name.split('.').length < 3)
      yield invalidValue(`${path}.name`, name, 'should be a domain with at least three segments separated by dots')
    const { url, service } = at(webhook, 'clientConfig')
    if ((url === undefined) === (service === undefined))
      yield required(`${path}.clientConfig`, 'exactly one of url or service is required')
    if (url !== undefined && !/^https:\/\/[^/]+/.test(text(url)))
      yield invalidValue(`${path}.clientConfig.url`, url, "'https' is the only allowed URL scheme")
    yield* oneOf(`${path}.failurePolicy`, webhook.failurePolicy, ['Fail', 'Ignore'])
    yield* oneOf(`${path}.sideEffects`, webhook.sideEffects, ['None', 'NoneOnDryRun'])
    if (!strings(webhook, 'admissionReviewVersions', path).some(([version]) => version === 'v1'))
      yield invalidValue(`${path}.admissionReviewVersions`, webhook.admissionReviewVersions, 'must include v1')
    const seconds = number(webhook.timeoutSeconds) ?? 10
    if (seconds < 1 || seconds > 30)
      yield invalidValue(`${path}.timeoutSeconds`, seconds, 'the timeout value must be between 1 and 30 seconds')
    for (const [rule, where] of entries(webhook, 'rules', path))
      for (const [operation, place] of strings(rule, 'operations', where)) yield* oneOf(place, operation, operations)
    yield* conditionFaults(webhook, new PolicyProgram({}), path)
  }
}

function* conditionFaults(owner: Json, program: PolicyProgram, path: string): Generator<FieldError> {
  for (const [{ name, expression }, where] of entries(owner, 'matchConditions', path)) {
    if (!text(name)) yield required(`${where}.name`)
    yield* expressionFaults(program.compiled(text(expression)), {
      expression,
      path: `${where}.expression`,
      kind: 'bool',
    })
  }
}

function* expressionFaults(
  program: Program | CelCompileError,
  {
    expression,
    path,
    kind,
  }: { readonly expression: unknown; readonly path: string; readonly kind?: 'bool' | 'string' },
): Generator<FieldError> {
  if (!text(expression).trim()) {
    yield required(path, 'expression is not specified')
    return
  }
  if (program instanceof CelCompileError) {
    yield invalidValue(path, expression, `compilation failed: ${describeIssues(program, text(expression))}`)
  } else if (kind && program.type.kind !== kind && program.type.kind !== 'dyn') {
    yield invalidValue(path, expression, `must evaluate to ${kind} but got ${typeText(program.type)}`)
  }
}
