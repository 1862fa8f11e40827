import type { Bond } from '../../apis/bond.ts'
import { refusedElsewhere } from '../../apis/bond-marks.ts'
import type { CleanupOptOut, CleanupOptOutSpec } from '../../apis/cleanup-opt-out.ts'
import { sojournGroup, sojournNamespace } from '../../apis/group.ts'
import { parseApiVersion, type KubeObject } from '../../kube/object.ts'
import { matches, requirementsOf } from '../../kube/selector.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { parseTime } from '../../kube/time.ts'
import type { Hold, Refusal } from './because.ts'

/** What may protect an object, beside what it carries itself. */
export interface ProtectionFacts {
  readonly cluster: string
  /** Opt-outs that might be about it. */
  readonly optOuts: readonly CleanupOptOut[]
  /** Bonds whose dependency is this very object. */
  readonly bonds: readonly Bond[]
  readonly now: number
}

export type Protection =
  | { readonly result: 'refused'; readonly because: Refusal; readonly detail?: string }
  | { readonly result: 'held'; readonly because: Hold; readonly detail?: string }

/** Label or annotation that spares an object, for every system. */
export const keepMark = 'sojourn.dev/keep'
/** Swabbie's word for the same; with the value `never`. */
export const expirationMark = 'expiration_time'
/** All the ways to write it. */
export const expirationMarks = [expirationMark, `sojourn.dev/${expirationMark}`, 'sojourn.dev/expiration-time']

/** What spares this object; undefined when nothing does. */
export function protectionOf(
  object: KubeObject,
  { cluster, optOuts, bonds, now }: ProtectionFacts,
): Protection | undefined {
  const carried = carriedMark(object) ?? machineryOf(object)
  if (carried) return { result: 'refused', because: carried }
  const optOut = optOuts.find(
    (candidate) => isLiveOptOut(candidate, now) && optOutCovers(candidate.spec, { object, cluster }),
  )
  if (optOut) return { result: 'refused', because: 'opted-out', detail: `CleanupOptOut ${optOut.metadata.name}` }
  const denying = bonds.find((bond) => bond.spec.onDelete === 'Deny')
  if (denying) return { result: 'refused', because: 'bond-denies', detail: bondDetail(denying) }
  const elsewhere = refusedElsewhere(object)
  if (elsewhere !== undefined) return { result: 'refused', because: 'bond-denies', detail: `Bond ${elsewhere}` }
  const holding = bonds.find((bond) => bond.spec.onDelete === 'Hold')
  return holding ? { result: 'held', because: 'bond-holds', detail: bondDetail(holding) } : undefined
}

/** Whether an opt-out speaks of this object. One that names nothing covers nothing. */
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

/** A selector that cannot be read may mean anything: when in doubt, it protects. */
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

/** Where an opt-out says its resource is; a cloud resource is named by account and region, each of which may be left open. */
function isThere(
  { cluster, provider = 'kubernetes', account, region }: NonNullable<CleanupOptOutSpec['resource']>,
  place: string,
): boolean {
  if (cluster !== undefined || provider === 'kubernetes') return (cluster ?? '') === place
  const [kind, itsAccount, itsRegion] = place.split(':')
  return kind === provider && (account ?? itsAccount) === itsAccount && (region ?? itsRegion) === itsRegion
}

/** Whether somebody has marked it to be kept. */
export function isMarkedToKeep({ metadata }: KubeObject): boolean {
  const keep = metadata.annotations?.[keepMark] ?? metadata.labels?.[keepMark]
  return keep !== undefined && keep !== 'false'
}

/** Whether an object carries what spares it: marks of people, or of Bonds in another cluster. */
export function carriesProtection(object: KubeObject): boolean {
  return carriedMark(object) !== undefined || refusedElsewhere(object) !== undefined
}

/** What an object says itself to be spared. */
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
  'CleanupCandidate',
  'CleanupOptOut',
  'CleanupPolicy',
  'Bond',
  'WorkSchedule',
  'NotificationChannel',
  'ProviderAccount',
  'UsageLedger',
])
const ownGroups = [
  sojournGroup.group,
  'cleaner.vtex.dev',
  'cleaner.vtex.io',
  'pipelines.weave.works',
  'gitops.weave.works',
]

/** Whether an opt-out counts at this time; an end that cannot be read is no end. */
export function isLiveOptOut({ spec, metadata }: CleanupOptOut, now: number): boolean {
  if (metadata.deletionTimestamp) return false
  // An unreadable end is no end: when in doubt, it protects.
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
