import type { EnvironmentStatus, Promotion } from '../../../apis/pipeline-status.ts'
import { formatTime } from '../../../kube/time.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { announce, at, enter, hasEnded, targetsOf, wake, type Draft } from './draft.ts'
import type { Want } from './gates.ts'
import { branchName, promotionId } from '../model/identity.ts'
import type { EnvironmentPlan, PromotionPlan } from '../model/plan.ts'

/** A promotion of the wanted revision, not yet decided; nothing outside has happened for it. */
export function newPromotion(draft: Draft, environment: EnvironmentPlan, want: Want): Promotion {
  const { observed, status, now } = draft
  const plan = environment.promotion
  const strategyHash = plan?.strategyHash ?? ''
  const state = status.environments?.[environment.name]
  const retry = state?.retry?.sequence === want.sequence ? state.retry.count : 0
  const sequence = want.sequence
  const id = promotionId({
    pipelineUid: observed.pipeline.metadata.uid,
    environment: environment.name,
    revision: want.revision,
    sequence,
    strategyHash,
    retry,
  })
  const from = new Set(targetsOf(draft, environment).map(({ revision }) => revision))
  const [fromRevision] = from
  const [last] = state?.history ?? []
  return {
    id,
    runSequence: sequence,
    ...(retry ? { retry } : {}),
    revision: want.revision,
    direction: want.direction,
    ...(from.size === 1 && fromRevision ? { fromRevision } : {}),
    strategyHash,
    ...(plan ? { strategy: plan.strategy } : {}),
    ...(last?.phase === 'Superseded' && last.pullRequest ? { replaces: last.pullRequest } : {}),
    phase: 'Gated',
    because: 'GatesOpen',
    phaseAt: formatTime(now),
    attempt: 0,
  }
}

/** Writes down what is about to be done, so that it can be found again whatever happens next. */
export function intend(
  draft: Draft,
  environment: EnvironmentPlan,
  { promotion, plan }: { readonly promotion: Promotion; readonly plan: PromotionPlan },
): void {
  const { namespace = '', name } = draft.observed.pipeline.metadata
  enter(promotion, 'Intended', 'IntentRecorded', draft.now)
  promotion.intentAt = formatTime(draft.now)
  promotion.attempt = 0
  promotion.armedBy = armedBy(draft, environment)
  promotion.eventID = promotion.id
  if (plan.strategy.kind === 'pull-request')
    promotion.branch = branchName(
      { namespace, name, environment: environment.name, id: promotion.id },
      plan.branchNaming,
    )
  announcePhase(draft, environment.name, promotion)
}

/** What a failed promotion was last tried with: it is armed again when this changes. */
export function armedBy({ observed }: Draft, { name }: EnvironmentPlan): string {
  return `${observed.pipeline.metadata.generation ?? 0}/${observed.secretVersions[name] ?? ''}`
}

/** Ends a promotion that is no longer wanted. What it may have left outside has to be taken back first. */
export function supersede(draft: Draft, environment: string, promotion: Promotion, why: Supersession): void {
  const withdraw = why.leaveOpen ? false : mayHaveEffects(promotion)
  enter(promotion, 'Superseded', why.because, draft.now)
  promotion.attempt = 0
  delete promotion.lastError
  delete promotion.failedIn
  if (why.by) promotion.supersededBy = why.by
  if (withdraw) promotion.withdraw = 'Due'
  announcePhase(draft, environment, promotion)
}

export interface Supersession {
  readonly because: Because
  readonly by?: string
  /** Leave what is open as it is. */
  readonly leaveOpen?: boolean
}

/** Something of it may be open outside: a branch, a pull request. */
export function mayHaveEffects(promotion: Promotion): boolean {
  const { phase, failedIn, attempt, strategy, pullRequest, headSHA, replacesSHA } = promotion
  if (strategy?.kind !== 'pull-request') return false
  if (pullRequest?.state === 'open') return true
  // The branch of one before, which it took over and has not changed yet; what was opened of it nobody could write down.
  if (replacesSHA !== undefined && headSHA === undefined && !pullRequest) return true
  const reached = phase === 'Failed' ? failedIn : phase
  if (reached === 'Pushed' || reached === 'Proposed') return true
  // A first try that failed for good has changed nothing.
  return reached === 'Intended' && attempt > (phase === 'Failed' ? 1 : 0)
}

/** It has ended, or is to end, but something of it is still open that nobody has been told to close. */
export function isUnfinished(promotion: Promotion): boolean {
  return !hasEnded(promotion) || (promotion.phase === 'Failed' && mayHaveEffects(promotion))
}

/** Keeps the end of a promotion in mind and frees its place. */
export function toHistory(state: EnvironmentStatus, now: number, because?: Because): void {
  const { promotion } = state
  if (!promotion) return
  const { id, revision, phase, pullRequest } = promotion
  const entry = {
    id,
    revision,
    phase,
    because: because ?? promotion.because,
    endedAt: formatTime(now),
    ...(pullRequest ? { pullRequest: pullRequest.url } : {}),
  }
  state.history = [entry, ...(state.history ?? [])].slice(0, keptPromotions)
  delete state.promotion
  delete state.waitingApproval
}

/** The promotion waits for its targets; too long and it is stalled, but goes on watching. */
export function watchRollout(draft: Draft, environment: EnvironmentPlan, promotion: Promotion): void {
  const { now } = draft
  if (promotion.phase === 'Merged' || promotion.phase === 'Notified')
    enter(promotion, 'RollingOut', promotion.because as Because, now)
  const deadline = at(promotion.phaseAt) + environment.rolloutDeadlineMs
  if (now < deadline) return wake(draft, deadline)
  if (promotion.because === 'RolloutTimedOut') return
  promotion.because = 'RolloutTimedOut'
  announcePhase(draft, environment.name, promotion)
}

/** Lets people know that a promotion has entered a phase. */
export function announcePhase(draft: Draft, environment: string, promotion: Promotion): void {
  const because = promotion.because as Because
  const bad = promotion.phase === 'Failed' || promotion.phase === 'Rejected' || because === 'RolloutTimedOut'
  announce(draft, {
    type: bad ? 'Warning' : 'Normal',
    because,
    environment,
    message: `${environment}: promotion ${promotion.id} of ${promotion.revision} is ${promotion.phase}: ${sentenceOf(because)}`,
  })
}

/** Lets people know of what could not be closed. */
export function announceLeft(draft: Draft, environment: string, promotion: Promotion): void {
  const { withdraw, pullRequest, branch, id, lastError } = promotion
  if (withdraw !== 'Abandoned') return
  announce(draft, {
    type: 'Warning',
    because: 'WithdrawalAbandoned',
    environment,
    message: `${environment}: ${pullRequest?.url ?? branch ?? id} is left behind: ${lastError?.message ?? ''}`,
  })
}

/** Whether its place is free for another: it has ended, and nothing of it is left open. */
export function isOver(promotion: Promotion): boolean {
  return hasEnded(promotion) && promotion.withdraw !== 'Due'
}

const keptPromotions = 10
