import type { EnvironmentStatus, Promotion } from '../../../apis/pipeline-status.ts'
import { formatTime } from '../../../kube/time.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { at, type Announcement, type Draft } from './draft.ts'
import type { WantedRevision } from './gates.ts'
import { branchName, promotionId } from '../model/identity.ts'
import type { EnvironmentPlan, PromotionPlan } from '../model/plan.ts'

/** A phase to move a promotion to, and why. */
export interface Transition {
  readonly phase: Promotion['phase']
  readonly because: Because
}

/**
 * Moves a promotion to a phase. Every phase change goes through here: `transition` adds the announcement for
 * those that a decision makes, `recordResult` for those that an effect's result causes.
 */
export function enterPhase(promotion: Promotion, { phase, because }: Transition, now: number): void {
  promotion.phase = phase
  promotion.because = because
  promotion.phaseAt = formatTime(now)
  delete promotion.nextAttemptAt
}

/** Moves a promotion to a phase and announces it. */
export function transition(draft: Draft, environment: string, promotion: Promotion, to: Transition): void {
  enterPhase(promotion, to, draft.now)
  draft.announce(phaseAnnouncement(environment, promotion))
}

/** Describes the phase a promotion is in now. */
export function phaseAnnouncement(environment: string, promotion: Promotion): Announcement {
  const { id, revision, phase, pullRequest } = promotion
  const because = promotion.because as Because
  const isBad = phase === 'Failed' || phase === 'Rejected' || because === 'RolloutTimedOut'
  const why = (phase === 'Failed' ? promotion.lastError?.message : undefined) ?? sentenceOf(because)
  const link = pullRequest ? ` (${pullRequest.url})` : ''
  return {
    type: isBad ? 'Warning' : 'Normal',
    because,
    environment,
    message: `${environment}: promotion ${id} of ${revision} is ${phase}: ${why}${link}`,
  }
}

const endPhases: ReadonlySet<Promotion['phase']> = new Set(['Succeeded', 'Rejected', 'Superseded', 'Failed'])

export function hasEnded({ phase }: Promotion): boolean {
  return endPhases.has(phase)
}

/** Whether the change is delivered and the targets have to follow. */
export function isRollingOut({ phase }: Promotion): boolean {
  return phase === 'Merged' || phase === 'Notified' || phase === 'RollingOut'
}

/** A new promotion of the wanted revision, in phase Gated. Its id is the same when it is created again after a crash. */
export function newPromotion(draft: Draft, environment: EnvironmentPlan, wanted: WantedRevision): Promotion {
  const { observed, status, now } = draft
  const { revision, sequence, direction } = wanted
  const plan = environment.promotion
  const strategyHash = plan?.strategyHash ?? ''
  const state = status.environments?.[environment.name]
  const retry = state?.retry?.sequence === sequence ? state.retry.count : 0
  const pipelineUid = observed.pipeline.metadata.uid
  const running = new Set(draft.targetsOf(environment).map((target) => target.revision))
  const [fromRevision] = running
  const [last] = state?.history ?? []
  return {
    id: promotionId({ pipelineUid, environment: environment.name, revision, sequence, strategyHash, retry }),
    runSequence: sequence,
    ...(retry ? { retry } : {}),
    revision,
    direction,
    ...(running.size === 1 && fromRevision ? { fromRevision } : {}),
    ...(wanted.requestedBy ? { requestedBy: wanted.requestedBy } : {}),
    strategyHash,
    ...(plan ? { strategy: plan.strategy } : {}),
    ...(last?.phase === 'Superseded' && last.pullRequest ? { replaces: last.pullRequest } : {}),
    phase: 'Gated',
    because: 'GatesOpen',
    phaseAt: formatTime(now),
    attempt: 0,
  }
}

/** Records that the promotion will now be carried out, and the branch, so that a restarted process finds its work. */
export function recordIntent(
  draft: Draft,
  environment: EnvironmentPlan,
  { promotion, plan }: { readonly promotion: Promotion; readonly plan: PromotionPlan },
): void {
  const { namespace = '', name } = draft.observed.pipeline.metadata
  promotion.intentAt = formatTime(draft.now)
  promotion.attempt = 0
  promotion.armedBy = retryTrigger(draft, environment)
  promotion.eventID = promotion.id
  if (plan.strategy.kind === 'pull-request')
    promotion.branch = branchName(
      { namespace, name, environment: environment.name, id: promotion.id },
      plan.branchNaming,
    )
  transition(draft, environment.name, promotion, { phase: 'Intended', because: 'IntentRecorded' })
}

/** Generation and Secret versions a promotion is tried with (`armedBy`): after a failure, a change retries it. */
export function retryTrigger({ observed }: Draft, { name }: EnvironmentPlan): string {
  return `${observed.pipeline.metadata.generation ?? 0}/${observed.secretVersions[name] ?? ''}`
}

/** Continues a failed promotion in the phase it failed in. */
export function resumeFailed(draft: Draft, environment: string, promotion: Promotion, because: Because): void {
  const phase = promotion.failedIn
  if (!phase) return
  delete promotion.failedIn
  delete promotion.lastError
  transition(draft, environment, promotion, { phase, because })
}

export interface Supersession {
  readonly because: Because
  /** The newer revision. */
  readonly by?: string
  /** Leave the pull request open. */
  readonly leaveOpen?: boolean
}

/** Ends a promotion early. Marks it for withdrawal first if it may have left a branch or pull request behind. */
export function supersede(draft: Draft, environment: string, promotion: Promotion, why: Supersession): void {
  const mustWithdraw = !why.leaveOpen && mayHaveEffects(promotion)
  promotion.attempt = 0
  delete promotion.lastError
  delete promotion.failedIn
  if (why.by) promotion.supersededBy = why.by
  if (mustWithdraw) promotion.withdraw = 'Due'
  transition(draft, environment, promotion, { phase: 'Superseded', because: why.because })
}

/** Whether the promotion may have a branch or an open pull request outside. */
export function mayHaveEffects(promotion: Promotion): boolean {
  const { phase, failedIn, attempt, strategy, pullRequest, headSHA, replacesSHA } = promotion
  if (strategy?.kind !== 'pull-request') return false
  if (pullRequest?.state === 'open') return true
  // It took over the branch of an earlier promotion and has not pushed yet; that one's pull request may be unrecorded.
  if (replacesSHA !== undefined && headSHA === undefined && !pullRequest) return true
  const reached = phase === 'Failed' ? failedIn : phase
  if (reached === 'Pushed' || reached === 'Proposed') return true
  // A first attempt that failed permanently has changed nothing outside.
  return reached === 'Intended' && attempt > (phase === 'Failed' ? 1 : 0)
}

/** Whether the promotion still needs an end: it is in progress, or failed with something left open. */
export function isUnfinished(promotion: Promotion): boolean {
  return !hasEnded(promotion) || (promotion.phase === 'Failed' && mayHaveEffects(promotion))
}

/** Whether the environment can start its next promotion: this one has ended and no withdrawal is due. */
export function isOver(promotion: Promotion): boolean {
  return hasEnded(promotion) && promotion.withdraw !== 'Due'
}

const maxHistory = 10

/** Moves the environment's promotion to its history. */
export function moveToHistory(state: EnvironmentStatus, now: number): void {
  const { promotion } = state
  if (!promotion) return
  const { id, revision, phase, because, phaseAt, pullRequest } = promotion
  const kept = ['fromRevision', 'approvedBy', 'requestedBy', 'leadSeconds'] as const
  const entry = {
    id,
    revision,
    phase,
    because,
    endedAt: hasEnded(promotion) ? phaseAt : formatTime(now),
    ...Object.fromEntries(kept.flatMap((field) => (promotion[field] === undefined ? [] : [[field, promotion[field]]]))),
    ...(pullRequest ? { pullRequest: pullRequest.url } : {}),
  }
  state.history = [entry, ...(state.history ?? [])].slice(0, maxHistory)
  delete state.promotion
  delete state.waitingApproval
}

/** Gives up the environment's promotion, if it has one, and lets the run promote its revision there once more. */
export function promoteAgain(draft: Draft, name: string): void {
  const { run } = draft.status
  const state = draft.environment(name)
  const sequence = state.promotion?.runSequence ?? run?.sequence ?? 0
  const count = state.retry?.sequence === sequence ? state.retry.count : 0
  state.retry = { sequence, count: count + 1 }
  moveToHistory(state, draft.now)
  delete state.passedRun
  if (run?.phase !== 'Complete' || sequence !== run.sequence) return
  run.phase = 'Running'
  delete run.completedAt
}

/** Waits for the targets. After the deadline the promotion is reported as timed out, but still watched. */
export function watchRollout(draft: Draft, environment: EnvironmentPlan, promotion: Promotion): void {
  const { now } = draft
  if (promotion.phase === 'Merged' || promotion.phase === 'Notified')
    enterPhase(promotion, { phase: 'RollingOut', because: promotion.because as Because }, now)
  const deadline = at(promotion.phaseAt) + environment.rolloutDeadlineMs
  if (now < deadline) return draft.wakeAt(deadline)
  if (promotion.because === 'RolloutTimedOut') return
  promotion.because = 'RolloutTimedOut'
  draft.announce(phaseAnnouncement(environment.name, promotion))
}

/** Warns about a branch or pull request that could not be withdrawn. */
export function announceAbandoned(draft: Draft, environment: string, promotion: Promotion): void {
  const { withdraw, pullRequest, branch, id, lastError } = promotion
  if (withdraw !== 'Abandoned') return
  const what = pullRequest?.url ?? (branch ? `branch ${branch}` : `promotion ${id}`)
  draft.announce({
    type: 'Warning',
    because: 'WithdrawalAbandoned',
    environment,
    message: `${environment}: ${what} could not be withdrawn; close it by hand. Last error: ${lastError?.message ?? 'none'}`,
  })
}

/** Whether the checks have passed since the environments before this one became ready. */
export function isVerified(promotion: Promotion | undefined, readySince: number): boolean {
  return promotion?.verification?.state === 'Passed' && at(promotion.verification.at) >= readySince
}

/** Requests the checks when every other gate is open, and drops a result that is no longer needed. */
export function requestVerification(promotion: Promotion, { isDue }: { readonly isDue: boolean }): void {
  const { verification } = promotion
  if (isDue && verification?.state !== 'Failing') promotion.verification = { state: 'Due' }
  else if (!isDue && verification && verification.state !== 'Passed') delete promotion.verification
}

/** The failing check once checks have failed past their deadline; undefined before. */
export function overdueVerification(
  { plan: { environments }, now }: Draft,
  environment: string,
  { verification }: Promotion,
): string | undefined {
  const plan = environments.find(({ name }) => name === environment)?.verification
  if (!plan || verification?.state !== 'Failing') return undefined
  return now >= at(verification.at) + plan.deadlineMs ? (verification.message ?? '') : undefined
}
