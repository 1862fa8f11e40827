import { invalidValue, required, unsupported, type FieldError } from '../types/field-error.ts'
import { at, entries, given, named, oneOf, size, text, type Json } from './parts/checks.ts'
import { pathSegmentFaults, subdomainFaults } from '../../../kube/names.ts'
import { selectorFaults } from './parts/selectors.ts'

const group = 'rbac.authorization.k8s.io'

/** Faults of a Role. */
export function* roleFaults(object: Json): Generator<FieldError> {
  for (const [rule, path] of entries(object, 'rules', '')) yield* ruleFaults(rule, path, true)
}

/** Faults of a ClusterRole. */
export function* clusterRoleFaults(object: Json): Generator<FieldError> {
  for (const [rule, path] of entries(object, 'rules', '')) yield* ruleFaults(rule, path, false)
  const aggregation = given(object, 'aggregationRule')
  if (!aggregation) return
  if (size(aggregation.clusterRoleSelectors) === 0) {
    const detail = 'at least one clusterRoleSelector required if aggregationRule is non-nil'
    yield required('aggregationRule.clusterRoleSelectors', detail)
  }
  for (const [selector, path] of entries(aggregation, 'clusterRoleSelectors', 'aggregationRule'))
    yield* selectorFaults(path, selector)
}

/** Faults of a RoleBinding. */
export function* roleBindingFaults(object: Json): Generator<FieldError> {
  yield* bindingFaults(object, ['Role', 'ClusterRole'], true)
}

/** Faults of a ClusterRoleBinding. */
export function* clusterRoleBindingFaults(object: Json): Generator<FieldError> {
  yield* bindingFaults(object, ['ClusterRole'], false)
}

function* ruleFaults(rule: Json, path: string, isNamespaced: boolean): Generator<FieldError> {
  if (size(rule.verbs) === 0) yield required(`${path}.verbs`, 'verbs must contain at least one value')
  if (size(rule.nonResourceURLs) > 0) {
    const at = `${path}.nonResourceURLs`
    if (isNamespaced) yield invalidValue(at, rule.nonResourceURLs, 'namespaced rules cannot apply to non-resource URLs')
    if (size(rule.apiGroups) + size(rule.resources) + size(rule.resourceNames) > 0) {
      yield invalidValue(at, rule.nonResourceURLs, 'rules cannot apply to both regular resources and non-resource URLs')
    }
    return
  }
  if (size(rule.apiGroups) === 0)
    yield required(`${path}.apiGroups`, 'resource rules must supply at least one api group')
  if (size(rule.resources) === 0)
    yield required(`${path}.resources`, 'resource rules must supply at least one resource')
}

function* bindingFaults(object: Json, kinds: readonly string[], isNamespaced: boolean): Generator<FieldError> {
  const role = at(object, 'roleRef')
  if (role.apiGroup !== group) yield unsupported('roleRef.apiGroup', text(role.apiGroup), [group])
  if (!kinds.includes(text(role.kind))) yield unsupported('roleRef.kind', text(role.kind), kinds)
  yield* named('roleRef.name', role.name, pathSegmentFaults)
  for (const [subject, path] of entries(object, 'subjects', '')) yield* subjectFaults(subject, path, isNamespaced)
}

function* subjectFaults(subject: Json, path: string, isNamespaced: boolean): Generator<FieldError> {
  const apiGroup = text(subject.apiGroup)
  if (text(subject.name) === '') yield required(`${path}.name`)
  switch (subject.kind) {
    case 'ServiceAccount':
      if (text(subject.name)) yield* named(`${path}.name`, subject.name, subdomainFaults)
      if (apiGroup) yield unsupported(`${path}.apiGroup`, apiGroup, [''])
      if (!isNamespaced && !text(subject.namespace)) yield required(`${path}.namespace`)
      return
    case 'User':
    case 'Group':
      if (apiGroup !== group) yield unsupported(`${path}.apiGroup`, apiGroup, [group])
      return
    default:
      yield* oneOf(`${path}.kind`, subject.kind, ['ServiceAccount', 'User', 'Group'])
  }
}
