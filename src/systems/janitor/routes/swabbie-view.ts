import type { CandidateNotice, CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { parseTime } from '../../../kube/time.ts'
import { isActive } from '../decision/decide.ts'
import type { ResourceRef } from '../verdict/provider.ts'

/** `provider:account:location:resourceType`, lower-cased, as in Swabbie's namespaces. */
export function swabbieNamespace({
  provider,
  cluster,
  account = '',
  region = '',
  kind,
  namespace = '',
}: ResourceRef): string {
  const parts =
    provider === 'aws' ? [provider, account, region, kind] : [provider, cluster || 'home', namespace || 'cluster', kind]
  return parts.join(':').toLowerCase()
}

/** Whether a mark has this namespace, ignoring case, and exactly this id. */
export function isNamed({ spec }: CleanupCandidate, namespace: string, id?: string): boolean {
  return swabbieNamespace(spec.resource) === namespace.toLowerCase() && (id === undefined || spec.resource.name === id)
}

/** The name of a cloud resource that has one beside its id, such as an image. */
function nameOf({ spec, status }: Pick<CleanupCandidate, 'spec' | 'status'>): string {
  return status?.displayName ?? spec.resource.name
}

/** Swabbie knows mail and nothing else: what went to an address is EMAIL. */
function notificationType({ kind, recipient = '', channel }: CandidateNotice): string {
  if (kind === 'none') return 'NONE'
  return recipient.includes('@') ? 'EMAIL' : channel.toUpperCase()
}

/** Marks by their names, as Swabbie sorts its lists of names. */
export function markNames(candidates: readonly CleanupCandidate[]): readonly Record<string, unknown>[] {
  return candidates.map(markName).toSorted((left, right) => (String(left['name']) < String(right['name']) ? -1 : 1))
}

/** A mark in Swabbie's full form. */
export function fullMark({ spec, status = {}, metadata }: CleanupCandidate): Record<string, unknown> {
  const { resource } = spec
  const confirmed = (status.notices ?? []).findLast(
    ({ error, kind }) => error === undefined && kind !== 'reminder' && kind !== 'copy',
  )
  return {
    resource: {
      name: nameOf({ spec, status }),
      resourceId: resource.name,
      resourceType: resource.kind,
      cloudProvider: resource.provider,
      createTs: parseTime(status.createdAt) ?? null,
      grouping: status.group ? { value: status.group, type: 'APPLICATION' } : null,
    },
    summaries: (status.summaries ?? []).map(({ rule, description }) => ({ ruleName: rule, description })),
    namespace: swabbieNamespace(resource),
    projectedDeletionStamp: parseTime(status.projectedDeletionTime) ?? -1,
    notificationInfo: confirmed
      ? {
          recipient: confirmed.recipient ?? null,
          notificationType: notificationType(confirmed),
          notificationStamp: parseTime(confirmed.at) ?? null,
        }
      : null,
    markTs: parseTime(status.markedAt) ?? null,
    updateTs: parseTime(status.history?.at(-1)?.at) ?? null,
    resourceOwner: status.owner?.address ?? '',
    lastSeenInfo: status.lastSeenUsed
      ? {
          resourceId: resource.name,
          usedByResourceId: status.lastSeenUsed.by,
          timeSeen: parseTime(status.lastSeenUsed.at),
        }
      : null,
    candidate: metadata.name,
  }
}

/** A mark in Swabbie's short form, the default for lists. */
export function slimMark(candidate: CleanupCandidate): Record<string, unknown> {
  const { summaries, namespace, projectedDeletionStamp, markTs, resourceOwner } = fullMark(candidate)
  const name = nameOf(candidate)
  return {
    name,
    resourceId: candidate.spec.resource.name,
    namespace,
    summaries,
    projectedDeletionStamp,
    markTs,
    resourceOwner,
  }
}

/** The name and namespace of a mark, by which clients can request the full form. */
export function markName(candidate: CleanupCandidate): Record<string, unknown> {
  const { resource } = candidate.spec
  return { name: nameOf(candidate), resourceId: resource.name, namespace: swabbieNamespace(resource) }
}

const statusNames: Readonly<Record<string, string>> = {
  Marked: 'MARK',
  Notified: 'NOTIFY',
  Due: 'NOTIFY',
  Deleting: 'DELETE',
  Deleted: 'DELETE',
  Failed: 'DELETE FAILED',
  OptedOut: 'OPTOUT',
  Unmarked: 'UNMARK',
}

/** The state of a resource in Swabbie's form, with its history. */
export function stateOf(candidate: CleanupCandidate): Record<string, unknown> {
  const { status = {} } = candidate
  const statuses = (status.history ?? []).map(({ phase, at }) => ({
    name: statusNames[phase] ?? phase,
    timestamp: parseTime(at) ?? 0,
  }))
  return {
    markedResource: fullMark(candidate),
    deleted: status.phase === 'Deleted',
    optedOut: status.phase === 'OptedOut',
    statuses: statuses.filter((entry, index) => entry.name !== statuses[index - 1]?.name),
    currentStatus: statuses.at(-1) ?? null,
  }
}

/** Whether a mark is active; Swabbie then lists the resource as marked. */
export function isMarked({ status }: CleanupCandidate): boolean {
  return isActive(status?.phase ?? 'Unmarked')
}
