import type { KubeObject } from '../../kube/object.ts'
import { allRules, type PolicyRule } from './rbac-rules.ts'
import type { Subject } from './rbac.ts'

const rbacGroup = 'rbac.authorization.k8s.io'
const apiVersion = `${rbacGroup}/v1`
const read = ['get', 'list', 'watch']
const write = ['create', 'delete', 'deletecollection', 'patch', 'update']

/** The ClusterRoles and ClusterRoleBindings every server has. Deleted ones are created again at the next start. */
export function bootstrapPolicy(): readonly KubeObject[] {
  return [...clusterRoles(), ...clusterRoleBindings()]
}

/** The ClusterRole of the viewer's token: read access to everything except Secrets. */
export const viewerRole = 'sojourn:viewer'

/**
 * The viewer's rules, with these API groups of CRDs. RBAC has no deny rules, so "everything except Secrets" lists
 * every other resource of the core group.
 */
export function viewerRules(customGroups: readonly string[]): readonly PolicyRule[] {
  return [
    { apiGroups: [''], resources: [...coreReadable, 'namespaces', 'nodes', 'persistentvolumes'], verbs: read },
    { apiGroups: [...builtinGroups, ...customGroups], resources: ['*'], verbs: read },
    { nonResourceURLs: ['*'], verbs: ['get'] },
  ]
}

/** The group whose members may read everything except Secrets. */
export const viewersGroup = 'sojourn:viewers'
/** The group of the controllers that run in the same process; bound to cluster-admin. */
export const controllersGroup = 'sojourn:controllers'

function clusterRoles(): KubeObject[] {
  return [
    clusterRole('cluster-admin', allRules),
    aggregatedRole('admin', 'admin'),
    aggregatedRole('edit', 'edit', 'admin'),
    aggregatedRole('view', 'view', 'edit'),
    clusterRole('system:aggregate-to-admin', adminRules, { [aggregateLabel('admin')]: 'true' }),
    clusterRole('system:aggregate-to-edit', editRules, { [aggregateLabel('edit')]: 'true' }),
    clusterRole('system:aggregate-to-view', viewRules, { [aggregateLabel('view')]: 'true' }),
    clusterRole('system:discovery', [{ nonResourceURLs: discoveryPaths, verbs: ['get'] }]),
    clusterRole('system:public-info-viewer', [
      { nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'], verbs: ['get'] },
    ]),
    clusterRole('system:basic-user', [
      {
        apiGroups: ['authorization.k8s.io'],
        resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
        verbs: ['create'],
      },
      { apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'], verbs: ['create'] },
    ]),
    clusterRole('system:auth-delegator', [
      { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
      { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
    ]),
    clusterRole('system:monitoring', [
      {
        nonResourceURLs: ['/metrics', '/healthz', '/healthz/*', '/livez', '/livez/*', '/readyz', '/readyz/*'],
        verbs: ['get'],
      },
    ]),
    clusterRole(viewerRole, viewerRules([])),
  ]
}

function clusterRoleBindings(): KubeObject[] {
  const authenticated = group('system:authenticated')
  return [
    clusterRoleBinding('cluster-admin', 'cluster-admin', [group('system:masters')]),
    clusterRoleBinding('system:discovery', 'system:discovery', [authenticated]),
    clusterRoleBinding('system:basic-user', 'system:basic-user', [authenticated]),
    clusterRoleBinding('system:public-info-viewer', 'system:public-info-viewer', [
      authenticated,
      group('system:unauthenticated'),
    ]),
    clusterRoleBinding('system:monitoring', 'system:monitoring', [group('system:monitoring')]),
    clusterRoleBinding(viewerRole, viewerRole, [group(viewersGroup)]),
    clusterRoleBinding(controllersGroup, 'cluster-admin', [group(controllersGroup)]),
  ]
}

const discoveryPaths = [
  '/api',
  '/api/*',
  '/apis',
  '/apis/*',
  '/healthz',
  '/livez',
  '/openapi',
  '/openapi/*',
  '/readyz',
  '/version',
  '/version/',
]

const coreReadable = [
  'bindings',
  'configmaps',
  'endpoints',
  'events',
  'limitranges',
  'namespaces/status',
  'persistentvolumeclaims',
  'persistentvolumeclaims/status',
  'pods',
  'pods/log',
  'pods/status',
  'podtemplates',
  'replicationcontrollers',
  'replicationcontrollers/scale',
  'replicationcontrollers/status',
  'resourcequotas',
  'resourcequotas/status',
  'serviceaccounts',
  'services',
  'services/status',
]

const workloads = [
  'controllerrevisions',
  'daemonsets',
  'daemonsets/status',
  'deployments',
  'deployments/scale',
  'deployments/status',
  'replicasets',
  'replicasets/scale',
  'replicasets/status',
  'statefulsets',
  'statefulsets/scale',
  'statefulsets/status',
]

const jobs = ['cronjobs', 'cronjobs/status', 'jobs', 'jobs/status']

const builtinGroups = [
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apps',
  'autoscaling',
  'batch',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'networking.k8s.io',
  'policy',
  rbacGroup,
  'scheduling.k8s.io',
  'storage.k8s.io',
]

const viewRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: [...coreReadable, 'namespaces'], verbs: read },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: read },
  { apiGroups: ['apps'], resources: workloads, verbs: read },
  {
    apiGroups: ['autoscaling'],
    resources: ['horizontalpodautoscalers', 'horizontalpodautoscalers/status'],
    verbs: read,
  },
  { apiGroups: ['batch'], resources: jobs, verbs: read },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets', 'poddisruptionbudgets/status'], verbs: read },
  { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'ingresses/status', 'networkpolicies'], verbs: read },
]

const editRules: readonly PolicyRule[] = [
  {
    apiGroups: [''],
    resources: ['pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'secrets', 'services/proxy'],
    verbs: read,
  },
  { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] },
  { apiGroups: [''], resources: ['pods', 'pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy'], verbs: write },
  { apiGroups: [''], resources: ['pods/eviction', 'serviceaccounts/token'], verbs: ['create'] },
  {
    apiGroups: [''],
    resources: [
      'configmaps',
      'events',
      'persistentvolumeclaims',
      'replicationcontrollers',
      'replicationcontrollers/scale',
      'secrets',
      'serviceaccounts',
      'services',
      'services/proxy',
    ],
    verbs: write,
  },
  {
    apiGroups: ['apps'],
    resources: [...workloads.filter((name) => !/revisions|\/status/.test(name)), 'deployments/rollback'],
    verbs: write,
  },
  { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: write },
  { apiGroups: ['batch'], resources: ['cronjobs', 'jobs'], verbs: write },
  { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: write },
  { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'networkpolicies'], verbs: write },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: [...read, ...write] },
]

const adminRules: readonly PolicyRule[] = [
  { apiGroups: ['authorization.k8s.io'], resources: ['localsubjectaccessreviews'], verbs: ['create'] },
  { apiGroups: [rbacGroup], resources: ['rolebindings', 'roles'], verbs: [...read, ...write] },
]

function clusterRole(name: string, rules: readonly PolicyRule[], labels: Record<string, string> = {}): KubeObject {
  return { apiVersion, kind: 'ClusterRole', metadata: metadata(name, labels), rules }
}

/** A ClusterRole that aggregates the roles labelled for it, and may itself be aggregated `into` another. */
function aggregatedRole(name: string, gathers: string, into?: string): KubeObject {
  return {
    apiVersion,
    kind: 'ClusterRole',
    metadata: metadata(name, into ? { [aggregateLabel(into)]: 'true' } : {}),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [aggregateLabel(gathers)]: 'true' } }] },
    rules: [],
  }
}

function clusterRoleBinding(name: string, role: string, subjects: readonly Subject[]): KubeObject {
  return {
    apiVersion,
    kind: 'ClusterRoleBinding',
    metadata: metadata(name),
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name: role },
    subjects: subjects.map((subject) => ({ apiGroup: rbacGroup, ...subject })),
  }
}

function metadata(name: string, labels: Record<string, string> = {}): KubeObject['metadata'] {
  return {
    name,
    labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
    annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
  }
}

function aggregateLabel(role: string): string {
  return `rbac.authorization.k8s.io/aggregate-to-${role}`
}

function group(name: string): Subject {
  return { kind: 'Group', name }
}
