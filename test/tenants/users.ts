import { sojournGroup } from '../../src/apis/group.ts'
import type { KubeObject } from '../../src/kube/object.ts'

/**
 * The users of every tenant world. `tenant` has the ClusterRole edit and all rights on Sojourn's kinds in namespace a, `neighbour` the
 * same in b; `cleanerAuthor` may only write Cleaners and ConditionalTTLs in a; `viewer` reads everything but Secrets;
 * `administrator` may do everything.
 */
export type UserName = 'tenant' | 'neighbour' | 'cleanerAuthor' | 'viewer' | 'administrator'

const rbac = 'rbac.authorization.k8s.io'
const everything = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection']
/** The API groups of Sojourn's kinds. */
const groups = [
  sojournGroup.group,
  'cleaner.vtex.dev',
  'cleaner.vtex.io',
  'pipelines.weave.works',
  'gitops.weave.works',
]

/** The namespaces of tenants and what each user may do there. */
export function tenantManifests(): readonly KubeObject[] {
  return [
    ...['a', 'b'].map((name) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })),
    clusterRole('tenant-kinds', [{ apiGroups: groups, resources: ['*'], verbs: everything }]),
    clusterRole('cleaner-author', [
      { apiGroups: ['cleaner.vtex.dev', 'cleaner.vtex.io'], resources: ['*'], verbs: everything },
    ]),
    clusterRole('all-kinds-viewer', [{ apiGroups: groups, resources: ['*'], verbs: ['get', 'list', 'watch'] }]),
    roleBinding('a', 'edit', 'tenant'),
    roleBinding('a', 'tenant-kinds', 'tenant'),
    roleBinding('a', 'cleaner-author', 'cleanerAuthor'),
    roleBinding('b', 'edit', 'neighbour'),
    roleBinding('b', 'tenant-kinds', 'neighbour'),
    ...['view', 'all-kinds-viewer'].map((role) => clusterRoleBinding(role, 'viewer')),
    clusterRoleBinding('cluster-admin', 'administrator'),
  ]
}

function clusterRole(name: string, rules: readonly object[]): KubeObject {
  return { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name }, rules }
}

function roleBinding(namespace: string, role: string, user: UserName): KubeObject {
  return {
    apiVersion: `${rbac}/v1`,
    kind: 'RoleBinding',
    metadata: { namespace, name: `${user.toLowerCase()}-${role}` },
    ...binding(role, user),
  }
}

function clusterRoleBinding(role: string, user: UserName): KubeObject {
  return {
    apiVersion: `${rbac}/v1`,
    kind: 'ClusterRoleBinding',
    metadata: { name: `${user}-${role}` },
    ...binding(role, user),
  }
}

function binding(role: string, user: UserName) {
  return {
    roleRef: { apiGroup: rbac, kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: rbac, kind: 'User', name: user }],
  }
}
