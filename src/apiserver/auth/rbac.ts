import { isResourceAccess, type Access } from './access.ts'
import { allRules, ruleAllows, type PolicyRule } from './rbac-rules.ts'
import { mastersGroup, parseServiceAccountUser, type User } from './user.ts'

/** A user, group or ServiceAccount that a binding names. */
export interface Subject {
  readonly kind: string
  readonly name: string
  readonly namespace?: string
}

/** A RoleBinding or ClusterRoleBinding. */
export interface Binding {
  readonly name: string
  /** '' for a ClusterRoleBinding. */
  readonly namespace: string
  readonly roleRef: { readonly kind: string; readonly name: string }
  readonly subjects: readonly Subject[]
}

/** The roles and bindings that authorization reads. */
export interface RoleSource {
  clusterRoleBindings(): Iterable<Binding>
  roleBindings(namespace: string): Iterable<Binding>
  /** The rules of a ClusterRole (namespace '') or Role; undefined when it does not exist. */
  rules(namespace: string, name: string): readonly PolicyRule[] | undefined
}

/** Whether an access is allowed. */
export interface Verdict {
  readonly allowed: boolean
  /** The binding that allows it, or the roles that bindings name and that do not exist. */
  readonly reason: string
}

/** Evaluates RBAC: whether any rule of any role bound to the user allows the access. */
export function authorize(source: RoleSource, user: User, access: Access): Verdict {
  if (user.groups.includes(mastersGroup)) return { allowed: true, reason: '' }
  const missing: string[] = []
  const seen = new Set<readonly PolicyRule[]>()
  for (const { binding, rules, subject } of rulesFor(
    source,
    user,
    isResourceAccess(access) ? access.namespace : '',
    missing,
  )) {
    // Many bindings may name one role.
    if (seen.has(rules)) continue
    seen.add(rules)
    if (rules.some((rule) => ruleAllows(rule, access))) return { allowed: true, reason: describe(binding, subject) }
  }
  return { allowed: false, reason: missing.length > 0 ? `RBAC: ${formatErrors(missing)}` : '' }
}

/** Every rule that applies to the user in a namespace; '' means the cluster scope only. */
export function rulesOf(source: RoleSource, user: User, namespace: string): readonly PolicyRule[] {
  if (user.groups.includes(mastersGroup)) return allRules
  const roles = new Set([...rulesFor(source, user, namespace, [])].map(({ rules }) => rules))
  return [...roles].flat()
}

/** The first of a binding's subjects that matches the user. */
export function subjectOf(user: User, { subjects, namespace }: Binding): Subject | undefined {
  return subjects.find((subject) => isSubject(user, subject, namespace))
}

/** Yields the bindings that apply to the user, with their rules. Names of missing roles are added to `missing`. */
function* rulesFor(source: RoleSource, user: User, namespace: string, missing: string[]) {
  for (const binding of source.clusterRoleBindings()) {
    const found = rulesOfBinding(source, user, binding, missing)
    if (found) yield found
  }
  if (namespace === '') return
  for (const binding of source.roleBindings(namespace)) {
    const found = rulesOfBinding(source, user, binding, missing)
    if (found) yield found
  }
}

function rulesOfBinding(source: RoleSource, user: User, binding: Binding, missing: string[]) {
  const subject = subjectOf(user, binding)
  if (!subject) return undefined
  const { kind, name } = binding.roleRef
  const rules = source.rules(kind === 'Role' ? binding.namespace : '', name)
  if (rules) return { binding, subject, rules }
  missing.push(`${kind.toLowerCase()}.rbac.authorization.k8s.io ${JSON.stringify(name)} not found`)
  return undefined
}

function isSubject(user: User, { kind, name, namespace }: Subject, bindingNamespace: string): boolean {
  switch (kind) {
    case 'User':
      return user.name === name
    case 'Group':
      return user.groups.includes(name)
    case 'ServiceAccount': {
      const account = parseServiceAccountUser(user.name)
      return account !== undefined && account.name === name && account.namespace === (namespace ?? bindingNamespace)
    }
    default:
      return false
  }
}

function describe({ name, namespace, roleRef }: Binding, subject: Subject): string {
  const of = namespace ? `RoleBinding "${name}/${namespace}"` : `ClusterRoleBinding "${name}"`
  const who =
    subject.kind === 'ServiceAccount' ? `"${subject.name}/${subject.namespace ?? namespace}"` : `"${subject.name}"`
  return `RBAC: allowed by ${of} of ${roleRef.kind} "${roleRef.name}" to ${subject.kind} ${who}`
}

function formatErrors(errors: readonly string[]): string {
  return errors.length === 1 ? (errors[0] ?? '') : `[${errors.join(', ')}]`
}
