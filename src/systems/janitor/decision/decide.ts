import type { CandidatePhase } from '../../../apis/cleanup-candidate.ts'
import type { Compliance, Exclusion, PhaseReason, Wait } from '../model/because.ts'
import type { Verdict } from '../verdict/judge.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Summary } from '../rules/rule-tree.ts'

/** A mark as decisions read it, times in epoch milliseconds. */
export interface Mark {
  readonly phase: CandidatePhase
  /** An earlier policy of the same name made it: its owner was told other things. */
  readonly isOfFormerPolicy: boolean
  readonly markedAt: number
  readonly hold: boolean
  readonly notBefore: number | undefined
  readonly projectedAt: number | undefined
  /** The latest date a notice of this mark may have printed. */
  readonly promisedAt: number | undefined
  /** When its owner was notified; undefined while that is not confirmed. */
  readonly announcedAt: number | undefined
  /** When a notice or reminder was last confirmed. */
  readonly lastNoticeAt: number | undefined
  readonly noticeFailed: boolean
  /** A channel beside those nearest to the owner has not accepted its copy. */
  readonly isCopyMissing: boolean
  readonly hasOwner: boolean
  readonly scheduledAt: number | undefined
  readonly nextAttemptAt: number | undefined
  readonly finishedAt: number | undefined
}

/** What to do with the mark of a resource that has just been judged. */
export type MarkDecision =
  | { readonly do: 'nothing' }
  | { readonly do: 'mark'; readonly summaries: readonly Summary[] }
  | { readonly do: 'refresh'; readonly summaries: readonly Summary[] }
  | { readonly do: 'unmark'; readonly because: Exclusion | Compliance | PhaseReason }
  | { readonly do: 'opt-out'; readonly because: Exclusion }
  | { readonly do: 'finish' }

const nothing = { do: 'nothing' } as const

/** Decides about the mark of a judged resource. Verdict `undefined`: a complete listing does not contain the resource. */
export function decideMark(verdict: Verdict | undefined, mark: Mark | undefined, now: number): MarkDecision {
  const active = mark !== undefined && isActive(mark.phase)
  if (!verdict) return active ? absent(mark) : nothing
  switch (verdict.is) {
    case 'unknown':
      return nothing
    case 'compliant':
      return active ? { do: 'unmark', because: verdict.because } : nothing
    case 'excluded':
      // Its deletion has started: there is nothing to decide until it is gone.
      if (!active || verdict.because === 'being-deleted') return nothing
      return isOptOut(verdict.because)
        ? { do: 'opt-out', because: verdict.because }
        : { do: 'unmark', because: verdict.because }
    case 'violating':
      if (active && !mark.isOfFormerPolicy) return { do: 'refresh', summaries: verdict.summaries }
      return isFreshlyDeleted(mark, now) ? nothing : { do: 'mark', summaries: verdict.summaries }
  }
}

/** What to tell the owner of a mark now. */
export type NoticeDecision =
  | { readonly do: 'nothing' }
  | { readonly do: 'announce' | 'copy' }
  | { readonly do: 'remind' }
  | { readonly do: 'waive' }
  | { readonly do: 'wait'; readonly until: number }
  | { readonly do: 'hold'; readonly because: Wait }

/** Decides whether the owner of a mark is to be notified or reminded. */
export function decideNotice(
  mark: Mark,
  {
    mode,
    remindBeforeMs,
    needsOwner,
  }: { mode: CompiledPolicy['notices']['mode']; remindBeforeMs: readonly number[]; needsOwner: boolean },
  now: number,
): NoticeDecision {
  // The next mark cycle marks it anew.
  if (mark.isOfFormerPolicy) return nothing
  if (mark.phase === 'Marked') {
    if (mode === 'off') return { do: 'waive' }
    if (mark.hold) return { do: 'hold', because: 'held-by-human' }
    if (needsOwner && !mark.hasOwner) return { do: 'hold', because: 'owner-unknown' }
    if (mark.nextAttemptAt !== undefined && mark.nextAttemptAt > now) return { do: 'wait', until: mark.nextAttemptAt }
    return { do: 'announce' }
  }
  if (mode === 'off' || mark.hold || mark.announcedAt === undefined) return nothing
  if (mark.phase !== 'Notified' || mark.projectedAt === undefined || now >= mark.projectedAt) return nothing
  if (mark.nextAttemptAt !== undefined && mark.nextAttemptAt > now) return { do: 'wait', until: mark.nextAttemptAt }
  if (mark.isCopyMissing && mark.nextAttemptAt !== undefined) return { do: 'copy' }
  return nextReminder(mark.projectedAt, { remindBeforeMs, notifiedAt: mark.lastNoticeAt ?? mark.announcedAt }, now)
}

/** What to do about the deletion of a marked resource. */
export type DeleteDecision =
  | Extract<MarkDecision, { do: 'unmark' | 'opt-out' | 'finish' }>
  | { readonly do: 'delete' }
  | { readonly do: 'wait'; readonly until: number; readonly because: Wait }
  | { readonly do: 'hold'; readonly because: Wait | 'undecided' }

/** Decides about a deletion: the resource still violates the policy, its owner was notified, and its date has passed. */
export function decideDelete(
  verdict: Verdict | undefined,
  mark: Mark,
  { mode, now }: { readonly mode: CompiledPolicy['notices']['mode']; readonly now: number },
): DeleteDecision {
  const marking = decideMark(verdict, mark, now)
  if (marking.do === 'unmark' || marking.do === 'opt-out' || marking.do === 'finish') return marking
  if (verdict?.is !== 'violating') return { do: 'hold', because: 'undecided' }
  const waiting = waitOf(mark, mode)
  if (waiting) return { do: 'hold', because: waiting }
  const due = dueAt(mark)
  if (due === undefined) return { do: 'hold', because: 'not-due' }
  return now < due.at ? { do: 'wait', until: due.at, because: due.because } : { do: 'delete' }
}

/** When a mark is due, and what it waits for until then; undefined when it has no date. */
export function dueAt(mark: Mark): { readonly at: number; readonly because: Wait } | undefined {
  if (mark.projectedAt === undefined) return undefined
  const times = [
    { at: mark.projectedAt, because: 'not-due' },
    { at: mark.promisedAt ?? 0, because: 'not-due' },
    { at: mark.notBefore ?? 0, because: 'postponed' },
    { at: mark.phase === 'Due' ? (mark.scheduledAt ?? 0) : 0, because: 'in-batch' },
    {
      at: mark.phase === 'Failed' || mark.phase === 'Deleting' ? (mark.nextAttemptAt ?? 0) : 0,
      because: 'after-failure',
    },
  ] as const
  return times.reduce((latest, time) => (time.at > latest.at ? time : latest))
}

/** Whether a phase still leads to a deletion. */
export function isActive(phase: CandidatePhase): boolean {
  return phase === 'Marked' || phase === 'Notified' || phase === 'Due' || phase === 'Deleting' || phase === 'Failed'
}

function waitOf(mark: Mark, mode: CompiledPolicy['notices']['mode']): Wait | undefined {
  if (mark.hold) return 'held-by-human'
  if (mark.isOfFormerPolicy) return 'not-announced'
  if (mark.announcedAt !== undefined || mode === 'off') return undefined
  if (mode === 'bestEffort' && (mark.noticeFailed || !mark.hasOwner)) return undefined
  return mark.hasOwner ? 'not-announced' : 'owner-unknown'
}

function absent(mark: Mark): MarkDecision {
  // After an attempt whose answer was lost, the resource is absent because we deleted it.
  if (mark.phase === 'Deleting' || mark.phase === 'Failed') return { do: 'finish' }
  return { do: 'unmark', because: 'gone-by-itself' }
}

/** Whether a reason is the owner's or an operator's explicit protection. */
export function isOptOut(because: string): boolean {
  return because === 'opted-out' || because === 'never-expires' || because === 'keep-mark'
}

/** Clouds keep listing deleted resources for a while; those are not marked again. */
function isFreshlyDeleted(mark: Mark | undefined, now: number): boolean {
  return mark?.phase === 'Deleted' && now - (mark.finishedAt ?? now) < 3_600_000
}

function nextReminder(
  projectedAt: number,
  { remindBeforeMs, notifiedAt }: { readonly remindBeforeMs: readonly number[]; readonly notifiedAt: number },
  now: number,
): NoticeDecision {
  const times = remindBeforeMs.map((beforeMs) => projectedAt - beforeMs).filter((at) => at > notifiedAt)
  if (times.some((at) => at <= now)) return { do: 'remind' }
  return times.length > 0 ? { do: 'wait', until: Math.min(...times) } : nothing
}
