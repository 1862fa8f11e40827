import { backoffDelay } from '../../../kube/basics/backoff-delay.ts'
import type { PipelineStatus, Promotion, PromotionError, PullRequestStatus } from '../../../apis/pipeline-status.ts'
import { formatTime } from '../../../kube/time.ts'
import type { Because } from '../../../apis/pipeline-reasons.ts'
import { copyOf, enter } from './draft.ts'
import type { Effect } from './effects.ts'

/** What an effect came to. */
export type EffectResult =
  /** `branch` only where another one than intended was taken over. */
  | {
      readonly result: 'pushed'
      readonly baseSHA: string
      readonly headSHA: string
      readonly value: string
      readonly branch?: string
    }
  /** The base branch holds the value: there is nothing to change. */
  | {
      readonly result: 'applied'
      readonly because: 'AlreadyApplied' | 'Committed'
      readonly baseSHA: string
      readonly headSHA?: string
    }
  | { readonly result: 'notified' }
  | { readonly result: 'verified' }
  | { readonly result: 'unverified'; readonly message: string; readonly retryAt: number }
  /** The pull request as it is now: open, merged or closed. */
  | {
      readonly result: 'seen'
      readonly pullRequest: PullRequestStatus
      /** It is known not to change before then. */
      readonly lookAgainAt?: number
    }
  /** Nothing of it is left open; it may turn out to have been merged instead. */
  | { readonly result: 'withdrawn'; readonly pullRequest?: PullRequestStatus }
  | { readonly result: 'failed'; readonly error: PromotionError; readonly retryAt?: number }

/** Writes a result into the record it belongs to; undefined when that record has moved on meanwhile. */
export function recordResult(
  status: PipelineStatus,
  done: { readonly effect: Effect; readonly result: EffectResult },
  { now, random }: { readonly now: number; readonly random: () => number },
): PipelineStatus | undefined {
  const { effect, result } = done
  const next = copyOf(status)
  const promotion = next.environments?.[effect.environment]?.promotion
  if (promotion?.id !== effect.promotion.id || !isStillDue(promotion, effect)) return undefined
  apply(promotion, effect, result, { now, random })
  return next
}

/** So often is a withdrawal tried before what is open may be left behind. */
const withdrawalAttempts = 5

function isStillDue(promotion: Promotion, { do: kind, promotion: acted }: Effect): boolean {
  return kind === 'withdraw' ? promotion.withdraw === 'Due' : promotion.phase === acted.phase
}

function apply(
  promotion: Promotion,
  effect: Effect,
  result: EffectResult,
  { now, random }: { readonly now: number; readonly random: () => number },
): void {
  if (result.result !== 'failed') delete promotion.lastError
  switch (result.result) {
    case 'pushed':
      Object.assign(promotion, { baseSHA: result.baseSHA, headSHA: result.headSHA, value: result.value, attempt: 0 })
      if (result.branch) promotion.branch = result.branch
      return enter(promotion, 'Pushed', 'BranchPushed', now)
    case 'applied':
      Object.assign(promotion, { baseSHA: result.baseSHA, ...(result.headSHA ? { headSHA: result.headSHA } : {}) })
      return enter(promotion, 'RollingOut', result.because, now)
    case 'verified':
      promotion.verification = { state: 'Passed', at: formatTime(now) }
      return
    case 'unverified': {
      const { verification } = promotion
      const since = verification?.state === 'Failing' ? verification.at : undefined
      promotion.verification = { state: 'Failing', at: since ?? formatTime(now), message: result.message }
      promotion.nextAttemptAt = formatTime(result.retryAt)
      return
    }
    case 'notified':
      return enter(promotion, 'Notified', 'Notified', now)
    case 'seen':
      if (result.lookAgainAt !== undefined) promotion.nextAttemptAt = formatTime(result.lookAgainAt)
      return see(promotion, result.pullRequest, now)
    case 'withdrawn':
      return withdrawn(promotion, result.pullRequest, now)
    case 'failed':
      return effect.do === 'withdraw'
        ? failWithdrawal(promotion, result, { now, random })
        : fail(promotion, result, { now, random })
  }
}

function see(promotion: Promotion, pullRequest: PullRequestStatus, now: number): void {
  promotion.pullRequest = pullRequest
  if (pullRequest.state === 'merged') return enter(promotion, 'Merged', 'PullRequestMerged', now)
  if (pullRequest.state === 'closed') return enter(promotion, 'Rejected', 'PromotionRejected', now)
  const because: Because = pullRequest.modified ? 'PullRequestModified' : 'PullRequestOpen'
  if (promotion.phase !== 'Proposed') {
    promotion.attempt = 0
    return enter(promotion, 'Proposed', because, now)
  }
  promotion.because = because
}

function withdrawn(promotion: Promotion, pullRequest: PullRequestStatus | undefined, now: number): void {
  promotion.withdraw = 'Done'
  delete promotion.nextAttemptAt
  if (pullRequest) promotion.pullRequest = pullRequest
  // Too late to take it back: the environment gets it first, and the newer revision after it.
  if (pullRequest?.state === 'merged' && promotion.phase === 'Superseded' && promotion.supersededBy) {
    delete promotion.withdraw
    enter(promotion, 'RollingOut', 'PullRequestMerged', now)
  }
}

type Failure = Extract<EffectResult, { result: 'failed' }>

function fail(promotion: Promotion, { error, retryAt }: Failure, when: When): void {
  promotion.lastError = error
  if (error.class !== 'Permanent') return retryLater(promotion, retryAt, when)
  promotion.failedIn = promotion.phase
  enter(promotion, 'Failed', error.reason as Because, when.now)
}

function failWithdrawal(promotion: Promotion, { error, retryAt }: Failure, when: When): void {
  promotion.lastError = error
  // Being asked to wait is no failure of ours to count.
  if (error.class === 'RateLimited' && isLater(retryAt, when)) promotion.attempt -= 1
  if (mayBeLeft(promotion, error)) promotion.withdraw = 'Abandoned'
  else retryLater(promotion, retryAt, when)
}

/** Whoever leaves does not wait for ever. Where something newer goes to the same place, only what is not there is left: two open ones could be merged in any order. */
function mayBeLeft({ attempt, because }: Promotion, error: PromotionError): boolean {
  if (attempt < withdrawalAttempts) return false
  const stays = because === 'NewRevision' || because === 'Arrived'
  return !stays || (error.class === 'Permanent' && !error.reason.startsWith('Credentials'))
}

interface When {
  readonly now: number
  readonly random: () => number
}

/** When the forge says so; otherwise full jitter, doubling. */
function retryLater(promotion: Promotion, retryAt: number | undefined, when: When): void {
  const { now, random } = when
  const ceilingMs = backoffDelay(promotion.attempt, { baseMs: 5000, maxMs: 600_000 })
  const backoffAt = now + Math.ceil((random() * ceilingMs) / 1000) * 1000
  promotion.nextAttemptAt = formatTime(Math.ceil((isLater(retryAt, when) ? retryAt : backoffAt) / 1000) * 1000)
}

/** "At once" is no time to wait until: what has just failed would be asked over and over. */
function isLater(retryAt: number | undefined, { now }: When): retryAt is number {
  return retryAt !== undefined && retryAt > now
}
