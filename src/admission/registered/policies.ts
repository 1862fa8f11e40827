import { serviceAccountUser } from '../../apiserver/auth/user.ts'
import type { ApiServer } from '../../apiserver/server.ts'
import type { Review } from '../../apiserver/objects/contract/admission.ts'
import type { ServedKind } from '../../apiserver/kinds/contract/served-kind.ts'
import { detailsOf, forbidden } from '../../apiserver/objects/contract/failures.ts'
import type { Store } from '../../apiserver/store/store.ts'
import { CelError } from '../../cel/errors.ts'
import { authorizerValues, type AccessQuestion } from '../../cel/authorizer.ts'
import { groupResource, parseApiVersion, type KubeObject, type StoredObject } from '../../kube/object.ts'
import { matches, requirementsOf, type LabelSelector } from '../../kube/selector.ts'
import { StatusError, type StatusReason } from '../../kube/status-error.ts'
import type { Followed } from './followed.ts'
import { concerns, isExempt, matchedKind, namespaceOf, requestAs, type Match } from './match.ts'
import { PolicyProgram, type Evaluation, type Expressions } from '../../cel/policy-program.ts'

/** A Validating- or MutatingAdmissionPolicy. */
export interface Policy<Spec = object> extends StoredObject {
  readonly spec: Expressions & Spec & { readonly matchConstraints?: Match; readonly failurePolicy?: string }
}

interface Binding extends StoredObject {
  readonly spec: {
    readonly policyName: string
    readonly matchResources?: Match
    readonly validationActions?: readonly string[]
    readonly paramRef?: {
      readonly name?: string
      readonly namespace?: string
      readonly selector?: LabelSelector
      readonly parameterNotFoundAction?: string
    }
  }
}

/** What a ValidatingAdmissionPolicy says beyond every policy. */
export interface Validating {
  readonly validations?: readonly {
    readonly expression: string
    readonly message?: string
    readonly messageExpression?: string
    readonly reason?: StatusReason
  }[]
  readonly auditAnnotations?: readonly { readonly key: string; readonly valueExpression: string }[]
}

export const group = 'admissionregistration.k8s.io'

/** The parts of a server that policies ask. */
export interface PolicyPorts {
  readonly followed: Followed
  readonly store: Pick<Store, 'scan' | 'get'>
  readonly server: Pick<ApiServer, 'kinds' | 'authorize' | 'objects'>
}

/** A policy that has to decide on a request, once for each of its parameters. */
export interface Invocation<P> {
  readonly policy: P
  readonly binding: Binding
  /** What is wrong with the policy or its binding; then there is nothing to evaluate. */
  readonly problem?: string
  /** The version by which the policy selects the request. */
  readonly type: ServedKind
  /** Evaluates the policy on the request, or on a later state of it. */
  readonly evaluation: (review: Review) => Evaluation
}

const programs = new WeakMap<object, PolicyProgram>()

/** The compiled expressions of a stored object or a part of it. */
export function programOf(object: object, spec: Expressions): PolicyProgram {
  return programs.getOrInsertComputed(object, () => new PolicyProgram(spec))
}

/** Finds the bound policies of a kind that a request matches. */
export function* invocations<P extends Policy>(
  ports: PolicyPorts,
  plural: string,
  review: Review,
): Generator<Invocation<P>> {
  if (isExempt(review)) return
  const versions = () => versionsOf(ports, review.type)
  const concerned = ({ spec }: P) => concerns(spec.matchConstraints ?? {}, [review.type, ...versions()])
  for (const policy of ports.followed.relevantTo<P>(review.type, `${plural}.${group}`, concerned)) {
    const type = matchedKind(policy.spec.matchConstraints ?? {}, review, versions)
    const bindings = type ? ports.followed.of<Binding>(`${plural.replace(/ies$/, 'y')}bindings.${group}`) : []
    const bound = bindings.filter(({ spec }) => spec.policyName === policy.metadata.name)
    for (const binding of bound) {
      if (!type || !matchedKind(binding.spec.matchResources ?? {}, review, versions)) continue
      const params = paramsOf(ports, { policy, binding, review })
      for (const each of typeof params === 'string' ? [null] : params) {
        const evaluation = (current: Review) =>
          programOf(policy, policy.spec).evaluation({ ...bindingsOf(ports, current, type), params: each })
        const problem = typeof params === 'string' ? { problem: `failed to configure binding: ${params}` } : {}
        yield { policy, binding, type, evaluation, ...problem }
      }
    }
  }
}

/** The other served versions of a kind. */
export function versionsOf({ server }: Pick<PolicyPorts, 'server'>, type: ServedKind): readonly ServedKind[] {
  return server.kinds.all().filter((each) => each.resource === type.resource && each !== type)
}

/** The variables of the expressions of policies and webhooks. */
export function bindingsOf({ server }: Pick<PolicyPorts, 'server'>, review: Review, type: ServedKind) {
  const { name, subresource, namespace, user } = review
  const ask = ({ path, serviceAccount, ...rest }: AccessQuestion) => {
    const resource = { verb: '', group: '', resource: '', subresource: '', namespace: '', name: '', ...rest }
    const access = path === undefined ? resource : { verb: resource.verb, path }
    return server.authorize(serviceAccount ? serviceAccountUser(serviceAccount) : user, access)
  }
  const resource = { group: review.type.group, resource: review.type.plural, subresource, namespace, name }
  const namespaceObject = namespaceOf(review) ?? null
  return { ...requestAs(review, type), namespaceObject, ...authorizerValues(ask, resource) }
}

/** The parameters of a binding: null where there are none to have; a text when they cannot be had. */
function paramsOf(
  { store, server }: PolicyPorts,
  { policy, binding, review }: { readonly policy: Policy; readonly binding: Binding; readonly review: Review },
): readonly (KubeObject | null)[] | string {
  const { paramKind } = policy.spec
  const { paramRef } = binding.spec
  if (!paramKind || !paramRef) return [null]
  const type = server.kinds.ofKind({ ...parseApiVersion(paramKind.apiVersion), kind: paramKind.kind })
  if (!type) return `failed to find resource referenced by paramKind: '${paramKind.apiVersion}, Kind=${paramKind.kind}'`
  if (paramRef.namespace && !type.namespaced)
    return 'paramRef.namespace must not be provided for a cluster-scoped `paramKind`'
  const namespace = type.namespaced ? paramRef.namespace || review.namespace : ''
  if (type.namespaced && !namespace)
    return 'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources'
  const { resource } = type
  const records = paramRef.name
    ? [store.get({ resource, namespace, name: paramRef.name })].filter((each) => each !== undefined)
    : store.scan({ resource, namespace, limit: Number.MAX_SAFE_INTEGER })
  const selector = requirementsOf(paramRef.selector ?? {})
  const found = records
    .map(({ document }) => type.serve(document).value)
    .filter(({ metadata }) => matches(selector, metadata.labels))
  if (found.length > 0 || paramRef.parameterNotFoundAction === 'Allow') return found
  return 'no params found for policy binding with `Deny` parameterNotFoundAction'
}

/**
 * Evaluates all ValidatingAdmissionPolicies; throws the first denial and returns warnings. There is no audit log here. Built-in
 * policies speak for the server itself: they are not named.
 */
export function validateByPolicies(ports: PolicyPorts, review: Review): readonly string[] {
  const warnings: string[] = []
  const found = invocations<Policy<Validating>>(ports, 'validatingadmissionpolicies', review)
  for (const { policy, binding, problem, evaluation } of found) {
    const names = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}'`
    const isBuiltIn = policy.metadata.uid === undefined
    const failures = problem === undefined ? failuresOf(policy, evaluation(review)) : errorsOf(policy, problem)
    const actions = problem === undefined ? (binding.spec.validationActions ?? []) : ['Deny']
    for (const { message, reason } of failures) {
      if (actions.includes('Deny'))
        throw isBuiltIn
          ? forbidden(review.type, nameIn(review), message)
          : denial(review, `${names} denied request: ${message}`, reason)
      if (actions.includes('Warn')) warnings.push(isBuiltIn ? message : `Validation failed for ${names}: ${message}`)
    }
  }
  return warnings
}

interface Failure {
  readonly message: string
  readonly reason?: StatusReason | undefined
}

function failuresOf(policy: Policy<Validating>, evaluation: Evaluation): readonly Failure[] {
  const isMatched = evaluation.matches()
  if (isMatched instanceof CelError) return errorsOf(policy, isMatched.message)
  if (!isMatched) return []
  const { validations = [], auditAnnotations = [] } = policy.spec
  const failed = validations.flatMap(({ expression, message, messageExpression, reason }): readonly Failure[] => {
    const value = evaluation.evaluate(expression)
    if (value === true) return []
    if (value instanceof CelError) return errorsOf(policy, value.message)
    const told = messageExpression ? evaluation.evaluate(messageExpression) : undefined
    const text = typeof told === 'string' && told.length <= maxMessage && !told.trim().includes('\n') ? told.trim() : ''
    return [{ message: text || message?.trim() || `failed expression: ${expression.trim()}`, reason }]
  })
  const unwritten = auditAnnotations.map(({ valueExpression }) => evaluation.evaluate(valueExpression))
  return [
    ...failed,
    ...unwritten.flatMap((value) => (value instanceof CelError ? errorsOf(policy, value.message) : [])),
  ]
}

/** A failure of the policy itself, by its failure policy. */
function errorsOf({ spec }: Policy, message: string): readonly Failure[] {
  return spec.failurePolicy === 'Ignore' ? [] : [{ message }]
}

const maxMessage = 5 * 1024

/** A 403 of admission that names a policy, with the code of its reason. */
export function denial(review: Review, message: string, reason: StatusReason = 'Invalid'): StatusError {
  const { type } = review
  const named = nameIn(review)
  return new StatusError(reason, `${groupResource(type)} "${named}" is forbidden: ${message}`, {
    details: { ...detailsOf(type, named), causes: [{ message }] },
  })
}

function nameIn({ name, object, old }: Review): string {
  return name || (object ?? old)?.metadata.name || ''
}
