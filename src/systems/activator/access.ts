/** A rule of RBAC. */
export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

const read = ['get', 'list', 'watch'] as const

/** The least the activator needs where it looks after workloads: one namespace, or all. */
export const activatorRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['services'], verbs: read },
  { apiGroups: [''], resources: ['services/status'], verbs: ['patch'] },
  // Waiting pages, each by the name that a Service gives.
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets', 'replicasets'], verbs: [...read, 'patch'] },
  {
    apiGroups: ['apps'],
    resources: ['deployments/scale', 'statefulsets/scale', 'replicasets/scale'],
    verbs: ['get', 'patch'],
  },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: read },
  { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: read },
]

/** What it needs more to lead callers inside the cluster through the proxy, by Services of its own. */
export const companionRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['services'], verbs: ['create', 'patch', 'delete'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['create', 'patch', 'delete'] },
]

/** What it needs more to terminate TLS with certificates that Services name. */
export const certificateRules: readonly PolicyRule[] = [{ apiGroups: [''], resources: ['secrets'], verbs: read }]

/** What replicas need in our own namespace to find and to trust each other. */
export const fleetRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'list', 'create', 'update'] },
]
