import type { CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { parseTime } from '../../../kube/time.ts'
import { markOf } from '../decision/candidate.ts'
import { decideNotice, isActive, type NoticeDecision } from '../decision/decide.ts'
import { markDueAt } from './mark-cycle.ts'
import type { Channel } from '../../../notices/notice.ts'
import { mayMean } from '../opt-outs/opt-out.ts'
import { optOutFinder, protector, sketchOf } from '../verdict/protection.ts'
import type { Resource } from '../model/resource.ts'
import { locationStatus, type Unleased, type WorkPorts } from '../work/work.ts'

/** A mark, and what is to be told of it. */
export interface Pending {
  readonly candidate: CleanupCandidate
  readonly decision: NoticeDecision
}

/** What is to be told of every mark of a policy at a location. */
export function pendingOf(
  work: Unleased,
  ports: WorkPorts,
  { now, channels }: { readonly now: number; readonly channels: readonly Channel[] },
): readonly Pending[] {
  const { mode, remindBeforeMs } = work.policy.notices
  const rules = { mode, remindBeforeMs, needsOwner: channels.every((channel) => channel.reaches === 'owner') }
  const isInDoubt = doubtOf(work, ports)
  // The next look tells, and the second after it is soon enough.
  const afterLook = { do: 'wait', until: Math.max(now, markDueAt(work)) + 1000 } as const
  return spared(ports, now, work)
    .filter(({ status }) => isActive(status?.phase ?? 'Unmarked'))
    .map((candidate): Pending => {
      const decision = isInDoubt(candidate) ? afterLook : decideNotice(markOf(candidate), rules, now)
      return { candidate, decision }
    })
}

/** Marks that an opt-out by label may mean which came after the last look. */
function doubtOf(work: Unleased, { desk }: WorkPorts): (candidate: CleanupCandidate) => boolean {
  const lookedAt = parseTime(locationStatus(work).markedAt) ?? 0
  const unseen = desk.optOuts
    .list()
    .filter(({ metadata }) => (parseTime(metadata.creationTimestamp) ?? Infinity) >= lookedAt)
  return ({ spec }) => unseen.some((optOut) => mayMean(optOut, spec.resource))
}

/** Marks that nobody has opted out of since: the next look will lift the others. */
function spared({ desk }: WorkPorts, now: number, { policy, location }: Unleased): readonly CleanupCandidate[] {
  const protection = protector(optOutFinder(desk.optOuts.list()), now)
  return desk.marks(policy.name, location).filter(({ spec }) => !protection(outline(spec.resource)))
}

function outline(ref: CleanupCandidate['spec']['resource']): Resource {
  const { cluster = '', ...rest } = ref
  return { ...rest, cluster, tags: {}, labels: {}, use: { state: 'unknown', because: '' }, object: sketchOf(ref) }
}
