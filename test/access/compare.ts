import { accessOf, type ClusterRole } from '../../src/app/install/rbac.ts'
import type { PolicyRule as Rule } from '../../src/kube/basics/policy-rule.ts'

/** One thing that was asked of an API server, and by whose code. */
export interface Asked {
  readonly role: ClusterRole | 'door'
  readonly verb: string
  readonly group: string
  readonly resource: string
  readonly subresource: string
  /** Whether in our own namespace. */
  readonly isOwn: boolean
}

export interface Comparison {
  /** Asked for and not granted. */
  readonly refused: readonly string[]
  /** What was asked of objects that belong to users: theirs to grant. */
  readonly onTargets: readonly string[]
}

/** What is refused here is kept, whatever it is: it never leads to anything. */
const reading = new Set(['get', 'list', 'watch'])

/** Groups that hold our own kinds and machinery, wherever: what is changed in them must be in a role's own rules. Leases are ours in our namespace only. */
const machinery = new Set([
  'sojourn.dev',
  'cleaner.vtex.dev',
  'cleaner.vtex.io',
  'pipelines.weave.works',
  'gitops.weave.works',
  'apiextensions.k8s.io',
  'admissionregistration.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
])

/** What Kubernetes grants to every user who signed in (ClusterRole system:basic-user). */
const ofEveryUser = new Set([
  'authentication.k8s.io/selfsubjectreviews create',
  'authorization.k8s.io/selfsubjectaccessreviews create',
  'authorization.k8s.io/selfsubjectrulesreviews create',
])

/** Compares what a role's code asked for, in all the cases there are, with what it is granted. */
export function compare(role: ClusterRole, all: readonly Asked[]): Comparison {
  const { reviews, cluster, own, credentials, options, deletesTargets } = accessOf(role)
  const everywhere = [...reviews, ...cluster, ...credentials, ...Object.values(options).flat()].flatMap(parts)
  const here = own.flatMap(parts)
  const asked = all.filter((one) => one.role === role || (one.role === 'door' && deletesTargets))
  const covers = (one: Asked) =>
    ofEveryUser.has(nameOf(one)) || everywhere.includes(nameOf(one)) || (one.isOwn && here.includes(nameOf(one)))
  // A definition that leaves is a user's: the door refuses to let go of ours.
  const isTarget = (one: Asked) =>
    one.role === 'door' && nameOf(one) === 'apiextensions.k8s.io/customresourcedefinitions delete'
  const isMachinery = (one: Asked) =>
    (machinery.has(one.group) || one.resource === 'events' || (one.resource === 'leases' && one.isOwn)) &&
    !reading.has(one.verb) &&
    !isTarget(one)
  const missing = asked.filter((one) => !covers(one))
  return {
    refused: unique(missing.filter(isMachinery).map(nameOf)).filter((line) => !(line in optional)),
    onTargets: unique(missing.filter((one) => !isMachinery(one)).map(({ verb }) => verb)),
  }
}

/** `sojourn.dev/bonds/status update` */
function nameOf({ verb, group, resource, subresource }: Asked): string {
  return `${group}/${resource}${subresource ? `/${subresource}` : ''} ${verb}`
}

function parts({ apiGroups, resources, verbs }: Rule): readonly string[] {
  return apiGroups.flatMap((group) =>
    resources.flatMap((resource) => verbs.map((verb) => `${group}/${resource} ${verb}`)),
  )
}

function unique(lines: readonly string[]): readonly string[] {
  return [...new Set(lines)].toSorted()
}

/** What a role asks for only with a setting that an administrator grants rights for, and where that is written. */
const optional: Readonly<Record<string, string>> = {
  'sojourn.dev/provideraccounts patch': '--swabbie-config: docs/migrate/swabbie.md',
  'sojourn.dev/workschedules patch': '--swabbie-config: docs/migrate/swabbie.md',
  'sojourn.dev/notificationchannels patch': '--swabbie-config: docs/migrate/swabbie.md',
}
