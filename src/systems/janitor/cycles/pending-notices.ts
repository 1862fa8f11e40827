import type { CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { parseTime } from '../../../kube/time.ts'
import { markUnder } from '../decision/candidate.ts'
import { decideNotice, isActive, type NoticeDecision } from '../decision/decide.ts'
import { markDueAt } from './mark-cycle.ts'
import type { Channel } from '../../../notices/notice.ts'
import { maySelect } from '../opt-outs/opt-out.ts'
import { minimalObject, optOutFinder, protectionCheck } from '../verdict/protection.ts'
import type { Resource } from '../model/resource.ts'
import type { ResourceRef } from '../verdict/provider.ts'
import { locationStatus, type WorkItem } from '../work/work.ts'

/** A mark, and what to tell its owner now. */
export interface PendingNotice {
  readonly candidate: CleanupCandidate
  readonly decision: NoticeDecision
}

/** Decides for every active mark of a policy at a location what to tell its owner. Opted-out resources are left out. */
export function pendingNotices(item: WorkItem, channels: readonly Channel[]): readonly PendingNotice[] {
  const { policy, location, ports } = item
  const now = ports.clock.now()
  const { mode, remindBeforeMs } = policy.notices
  const rules = { mode, remindBeforeMs, needsOwner: channels.every((channel) => channel.audience === 'owner') }
  const isProtected = protectionCheck(optOutFinder(ports.caches.optOuts.list()), now)
  const maybeOptedOut = optedOutByLabelSinceMarking(item)
  // The next mark cycle decides; a second later its marks are in the cache.
  const afterMarking = { do: 'wait', until: Math.max(now, markDueAt(item)) + 1000 } as const
  return ports.caches
    .marks(policy.name, location)
    .filter(({ spec, status }) => isActive(status?.phase ?? 'Unmarked') && !isProtected(outlineOf(spec.resource)))
    .map((candidate) => ({
      candidate,
      decision: maybeOptedOut(candidate) ? afterMarking : decideNotice(markUnder(candidate, item), rules, now),
    }))
}

/** Whether an opt-out by label, newer than the last mark cycle, may select a mark's resource: marks keep no labels. */
function optedOutByLabelSinceMarking(item: WorkItem): (candidate: CleanupCandidate) => boolean {
  const markedAt = parseTime(locationStatus(item).markedAt) ?? 0
  const newer = item.ports.caches.optOuts
    .list()
    .filter(({ metadata }) => (parseTime(metadata.creationTimestamp) ?? Infinity) >= markedAt)
  return ({ spec }) => newer.some((optOut) => maySelect(optOut, spec.resource))
}

/** As much of a resource as its mark knows. */
function outlineOf(ref: ResourceRef): Resource {
  const { cluster = '', ...rest } = ref
  return { ...rest, cluster, tags: {}, labels: {}, use: { state: 'unknown', because: '' }, object: minimalObject(ref) }
}
