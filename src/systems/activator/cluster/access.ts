import { maxMembers, memberLease } from '../../../runtime/sharing/lease-membership.ts'
import { peersGroup, peersSecret } from '../replicas/peers.ts'

/** A rule of RBAC. */
export interface PolicyRule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** What a cache needs; nothing else is made of them. */
const follow = ['list', 'watch'] as const

/** The least the activator needs where it looks after workloads: one namespace, or all. */
export const activatorRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['services'], verbs: follow },
  { apiGroups: [''], resources: ['services/status'], verbs: ['patch'] },
  // Why a workload that was woken does not become ready.
  { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
  // Waiting pages, each by the name that a Service gives.
  { apiGroups: [''], resources: ['configmaps'], verbs: ['get'] },
  { apiGroups: ['apps'], resources: ['deployments', 'statefulsets', 'replicasets'], verbs: [...follow, 'patch'] },
  {
    apiGroups: ['apps'],
    resources: ['deployments/scale', 'statefulsets/scale', 'replicasets/scale'],
    verbs: ['get'],
  },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: follow },
  { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: follow },
  // Domains that are reserved for a Namespace, and its sleep rule.
  { apiGroups: [''], resources: ['namespaces'], verbs: follow },
  { apiGroups: ['sojourn.dev'], resources: ['workschedules', 'environments', 'environmentclasses'], verbs: follow },
  { apiGroups: ['kube-green.com'], resources: ['sleepinfos'], verbs: follow },
  // What sleeps by schedule beside the kinds above. Others that have a scale need a role of the administrator's.
  { apiGroups: ['batch'], resources: ['cronjobs'], verbs: [...follow, 'patch'] },
  { apiGroups: ['argoproj.io'], resources: ['rollouts'], verbs: [...follow, 'patch'] },
  { apiGroups: ['keda.sh'], resources: ['scaledobjects'], verbs: [...follow, 'patch'] },
  { apiGroups: ['postgresql.cnpg.io'], resources: ['clusters'], verbs: [...follow, 'patch'] },
]

/** What a process needs that only takes requests: the same, without any write. */
export const proxyRules: readonly PolicyRule[] = activatorRules.flatMap((rule) => {
  const verbs = rule.verbs.filter((verb) => verb !== 'patch')
  return verbs.length > 0 ? [{ ...rule, verbs }] : []
})

/** The ConfigMaps in Sojourn's namespace that hold who has claimed which domain. */
export const domainShards: readonly string[] = Array.from({ length: 8 }, (_, index) => `sojourn-domains-${index}`)

/** What it needs more to lead callers inside the cluster through the proxy, by Services of its own. */
export const companionRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['services'], verbs: ['create', 'patch', 'delete'] },
  { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: ['create', 'patch', 'delete'] },
]

/** What it needs more to take Services over that ask for it, beside what their companions need. */
export const takeoverRules: readonly PolicyRule[] = [
  ...companionRules,
  // Who put a selector back is told by fields that caches leave out.
  { apiGroups: [''], resources: ['services'], verbs: ['get'] },
  // What Kubernetes leaves in them when a selector goes would be mirrored for ever.
  { apiGroups: [''], resources: ['endpoints'], verbs: ['get', 'patch'] },
]

/** What it needs more to terminate TLS with certificates that Services name. */
export const certificateRules: readonly PolicyRule[] = [{ apiGroups: [''], resources: ['secrets'], verbs: follow }]

/** What proxies need in our own namespace: a Lease of their own, and not those of the processes that scale or delete. */
export const proxyFleetRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], resourceNames: [peersSecret], verbs: ['get'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: [...follow, 'create'] },
  {
    apiGroups: ['coordination.k8s.io'],
    resources: ['leases'],
    resourceNames: Array.from({ length: maxMembers }, (_, seat) => memberLease(peersGroup, seat)),
    verbs: ['get', 'update'],
  },
  { apiGroups: [''], resources: ['configmaps'], verbs: follow },
]

/** What replicas need in our own namespace to find and to trust each other. */
export const fleetRules: readonly PolicyRule[] = [
  { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'create'] },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', ...follow, 'create', 'update'] },
  { apiGroups: [''], resources: ['configmaps'], verbs: [...follow, 'create'] },
  { apiGroups: [''], resources: ['configmaps'], resourceNames: domainShards, verbs: ['update'] },
]
