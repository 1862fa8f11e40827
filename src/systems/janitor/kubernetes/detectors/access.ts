import type { StoredObject } from '../../../../kube/object.ts'
import { matches, requirementsOf, type LabelSelector } from '../../../../kube/selector.ts'
import {
  kindAndName,
  unlessCustomUse,
  namespacedName,
  type Detector,
  type ClusterView,
} from '../references/detector.ts'
import { unused, used } from '../../model/resource.ts'
import { podSourceKinds, podSources } from '../references/pod-specs.ts'

interface Binding extends StoredObject {
  readonly roleRef?: { readonly kind?: string; readonly name?: string }
  readonly subjects?: readonly { readonly kind?: string; readonly name?: string; readonly namespace?: string }[]
}

/** Bindings: dangling when their role, or every ServiceAccount they name, does not exist. */
export const bindingDetector: Detector = {
  kinds: ['RoleBinding.rbac.authorization.k8s.io', 'ClusterRoleBinding.rbac.authorization.k8s.io'],
  needs: ['roles', 'clusterroles', 'serviceaccounts'],
  prepare(cluster) {
    const roles = new Set([
      ...cluster.list('roles').map(({ metadata }) => `Role:${namespacedName(metadata.namespace, metadata.name)}`),
      ...cluster.list('clusterroles').map(({ metadata }) => `ClusterRole:${namespacedName('', metadata.name)}`),
    ])
    const accounts = new Set(
      cluster.list('serviceaccounts').map(({ metadata }) => namespacedName(metadata.namespace, metadata.name)),
    )
    return (object) => {
      const { metadata, roleRef, subjects = [] } = object as Binding
      if (isBuiltIn(object)) return used('the cluster itself')
      const { kind = '', name = '' } = roleRef ?? {}
      if (!roles.has(`${kind}:${namespacedName(kind === 'Role' ? metadata.namespace : '', name)}`))
        return unused(`${kind} ${name} does not exist`)
      const living = subjects.find(
        (subject) =>
          subject.kind !== 'ServiceAccount' ||
          accounts.has(namespacedName(subject.namespace ?? metadata.namespace, subject.name ?? '')),
      )
      return living ? used(`${living.kind} ${living.name}`) : unused('none of its subjects exists')
    }
  },
}

/** Roles: unused when no binding names them and they are part of no other role. */
export const roleDetector: Detector = {
  kinds: ['Role.rbac.authorization.k8s.io', 'ClusterRole.rbac.authorization.k8s.io'],
  needs: ['rolebindings', 'clusterrolebindings', 'clusterroles'],
  prepare(cluster) {
    const partOf = aggregationsIn(cluster)
    const bound = new Map<string, string>()
    for (const binding of bindingsIn(cluster)) {
      const { kind, name = '' } = binding.roleRef ?? {}
      bound.set(
        `${kind}:${namespacedName(kind === 'Role' ? binding.metadata.namespace : '', name)}`,
        kindAndName(binding),
      )
    }
    return (object) => {
      const { kind, metadata } = object
      if (isBuiltIn(object)) return used('the cluster itself')
      if (Object.keys(metadata.labels ?? {}).some((label) => label.includes('/aggregate-to-')))
        return used('another role')
      const by = bound.get(`${kind}:${namespacedName(metadata.namespace, metadata.name)}`) ?? partOf(object)
      return by ? used(by) : unlessCustomUse(cluster.customUse(metadata.name), 'no binding names it')
    }
  },
}

/** The role that takes in the rules of another, by its labels. */
function aggregationsIn(cluster: ClusterView): (role: StoredObject) => string | undefined {
  const selections = cluster.list('clusterroles').flatMap((role) => {
    const { aggregationRule } = role as { aggregationRule?: { clusterRoleSelectors?: readonly LabelSelector[] } }
    return (aggregationRule?.clusterRoleSelectors ?? []).map((selector) => ({
      by: kindAndName(role),
      requirements: requirementsOf(selector),
    }))
  })
  return ({ kind, metadata }) =>
    kind === 'ClusterRole'
      ? selections.find(({ requirements }) => matches(requirements, metadata.labels))?.by
      : undefined
}

/** ServiceAccounts: unused when no pod or template runs as them and no binding names them. */
export const serviceAccountDetector: Detector = {
  kinds: ['ServiceAccount'],
  needs: [...podSourceKinds, 'rolebindings', 'clusterrolebindings'],
  prepare(cluster) {
    const accounts = new Map<string, string>()
    for (const { owner, namespace, spec } of podSources(cluster)) {
      const name = spec.serviceAccountName ?? spec.serviceAccount
      if (name) accounts.set(namespacedName(namespace, name), kindAndName(owner))
    }
    const groups = new Map<string, string>()
    for (const binding of bindingsIn(cluster))
      for (const { kind, name = '', namespace } of binding.subjects ?? []) {
        // Accounts go by other names, too: `system:serviceaccount:NAMESPACE:NAME`, `system:serviceaccounts:NAMESPACE`.
        const [, , itsNamespace = '', itsName = ''] = name.split(':')
        if (kind === 'ServiceAccount')
          accounts.set(namespacedName(namespace ?? binding.metadata.namespace, name), kindAndName(binding))
        else if (name.startsWith('system:serviceaccount:'))
          accounts.set(namespacedName(itsNamespace, itsName), kindAndName(binding))
        else if (name.startsWith('system:serviceaccounts:')) groups.set(itsNamespace, kindAndName(binding))
      }
    return (object) => {
      const { name, namespace } = object.metadata
      if (name === 'default') return used('every pod that names none')
      const by = accounts.get(namespacedName(namespace, name)) ?? groups.get(namespace ?? '')
      return by ? used(by) : cluster.customUse(name)
    }
  },
}

function bindingsIn(cluster: ClusterView): readonly Binding[] {
  return [...cluster.list('rolebindings'), ...cluster.list('clusterrolebindings')] as readonly Binding[]
}

function isBuiltIn({ metadata }: StoredObject): boolean {
  return metadata.labels?.['kubernetes.io/bootstrapping'] !== undefined || metadata.name.startsWith('system:')
}
