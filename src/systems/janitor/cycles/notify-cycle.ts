import { backoffDelay } from '../../../kube/basics/backoff-delay.ts'
import type { CandidateNotice, CandidateStatus, CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import { wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import { isConditionTrue, setCondition } from '../../../kube/conditions.ts'
import { turned } from '../decision/candidate.ts'
import type { NoticeDecision } from '../decision/decide.ts'
import { composeNotices } from './compose.ts'
import { reaches, type Channel, type Notice } from '../../../notices/notice.ts'
import { RetryLater } from '../../../notices/post.ts'
import { itemOf, promised } from './notice-item.ts'
import { pendingOf, type Pending } from './pending-notices.ts'
import { writePolicyStatus } from '../work/policy-status.ts'
import { FenceLost, writeMark, type Unleased, type Work, type WorkPorts } from '../work/work.ts'

const mostNotices = 20
const longestRetryMs = 6 * 3_600_000

/** When somebody is to be told of something here. Undefined: nobody is. */
export function notifyDueAt(work: Unleased, ports: WorkPorts): number | undefined {
  if (work.dryRun) return undefined
  const now = ports.clock.now()
  const times = pendingOf(work, ports, { now, channels: channelsOf(work, ports) }).flatMap(
    ({ candidate, decision }) => {
      if (decision.do === 'wait') return [decision.until]
      if (decision.do === 'hold') return isNoted(candidate, decision.because) ? [] : [now]
      return decision.do === 'nothing' ? [] : [now]
    },
  )
  return times.length > 0 ? Math.min(...times) : undefined
}

/** Tells owners of their marks, and reminds them; a mark counts as announced only when somebody has it. */
export async function notifyCycle(work: Work, ports: WorkPorts): Promise<Outcome> {
  const now = ports.clock.now()
  const channels = channelsOf(work, ports)
  const pending = pendingOf(work, ports, { now, channels })
  for (const { candidate, decision } of pending) {
    if (decision.do === 'waive') await waive(work, ports, candidate, now)
    if (decision.do === 'hold' && !isNoted(candidate, decision.because))
      await noteOwnerUnknown(work, ports, candidate, now)
  }
  const notified = await tellAll(work, ports, { kind: 'notice', candidates: chosen(pending, 'announce'), channels })
  await tellAll(work, ports, { kind: 'reminder', candidates: chosen(pending, 'remind'), channels })
  if (notified > 0)
    await writePolicyStatus(ports, work.policy.name, { location: { name: work.location, change: { notified } } })
  return wakeAt(ports.clock.now() + 1000)
}

/** Whether a mark says already why nobody is told of it. */
function isNoted({ status }: CleanupCandidate, because: string): boolean {
  return because !== 'owner-unknown' || isConditionTrue(status?.conditions, 'OwnerUnknown')
}

function chosen(pending: readonly Pending[], what: NoticeDecision['do']): readonly CleanupCandidate[] {
  return pending.filter(({ decision }) => decision.do === what).map(({ candidate }) => candidate)
}

function channelsOf({ policy }: Unleased, { desk, client, clock, openChannel }: WorkPorts): readonly Channel[] {
  return policy.notices.channels.flatMap((name) => {
    const channel = desk.channels.get('', name)
    return channel ? [openChannel(channel, { client, clock })] : []
  })
}

/** Where no notices are sent, the time runs from the mark. */
async function waive(work: Work, ports: WorkPorts, candidate: CleanupCandidate, now: number): Promise<void> {
  const notice: CandidateNotice = {
    kind: 'none',
    generation: generationOf(candidate),
    channel: 'none',
    at: formatTime(now),
  }
  const status = turned(
    candidate.status,
    { phase: 'Notified', because: 'violates', at: now },
    { notices: noticesWith(candidate, [notice]) },
  )
  await ignoringConflict(() => writeMark(ports, work, candidate, status))
}

async function noteOwnerUnknown(work: Work, ports: WorkPorts, candidate: CleanupCandidate, now: number): Promise<void> {
  const claim = {
    type: 'OwnerUnknown',
    status: 'True',
    reason: 'OwnerUnknown',
    message: 'nobody is known who could be told, so it stays',
  } as const
  const conditions = [...setCondition(candidate.status?.conditions, claim, now)]
  await ignoringConflict(() => writeMark(ports, work, candidate, { ...candidate.status, conditions }))
}

interface Telling {
  readonly kind: Notice['kind']
  readonly candidates: readonly CleanupCandidate[]
  readonly channels: readonly Channel[]
}

/** Tells of marks; of how many, somebody has it. */
async function tellAll(work: Work, ports: WorkPorts, { kind, candidates, channels }: Telling): Promise<number> {
  if (candidates.length === 0) return 0
  const key = await ports.linkKey()
  const byName = new Map<string, CleanupCandidate>()
  for (const candidate of candidates) {
    const written = kind === 'reminder' ? candidate : await promise(work, ports, candidate)
    if (written) byName.set(written.metadata.name, written)
  }
  const told = [...byName.values()].map((candidate) => ({
    owner: candidate.status?.owner?.address ?? '',
    item: itemOf(candidate, work, {
      key,
      publicUrl: ports.publicUrl(),
      otherPolicies: ports.desk.otherPolicies(candidate),
    }),
  }))
  const { itemsPerMessage, docsUrl } = work.policy.notices
  const notices = composeNotices(told, {
    kind,
    policy: work.policy.name,
    itemsPerMessage,
    docsUrl,
    timeZone: work.schedule?.timeZone ?? 'UTC',
  })
  let confirmed = 0
  for (const notice of notices) {
    const mentioned = notice.items.flatMap(({ candidate }) => byName.get(candidate) ?? [])
    const isConfirmed = await send(work, ports, { notice, candidates: mentioned, channels })
    if (isConfirmed) confirmed += mentioned.length
  }
  return confirmed
}

/** Writes down the date before it is printed: whatever happens then, nothing leaves earlier. */
async function promise(
  work: Work,
  ports: WorkPorts,
  candidate: CleanupCandidate,
): Promise<CleanupCandidate | undefined> {
  const date = promised(candidate, work, ports.clock.now())
  if (date === undefined) return undefined
  const change = { promisedTime: formatTime(date), projectedDeletionTime: formatTime(date) }
  return ignoringConflict(() => writeMark(ports, work, candidate, { ...candidate.status, ...change }))
}

interface Sending {
  readonly notice: Notice
  readonly candidates: readonly CleanupCandidate[]
  readonly channels: readonly Channel[]
}

/**
 * Sends a notice by every channel and notes how that went; whether somebody has it. What comes nearest to the owner decides that:
 * an Event that could be written is no news to somebody whose mail was refused.
 */
async function send(work: Work, ports: WorkPorts, { notice, candidates, channels }: Sending): Promise<boolean> {
  const outcomes: CandidateNotice[] = []
  let retryMs = 0
  const usable = channels.filter((channel) => channel.reaches !== 'owner' || notice.to.length > 0)
  const nearest = reaches.find((reach) => usable.some((channel) => channel.reaches === reach))
  for (const channel of usable) {
    const isCopy = channel.reaches !== nearest
    if (isCopy && candidates.every((candidate) => isCopied(candidate, channel, notice))) continue
    const at = formatTime(ports.clock.now())
    const kind = isCopy ? 'copy' : notice.kind
    const entry: CandidateNotice = { kind, channel: channel.name, at, messageId: notice.messageId }
    try {
      const { accepted, copies = [], rejected } = await channel.send(notice, work.signal)
      outcomes.push(...accepted.map((recipient) => ({ ...entry, recipient })))
      outcomes.push(...copies.map((recipient) => ({ ...entry, kind: 'copy' as const, recipient })))
      outcomes.push(...rejected.map(({ recipient, error }) => ({ ...entry, recipient, error: shortened(error) })))
      ports.metrics.notices.inc({
        policy: notice.policy,
        channel: channel.name,
        result: accepted.length > 0 ? 'accepted' : 'rejected',
      })
    } catch (error) {
      if (work.signal.aborted) throw error
      if (error instanceof RetryLater) retryMs = Math.max(retryMs, error.afterMs)
      outcomes.push({ ...entry, error: shortened((error as Error).message) })
      ports.metrics.notices.inc({ policy: notice.policy, channel: channel.name, result: 'failed' })
      ports.log.error('notice not sent', { policy: notice.policy, channel: channel.name, error })
    }
  }
  for (const candidate of candidates)
    await ignoringConflict(() =>
      writeMark(ports, work, candidate, statusAfter(candidate, outcomes, { retryMs, now: ports.clock.now() })),
    )
  return outcomes.some(isTold)
}

/** Whether an entry says that whom the notice is meant for has it. */
function isTold({ kind, error }: CandidateNotice): boolean {
  return error === undefined && kind !== 'copy'
}

/** Whether a channel has taken its copy of this very notice before. */
function isCopied({ status }: CleanupCandidate, channel: Channel, { messageId }: Notice): boolean {
  return (status?.notices ?? []).some(
    (entry) => entry.channel === channel.name && entry.messageId === messageId && entry.error === undefined,
  )
}

/** Told, if anybody has it; otherwise it is tried again after a while, and nothing is deleted meanwhile. */
function statusAfter(
  candidate: CleanupCandidate,
  outcomes: readonly CandidateNotice[],
  { retryMs, now }: { readonly retryMs: number; readonly now: number },
): CandidateStatus {
  const generation = generationOf(candidate)
  const entries = outcomes.map((outcome) => ({ ...outcome, generation }))
  const notices = noticesWith(candidate, entries)
  const confirmed = entries.some(isTold)
  if (confirmed)
    return turned(
      candidate.status,
      { phase: 'Notified', because: 'violates', at: now },
      { notices, attempts: null, nextAttemptTime: null, message: null },
    )
  const attempts = (candidate.status?.attempts ?? 0) + 1
  const waitMs = Math.max(retryMs, backoffDelay(attempts, { baseMs: 10_000, maxMs: longestRetryMs }))
  return { ...candidate.status, notices, attempts, nextAttemptTime: formatTime(now + waitMs) }
}

/** The latest entries; failures and copies go first, for what was told is the ground on which something leaves. */
function noticesWith({ status }: CleanupCandidate, entries: readonly CandidateNotice[]): CandidateNotice[] {
  const all = [...(status?.notices ?? []), ...entries]
  while (all.length > mostNotices) {
    const least = all.findIndex((entry) => !isTold(entry))
    all.splice(Math.max(least, 0), 1)
  }
  return all
}

function generationOf({ status }: CleanupCandidate): number {
  return status?.generation ?? 1
}

function shortened(text: string): string {
  return text.slice(0, 500)
}

/** Somebody else wrote to this mark: it is looked at again when the cache shows that. */
async function ignoringConflict<T>(write: () => Promise<T>): Promise<T | undefined> {
  try {
    return await write()
  } catch (error) {
    if (error instanceof FenceLost || !isStatusError(error, 'Conflict', 'NotFound')) throw error
    return undefined
  }
}
