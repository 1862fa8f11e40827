import { sojournGroup, sojournNamespace } from '../apis/group.ts'
import type { KubeObject } from '../kube/object.ts'
import type { Role } from './config.ts'

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

const read = ['get', 'list', 'watch']
const write = [...read, 'create', 'update', 'patch']

/** What everything that runs needs: records, protections, switches, Events, Leases. */
const common: readonly Rule[] = [
  { apiGroups: [sojournGroup.group], resources: ['departures'], verbs: [...write, 'delete'] },
  { apiGroups: [sojournGroup.group], resources: ['departures/status'], verbs: ['get', 'update', 'patch'] },
  { apiGroups: [sojournGroup.group], resources: ['cleanupoptouts', 'bonds', 'workschedules'], verbs: read },
  { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch', 'update'] },
]

/** What each role needs beyond that. Deleting users' objects is granted by kind, where an administrator wants it: see docs/guide/security.md. */
const byRole: Readonly<Partial<Record<Role, readonly Rule[]>>> = {
  cleaner: [
    { apiGroups: ['cleaner.vtex.dev'], resources: ['cleaners'], verbs: [...read, 'update', 'patch', 'delete'] },
    {
      apiGroups: ['cleaner.vtex.dev'],
      resources: ['cleaners/status', 'cleaners/finalizers'],
      verbs: ['get', 'update', 'patch'],
    },
    { apiGroups: ['cleaner.vtex.io'], resources: ['conditionalttls'], verbs: [...read, 'update', 'patch', 'delete'] },
    {
      apiGroups: ['cleaner.vtex.io'],
      resources: ['conditionalttls/status', 'conditionalttls/finalizers'],
      verbs: ['get', 'update', 'patch'],
    },
    { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: read },
  ],
  collector: [
    { apiGroups: [sojournGroup.group], resources: ['bonds'], verbs: [...read, 'update', 'patch'] },
    { apiGroups: [sojournGroup.group], resources: ['bonds/status'], verbs: ['get', 'update', 'patch'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ],
  janitor: [
    {
      apiGroups: [sojournGroup.group],
      resources: ['cleanuppolicies', 'notificationchannels', 'provideraccounts'],
      verbs: read,
    },
    { apiGroups: [sojournGroup.group], resources: ['cleanupcandidates', 'usageledgers'], verbs: [...write, 'delete'] },
    { apiGroups: [sojournGroup.group], resources: ['cleanupoptouts'], verbs: write },
    {
      apiGroups: [sojournGroup.group],
      resources: ['cleanuppolicies/status', 'cleanupcandidates/status', 'cleanupoptouts/status', 'usageledgers/status'],
      verbs: ['get', 'update', 'patch'],
    },
  ],
  promoter: [
    { apiGroups: ['pipelines.weave.works'], resources: ['pipelines'], verbs: [...read, 'update', 'patch'] },
    {
      apiGroups: ['pipelines.weave.works'],
      resources: ['pipelines/status', 'pipelines/finalizers'],
      verbs: ['get', 'update', 'patch'],
    },
    { apiGroups: ['gitops.weave.works'], resources: ['gitopsclusters'], verbs: read },
    { apiGroups: ['kustomize.toolkit.fluxcd.io'], resources: ['kustomizations'], verbs: read },
    { apiGroups: ['helm.toolkit.fluxcd.io'], resources: ['helmreleases'], verbs: read },
    { apiGroups: ['infra.contrib.fluxcd.io'], resources: ['terraforms'], verbs: read },
    { apiGroups: ['argoproj.io'], resources: ['applications'], verbs: read },
    { apiGroups: [''], resources: ['secrets'], verbs: ['get'] },
  ],
  activator: [
    { apiGroups: [''], resources: ['services'], verbs: [...write, 'delete'] },
    { apiGroups: ['apps'], resources: ['deployments', 'statefulsets'], verbs: [...read, 'patch'] },
    { apiGroups: ['apps'], resources: ['deployments/scale', 'statefulsets/scale'], verbs: ['get', 'update', 'patch'] },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: [...write, 'delete'] },
  ],
}

/** The least that these roles need, as manifests. */
export function rbacFor(roles: readonly Role[]): readonly KubeObject[] {
  const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }
  const subjects = [{ kind: 'ServiceAccount', name: 'sojourn', namespace: sojournNamespace }]
  const rules = [...common, ...roles.flatMap((role) => byRole[role] ?? [])]
  const namespaced: readonly Rule[] = [
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: [...write, 'delete'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: write },
  ]
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sojourn', namespace: sojournNamespace, labels } },
    { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'sojourn', labels }, rules },
    // What may be looked at and deleted is the administrator's choice: roles with this label add to it.
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'sojourn-targets', labels },
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { 'sojourn.dev/aggregate-to-targets': 'true' } }] },
      rules: [],
    },
    ...['sojourn', 'sojourn-targets'].map((name) => ({
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name, labels },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects,
    })),
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'Role',
      metadata: { name: 'sojourn', namespace: sojournNamespace, labels },
      rules: namespaced,
    },
    {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'sojourn', namespace: sojournNamespace, labels },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'sojourn' },
      subjects,
    },
  ]
}
