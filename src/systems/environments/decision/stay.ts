import type { DueReason } from '../../../apis/environment.ts'
import type { ClassRules } from './rules.ts'

/** What the date of a deletion depends on. Instants in epoch milliseconds. */
export interface StayFacts {
  readonly rules: ClassRules
  readonly createdAt: number
  /** Since when there is an Environment for it: a label on an old Namespace deletes nothing at once. */
  readonly managedSince: number
  readonly lastUsedAt: number
  readonly deployedAt: number
  /** False: a sign of use that the class lists cannot be read. */
  readonly isUseVisible: boolean
  readonly keepUntil: number | undefined
  readonly pull: PullFacts | undefined
  /** Whether the CEL condition of the class is true. */
  readonly isConditionTrue: boolean
  /** Since when the environment is the one to go because the class is full. */
  readonly evictedAt: number | undefined
  readonly announcement: Announcement | undefined
  /** The owner to be told; undefined when none is known. */
  readonly owner: string | undefined
  /** Whether the owner must be told by a channel. */
  readonly needsOwner: boolean
  /** The next instant at which this owner may get a mail. */
  readonly mailAt: number
}

export interface PullFacts {
  readonly state: 'open' | 'closed' | 'merged' | 'unknown'
  /** False: the forge did not answer when it was last asked. */
  readonly isKnown: boolean
  readonly closedAt: number | undefined
  readonly headChangedAt: number | undefined
}

export interface Announcement {
  readonly reason: DueReason
  readonly date: number
  readonly writtenAt: number
  readonly toldAt: number | undefined
  readonly owner: string | undefined
  readonly attempts: number
  readonly retryAt: number | undefined
}

export interface Due {
  readonly reason: DueReason
  readonly at: number
}

export type StayDecision =
  | { readonly do: 'stay'; readonly due?: Due | undefined; readonly until?: number | undefined }
  | { readonly do: 'announce'; readonly reason: DueReason; readonly date: number }
  | { readonly do: 'withdraw' }
  | { readonly do: 'move'; readonly date: number }
  | { readonly do: 'tell' }
  | {
      readonly do: 'hold'
      readonly because: 'pull-request-unknown' | 'use-unknown' | 'owner-unknown' | 'not-told'
      readonly until: number
    }
  | { readonly do: 'delete'; readonly reason: DueReason }

/** Time in which announcements for the same owner are collected into one notice. */
const collectMs = 10_000
const holdMs = 300_000

/** Decides whether an environment stays, is announced or is deleted. Nothing is deleted before the announced date. */
export function decideStay(facts: StayFacts, now: number): StayDecision {
  const due = dueOf(facts, now)
  const { announcement } = facts
  if (!due) return announcement ? { do: 'withdraw' } : { do: 'stay' }
  const warnMs = warningOf(due.reason, facts.rules)
  if (!announcement) {
    if (now < due.at - warnMs) return { do: 'stay', due, until: due.at - warnMs }
    if (!isVisible(due, facts)) return useUnknown(now)
    return { do: 'announce', reason: due.reason, date: Math.max(due.at, now + warnMs) }
  }
  const isSame = due.reason === announcement.reason
  if (due.at > announcement.date)
    return isSame && now >= due.at - warnMs ? { do: 'move', date: due.at } : { do: 'withdraw' }
  // A date never moves nearer: the owner relies on the one that was announced. What he was told of another reason is no notice.
  return isSame
    ? decideAnnounced(facts, announcement, now)
    : { do: 'announce', reason: due.reason, date: Math.max(announcement.date, now + warnMs) }
}

function decideAnnounced(facts: StayFacts, announcement: Announcement, now: number): StayDecision {
  const { reason, date, attempts } = announcement
  const warnMs = warningOf(reason, facts.rules)
  const isTold = isToldOwner(facts)
  // Its grace is the warning of a closed pull request: the limit of one notice a day does not delay the deletion.
  const needsNotice = reason !== 'pull-request-closed' || (attempts === 0 && facts.mailAt <= date)
  if (!isTold && needsNotice) {
    if (facts.needsOwner && facts.owner === undefined)
      return { do: 'hold', because: 'owner-unknown', until: now + holdMs }
    const tellAt = Math.max(announcement.writtenAt + collectMs, announcement.retryAt ?? 0, facts.mailAt)
    if (now >= tellAt) return { do: 'tell' }
    if (now >= date && attempts > 0) return { do: 'hold', because: 'not-told', until: tellAt }
    return { do: 'stay', due: { reason, at: Math.max(date, tellAt + warnMs) }, until: tellAt }
  }
  const from = Math.max(date, (isTold ? (announcement.toldAt ?? 0) : 0) + warnMs)
  if (now < from) return { do: 'stay', due: { reason, at: from }, until: from }
  if (facts.pull && !facts.pull.isKnown) return { do: 'hold', because: 'pull-request-unknown', until: now + holdMs }
  return isVisible(announcement, facts) ? { do: 'delete', reason } : useUnknown(now)
}

const isToldOwner = ({ announcement, owner }: StayFacts) =>
  announcement?.toldAt !== undefined && announcement.owner === owner

/** Whether the sign of use that a reason depends on can be read. */
const isVisible = ({ reason }: Pick<Due, 'reason'>, { isUseVisible, rules }: StayFacts) =>
  isUseVisible || !dependsOnUse(reason, rules)

const useUnknown = (now: number) => ({ do: 'hold', because: 'use-unknown', until: now + holdMs }) as const

/**
 * The rule by which the environment is deleted first, with every keep applied; undefined when none makes it due. Of those that keep to the same date: one that
 * can be judged, the one that its owner was told of, and, once it is announced, a closed pull request, which needs no warning.
 */
export function dueOf(facts: StayFacts, now: number): Due | undefined {
  const { announcement, rules } = facts
  const oldest = oldestAt(facts)
  const kept = Math.min(facts.keepUntil ?? 0, oldest)
  const all = [...(oldest === Infinity ? [] : [{ reason: 'max-age' as const, at: oldest }]), ...ruleDues(facts)]
  const ranked = all.map(({ reason, at }) => {
    const due = { reason, at: Math.max(at, kept) }
    const goesAt = Math.max(due.at, announcement?.date ?? now + warningOf(reason, rules))
    const isSame = reason === announcement?.reason
    const isClosed = reason === 'pull-request-closed' && announcement !== undefined
    const preferences = [isSame && isToldOwner(facts), isClosed, isSame, true]
    const rank = isVisible(due, facts) ? preferences.indexOf(true) : preferences.length
    return { due, goesAt, rank }
  })
  return ranked.toSorted((a, b) => a.goesAt - b.goesAt || a.rank - b.rank || a.due.at - b.due.at)[0]?.due
}

function oldestAt({ rules, createdAt }: Pick<StayFacts, 'rules' | 'createdAt'>): number {
  return rules.maxAgeMs === undefined ? Infinity : createdAt + rules.maxAgeMs
}

/** Why a deletion that has begun is given up. What users do meanwhile counts; what the deletion itself changes does not. */
export function whyGivenUp(facts: StayFacts, reason: DueReason, now: number): string | undefined {
  if (Math.min(facts.keepUntil ?? 0, oldestAt(facts)) > now) return 'it was kept'
  const isReopened = reason === 'pull-request-closed' && facts.pull?.isKnown && facts.pull.state === 'open'
  return isReopened ? 'its pull request was opened again' : undefined
}

function* ruleDues({ rules, pull, ...facts }: StayFacts): Generator<Due> {
  const { closedMs, staleMs, afterMs, since } = rules
  const isClosed = pull?.state === 'closed' || pull?.state === 'merged'
  if (isClosed && closedMs !== undefined && pull.closedAt !== undefined)
    yield { reason: 'pull-request-closed', at: Math.max(pull.closedAt, facts.managedSince) + closedMs }
  if (pull && staleMs !== undefined)
    yield { reason: 'pull-request-stale', at: Math.max(pull.headChangedAt ?? 0, facts.lastUsedAt) + staleMs }
  const from = { LastUsed: facts.lastUsedAt, Created: facts.createdAt, LastDeployed: facts.deployedAt }[since]
  if (afterMs !== undefined) yield { reason: 'unused', at: from + afterMs }
  if (facts.isConditionTrue) yield { reason: 'condition', at: 0 }
  if (facts.evictedAt !== undefined) yield { reason: 'evicted', at: facts.evictedAt }
}

/** A closed pull request needs no warning: its grace is one. */
export function warningOf(reason: DueReason, { warnMs }: ClassRules): number {
  return reason === 'pull-request-closed' ? 0 : warnMs
}

export function dependsOnUse(reason: DueReason, { since }: ClassRules): boolean {
  return reason === 'pull-request-stale' || reason === 'evicted' || (reason === 'unused' && since === 'LastUsed')
}
