import { allKinds } from '../../apis/all-kinds.ts'
import { inUsePolicy } from '../../apis/bond.ts'
import { sojournGroup, sojournNamespace, targetsLabel } from '../../apis/group.ts'
import { type KubeObject, placeOf, type ResourceType } from '../../kube/object.ts'
import {
  activatorRules,
  certificateRules,
  companionRules,
  fleetRules,
  proxyFleetRules,
  proxyRules,
  takeoverRules,
} from '../../systems/activator/cluster/access.ts'
import { allow, onlyFor, type PolicyRule } from '../../kube/basics/policy-rule.ts'
import { recordKeysPlace } from '../../departures/records/record-keys.ts'
import { isRecord } from '../../systems/janitor/kubernetes/custom-references.ts'
import { referrerTypes } from '../../systems/janitor/kubernetes/references/referrer-types.ts'
import { creatorPolicy, recordPolicy } from '../../tenancy/creator-proof.ts'
import type { Role } from '../config/config.ts'
import {
  certificateSecret,
  dashboardSecret,
  promoterSecret,
  webhookName,
} from '../../admission/webhook-configuration.ts'

/** The roles that run in a cluster, each with its own ServiceAccount. */
export const clusterRoles = ['cleaner', 'collector', 'janitor', 'promoter', 'activator', 'environments'] as const
export type ClusterRole = (typeof clusterRoles)[number]

/** What has permissions of its own: the roles, and the processes that take requests: the activator's, and those of users. */
export type Component = ClusterRole | 'proxy' | 'dashboard'

/** The account of all roles, unless they are separate. Processes that take requests of users never use it. */
export const commonAccount = 'sojourn'

/** The permissions of one role, by scope. */
export interface RoleAccess {
  /** To authenticate and authorize callers. */
  readonly reviews: readonly PolicyRule[]
  /** In every namespace; for an activator limited to one namespace, in that one. */
  readonly cluster: readonly PolicyRule[]
  /** In Sojourn's namespace. */
  readonly own: readonly PolicyRule[]
  /** Where users keep credentials for it: every namespace, unless an administrator names some. */
  readonly credentials: readonly PolicyRule[]
  /** Permissions of optional features, by feature; granted like `cluster`. */
  readonly options: Readonly<Record<string, readonly PolicyRule[]>>
  /** Whether it deletes users' objects, so that roles for targets apply to it too. */
  readonly deletesTargets: boolean
}

const read = ['get', 'list', 'watch']
/** What an informer needs: a streaming watch, or a list where the server lacks it. */
const follow = ['list', 'watch']
const labels = { 'app.kubernetes.io/name': 'sojourn', 'app.kubernetes.io/part-of': 'sojourn' }
const rbac = 'rbac.authorization.k8s.io'
const admission = 'admissionregistration.k8s.io'

/** The minimum permissions of a role, without those to delete: see docs/guide/security.md. */
export function accessOf(role: Component): RoleAccess {
  const { cluster, own = [], credentials = [], options = {}, deletesTargets = true } = byRole[role]
  const needed = deletesTargets ? [...safeguards, events] : role === 'proxy' ? [] : [events]
  const here = deletesTargets ? [switches, leaseRule, ...own] : own
  const asked = role === 'dashboard' ? [] : reviews
  return { reviews: asked, cluster: [...needed, ...cluster], own: here, credentials, options, deletesTargets }
}

const reviews: readonly PolicyRule[] = [
  allow('authentication.k8s.io', ['tokenreviews'], ['create']),
  allow('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
]

const events = core(['events'], ['create', 'patch'])

/** What every role that deletes needs: departure records and protections. */
const safeguards: readonly PolicyRule[] = [
  ours(['departures'], [...read, 'create', 'update', 'patch', 'delete']),
  ours(['departurepages'], [...read, 'create', 'update', 'delete']),
  ours(['departures/status'], ['patch']),
  ours(['cleanupoptouts', 'bonds', 'workschedules'], follow),
]

/** The deletion switches, in Sojourn's namespace. */
const switches = core(['configmaps'], [...follow, 'create', 'patch'])
/** Leader election, in Sojourn's namespace. */
const leaseRule = allow('coordination.k8s.io', ['leases'], [...read, 'create', 'update'])

const definitions = allow('apiextensions.k8s.io', ['customresourcedefinitions'], follow)
/** To see whether creators' records, and Sojourn's own, can be believed. */
const recordProofs = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'].map((resource) =>
  onlyFor(allow(admission, [resource], ['get']), [creatorPolicy, recordPolicy]),
)
const clusters: PolicyRule = allow('gitops.weave.works', ['gitopsclusters'], follow)

const byRole: Readonly<Record<Component, Pick<RoleAccess, 'cluster'> & Partial<RoleAccess>>> = {
  cleaner: {
    cluster: [
      allow('cleaner.vtex.dev', ['cleaners'], [...read, 'patch', 'delete']),
      allow('cleaner.vtex.dev', ['cleaners/status'], ['update']),
      ours(['cleaners'], [...read, 'patch', 'delete']),
      ours(['cleaners/status'], ['update']),
      ours(['notificationchannels'], ['get']),
      allow('cleaner.vtex.io', ['conditionalttls'], [...read, 'patch', 'delete']),
      allow('cleaner.vtex.io', ['conditionalttls/status'], ['update']),
      definitions,
      onlyFor(allow(admission, ['validatingwebhookconfigurations'], ['get', 'update']), [webhookName]),
      creatorWebhook(['get']),
      // Its webhook keeps the limits of environments, and notes connections to their Pods as use.
      ours(['environments', 'environmentclasses'], follow),
      ours(['environments/status'], ['patch']),
      core(['namespaces'], follow),
      ...recordProofs,
    ],
    // Its outbox: CloudEvents that sinks have not accepted. Its own link key, and the credentials that channels name.
    own: [certificateRule(certificateSecret), core(['configmaps'], ['delete']), core(['secrets'], ['get', 'create'])],
    options: { creatorWebhook: [creatorWebhook(['update'])] },
  },
  collector: {
    cluster: [
      // It creates Bonds for depends-on annotations; a finalizer keeps each until its dependents are gone.
      ours(['bonds'], ['create', 'patch', 'delete']),
      ours(['bonds/status'], ['update']),
      // A namespace that contains a guarded object is marked too.
      core(['namespaces'], [...read, 'patch']),
      // To see whether marks are enforced.
      onlyFor(allow(admission, ['validatingadmissionpolicybindings'], ['get']), [inUsePolicy]),
      ...recordProofs,
      definitions,
      clusters,
    ],
    // The keys of encrypted records (--record-secrets).
    own: [{ ...core(['secrets'], ['get']), resourceNames: [recordKeysPlace.name] }],
  },
  janitor: {
    cluster: [
      ours(['cleanuppolicies'], [...read, 'patch']),
      ours(['notificationchannels', 'provideraccounts'], follow),
      ours(['cleanupcandidates'], [...read, 'create', 'delete']),
      ours(['usageledgers'], ['list', 'create', 'update', 'delete']),
      ours(['cleanupoptouts'], ['get', 'create', 'patch']),
      ours(['cleanuppolicies/status', 'cleanupcandidates/status'], ['update']),
      ours(['workschedules/status', 'notificationchannels/status', 'provideraccounts/status'], ['update']),
      ours(['cleanupoptouts/status'], ['update', 'patch']),
      // Its uid names the cluster in notices.
      { ...core(['namespaces'], ['get']), resourceNames: ['kube-system'] },
      ...recordProofs,
    ],
    own: [core(['secrets'], ['get', 'create'])],
    options: { detection: referringKinds() },
  },
  promoter: {
    cluster: [
      allow('pipelines.weave.works', ['pipelines'], [...read, 'patch']),
      allow('pipelines.weave.works', ['pipelines/status'], ['update']),
      // Signed approvals are recorded with the signer's name; old ones are deleted.
      ours(['approvals'], [...read, 'create', 'delete']),
      ours(['approvals/status'], ['update']),
      allow('kustomize.toolkit.fluxcd.io', ['kustomizations'], follow),
      allow('helm.toolkit.fluxcd.io', ['helmreleases'], follow),
      allow('infra.contrib.fluxcd.io', ['terraforms'], follow),
      allow('argoproj.io', ['applications'], follow),
      // A check by a Job: created from a CronJob's template, with the rights of the Pipeline's creator.
      allow('batch', ['cronjobs'], ['get']),
      allow('batch', ['jobs'], ['get', 'create']),
      core(['namespaces'], ['get']),
      ...recordProofs,
      clusters,
    ],
    own: [
      // The switch that freezes all promotions.
      core(['configmaps'], follow),
      leaseRule,
      certificateRule(promoterSecret),
    ],
    credentials: [core(['secrets'], read)],
    deletesTargets: false,
  },
  activator: {
    cluster: activatorRules,
    own: fleetRules,
    options: { companions: companionRules, takeover: takeoverRules, tls: certificateRules },
    deletesTargets: false,
  },
  proxy: { cluster: proxyRules, own: proxyFleetRules, options: { tls: certificateRules }, deletesTargets: false },
  environments: {
    cluster: [
      ours(['environments'], [...read, 'create', 'delete']),
      ours(['environmentclasses', 'notificationchannels'], follow),
      ours(['environments/status'], ['update', 'patch']),
      ours(['environmentclasses/status'], ['update']),
      // To delete environments it needs a ClusterRole for targets, as every role that deletes.
      core(['namespaces'], read),
      core(['services', 'persistentvolumes'], follow),
      allow('apps', ['deployments', 'statefulsets'], follow),
      ...recordProofs,
    ],
    // Its own link key, and the credentials that classes and channels name.
    own: [core(['secrets'], ['get', 'create']), ours(['savingsreports'], ['list', 'create', 'update', 'delete'])],
    credentials: [core(['secrets'], ['get'])],
  },
  // Users act with their own rights: the dashboard's account has next to none.
  dashboard: {
    cluster: [core(['namespaces'], ['list'])],
    own: [certificateRule(dashboardSecret)],
    options: { impersonate: [core(['users'], ['impersonate']), core(['groups'], ['impersonate'])] },
    deletesTargets: false,
  },
}

/** All kinds that detectors read to find references and owners, Sojourn's own included. Without them, use and owner are unknown. */
function referringKinds(): readonly PolicyRule[] {
  const types = [...Object.values(referrerTypes), ...allKinds.filter(({ kind }) => !isRecord(kind))]
  // Only informers read them; the fresh read before a deletion is granted by the rules for targets.
  return rulesFor(types, follow)
}

/** One rule for each API group of these types. */
function rulesFor(
  types: readonly Pick<ResourceType, 'group' | 'plural'>[],
  verbs: readonly string[],
): readonly PolicyRule[] {
  return [...Map.groupBy(types, ({ group }) => group)].map(([group, members]) => ({
    apiGroups: [group],
    resources: members.map(({ plural }) => plural).toSorted(),
    verbs,
  }))
}

export interface RbacOptions {
  /** Optional features: names of `RoleAccess.options`. Defaults to none. */
  readonly options?: readonly string[]
  /** The one namespace that the activator serves. Defaults to all. */
  readonly activatorNamespace?: string
  /** Whether each role has its own ServiceAccount. Defaults to false: one account has the permissions of all. */
  readonly separateRoles?: boolean
}

/** ServiceAccounts, roles and bindings with the minimum permissions of these roles. */
export function rbacFor(roles: readonly Role[], options: RbacOptions = {}): readonly KubeObject[] {
  const components = componentsOf(roles)
  const accounts = new Set(components.map((component) => accountOf(component, options)))
  return [
    ...[...accounts].map((name) => ({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name, namespace: sojournNamespace, labels },
    })),
    ...components.flatMap((component) => roleManifests(component, options)),
  ]
}

/** The roles among these that run in a cluster, and the proxy if the activator does. */
export function componentsOf(roles: readonly Role[]): readonly Component[] {
  const wanted = clusterRoles.filter((role) => roles.includes(role))
  const proxy: Component[] = wanted.includes('activator') ? ['proxy'] : []
  return [...wanted, ...proxy, ...roles.filter((role) => role === 'dashboard')]
}

/** The name of a component's RBAC objects and, where roles are separate, of its ServiceAccount and Deployment. */
export function nameOf(component: Component): string {
  return `sojourn-${component}`
}

/** The ServiceAccount of a component, and the name of its Deployment. */
export function accountOf(component: Component, { separateRoles = false }: Pick<RbacOptions, 'separateRoles'>): string {
  return separateRoles || component === 'proxy' || component === 'dashboard' ? nameOf(component) : commonAccount
}

function roleManifests(role: Component, wanted: RbacOptions): readonly KubeObject[] {
  const account = accountOf(role, wanted)
  const { reviews: asked, cluster, own, credentials, options, deletesTargets } = accessOf(role)
  const name = nameOf(role)
  const rules = [...cluster, ...(wanted.options ?? []).flatMap((option) => options[option] ?? [])]
  const only = role === 'activator' || role === 'proxy' ? wanted.activatorNamespace : undefined
  return [
    ...bound(account, name, { rules: only === undefined ? [...asked, ...rules] : asked }),
    ...(only === undefined ? [] : boundIn(only, { accounts: [account], name: `${name}-scope`, rules })),
    ...(credentials.length > 0 ? bound(account, `${name}-credentials`, { rules: credentials }) : []),
    // The administrator chooses what may be read and deleted: ClusterRoles with these labels are aggregated. The aggregation controller
    // owns `rules`: a manifest that names them conflicts with it in a server-side apply.
    ...bound(
      account,
      `${name}-targets`,
      {
        aggregationRule: {
          clusterRoleSelectors: aggregated(role, deletesTargets).map((label) => ({ matchLabels: { [label]: 'true' } })),
        },
      },
      only,
    ),
    ...boundIn(sojournNamespace, { accounts: [account], name, rules: own }),
  ]
}

/**
 * Aggregates Sojourn's kinds to Kubernetes' own roles for people: view reads, edit also writes what is bounded by its creator's rights, admin
 * also reads departure records, which hold manifests of every kind, and notes restores in them. Kinds that name credentials stay with
 * cluster administrators.
 */
export function peopleManifests(): readonly KubeObject[] {
  const readable = allKinds.filter(
    ({ kind }) => !['Departure', 'DeparturePage', 'ProviderAccount', 'NotificationChannel'].includes(kind),
  )
  // Approving is a right of its own: the ClusterRole sojourn-approver.
  const writable = readable.filter(({ type, kind }) => type.namespaced && !['Approval', 'SavingsReport'].includes(kind))
  const write = ['create', 'update', 'patch', 'delete', 'deletecollection']
  return [
    peopleRole('view', rulesFor(readable, read)),
    peopleRole('edit', rulesFor(writable, write)),
    peopleRole('admin', [ours(['departures', 'departurepages'], read), ours(['departures/status'], ['patch'])]),
  ]
}

function peopleRole(role: string, rules: readonly PolicyRule[]): KubeObject {
  const aggregation = { [`${rbac}/aggregate-to-${role}`]: 'true' }
  const metadata = { name: `sojourn-${role}`, labels: { ...labels, ...aggregation } }
  return { apiVersion: `${rbac}/v1`, kind: 'ClusterRole', metadata, rules }
}

/**
 * What Sojourn needs in a namespace to act as the ServiceAccounts there, in one of two forms, never both: Kubernetes tries the older verb when the newer ones
 * fail. The older lets the accounts act wherever they may.
 */
export const tenantRules: readonly PolicyRule[] = [core(['serviceaccounts'], ['get', 'impersonate'])]

/** The newer form (Kubernetes 1.36): only in the namespace of the binding, and only for these resources. */
export function constrainedTenantRules(targets: readonly PolicyRule[]): readonly PolicyRule[] {
  return [
    core(['serviceaccounts'], ['get']),
    allow('authentication.k8s.io', ['serviceaccounts'], ['impersonate:serviceaccount']),
    ...targets.map((rule) => ({ ...rule, verbs: rule.verbs.map((verb) => `impersonate-on:serviceaccount:${verb}`) })),
  ]
}

/**
 * Lets the roles that act for tenants' objects impersonate the ServiceAccounts of one namespace. Never of all: accounts of kube-system
 * are cluster administrators in effect.
 */
export function tenantManifests(namespace: string, targets: readonly PolicyRule[] = []): readonly KubeObject[] {
  const accounts = [commonAccount, ...(['cleaner', 'collector', 'promoter', 'environments'] as const).map(nameOf)]
  return boundIn(namespace, {
    accounts,
    name: 'sojourn-tenant',
    rules: targets.length > 0 ? constrainedTenantRules(targets) : tenantRules,
  })
}

function boundIn(
  namespace: string,
  {
    accounts,
    name,
    rules,
  }: { readonly accounts: readonly string[]; readonly name: string; readonly rules: readonly PolicyRule[] },
): readonly KubeObject[] {
  const metadata = { name, namespace, labels }
  return [
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name },
      subjects: accounts.map((account) => ({ kind: 'ServiceAccount', name: account, namespace: sojournNamespace })),
    },
  ]
}

/** The labels by which an administrator's ClusterRoles are aggregated to a role. */
export function aggregated(role: Component, deletesTargets: boolean): readonly string[] {
  return [`sojourn.dev/aggregate-to-${role}`, ...(deletesTargets ? [targetsLabel] : [])]
}

/** A ClusterRole, bound in the whole cluster or in one namespace. */
function bound(
  account: string,
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
      subjects: [{ kind: 'ServiceAccount', name: account, namespace: sojournNamespace }],
    },
  ]
}

/** Access to the configuration of the webhook that records creators. */
function creatorWebhook(verbs: readonly string[]): PolicyRule {
  return onlyFor(allow(admission, ['mutatingwebhookconfigurations'], verbs), [creatorPolicy])
}

/** Access to the Secret of a certificate. */
function certificateRule(name: string): PolicyRule {
  return { ...core(['secrets'], ['get', 'update']), resourceNames: [name] }
}

function ours(resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return allow(sojournGroup.group, resources, verbs)
}

function core(resources: readonly string[], verbs: readonly string[]): PolicyRule {
  return allow('', resources, verbs)
}
