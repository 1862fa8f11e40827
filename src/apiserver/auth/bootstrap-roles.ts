import type { KubeObject } from '../../kube/object.ts'
import policy from './bootstrap-roles.json' with { type: 'json' }
import type { PolicyRule } from './rbac-rules.ts'

/** The ClusterRole of the viewer's token: read access to everything except Secrets. */
export const viewerRole = 'sojourn:viewer'
/** The group whose members may read everything except Secrets. */
export const viewersGroup = 'sojourn:viewers'
/** The group of the controllers that run in the same process; bound to cluster-admin. */
export const controllersGroup = 'sojourn:controllers'

/** The ClusterRoles and ClusterRoleBindings every server has. Deleted ones are created again at the next start. */
export function bootstrapPolicy(): readonly KubeObject[] {
  return policy.items
}

/**
 * The viewer's rules, with these API groups of CRDs. RBAC has no deny rules, so "everything except Secrets" lists
 * every other resource of the core group, and every other group.
 */
export function viewerRules(customGroups: readonly string[]): readonly PolicyRule[] {
  const role = policy.items.find(({ kind, metadata }) => kind === 'ClusterRole' && metadata.name === viewerRole)
  const rules: readonly PolicyRule[] = role?.rules ?? []
  return rules.map((rule) =>
    rule.resources?.includes('*') ? { ...rule, apiGroups: [...(rule.apiGroups ?? []), ...customGroups] } : rule,
  )
}
