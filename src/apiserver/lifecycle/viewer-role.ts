import { deepEqual } from '../../kube/patches/patch.ts'
import { ignoring } from '../../kube/status-error.ts'
import { viewerRole, viewerRules } from '../auth/bootstrap-roles.ts'
import type { Kinds } from '../kinds/kinds.ts'
import { asSystem, builtin, runController, type LifecycleController, type LifecyclePorts } from './ports.ts'

const group = 'rbac.authorization.k8s.io'

/** Keeps the viewer's ClusterRole in step with the API groups of CRDs. */
export function viewerRoleController(ports: LifecyclePorts): LifecycleController {
  const { store, objects, kinds } = ports
  return runController(ports, 'viewer-role', {
    follow: (add) => {
      add(viewerRole)
      return kinds.subscribe(() => add(viewerRole))
    },
    reconcile: async () => {
      const type = builtin(kinds, group, 'clusterroles')
      const role = store.get({ resource: type.resource, namespace: '', name: viewerRole })?.document.object
      // A deleted role stays deleted until the next start, so that an administrator can remove it.
      if (!role || role.metadata.deletionTimestamp) return
      const rules = viewerRules(customGroups(kinds))
      if (deepEqual(role['rules'], rules)) return
      await objects
        .update({ type, name: viewerRole, ...asSystem, body: { ...role, rules } })
        .catch(ignoring('Conflict', 'NotFound'))
    },
  })
}

/** Groups with custom kinds only: a CRD in a built-in group must not widen the viewer's access to that group. */
function customGroups(kinds: Kinds): readonly string[] {
  const all = kinds.all()
  const builtins = new Set(all.filter(({ custom }) => !custom).map((kind) => kind.group))
  const groups = all.filter(({ custom, group: name }) => custom && !builtins.has(name)).map((kind) => kind.group)
  return [...new Set(groups)].toSorted()
}
