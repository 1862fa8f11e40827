import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { matches, requirementsOf, type LabelSelector } from '../../kube/selector.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { PolicyRule } from '../auth/rbac-rules.ts'
import { asSystem, builtin, runController, type LifecycleController, type LifecyclePorts } from './ports.ts'

const group = 'rbac.authorization.k8s.io'
const resource = `clusterroles.${group}`

/** The rules of all roles that an aggregated role selects, ordered by role name, without duplicates. */
export function aggregatedRules(role: KubeObject, roles: readonly KubeObject[]): readonly PolicyRule[] {
  const selectors = (role['aggregationRule'] as { clusterRoleSelectors?: readonly LabelSelector[] })
    .clusterRoleSelectors
  const wanted = (selectors ?? []).map(requirementsOf)
  const rules: PolicyRule[] = []
  for (const candidate of roles.toSorted((left, right) =>
    (left.metadata.name ?? '') < (right.metadata.name ?? '') ? -1 : 1,
  )) {
    if (candidate.metadata.name === role.metadata.name) continue
    if (!wanted.some((requirements) => matches(requirements, candidate.metadata.labels))) continue
    for (const rule of (candidate['rules'] ?? []) as readonly PolicyRule[]) {
      if (!rules.some((known) => deepEqual(known, rule))) rules.push(rule)
    }
  }
  return rules
}

/** Keeps the rules of ClusterRoles with an aggregationRule up to date. */
export function roleAggregationController(ports: LifecyclePorts): LifecycleController {
  const { store, objects, kinds } = ports
  return runController(ports, 'role-aggregation', {
    follow: (add) => {
      add('all')
      return store.subscribe((events) => events.some((event) => event.resource === resource) && add('all'))
    },
    reconcile: async () => {
      const roles = store
        .scan({ resource, limit: Number.MAX_SAFE_INTEGER })
        .map(({ document }): StoredObject => document.object)
      for (const role of roles) {
        if (!role['aggregationRule'] || role.metadata.deletionTimestamp) continue
        const rules = aggregatedRules(role, roles)
        if (deepEqual(role['rules'] ?? [], rules)) continue
        await objects
          .update({
            type: builtin(kinds, group, 'clusterroles'),
            name: role.metadata.name,
            ...asSystem,
            fieldManager: 'clusterrole-aggregation-controller',
            body: { ...role, rules },
          })
          // A concurrent write won; its event triggers another reconcile.
          .catch(ignoring('Conflict', 'NotFound'))
      }
    },
  })
}
