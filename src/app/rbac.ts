import { allKinds } from '../apis/all-kinds.ts'
import { sojournGroup, sojournNamespace } from '../apis/group.ts'
import type { KubeObject } from '../kube/object.ts'
import { activatorRules } from '../systems/activator/access.ts'
import { wellKnown } from '../systems/janitor/kubernetes/well-known.ts'
import type { Role } from './config.ts'
import { certificateSecret, webhookName } from './webhook-configuration.ts'

/** A rule of RBAC. */
export interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  /** Only these objects. */
  readonly resourceNames?: readonly string[]
  readonly verbs: readonly string[]
}

/** The roles that run in somebody else's cluster, each under an account of its own. */
export const clusterRoles = ['cleaner', 'collector', 'janitor', 'promoter', 'activator'] as const
export type ClusterRole = (typeof clusterRoles)[number]

/** What one role may do, by where it may do it. */
export interface RoleAccess {
  /** In every namespace. */
  readonly cluster: readonly Rule[]
  /** In our own namespace. */
  readonly own: readonly Rule[]
  /** Where users keep credentials for it: every namespace, unless an administrator names some. */
  readonly credentials: readonly Rule[]
  /** Whether users' objects leave through it, so that roles for targets are meant for it too. */
  readonly removes: boolean
}

const read = ['get', 'list', 'watch']
const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }
const rbac = 'rbac.authorization.k8s.io'

/** Makes a role's rules part of what the systems that delete may do. */
export const targetsLabel = 'sojourn.dev/aggregate-to-targets'

/** The least that a role needs. What it may delete is not in it: see docs/guide/security.md. */
export function accessOf(role: ClusterRole): RoleAccess {
  const { cluster, own = [], credentials = [], removes = true } = byRole[role]
  return { cluster: [...common.cluster, ...cluster], own: [...common.own, ...own], credentials, removes }
}

/** What everything that runs needs: records, protections, switches, Events, who asks, whose turn it is. */
const common = {
  cluster: [
    ours(['departures'], [...read, 'create', 'update', 'patch', 'delete']),
    ours(['departures/status'], ['patch']),
    ours(['cleanupoptouts', 'bonds', 'workschedules'], read),
    core(['events'], ['create', 'patch']),
    { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
  ],
  own: [
    core(['configmaps'], [...read, 'create', 'patch']),
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] },
  ],
}

const definitions: Rule = {
  apiGroups: ['apiextensions.k8s.io'],
  resources: ['customresourcedefinitions'],
  verbs: read,
}
const clusters: Rule = { apiGroups: ['gitops.weave.works'], resources: ['gitopsclusters'], verbs: read }

const byRole: Readonly<Record<ClusterRole, Pick<RoleAccess, 'cluster'> & Partial<RoleAccess>>> = {
  cleaner: {
    cluster: [
      { apiGroups: ['cleaner.vtex.dev'], resources: ['cleaners'], verbs: [...read, 'patch', 'delete'] },
      { apiGroups: ['cleaner.vtex.dev'], resources: ['cleaners/status'], verbs: ['update'] },
      { apiGroups: ['cleaner.vtex.io'], resources: ['conditionalttls'], verbs: [...read, 'patch', 'delete'] },
      { apiGroups: ['cleaner.vtex.io'], resources: ['conditionalttls/status'], verbs: ['update'] },
      definitions,
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['validatingwebhookconfigurations'],
        resourceNames: [webhookName],
        verbs: ['get', 'update'],
      },
    ],
    own: [{ ...core(['secrets'], ['get', 'update']), resourceNames: [certificateSecret] }],
  },
  collector: {
    cluster: [
      // Bonds it makes itself stand for depends-on annotations; its finalizer keeps one until those it speaks for are gone.
      ours(['bonds'], ['create', 'patch', 'delete']),
      ours(['bonds/status'], ['update']),
      // A namespace with something in it that a Bond guards is marked, too.
      core(['namespaces'], [...read, 'patch']),
      definitions,
      clusters,
    ],
  },
  janitor: {
    cluster: [
      ours(['cleanuppolicies'], ['patch']),
      ours(['cleanupcandidates'], ['create', 'delete']),
      ours(['usageledgers'], ['create', 'update', 'delete']),
      ours(['cleanupoptouts'], ['create', 'patch']),
      ours(['cleanuppolicies/status', 'cleanupcandidates/status'], ['update']),
      ours(['cleanupoptouts/status'], ['update', 'patch']),
      ...usersOfThings(),
    ],
    own: [core(['secrets'], ['get', 'create'])],
  },
  promoter: {
    cluster: [
      { apiGroups: ['pipelines.weave.works'], resources: ['pipelines'], verbs: [...read, 'patch'] },
      { apiGroups: ['pipelines.weave.works'], resources: ['pipelines/status'], verbs: ['update'] },
      // Signed approvals are recorded in the name of who signed.
      ours(['approvals'], [...read, 'create']),
      ours(['approvals/status'], ['update']),
      { apiGroups: ['kustomize.toolkit.fluxcd.io'], resources: ['kustomizations'], verbs: read },
      { apiGroups: ['helm.toolkit.fluxcd.io'], resources: ['helmreleases'], verbs: read },
      { apiGroups: ['infra.contrib.fluxcd.io'], resources: ['terraforms'], verbs: read },
      { apiGroups: ['argoproj.io'], resources: ['applications'], verbs: read },
      core(['namespaces'], ['get']),
      clusters,
    ],
    credentials: [core(['secrets'], read)],
    removes: false,
  },
  activator: {
    cluster: activatorRules({ companions: false }).filter(({ resources }) => !resources.includes('events')),
    removes: false,
  },
}

/** Everything detectors look at to see who uses what, our own kinds included; without it everything counts as in use. */
function usersOfThings(): readonly Rule[] {
  const groups = Map.groupBy([...Object.values(wellKnown), ...allKinds], ({ group }) => group)
  return [...groups].map(([group, types]) => ({
    apiGroups: [group],
    resources: types.map(({ plural }) => plural).toSorted(),
    verbs: read,
  }))
}

/** Accounts and the least that these roles need, as manifests. */
export function rbacFor(roles: readonly Role[]): readonly KubeObject[] {
  return clusterRoles.filter((role) => roles.includes(role)).flatMap(roleManifests)
}

/** What a role's account, workload and rules are called. */
export function nameOf(role: ClusterRole): string {
  return `sojourn-${role}`
}

function roleManifests(role: ClusterRole): readonly KubeObject[] {
  const { cluster, own, credentials, removes } = accessOf(role)
  const name = nameOf(role)
  const here = { name, namespace: sojournNamespace, labels }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: here },
    ...bound(role, name, { rules: cluster }),
    ...(credentials.length > 0 ? bound(role, `${name}-credentials`, { rules: credentials }) : []),
    // What may be looked at and deleted is the administrator's choice: roles with these labels add to it.
    ...bound(role, `${name}-targets`, {
      aggregationRule: {
        clusterRoleSelectors: aggregated(role, removes).map((label) => ({ matchLabels: { [label]: 'true' } })),
      },
      rules: [],
    }),
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: here, rules: own },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata: here,
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name, namespace: sojournNamespace }],
    },
  ]
}

/** The labels by which an administrator's ClusterRoles reach a role. */
export function aggregated(role: ClusterRole, removes: boolean): readonly string[] {
  return [`sojourn.dev/aggregate-to-${role}`, ...(removes ? [targetsLabel] : [])]
}

function bound(role: ClusterRole, name: string, content: Readonly<Record<string, unknown>>): readonly KubeObject[] {
  return [
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name, labels }, ...content },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name, labels },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: nameOf(role), namespace: sojournNamespace }],
    },
  ]
}

function ours(resources: readonly string[], verbs: readonly string[]): Rule {
  return { apiGroups: [sojournGroup.group], resources, verbs }
}

function core(resources: readonly string[], verbs: readonly string[]): Rule {
  return { apiGroups: [''], resources, verbs }
}
