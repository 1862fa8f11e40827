import { allKinds } from '../../apis/all-kinds.ts'
import { inUsePolicy } from '../../apis/bond.ts'
import { sojournGroup, sojournNamespace } from '../../apis/group.ts'
import { type KubeObject, placeOf } from '../../kube/object.ts'
import {
  activatorRules,
  certificateRules,
  companionRules,
  fleetRules,
  takeoverRules,
} from '../../systems/activator/cluster/access.ts'
import { isRecord } from '../../systems/janitor/kubernetes/custom-references.ts'
import { referrerTypes } from '../../systems/janitor/kubernetes/references/referrer-types.ts'
import type { Role } from '../config/config.ts'
import { certificateSecret, promoterSecret, webhookName } from '../../admission/webhook-configuration.ts'

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
  /** To ask the cluster who calls, and what they may. */
  readonly reviews: readonly Rule[]
  /** In every namespace; for the activator in the one it looks after, if that is only one. */
  readonly cluster: readonly Rule[]
  /** In our own namespace. */
  readonly own: readonly Rule[]
  /** Where users keep credentials for it: every namespace, unless an administrator names some. */
  readonly credentials: readonly Rule[]
  /** What only some installations need, by what for; granted like `cluster`. */
  readonly options: Readonly<Record<string, readonly Rule[]>>
  /** Whether users' objects leave through it, so that roles for targets are meant for it too. */
  readonly removes: boolean
}

const read = ['get', 'list', 'watch']
/** What a cache needs: it begins with a watch that tells everything, and with a list where a server cannot do that. */
const follow = ['list', 'watch']
const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }
const rbac = 'rbac.authorization.k8s.io'

/** Makes a role's rules part of what the systems that delete may do. */
export const targetsLabel = 'sojourn.dev/aggregate-to-targets'

/** The least that a role needs. What it may delete is not in it: see docs/guide/security.md. */
export function accessOf(role: ClusterRole): RoleAccess {
  const { cluster, own = [], credentials = [], options = {}, removes = true } = byRole[role]
  const needed = removes ? [...doorkeeping, events] : [events]
  const here = removes ? [switches, turns, ...own] : own
  return { reviews, cluster: [...needed, ...cluster], own: here, credentials, options, removes }
}

const reviews: readonly Rule[] = [
  { apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] },
  { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
]

const events = core(['events'], ['create', 'patch'])

/** What everything needs by which something may leave: records and protections. */
const doorkeeping: readonly Rule[] = [
  ours(['departures'], [...read, 'create', 'update', 'delete']),
  ours(['departures/status'], ['patch']),
  ours(['cleanupoptouts', 'bonds', 'workschedules'], follow),
]

/** The switches of the door, in our own namespace. */
const switches = core(['configmaps'], [...follow, 'create', 'patch'])
/** Whose turn it is, in our own namespace. */
const turns: Rule = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }

const definitions: Rule = {
  apiGroups: ['apiextensions.k8s.io'],
  resources: ['customresourcedefinitions'],
  verbs: follow,
}
const clusters: Rule = { apiGroups: ['gitops.weave.works'], resources: ['gitopsclusters'], verbs: follow }

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
    own: [kept(certificateSecret)],
  },
  collector: {
    cluster: [
      // Bonds it makes itself stand for depends-on annotations; its finalizer keeps one until those it speaks for are gone.
      ours(['bonds'], ['create', 'patch', 'delete']),
      ours(['bonds/status'], ['update']),
      // What goes with something is added to the record of that, page by page.
      ours(['departures'], ['patch']),
      // A namespace with something in it that a Bond guards is marked, too.
      core(['namespaces'], [...read, 'patch']),
      // Whether a mark has any effect.
      {
        apiGroups: ['admissionregistration.k8s.io'],
        resources: ['validatingadmissionpolicybindings'],
        resourceNames: [inUsePolicy],
        verbs: ['get'],
      },
      definitions,
      clusters,
    ],
  },
  janitor: {
    cluster: [
      ours(['cleanuppolicies'], [...read, 'patch']),
      ours(['notificationchannels', 'provideraccounts'], follow),
      ours(['cleanupcandidates'], [...read, 'create', 'delete']),
      ours(['usageledgers'], ['list', 'create', 'update', 'delete']),
      ours(['cleanupoptouts'], ['get', 'create', 'patch']),
      ours(['cleanuppolicies/status', 'cleanupcandidates/status'], ['update']),
      ours(['cleanupoptouts/status'], ['update', 'patch']),
    ],
    own: [core(['secrets'], ['get', 'create'])],
    options: { detection: usersOfThings() },
  },
  promoter: {
    cluster: [
      { apiGroups: ['pipelines.weave.works'], resources: ['pipelines'], verbs: [...read, 'patch'] },
      { apiGroups: ['pipelines.weave.works'], resources: ['pipelines/status'], verbs: ['update'] },
      // Signed approvals are recorded in the name of who signed; old ones are removed.
      ours(['approvals'], [...read, 'create', 'delete']),
      ours(['approvals/status'], ['update']),
      { apiGroups: ['kustomize.toolkit.fluxcd.io'], resources: ['kustomizations'], verbs: follow },
      { apiGroups: ['helm.toolkit.fluxcd.io'], resources: ['helmreleases'], verbs: follow },
      { apiGroups: ['infra.contrib.fluxcd.io'], resources: ['terraforms'], verbs: follow },
      { apiGroups: ['argoproj.io'], resources: ['applications'], verbs: follow },
      core(['namespaces'], ['get']),
      clusters,
    ],
    own: [
      // Whether all promotions are frozen.
      core(['configmaps'], follow),
      turns,
      kept(promoterSecret),
    ],
    credentials: [core(['secrets'], read)],
    removes: false,
  },
  activator: {
    cluster: activatorRules,
    own: fleetRules,
    options: { companions: companionRules, takeover: takeoverRules, tls: certificateRules },
    removes: false,
  },
}

/** Everything detectors look at to see who uses what, our own kinds included; without it the use of everything is unknown, and so is its owner. */
function usersOfThings(): readonly Rule[] {
  const types = [...Object.values(referrerTypes), ...allKinds.filter(({ kind }) => !isRecord(kind))]
  // Caches are all that is made of them; to look at one again before it leaves is a matter of targets.
  return [...Map.groupBy(types, ({ group }) => group)].map(([group, members]) => ({
    apiGroups: [group],
    resources: members.map(({ plural }) => plural).toSorted(),
    verbs: follow,
  }))
}

export interface RbacOptions {
  /** What more roles are to be able to do: names of `RoleAccess.options`. Defaults to nothing. */
  readonly options?: readonly string[]
  /** The one namespace the activator looks after. Defaults to all. */
  readonly activatorNamespace?: string
}

/** Accounts and the least that these roles need, as manifests. */
export function rbacFor(roles: readonly Role[], options: RbacOptions = {}): readonly KubeObject[] {
  return clusterRoles.filter((role) => roles.includes(role)).flatMap((role) => roleManifests(role, options))
}

/** What a role's account, workload and rules are called. */
export function nameOf(role: ClusterRole): string {
  return `sojourn-${role}`
}

function roleManifests(role: ClusterRole, wanted: RbacOptions): readonly KubeObject[] {
  const { reviews: asked, cluster, own, credentials, options, removes } = accessOf(role)
  const name = nameOf(role)
  const rules = [...cluster, ...(wanted.options ?? []).flatMap((option) => options[option] ?? [])]
  const only = role === 'activator' ? wanted.activatorNamespace : undefined
  const here = { name, namespace: sojournNamespace, labels }
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: here },
    ...bound(role, name, { rules: only === undefined ? [...asked, ...rules] : asked }),
    ...(only === undefined ? [] : boundIn(only, { account: name, name: `${name}-scope`, rules })),
    ...(credentials.length > 0 ? bound(role, `${name}-credentials`, { rules: credentials }) : []),
    // What may be looked at and deleted is the administrator's choice: roles with these labels add to it.
    ...bound(
      role,
      `${name}-targets`,
      {
        aggregationRule: {
          clusterRoleSelectors: aggregated(role, removes).map((label) => ({ matchLabels: { [label]: 'true' } })),
        },
        rules: [],
      },
      only,
    ),
    ...boundIn(sojournNamespace, { account: name, name, rules: own }),
  ]
}

function boundIn(
  namespace: string,
  { account, name, rules }: { readonly account: string; readonly name: string; readonly rules: readonly Rule[] },
): readonly KubeObject[] {
  const metadata = { name, namespace, labels }
  return [
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: [{ kind: 'ServiceAccount', name: account, namespace: sojournNamespace }],
    },
  ]
}

/** The labels by which an administrator's ClusterRoles reach a role. */
export function aggregated(role: ClusterRole, removes: boolean): readonly string[] {
  return [`sojourn.dev/aggregate-to-${role}`, ...(removes ? [targetsLabel] : [])]
}

/** A role for the whole cluster, or what it allows in one namespace alone. */
function bound(
  role: ClusterRole,
  name: string,
  content: Readonly<Record<string, unknown>>,
  namespace?: string,
): readonly KubeObject[] {
  return [
    { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata: { name, labels }, ...content },
    {
      apiVersion: `${rbac}/v1`,
      kind: namespace === undefined ? 'ClusterRoleBinding' : 'RoleBinding',
      metadata: { ...placeOf({ name, namespace }), labels },
      roleRef: { apiGroup: rbac, kind: 'ClusterRole', name },
      subjects: [{ kind: 'ServiceAccount', name: nameOf(role), namespace: sojournNamespace }],
    },
  ]
}

/** The Secret in which a certificate is kept. */
function kept(name: string): Rule {
  return { ...core(['secrets'], ['get', 'update']), resourceNames: [name] }
}

function ours(resources: readonly string[], verbs: readonly string[]): Rule {
  return { apiGroups: [sojournGroup.group], resources, verbs }
}

function core(resources: readonly string[], verbs: readonly string[]): Rule {
  return { apiGroups: [''], resources, verbs }
}
