import type { LastError, PipelineStatus, Promotion, PullRequestStatus } from '../../../apis/pipeline-status.ts'
import { backoffDelay } from '../../../kube/basics/backoff-delay.ts'
import { formatTime } from '../../../kube/time.ts'
import type { Because } from '../../../apis/pipeline-reasons.ts'
import { copyOf } from './draft.ts'
import type { Effect } from './effects.ts'
import { enterPhase } from './promotions.ts'

/** The outcome of an effect. */
export type EffectResult =
  /** `branch` only when an existing branch was taken over instead of the intended one. */
  | {
      readonly result: 'pushed'
      readonly baseSHA: string
      readonly headSHA: string
      readonly value: string
      readonly branch?: string
    }
  /** The base branch holds the value; no pull request is needed. */
  | {
      readonly result: 'applied'
      readonly because: 'AlreadyApplied' | 'Committed'
      readonly baseSHA: string
      readonly headSHA?: string
    }
  | { readonly result: 'notified' }
  | { readonly result: 'verified' }
  /** Whether the candidate differs from the run's revision only by promotions. */
  | { readonly result: 'inspected'; readonly isOwn: boolean }
  /** Whether the base branch still has the promotion's value. */
  | { readonly result: 'rechecked'; readonly isHeld: boolean }
  | { readonly result: 'unverified'; readonly message: string; readonly retryAt: number }
  /** The current state of the pull request. */
  | {
      readonly result: 'seen'
      readonly pullRequest: PullRequestStatus
      /** The pull request will not change before this time. */
      readonly lookAgainAt?: number
      /** Why the forge did not merge it. */
      readonly refusal?: LastError
    }
  /** Nothing is open any more; the pull request may turn out to have been merged instead. */
  | { readonly result: 'withdrawn'; readonly pullRequest?: PullRequestStatus }
  | { readonly result: 'failed'; readonly error: LastError; readonly retryAt?: number }

/** Time and chance for the backoff. */
interface RetryContext {
  readonly now: number
  readonly random: () => number
}

/** The status with the effect's result in it; undefined when the promotion has moved on since the effect started. */
export function recordResult(
  status: PipelineStatus,
  done: { readonly effect: Effect; readonly result: EffectResult },
  context: RetryContext,
): PipelineStatus | undefined {
  const { effect, result } = done
  const next = copyOf(status)
  if (effect.do === 'inspect') return recordInspection(next, done, context.now)
  const promotion = next.environments?.[effect.environment]?.promotion
  if (promotion?.id !== effect.promotion.id || !isStillDue(promotion, effect)) return undefined
  if (result.result === 'failed') recordFailure(promotion, effect, { ...result, ...context })
  else recordSuccess(promotion, result, context.now)
  return next
}

/** Whether the look at a commit failed because it is no promotion's: the repository does not have it, or has too much to be edited. */
export function isForeign(reason: string): boolean {
  return reason === ('RepositoryNotFound' satisfies Because) || reason === ('MarkerUnusable' satisfies Because)
}

const inspectionRetryMs = 30_000
const maxAliases = 20

/** A commit of ours becomes another name of the run's revision. Until the commit can be read, no run starts. */
function recordInspection(
  status: PipelineStatus,
  { effect, result }: { readonly effect: Effect; readonly result: EffectResult },
  now: number,
): PipelineStatus | undefined {
  const { run, candidate } = status
  const { revision, runSequence } = effect.promotion
  if (!run || candidate?.revision !== revision || run.sequence !== runSequence) return undefined
  if (result.result === 'inspected' && result.isOwn) {
    run.aliases = [revision, ...(run.aliases ?? [])].slice(0, maxAliases)
    delete status.candidate
    status.revisions = status.revisions?.filter((seen) => seen.revision !== revision) ?? []
  } else if (result.result === 'inspected' || (result.result === 'failed' && isForeign(result.error.reason))) {
    candidate.origin = 'Foreign'
  } else {
    candidate.nextCheckAt = formatTime(now + inspectionRetryMs)
    if (result.result === 'failed') candidate.lastError = result.error
  }
  return status
}

/** Attempts at a withdrawal before it may be abandoned. */
const maxWithdrawalAttempts = 5

function isStillDue(promotion: Promotion, { do: kind, promotion: acted }: Effect): boolean {
  return kind === 'withdraw' ? promotion.withdraw === 'Due' : promotion.phase === acted.phase
}

function recordSuccess(promotion: Promotion, result: Exclude<EffectResult, { result: 'failed' }>, now: number): void {
  delete promotion.lastError
  switch (result.result) {
    case 'pushed':
      Object.assign(promotion, { baseSHA: result.baseSHA, headSHA: result.headSHA, value: result.value, attempt: 0 })
      if (result.branch) promotion.branch = result.branch
      return enterPhase(promotion, { phase: 'Pushed', because: 'BranchPushed' }, now)
    case 'applied':
      Object.assign(promotion, { baseSHA: result.baseSHA, ...(result.headSHA ? { headSHA: result.headSHA } : {}) })
      return enterPhase(promotion, { phase: 'RollingOut', because: result.because }, now)
    case 'notified':
      return enterPhase(promotion, { phase: 'Notified', because: 'Notified' }, now)
    case 'inspected':
      return
    case 'rechecked':
      if (!result.isHeld) enterPhase(promotion, { phase: 'Rejected', because: 'ChangeReverted' }, now)
      return
    case 'verified':
      promotion.verification = { state: 'Passed', at: formatTime(now) }
      return
    case 'unverified':
      return recordFailedCheck(promotion, result, now)
    case 'seen':
      if (result.lookAgainAt !== undefined) promotion.nextAttemptAt = formatTime(result.lookAgainAt)
      if (result.refusal) promotion.lastError = result.refusal
      return recordPullRequest(promotion, result.pullRequest, { now, isRefused: result.refusal !== undefined })
    case 'withdrawn':
      return recordWithdrawal(promotion, result.pullRequest, now)
  }
}

function recordFailedCheck(
  promotion: Promotion,
  { message, retryAt }: Extract<EffectResult, { result: 'unverified' }>,
  now: number,
): void {
  const { verification } = promotion
  const since = verification?.state === 'Failing' ? verification.at : undefined
  promotion.verification = { state: 'Failing', at: since ?? formatTime(now), message }
  promotion.nextAttemptAt = formatTime(retryAt)
}

function recordPullRequest(
  promotion: Promotion,
  pullRequest: PullRequestStatus,
  { now, isRefused }: { readonly now: number; readonly isRefused: boolean },
): void {
  if (promotion.phase === 'Rejected' && pullRequest.state === 'closed') return
  promotion.pullRequest = pullRequest
  if (pullRequest.state === 'merged')
    return enterPhase(promotion, { phase: 'Merged', because: 'PullRequestMerged' }, now)
  if (pullRequest.state === 'closed')
    return enterPhase(promotion, { phase: 'Rejected', because: 'PromotionRejected' }, now)
  const because: Because = pullRequest.modified
    ? 'PullRequestModified'
    : pullRequest.isConflicting
      ? 'PullRequestConflict'
      : isRefused
        ? 'MergeRefused'
        : 'PullRequestOpen'
  if (promotion.phase !== 'Proposed') {
    promotion.attempt = 0
    return enterPhase(promotion, { phase: 'Proposed', because }, now)
  }
  promotion.because = because
}

function recordWithdrawal(promotion: Promotion, pullRequest: PullRequestStatus | undefined, now: number): void {
  promotion.withdraw = 'Done'
  delete promotion.nextAttemptAt
  if (pullRequest) promotion.pullRequest = pullRequest
  // Merged before it could be closed: the environment rolls this revision out first, and the newer one after it.
  if (pullRequest?.state === 'merged' && promotion.phase === 'Superseded' && promotion.supersededBy) {
    delete promotion.withdraw
    enterPhase(promotion, { phase: 'RollingOut', because: 'PullRequestMerged' }, now)
  }
}

type Failure = Extract<EffectResult, { result: 'failed' }> & RetryContext

function recordFailure(promotion: Promotion, effect: Effect, failure: Failure): void {
  const { error, now } = failure
  if (promotion.phase === 'Rejected' && effect.do === 'poll') return
  // The roll-out goes on, whether or not the repository can be read just now.
  if (effect.do === 'recheck' && error.class !== 'Permanent') return
  promotion.lastError = error
  if (effect.do === 'recheck') return
  if (effect.do === 'withdraw') return recordFailedWithdrawal(promotion, failure)
  if (error.class !== 'Permanent') return scheduleRetry(promotion, failure)
  promotion.failedIn = promotion.phase
  enterPhase(promotion, { phase: 'Failed', because: error.reason as Because }, now)
}

function recordFailedWithdrawal(promotion: Promotion, failure: Failure): void {
  const { error } = failure
  // A rate limit does not count as an attempt.
  if (error.class === 'RateLimited' && isLater(failure)) promotion.attempt -= 1
  if (canAbandonWithdrawal(promotion, error)) promotion.withdraw = 'Abandoned'
  else scheduleRetry(promotion, failure)
}

/**
 * A removed environment or deleted pipeline must not wait for ever. Where a newer promotion goes to the same
 * repository, only a missing pull request may be abandoned: two open ones could be merged in any order.
 */
function canAbandonWithdrawal({ attempt, because }: Promotion, error: LastError): boolean {
  if (attempt < maxWithdrawalAttempts) return false
  const hasSuccessor = because === 'NewRevision' || because === 'Arrived'
  return !hasSuccessor || (error.class === 'Permanent' && !error.reason.startsWith('Credentials'))
}

/** Retries at the time the forge asked for, otherwise after an exponential backoff with full jitter. */
function scheduleRetry(promotion: Promotion, failure: Failure): void {
  const { now, random } = failure
  const ceilingMs = backoffDelay(promotion.attempt, { baseMs: 5000, maxMs: 600_000 })
  const backoffAt = now + Math.ceil((random() * ceilingMs) / 1000) * 1000
  const retryAt = isLater(failure) ? failure.retryAt : backoffAt
  promotion.nextAttemptAt = formatTime(Math.ceil(retryAt / 1000) * 1000)
}

/** A retry time in the past is ignored: it would retry in a tight loop. */
function isLater(failure: Failure): failure is Failure & { readonly retryAt: number } {
  return failure.retryAt !== undefined && failure.retryAt > failure.now
}
