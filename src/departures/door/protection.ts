import type { Bond } from '../../apis/bond.ts'
import { refusedElsewhere } from '../../apis/bond-marks.ts'
import type { CleanupOptOut, CleanupOptOutSpec } from '../../apis/cleanup-opt-out.ts'
import { sojournGroup, sojournNamespace } from '../../apis/group.ts'
import { parseApiVersion, type KubeObject } from '../../kube/object.ts'
import { matches, requirementsOf } from '../../kube/selector.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { parseTime } from '../../kube/time.ts'
import type { Hold, Refusal } from './because.ts'

/** What may protect an object, besides its own labels and annotations. */
export interface ProtectionFacts {
  readonly cluster: string
  /** Opt-outs that may cover it. */
  readonly optOuts: readonly CleanupOptOut[]
  /** Bonds whose dependency is this very object. */
  readonly bonds: readonly Bond[]
  readonly now: number
}

export type Protection =
  | { readonly result: 'refused'; readonly because: Refusal; readonly detail?: string }
  | { readonly result: 'held'; readonly because: Hold; readonly detail?: string }

/** Label or annotation that keeps every system from deleting an object. */
export const keepMark = 'sojourn.dev/keep'
/** Swabbie's name for the same, with the value `never`. */
export const expirationMark = 'expiration_time'
/** All accepted spellings. */
export const expirationMarks = [expirationMark, `sojourn.dev/${expirationMark}`, 'sojourn.dev/expiration-time']

/** What protects an object; undefined if nothing does. */
export function protectionOf(
  object: KubeObject,
  { cluster, optOuts, bonds, now }: ProtectionFacts,
): Protection | undefined {
  // First, because it leaves marks, too: the user who opted out knows of those nothing.
  const optOut = optOuts.find(
    (candidate) => isLiveOptOut(candidate, now) && optOutCovers(candidate.spec, { object, cluster }),
  )
  if (optOut) return { result: 'refused', because: 'opted-out', detail: `CleanupOptOut ${optOut.metadata.name}` }
  const carried = carriedMark(object) ?? machineryOf(object)
  if (carried) return { result: 'refused', because: carried }
  const denying = bonds.find((bond) => bond.spec.onDelete === 'Deny')
  if (denying) return { result: 'refused', because: 'bond-denies', detail: bondDetail(denying) }
  const elsewhere = refusedElsewhere(object)
  if (elsewhere !== undefined) return { result: 'refused', because: 'bond-denies', detail: `Bond ${elsewhere}` }
  const holding = bonds.find((bond) => bond.spec.onDelete === 'Hold')
  return holding ? { result: 'held', because: 'bond-holds', detail: bondDetail(holding) } : undefined
}

/** Whether an opt-out covers an object. An opt-out that names nothing covers nothing. */
export function optOutCovers(
  { resource, selector }: CleanupOptOutSpec,
  { object, cluster }: { object: KubeObject; cluster: string },
): boolean {
  const { metadata } = object
  if (
    selector &&
    sameKind(selector, object) &&
    (selector.namespace === undefined || selector.namespace === metadata.namespace)
  ) {
    if (isSelected(selector.labels, metadata.labels)) return true
  }
  if (!resource || !sameKind(resource, object)) return false
  if (resource.uid !== undefined) return resource.uid === metadata.uid
  if (!isThere(resource, cluster)) return false
  const named = resource.name ?? resource.id
  return named !== undefined && named === metadata.name && (resource.namespace ?? '') === (metadata.namespace ?? '')
}

/** An invalid selector selects everything: in doubt, an opt-out protects. */
function isSelected(
  selector: Parameters<typeof requirementsOf>[0],
  labels: Readonly<Record<string, string>> | undefined,
): boolean {
  try {
    return matches(requirementsOf(selector), labels)
  } catch (error) {
    if (isStatusError(error)) return true
    throw error
  }
}

/** Whether an opt-out's resource is in this place: a cluster, or account and region of a cloud, each of which the opt-out may omit. */
function isThere(
  { cluster, provider = 'kubernetes', account, region }: NonNullable<CleanupOptOutSpec['resource']>,
  place: string,
): boolean {
  if (cluster !== undefined || provider === 'kubernetes') return (cluster ?? '') === place
  const [kind, itsAccount, itsRegion] = place.split(':')
  return kind === provider && (account ?? itsAccount) === itsAccount && (region ?? itsRegion) === itsRegion
}

/** Whether an object has the keep mark. Any value but `false` counts. */
export function isMarkedToKeep({ metadata }: KubeObject): boolean {
  const keep = metadata.annotations?.[keepMark] ?? metadata.labels?.[keepMark]
  return keep !== undefined && keep !== 'false'
}

/** Whether its own labels and annotations protect an object: marks of users, or of Bonds in another cluster. */
export function carriesProtection(object: KubeObject): boolean {
  return carriedMark(object) !== undefined || refusedElsewhere(object) !== undefined
}

/** The mark of a user that protects an object. */
function carriedMark(object: KubeObject): Refusal | undefined {
  const { labels, annotations } = object.metadata
  if (!labels && !annotations) return undefined
  if (isMarkedToKeep(object)) return 'keep-mark'
  const says = (mark: string) =>
    annotations?.[mark]?.toLowerCase() === 'never' || labels?.[mark]?.toLowerCase() === 'never'
  return expirationMarks.some(says) ? 'never-expires' : undefined
}

function machineryOf({ apiVersion, kind, metadata }: KubeObject): Refusal | undefined {
  const { name = '', namespace = '', labels = {} } = metadata
  const { group } = parseApiVersion(apiVersion)
  if (systemNamespaces.has(namespace)) return 'system-namespace'
  if (group === '' && kind === 'Namespace' && (systemNamespaces.has(name) || name === 'default'))
    return 'system-namespace'
  if (namespace === sojournNamespace || labels['app.kubernetes.io/part-of'] === 'sojourn') return 'own-machinery'
  if (group === '' && kind === 'Namespace' && name === sojournNamespace) return 'own-machinery'
  if (group === sojournGroup.group && ruleKinds.has(kind)) return 'own-machinery'
  return kind === 'CustomResourceDefinition' && ownGroups.some((own) => name.endsWith(`.${own}`))
    ? 'own-machinery'
    : undefined
}

const systemNamespaces = new Set(['kube-system', 'kube-public', 'kube-node-lease'])
const ruleKinds = new Set([
  'Departure',
  'DeparturePage',
  'CleanupCandidate',
  'CleanupOptOut',
  'CleanupPolicy',
  'Bond',
  'WorkSchedule',
  'NotificationChannel',
  'ProviderAccount',
  'UsageLedger',
  'SavingsReport',
])
const ownGroups = [
  sojournGroup.group,
  'cleaner.vtex.dev',
  'cleaner.vtex.io',
  'pipelines.weave.works',
  'gitops.weave.works',
]

/** Whether an opt-out is in force. */
export function isLiveOptOut({ spec, metadata }: CleanupOptOut, now: number): boolean {
  if (metadata.deletionTimestamp) return false
  // An end that cannot be parsed is no end: in doubt, the opt-out protects.
  return spec.expiresAt === undefined || (parseTime(spec.expiresAt) ?? Infinity) > now
}

function sameKind(
  wanted: { readonly apiVersion?: string; readonly kind: string },
  { apiVersion, kind }: KubeObject,
): boolean {
  if (wanted.kind.toLowerCase() !== kind.toLowerCase()) return false
  return (
    wanted.apiVersion === undefined || parseApiVersion(wanted.apiVersion).group === parseApiVersion(apiVersion).group
  )
}

function bondDetail({ metadata, spec }: Bond): string {
  return `Bond ${metadata.namespace}/${metadata.name}${spec.reason ? `: ${spec.reason}` : ''}`
}
