/** A rule of RBAC. */
export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

const read = ['get', 'list', 'watch'] as const

/** The least the activator needs: in a Role where it looks after one namespace, in a ClusterRole otherwise. */
export function activatorRules({
  companions = true,
  tls = false,
}: { readonly companions?: boolean; readonly tls?: boolean } = {}): PolicyRule[] {
  const make = companions ? ['create', 'patch', 'delete'] : []
  return [
    { apiGroups: [''], resources: ['services'], verbs: [...read, ...make] },
    { apiGroups: [''], resources: ['services/status'], verbs: ['patch'] },
    { apiGroups: ['apps'], resources: ['deployments', 'statefulsets', 'replicasets'], verbs: [...read, 'patch'] },
    {
      apiGroups: ['apps'],
      resources: ['deployments/scale', 'statefulsets/scale', 'replicasets/scale'],
      verbs: ['get', 'patch'],
    },
    { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: [...read, ...make] },
    { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: [...read] },
    { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    ...(tls ? [{ apiGroups: [''], resources: ['secrets'], verbs: [...read] }] : []),
  ]
}
