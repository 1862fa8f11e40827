import type { CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { parseTime } from '../../../kube/time.ts'
import { isActive } from '../decision/decide.ts'
import type { ResourceRef } from '../verdict/provider.ts'

/** `provider:account:location:resourceType`, lower-cased, as Swabbie names a group of resources. */
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

/** Whether a mark is in this namespace, whatever its case, and has this id, case and all. */
export function isNamed({ spec }: CleanupCandidate, namespace: string, id?: string): boolean {
  return swabbieNamespace(spec.resource) === namespace.toLowerCase() && (id === undefined || spec.resource.name === id)
}

/** A mark with everything that is known of it. */
export function fullMark({ spec, status = {}, metadata }: CleanupCandidate): Record<string, unknown> {
  const { resource } = spec
  const told = (status.notices ?? []).findLast(
    ({ error, kind }) => error === undefined && kind !== 'reminder' && kind !== 'copy',
  )
  return {
    resource: {
      name: resource.name,
      resourceId: resource.name,
      resourceType: resource.kind,
      cloudProvider: resource.provider,
      createTs: parseTime(status.createdAt) ?? null,
      grouping: status.group ? { value: status.group, type: 'APPLICATION' } : null,
    },
    summaries: (status.summaries ?? []).map(({ rule, description }) => ({ ruleName: rule, description })),
    namespace: swabbieNamespace(resource),
    projectedDeletionStamp: parseTime(status.projectedDeletionTime) ?? -1,
    notificationInfo: told
      ? {
          recipient: told.recipient ?? null,
          notificationType: told.kind === 'none' ? 'NONE' : told.channel,
          notificationStamp: parseTime(told.at) ?? null,
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

/** The short form that lists have by default. */
export function slimMark(candidate: CleanupCandidate): Record<string, unknown> {
  const { summaries, namespace, projectedDeletionStamp, markTs, resourceOwner } = fullMark(candidate)
  const { name } = candidate.spec.resource
  return { name, resourceId: name, namespace, summaries, projectedDeletionStamp, markTs, resourceOwner }
}

/** Just enough to ask for more. */
export function markName(candidate: CleanupCandidate): Record<string, unknown> {
  const { name } = candidate.spec.resource
  return { name, resourceId: name, namespace: swabbieNamespace(candidate.spec.resource) }
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

/** What has become of a resource, and how. */
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

/** Whether a mark counts as marked in Swabbie's sense. */
export function isMarked({ status }: CleanupCandidate): boolean {
  return isActive(status?.phase ?? 'Unmarked')
}
