import type { KubeObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { notFound } from '../../kube/status-error.ts'
import type { AdmissionHook, Review } from '../objects/contract/admission.ts'
import { forbiddenResource } from './access.ts'
import { authorize, rulesOf, type RoleSource } from './rbac.ts'
import { allRules, describeRule, uncovered, type PolicyRule } from './rbac-rules.ts'
import { bindingOf } from './role-index.ts'
import { mastersGroup } from './user.ts'

const group = 'rbac.authorization.k8s.io'

/**
 * Refuses roles and bindings that grant rights their author does not hold, unless the author may `escalate` or
 * `bind`.
 */
export function escalationCheck(roles: RoleSource): AdmissionHook {
  return {
    validate: (review) => {
      if (review.type.group !== group || review.operation === 'DELETE' || !review.object) return
      if (review.user.groups.includes(mastersGroup)) return
      switch (review.type.kind) {
        case 'Role':
        case 'ClusterRole':
          return checkRole(roles, review, review.object)
        case 'RoleBinding':
        case 'ClusterRoleBinding':
          return checkBinding(roles, review, review.object)
        default:
      }
    },
  }
}

function checkRole(roles: RoleSource, review: Review, role: KubeObject): void {
  const { old } = review
  if (old && deepEqual(old['rules'], role['rules']) && deepEqual(old['aggregationRule'], role['aggregationRule']))
    return
  if (isAllowed(roles, review, 'escalate', review)) return
  const wanted: readonly PolicyRule[] = role['aggregationRule']
    ? // What it will aggregate is not known yet, so only a user who holds every right may create one.
      [...allRules, ...rulesIn(role)]
    : rulesIn(role)
  requireHeld(roles, review, wanted)
}

function checkBinding(roles: RoleSource, review: Review, object: KubeObject): void {
  const { old } = review
  if (old && deepEqual(old['roleRef'], object['roleRef']) && deepEqual(old['subjects'], object['subjects'])) return
  const { roleRef } = bindingOf(object)
  const isLocal = roleRef.kind === 'Role'
  const target = { plural: isLocal ? 'roles' : 'clusterroles', name: roleRef.name, namespace: review.namespace }
  if (isAllowed(roles, review, 'bind', target)) return
  const rules = roles.rules(isLocal ? review.namespace : '', roleRef.name)
  // kube-apiserver's wording: the role's name on the binding's resource.
  if (!rules) throw notFound({ group, plural: review.type.plural }, roleRef.name)
  requireHeld(roles, review, rules)
}

function rulesIn(role: KubeObject): readonly PolicyRule[] {
  return (role['rules'] ?? []) as readonly PolicyRule[]
}

function isAllowed(
  roles: RoleSource,
  { user, type }: Review,
  verb: string,
  on: { readonly plural?: string; readonly namespace: string; readonly name: string },
): boolean {
  const resource = on.plural ?? type.plural
  return authorize(roles, user, { verb, group, resource, subresource: '', namespace: on.namespace, name: on.name })
    .allowed
}

function requireHeld(roles: RoleSource, { user, type, namespace, name }: Review, wanted: readonly PolicyRule[]): void {
  const missing = uncovered(rulesOf(roles, user, namespace), wanted)
  if (missing?.length === 0) return
  const on = { group, resource: type.plural, name }
  if (!missing) throw forbiddenResource(on, 'its rules are too many to compare: split it into several roles')
  const groups = user.groups.map((entry) => JSON.stringify(entry)).join(' ')
  throw forbiddenResource(
    on,
    `user ${JSON.stringify(user.name)} (groups=[${groups}]) is attempting to grant RBAC permissions not currently held:\n${compact(missing).map(describeRule).join('\n')}`,
  )
}

/** Merges rules that differ only in their verbs. */
function compact(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const byTarget = Map.groupBy(rules, ({ verbs: _, ...target }) => JSON.stringify(target))
  return [...byTarget.values()].flatMap(([first, ...others]) =>
    first ? [{ ...first, verbs: [...first.verbs, ...others.flatMap(({ verbs }) => verbs)] }] : [],
  )
}
