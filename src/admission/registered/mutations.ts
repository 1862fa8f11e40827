import type { Review } from '../../apiserver/objects/contract/admission.ts'
import type { ServedKind } from '../../apiserver/kinds/contract/served-kind.ts'
import { merge } from '../../apiserver/schema/managed-fields/merge.ts'
import { CelError } from '../../cel/errors.ts'
import { toJson } from '../../cel/json.ts'
import type { KubeObject } from '../../kube/object.ts'
import { jsonPatch, type JsonPatchOperation } from '../../kube/patches/json-patch.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { requestAs } from './match.ts'
import { denial, invocations, type Invocation, type Policy, type PolicyPorts } from './policies.ts'

/** Changes an object as it passes through admission. */
export interface Mutator {
  /** Whether it wants to see the object again when a later mutator changed it. */
  readonly isReinvoked: boolean
  mutate(object: KubeObject): KubeObject
}

/** Runs mutators in order, and once more those that ask for it and whose object a later one changed. */
export function runMutators(object: KubeObject, mutators: readonly Mutator[]): KubeObject {
  const seen = new Map<Mutator, KubeObject>()
  const once = (current: KubeObject, mutator: Mutator) => {
    const next = mutator.mutate(current)
    seen.set(mutator, next)
    return next
  }
  return mutators.reduce(
    (current, mutator) =>
      mutator.isReinvoked && !deepEqual(seen.get(mutator), current) ? once(current, mutator) : current,
    mutators.reduce(once, object),
  )
}

/** The object after a patch, decoded and defaulted as if the client had sent it so. */
export function afterMutation(review: Objected, type: ServedKind, changed: KubeObject) {
  if (deepEqual(changed, requestAs(review, type).object)) return review.object
  if (review.subresource === 'scale' || type !== review.type)
    throw new Error('this server patches only the version of the request: use matchPolicy Exact, and no scale')
  const { object } = type.decode(changed)
  const { managedFields } = review.object.metadata
  return type.default({ ...object, metadata: { ...object.metadata, ...(managedFields ? { managedFields } : {}) } })
}

interface Mutating {
  readonly reinvocationPolicy?: string
  readonly mutations: readonly {
    readonly applyConfiguration?: { readonly expression: string }
    readonly jsonPatch?: { readonly expression: string }
  }[]
}

type Objected = Review & { readonly object: KubeObject }

/** The MutatingAdmissionPolicies of a request, in order. */
export function mutatingPolicies(ports: PolicyPorts, review: Review): readonly Mutator[] {
  return [...invocations<Policy<Mutating>>(ports, 'mutatingadmissionpolicies', review)].map((invocation) => ({
    isReinvoked: invocation.policy.spec.reinvocationPolicy === 'IfNeeded',
    mutate: (object) => mutated({ ...review, object }, invocation),
  }))
}

/** Applies the mutations of a policy, each to the result of the one before it. */
function mutated(review: Objected, invocation: Invocation<Policy<Mutating>>): KubeObject {
  const { policy, binding, problem, type, evaluation } = invocation
  try {
    if (problem !== undefined) throw new Error(problem)
    const isMatched = evaluation(review).matches()
    if (isMatched instanceof CelError) throw new Error(isMatched.message)
    if (!isMatched) return review.object
    let current = review
    for (const { applyConfiguration, jsonPatch: patch } of policy.spec.mutations) {
      const value = evaluation(current).evaluate((applyConfiguration ?? patch)?.expression ?? '')
      if (value instanceof CelError) throw new Error(value.message)
      const sent = requestAs(current, type).object
      const json = toJson(value) as unknown
      const changed = patch
        ? jsonPatch(sent, json as readonly JsonPatchOperation[])
        : merge(sent, json, type.schema.root)
      current = { ...current, object: afterMutation(current, type, changed as KubeObject) }
    }
    return current.object
  } catch (error) {
    if (policy.spec.failurePolicy === 'Ignore') return review.object
    const why = error instanceof Error ? error.message : String(error)
    const names = `policy '${policy.metadata.name}' with binding '${binding.metadata.name}'`
    throw denial(review, `${names} denied request: ${why}`)
  }
}
