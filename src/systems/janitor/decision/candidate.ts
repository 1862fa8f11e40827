import {
  type CandidateNotice,
  cleanupCandidate,
  type CandidatePhase,
  type CandidateSpec,
  type CandidateStatus,
  type CleanupCandidate,
} from '../../../apis/cleanup-candidate.ts'
import { shortDigest } from '../../../kube/basics/short-digest.ts'
import { nameFrom } from '../../../kube/names.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import type { WorkScheduleSpec } from '../../../apis/work-schedule.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import { deletionDate } from '../policy/retention.ts'
import { dueAt, isActive, type Mark } from './decide.ts'
import { resourceKey, type Resource } from '../model/resource.ts'

/** One name per policy and resource, uid included: a mark never applies to a later resource of the same name. */
export function candidateName(
  policy: string,
  resource: Pick<Resource, 'cluster' | 'kind' | 'namespace' | 'name' | 'uid'>,
): string {
  const identity = JSON.stringify([policy, resource.cluster, resourceKey(resource)])
  const digest = shortDigest(identity)
  const readable = nameFrom(`${resource.kind}-${resource.name}`).slice(0, 180).replace(/-+$/, '')
  return readable ? `${readable}-${digest}` : digest
}

/** The CleanupCandidate of a resource, before it is stored. */
export function newCandidate(
  policy: string,
  location: string,
  resource: Resource,
): KubeObject & { readonly spec: CandidateSpec } {
  const { provider, cluster, account, region, apiVersion, kind, namespace, name, uid } = resource
  return cleanupCandidate.object(
    { name: candidateName(policy, resource) },
    {
      policy,
      location,
      resource: {
        provider,
        ...(cluster ? { cluster } : {}),
        ...(account ? { account } : {}),
        ...(region ? { region } : {}),
        apiVersion,
        kind,
        ...(namespace ? { namespace } : {}),
        name,
        uid,
      },
    },
  )
}

/**
 * Reads a mark as the present policy sees it. A retention that was lengthened moves the date of an announced mark; a shorter
 * one does not, because its owner was told the date.
 */
export function markUnder(
  candidate: CleanupCandidate,
  { policy, schedule }: { readonly policy: CompiledPolicy; readonly schedule: WorkScheduleSpec | undefined },
): Mark {
  const mark = markOf(candidate)
  const { policyUid, retentionSeconds, owner } = candidate.status ?? {}
  // A mark without a uid was stored before marks had one.
  const isOfFormerPolicy =
    policyUid === undefined ? mark.markedAt > 0 && mark.markedAt < policy.createdAt : policyUid !== policy.uid
  if (mark.announcedAt === undefined || retentionSeconds !== undefined) return { ...mark, isOfFormerPolicy }
  const retention = owner ? policy.retention : policy.retentionWithoutOwner
  const wanted = deletionDate(retention, { from: mark.announcedAt, schedule }) ?? Infinity
  return { ...mark, isOfFormerPolicy, projectedAt: Math.max(mark.projectedAt ?? 0, wanted) }
}

/** Reads a mark for decisions. A candidate without status, created just before a crash, counts as unmarked. */
export function markOf(candidate: CleanupCandidate): Mark {
  return marks.getOrInsertComputed(candidate, readMark)
}

/** When an announced resource is deleted at the earliest, for people: never a time that has passed. */
export function leavesOf(candidate: CleanupCandidate, now: number): string | undefined {
  const mark = readMark(candidate)
  const at = dueAt(mark)?.at
  if (!isActive(mark.phase) || mark.phase === 'Marked' || at === undefined || at === Infinity) return undefined
  return at > now ? formatTime(at) : 'due'
}

/** Every cycle reads every mark, and few have changed since. */
const marks = new WeakMap<CleanupCandidate, Mark>()

function readMark({ spec, status = {} }: CleanupCandidate): Mark {
  const { generation = 1, notices = [] } = status
  const ofThisMark = notices.filter((notice) => (notice.generation ?? 1) === generation && notice.kind !== 'copy')
  const delivered = ofThisMark.filter(({ error }) => error === undefined)
  const announced = delivered.filter(({ kind = 'notice' }) => kind !== 'reminder')
  return {
    phase: status.phase ?? 'Unmarked',
    isOfFormerPolicy: false,
    markedAt: parseTime(status.markedAt) ?? 0,
    hold: spec.hold ?? false,
    // An unreadable notBefore postpones for ever.
    notBefore: spec.notBefore === undefined ? undefined : (parseTime(spec.notBefore) ?? Infinity),
    projectedAt: parseTime(status.projectedDeletionTime),
    promisedAt: parseTime(status.promisedTime),
    announcedAt: latest(announced),
    lastNoticeAt: latest(delivered),
    noticeFailed: ofThisMark.some(({ error }) => error !== undefined),
    isCopyMissing: isCopyMissing(notices.filter((each) => (each.generation ?? 1) === generation)),
    hasOwner: status.owner !== undefined,
    scheduledAt: parseTime(status.scheduledTime),
    nextAttemptAt: parseTime(status.nextAttemptTime),
    finishedAt: parseTime(status.finishedAt),
  }
}

/** Fields of a mark's status to set; null drops a field. */
export type StatusChange = { readonly [Field in keyof CandidateStatus]?: CandidateStatus[Field] | null }

/** A status in a phase, with the change applied and an entry in its history when phase or reason differ. */
export function withPhase(
  status: CandidateStatus | undefined,
  { phase, because, at }: { readonly phase: CandidatePhase; readonly because: string; readonly at: number },
  change: StatusChange = {},
): CandidateStatus {
  const former = status ?? {}
  const isNew = former.phase !== phase || former.because !== because
  const entry = { at: formatTime(at), phase, because }
  const merged = {
    ...former,
    ...change,
    phase,
    because,
    ...(isNew ? { history: [...(former.history ?? []), entry].slice(-20) } : {}),
  }
  return Object.fromEntries(
    Object.entries(merged).filter(([, value]) => value !== null && value !== undefined),
  ) as CandidateStatus
}

/** Whether the last attempts to send a copy failed, and more are left. */
function isCopyMissing(notices: readonly CandidateNotice[]): boolean {
  const copies = Map.groupBy(
    notices.filter(({ kind }) => kind === 'copy'),
    ({ channel }) => channel,
  )
  return [...copies.values()].some(
    (tries) => tries.length < maxCopyTries && tries.every(({ error }) => error !== undefined),
  )
}

const maxCopyTries = 6

function latest(notices: readonly { readonly at: string }[]): number | undefined {
  const times = notices.flatMap(({ at }) => parseTime(at) ?? [])
  return times.length > 0 ? Math.max(...times) : undefined
}
