import { allow, onlyFor, type PolicyRule } from '../../../kube/basics/policy-rule.ts'
import { maxMembers, memberLease } from '../../../runtime/sharing/lease-membership.ts'
import { peersGroup, peersSecret } from '../replicas/peers.ts'

/** What a cache needs; nothing else is made of them. */
const follow = ['list', 'watch'] as const

/** The least the activator needs where it looks after workloads: one namespace, or all. */
export const activatorRules: readonly PolicyRule[] = [
  allow('', ['services'], follow),
  allow('', ['services/status'], ['patch']),
  // Why a workload that was woken does not become ready.
  allow('', ['pods'], ['list']),
  // Waiting pages, each by the name that a Service gives.
  allow('', ['configmaps'], ['get']),
  allow('apps', ['deployments', 'statefulsets', 'replicasets'], [...follow, 'patch']),
  allow('apps', ['deployments/scale', 'statefulsets/scale', 'replicasets/scale'], ['get']),
  allow('discovery.k8s.io', ['endpointslices'], follow),
  allow('autoscaling', ['horizontalpodautoscalers'], follow),
  // Domains that are reserved for a Namespace, and its sleep rule.
  allow('', ['namespaces'], follow),
  allow('sojourn.dev', ['workschedules', 'environments', 'environmentclasses'], follow),
  { apiGroups: ['kube-green.com'], resources: ['sleepinfos'], verbs: follow },
  // What sleeps by schedule beside the kinds above. Others that have a scale need a role of the administrator's.
  allow('batch', ['cronjobs'], [...follow, 'patch']),
  allow('argoproj.io', ['rollouts'], [...follow, 'patch']),
  allow('keda.sh', ['scaledobjects'], [...follow, 'patch']),
  allow('postgresql.cnpg.io', ['clusters'], [...follow, 'patch']),
]

/** What a process needs that only takes requests: the same, without any write, and without the scales, which it never changes. */
export const proxyRules: readonly PolicyRule[] = activatorRules.flatMap((rule) => {
  const verbs = rule.verbs.filter((verb) => verb !== 'patch')
  const isScale = rule.resources.some((resource) => resource.endsWith('/scale'))
  return verbs.length > 0 && !isScale ? [{ ...rule, verbs }] : []
})

/** The ConfigMaps in Sojourn's namespace that hold who has claimed which domain. */
export const domainShards: readonly string[] = Array.from({ length: 8 }, (_, index) => `sojourn-domains-${index}`)

/** What it needs more to lead callers inside the cluster through the proxy, by Services of its own. */
export const companionRules: readonly PolicyRule[] = [
  allow('', ['services'], ['create', 'patch', 'delete']),
  allow('discovery.k8s.io', ['endpointslices'], ['create', 'patch', 'delete']),
]

/** What it needs more to take Services over that ask for it, beside what their companions need. */
export const takeoverRules: readonly PolicyRule[] = [
  ...companionRules,
  // Who put a selector back is told by fields that caches leave out.
  allow('', ['services'], ['get']),
  // What Kubernetes leaves in them when a selector goes would be mirrored for ever.
  allow('', ['endpoints'], ['get', 'patch']),
]

/** What it needs more to terminate TLS with certificates that Services name. */
export const certificateRules: readonly PolicyRule[] = [allow('', ['secrets'], follow)]

/** What proxies need in our own namespace: a Lease of their own, and not those of the processes that scale or delete. */
export const proxyFleetRules: readonly PolicyRule[] = [
  onlyFor(allow('', ['secrets'], ['get']), [peersSecret]),
  allow('coordination.k8s.io', ['leases'], [...follow, 'create']),
  onlyFor(
    allow('coordination.k8s.io', ['leases'], ['get', 'update']),
    Array.from({ length: maxMembers }, (_, seat) => memberLease(peersGroup, seat)),
  ),
  allow('', ['configmaps'], follow),
]

/** What replicas need in our own namespace to find and to trust each other. */
export const fleetRules: readonly PolicyRule[] = [
  allow('', ['secrets'], ['get', 'create']),
  allow('coordination.k8s.io', ['leases'], ['get', ...follow, 'create', 'update']),
  allow('', ['configmaps'], [...follow, 'create']),
  onlyFor(allow('', ['configmaps'], ['update']), domainShards),
]
