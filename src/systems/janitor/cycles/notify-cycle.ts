import type { CandidateNotice, CandidateStatus, CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { backoffDelay } from '../../../kube/basics/backoff-delay.ts'
import { formatTime } from '../../../kube/time.ts'
import { wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import { isConditionTrue, setCondition } from '../../../kube/conditions.ts'
import { withPhase } from '../decision/candidate.ts'
import type { NoticeDecision } from '../decision/decide.ts'
import { composeNotices, type ComposedNotice } from './compose-notices.ts'
import { addressesIn } from '../../../notices/addresses.ts'
import { audiences, type Channel, type Notice } from '../../../notices/notice.ts'
import { TooManyNotices } from '../../../notices/open-channel.ts'
import { RetryLater } from '../../../notices/post.ts'
import { listLink } from '../opt-outs/links.ts'
import { linkGraceMs, noticeItem, promisedDate } from './notice-item.ts'
import { pendingNotices, type PendingNotice } from './pending-notices.ts'
import { writePolicyStatus } from '../work/policy-status.ts'
import { tryWriteMark, type PlannedCycle, type Work, type WorkItem } from '../work/work.ts'

const maxNotices = 20
const maxRetryMs = 6 * 3_600_000
const limitedMs = 600_000

/** Plans the notices of a location; undefined when none will ever be due for its present marks. */
export function planNotifyCycle(item: WorkItem): PlannedCycle | undefined {
  if (item.dryRun) return undefined
  const now = item.ports.clock.now()
  const channels = channelsOf(item)
  const pending = pendingNotices(item, channels)
  const times = pending.flatMap((notice) => dueTimeOf(notice, now) ?? [])
  if (times.length === 0) return undefined
  return { dueAt: Math.min(...times), run: (work) => notifyCycle(work, pending, channels) }
}

function dueTimeOf({ candidate, decision }: PendingNotice, now: number): number | undefined {
  switch (decision.do) {
    case 'nothing':
      return undefined
    case 'wait':
      return decision.until
    case 'hold':
      return isRecorded(candidate, decision.because) ? undefined : now
    default:
      return now
  }
}

/** Sends notices and reminders to owners. A mark counts as announced only once a channel has accepted the notice. */
async function notifyCycle(
  work: Work,
  pending: readonly PendingNotice[],
  channels: readonly Channel[],
): Promise<Outcome> {
  const { policy, location, ports } = work
  for (const { candidate, decision } of pending) {
    if (decision.do === 'waive') await waiveNotice(work, candidate)
    if (decision.do === 'hold' && !isRecorded(candidate, decision.because)) await recordUnknownOwner(work, candidate)
  }
  const notified = await notifyOwners(work, candidatesTo('announce', pending), { kind: 'notice', channels })
  await notifyOwners(work, candidatesTo('remind', pending), { kind: 'reminder', channels })
  await notifyOwners(work, candidatesTo('copy', pending), { kind: 'notice', channels, copiesOnly: true })
  if (notified > 0) await writePolicyStatus(ports, policy.name, { location: { name: location, change: { notified } } })
  return wakeAt(ports.clock.now() + 1000)
}

/** Whether a mark says already why no notice is sent for it. */
function isRecorded({ status }: CleanupCandidate, because: string): boolean {
  return because !== 'owner-unknown' || isConditionTrue(status?.conditions, 'OwnerUnknown')
}

function candidatesTo(what: NoticeDecision['do'], pending: readonly PendingNotice[]): readonly CleanupCandidate[] {
  return pending.filter(({ decision }) => decision.do === what).map(({ candidate }) => candidate)
}

function channelsOf({ policy, ports }: WorkItem): readonly Channel[] {
  const { caches, openChannel } = ports
  return policy.notices.channels.flatMap((name) => {
    const channel = caches.channels.get('', name)
    return channel ? [openChannel(channel)] : []
  })
}

/** Where the policy sends no notices, the retention runs from the mark. */
async function waiveNotice(work: Work, candidate: CleanupCandidate): Promise<void> {
  const now = work.ports.clock.now()
  const notice: CandidateNotice = {
    kind: 'none',
    generation: generationOf(candidate),
    channel: 'none',
    at: formatTime(now),
  }
  const change = { phase: 'Notified', because: 'violates', at: now } as const
  await tryWriteMark(
    work,
    candidate,
    withPhase(candidate.status, change, { notices: noticesWith(candidate, [notice]) }),
  )
}

async function recordUnknownOwner(work: Work, candidate: CleanupCandidate): Promise<void> {
  const claim = {
    type: 'OwnerUnknown',
    status: 'True',
    reason: 'OwnerUnknown',
    message: 'no owner is known who could be notified, so the resource is kept; set spec.owner.default or tag an owner',
  } as const
  const conditions = [...setCondition(candidate.status?.conditions, claim, work.ports.clock.now())]
  await tryWriteMark(work, candidate, { ...candidate.status, conditions })
}

interface Sending {
  readonly kind: Notice['kind']
  readonly channels: readonly Channel[]
  /** Only the copies that failed are sent again: the owner has the notice. Defaults to false. */
  readonly copiesOnly?: boolean
}

/** Notifies the owners of marks. Returns for how many marks a notice was accepted. */
async function notifyOwners(
  work: Work,
  candidates: readonly CleanupCandidate[],
  { kind, channels, copiesOnly = false }: Sending,
): Promise<number> {
  if (candidates.length === 0) return 0
  const key = await work.ports.linkKey()
  const byName = new Map<string, CleanupCandidate>()
  for (const candidate of candidates) {
    const isTold = kind === 'reminder' || copiesOnly
    const current = isTold ? unchanged(work, candidate) : await recordPromise(work, candidate)
    if (current) byName.set(current.metadata.name, current)
  }
  const clusterName = await work.ports.clusterName()
  const notices = noticesFor(work, [...byName.values()], { kind, key, clusterName })
  const tellings = new Map<string, Telling>()
  for (const [name, candidate] of byName) tellings.set(name, { candidate, outcomes: [], retryMs: 0, left: 0 })
  for (const { candidate } of notices.flatMap(({ items }) => items)) tellings.get(candidate)!.left += 1
  for (const notice of notices) {
    const mentioned = notice.items.flatMap(({ candidate }) => tellings.get(candidate) ?? [])
    const candidates = mentioned.map(({ candidate }) => candidate)
    const sent = await send(work, notice, { candidates, channels, copiesOnly })
    for (const telling of mentioned) await record(work, telling, sent)
  }
  return tellings
    .values()
    .filter(({ outcomes }) => outcomes.some(isConfirmation))
    .toArray().length
}

interface Sent {
  readonly outcomes: readonly CandidateNotice[]
  /** How long a channel asks to wait. */
  readonly retryMs: number
}

/** A mark while notices mention it: one for each of its owner's addresses, and one for the other channels. */
interface Telling {
  readonly candidate: CleanupCandidate
  readonly outcomes: CandidateNotice[]
  retryMs: number
  /** How many notices that mention it are not sent yet. */
  left: number
}

/** Writes a mark after the last notice that mentions it: until then it does not count as announced, whatever stops the work. */
async function record(work: Work, telling: Telling, { outcomes, retryMs }: Sent): Promise<void> {
  telling.outcomes.push(...outcomes)
  telling.retryMs = Math.max(telling.retryMs, retryMs)
  telling.left -= 1
  if (telling.left > 0) return
  const now = work.ports.clock.now()
  await tryWriteMark(
    work,
    telling.candidate,
    statusAfter(telling.candidate, telling.outcomes, { retryMs: telling.retryMs, now }),
  )
}

function noticesFor(
  { policy, schedule, ports }: Work,
  candidates: readonly CleanupCandidate[],
  { kind, key, clusterName }: { readonly kind: Notice['kind']; readonly key: string; readonly clusterName: string },
): readonly ComposedNotice[] {
  const base = policy.notices.optOutBaseUrl || ports.publicUrl()
  const addressed = candidates.map((candidate) => ({
    owners: addressesIn(candidate.status?.owner?.address ?? ''),
    item: noticeItem(candidate, policy, {
      key,
      publicUrl: ports.publicUrl(),
      otherPolicies: ports.caches.otherPolicies(candidate),
      clusterName,
      now: ports.clock.now(),
    }),
  }))
  const { itemsPerMessage, docsUrl } = policy.notices
  const timeZone = schedule?.timeZone ?? 'UTC'
  const listUrl = (owner: string, items: Notice['items']) => {
    const expires = Math.floor((Math.max(...items.map(({ deletionAt }) => deletionAt)) + linkGraceMs) / 1000)
    return base && owner ? listLink(base, key, { policy: policy.name, owner, expires }) : undefined
  }
  const cluster = clusterName
  return composeNotices(addressed, { kind, policy: policy.name, itemsPerMessage, docsUrl, timeZone, cluster, listUrl })
}

/** A mark, unless another instance wrote to it, and perhaps reminded its owner, before this one held the lease. */
function unchanged({ ports }: Work, candidate: CleanupCandidate): CleanupCandidate | undefined {
  const cached = ports.caches.candidates.get('', candidate.metadata.name)
  return cached?.metadata.resourceVersion === candidate.metadata.resourceVersion ? candidate : undefined
}

/** Stores the date before a notice prints it: even after a crash nothing is deleted before a printed date. */
async function recordPromise(work: Work, candidate: CleanupCandidate): Promise<CleanupCandidate | undefined> {
  const date = promisedDate(candidate, work, work.ports.clock.now())
  if (date === undefined) return undefined
  const change = { promisedTime: formatTime(date), projectedDeletionTime: formatTime(date) }
  return tryWriteMark(work, candidate, { ...candidate.status, ...change })
}

/**
 * Sends a notice through its channels. The channels nearest to the owner confirm it, so a stored Event does not confirm a
 * notice whose mail was refused.
 */
async function send(
  work: Work,
  notice: ComposedNotice,
  {
    candidates,
    channels,
    copiesOnly,
  }: Pick<Sending, 'channels' | 'copiesOnly'> & { candidates: readonly CleanupCandidate[] },
): Promise<Sent> {
  const outcomes: CandidateNotice[] = []
  let retryMs = 0
  const usable = channels.filter((channel) => channel.audience !== 'owner' || notice.to.length > 0)
  const nearest = audiences.find((audience) => usable.some((channel) => channel.audience === audience))
  for (const channel of usable) {
    if ((channel.audience === 'owner') !== notice.isForAddress) continue
    const isCopy = channel.audience !== nearest
    if (!isCopy && copiesOnly) continue
    if (
      isCopy &&
      candidates.every((candidate) => isCopied(candidate, channel, { ...notice, copiesOnly: copiesOnly === true }))
    )
      continue
    const sent = await sendThrough(work, channel, { notice, kind: isCopy ? 'copy' : notice.kind })
    outcomes.push(...sent.outcomes)
    retryMs = Math.max(retryMs, sent.retryMs)
  }
  return { outcomes, retryMs }
}

/** Sends a notice through one channel; a failure is an outcome, too. */
async function sendThrough(
  { signal, ports }: Work,
  channel: Channel,
  { notice, kind }: { readonly notice: ComposedNotice; readonly kind: NonNullable<CandidateNotice['kind']> },
): Promise<Sent> {
  const labels = { policy: notice.policy, channel: channel.name }
  const at = formatTime(ports.clock.now())
  const entry: CandidateNotice = { kind, channel: channel.name, at, messageId: notice.messageId }
  try {
    const { accepted, copies = [], rejected } = await channel.send(notice, signal)
    ports.metrics.notices.inc({ ...labels, result: accepted.length > 0 ? 'accepted' : 'rejected' })
    const outcomes = [
      ...accepted.map((recipient) => ({ ...entry, recipient })),
      ...copies.map((recipient) => ({ ...entry, kind: 'copy' as const, recipient })),
      ...rejected.map(({ recipient, error }) => ({ ...entry, recipient, error: shortened(error) })),
    ]
    return { outcomes, retryMs: 0 }
  } catch (error) {
    if (signal.aborted) throw error
    // Not a failure that a best-effort policy deletes after.
    if (error instanceof TooManyNotices) return { outcomes: [], retryMs: limitedMs }
    ports.metrics.notices.inc({ ...labels, result: 'failed' })
    ports.log.error('notice not sent', { ...labels, error })
    const recipient = notice.isForAddress ? notice.to[0] : undefined
    const outcomes = [{ ...entry, ...(recipient ? { recipient } : {}), error: shortened((error as Error).message) }]
    return { outcomes, retryMs: error instanceof RetryLater ? error.afterMs : 0 }
  }
}

/** Whether an entry shows that the notice reached its audience. */
function isConfirmation({ kind, error }: CandidateNotice): boolean {
  return error === undefined && kind !== 'copy'
}

/** Whether a channel has accepted its copy before: of this very notice, or of any for the same date when copies are sent again. */
function isCopied(
  { status }: CleanupCandidate,
  channel: Channel,
  { messageId, copiesOnly }: Pick<Notice, 'messageId'> & Pick<Sending, 'copiesOnly'>,
): boolean {
  return (status?.notices ?? []).some(
    (entry) =>
      entry.channel === channel.name &&
      entry.error === undefined &&
      (entry.messageId === messageId || (copiesOnly && entry.generation === status?.generation)),
  )
}

/** `Notified` once confirmed; otherwise the notice is retried later, and nothing is deleted meanwhile. */
function statusAfter(
  candidate: CleanupCandidate,
  outcomes: readonly CandidateNotice[],
  { retryMs, now }: { readonly retryMs: number; readonly now: number },
): CandidateStatus {
  const generation = generationOf(candidate)
  const entries = outcomes.map((outcome) => ({ ...outcome, generation }))
  const notices = noticesWith(candidate, entries)
  const isConfirmed = entries.some(isConfirmation)
  const attempts = (candidate.status?.attempts ?? 0) + 1
  const waitMs = Math.max(retryMs, backoffDelay(attempts, { baseMs: 10_000, maxMs: maxRetryMs }))
  const isCopyMissing = outcomes.some(({ kind, error }) => kind === 'copy' && error !== undefined)
  // A reminder that was refused is retried like a notice; a round of copies leaves the owner's notice as it is.
  const isToldBefore =
    candidate.status?.phase === 'Notified' &&
    (outcomes.length > 0 || retryMs === 0) &&
    outcomes.every(({ kind }) => kind === 'copy')
  if (isConfirmed || isToldBefore) {
    const retry = isCopyMissing ? { attempts, nextAttemptTime: formatTime(now + waitMs) } : noRetry
    const change = { phase: 'Notified', because: 'violates', at: now } as const
    return withPhase(candidate.status, change, { notices, ...retry, message: null })
  }
  return { ...candidate.status, notices, attempts, nextAttemptTime: formatTime(now + waitMs) }
}

const noRetry = { attempts: null, nextAttemptTime: null }

/** The latest entries. Failures and copies are dropped first: confirmations are the grounds for a deletion. */
function noticesWith({ status }: CleanupCandidate, entries: readonly CandidateNotice[]): CandidateNotice[] {
  const all = [...(status?.notices ?? []), ...entries]
  while (all.length > maxNotices) {
    const expendable = all.findIndex((entry) => !isConfirmation(entry))
    all.splice(Math.max(expendable, 0), 1)
  }
  return all
}

function generationOf({ status }: CleanupCandidate): number {
  return status?.generation ?? 1
}

function shortened(text: string): string {
  return text.slice(0, 500)
}
