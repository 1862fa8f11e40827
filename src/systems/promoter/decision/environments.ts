import type { EnvironmentStatus, Gate, Promotion } from '../../../apis/pipeline-status.ts'
import { formatTime } from '../../../kube/time.ts'
import { judgeApproval } from './approvals.ts'
import type { Because } from '../../../apis/pipeline-reasons.ts'
import {
  announce,
  at,
  enter,
  environmentStatus,
  hasEnded,
  isDoneOn,
  notAfter,
  targetsOf,
  wake,
  type Draft,
} from './draft.ts'
import { areOpen, gatesOf, type Want } from './gates.ts'
import type { EnvironmentPlan } from '../model/plan.ts'
import {
  announceLeft,
  announcePhase,
  armedBy,
  intend,
  isOver,
  isUnfinished,
  mayHaveEffects,
  newPromotion,
  supersede,
  toHistory,
  watchRollout,
} from './promotions.ts'
import { isLowerVersion } from '../model/semver.ts'
import { demandVerification } from './verification.ts'

/** Brings one environment's record up to date and as far forward as it may go. */
export function judgeEnvironment(draft: Draft, environment: EnvironmentPlan): void {
  const state = environmentStatus(draft, environment.name)
  const want = wantOf(draft, environment, state)
  if (!want) return void delete state.gates
  if (isBlockedByOld(draft, environment, { state, want })) return
  if (isDoneOn(draft, environment, want.revision)) return arrive(draft, environment, { state, want })
  const { promotion } = state
  if (draft.status.run?.phase === 'Complete' && draft.plan.runPolicy !== 'Pairwise') return void delete state.gates
  if (promotion && hasEnded(promotion)) return rearm(draft, environment, promotion)
  if (promotion?.phase === 'Intended') recheck(draft, environment, { state, want })
  if (promotion && isUnderWay(promotion)) return follow(draft, environment, promotion)
  advance(draft, environment, { state, want })
}

/** Notes what the environment runs, since when, and which run has passed through it. */
export function noteArrival(draft: Draft, environment: EnvironmentPlan): void {
  const { status, now } = draft
  const state = environmentStatus(draft, environment.name)
  const revision = readyRevision(draft, environment)
  if (revision === undefined) delete state.readyOn
  else if (state.readyOn?.revision !== revision) state.readyOn = { revision, since: formatTime(now) }
  else state.readyOn.since = notAfter(state.readyOn.since, now)
  const { run } = status
  if (!run || state.passedRun === run.sequence || !isDoneOn(draft, environment, run.revision)) return
  state.passedRun = run.sequence
  state.passedAt = formatTime(now)
}

interface Case {
  readonly state: EnvironmentStatus
  readonly want: Want
}

/** Where a part of the targets is enough it may be two revisions at once: the one that is being carried counts. */
function readyRevision(draft: Draft, environment: EnvironmentPlan): string | undefined {
  const running = targetsOf(draft, environment).map(({ revision }) => revision)
  const revisions = new Set([draft.status.run?.revision, ...running])
  return [...revisions].find((revision) => revision !== undefined && isDoneOn(draft, environment, revision))
}

function wantOf(draft: Draft, environment: EnvironmentPlan, state: EnvironmentStatus): Want | undefined {
  const { status, plan } = draft
  if (plan.runPolicy !== 'Pairwise') return status.run
  const upstream = plan.environments.filter(({ name }) => environment.dependsOn.includes(name))
  const revisions = new Set(upstream.map((before) => readyRevision(draft, before)))
  const [revision] = revisions
  const { promotion } = state
  if (revisions.size !== 1 || revision === undefined) return promotion && wantAgain(promotion)
  if (promotion?.revision === revision) return wantAgain(promotion)
  const running = new Set(targetsOf(draft, environment).map((target) => target.revision))
  const past = (state.history ?? []).some((entry) => entry.revision === revision && entry.phase === 'Succeeded')
  const older = [...running].some((current) => current !== undefined && isLowerVersion(revision, current))
  return { revision, sequence: (status.sequence ?? 0) + 1, direction: past || older ? 'Backward' : 'Forward' }
}

function wantAgain({ revision, runSequence, direction = 'Forward' }: Promotion): Want {
  return { revision, sequence: runSequence, direction }
}

/** An older promotion still has its place: it is ended, and taken back, before the next one begins. */
function isBlockedByOld(draft: Draft, environment: EnvironmentPlan, { state, want }: Case): boolean {
  const { promotion } = state
  if (!promotion || isCurrent(promotion, environment, want)) return false
  if (promotion.withdraw === 'Due') {
    waitForWithdrawal(promotion, environment)
    return true
  }
  if (!isUnfinished(promotion)) {
    announceLeft(draft, environment.name, promotion)
    toHistory(state, draft.now)
    return false
  }
  if (promotion.phase === 'RollingOut' || promotion.phase === 'Merged' || promotion.phase === 'Notified')
    return isLetArrive(draft, environment, { state, want })
  const because = promotion.revision === want.revision ? 'StrategyChanged' : 'NewRevision'
  const policy = environment.promotion?.supersede ?? 'Replace'
  if (policy === 'Update' && because === 'NewRevision' && canBeTakenOver(promotion)) {
    takeOver(draft, environment, { state, want })
    return false
  }
  supersede(draft, environment.name, promotion, { because, by: want.revision, leaveOpen: policy === 'Keep' })
  if (!isOver(promotion)) return true
  toHistory(state, draft.now)
  return false
}

/** What is open is closed with what the pipeline says now, or given up in time where nothing newer goes any more. */
function waitForWithdrawal(promotion: Promotion, { promotion: plan }: EnvironmentPlan): void {
  if (plan && promotion.strategyHash === plan.strategyHash) promotion.strategy = plan.strategy
  else promotion.because = 'StrategyChanged'
}

function isCurrent(promotion: Promotion, { promotion: plan }: EnvironmentPlan, want: Want): boolean {
  if (promotion.revision !== want.revision || promotion.runSequence !== want.sequence) return false
  if (promotion.phase === 'Superseded') return false
  const settledElsewhere =
    promotion.phase === 'RollingOut' || promotion.phase === 'Merged' || promotion.phase === 'Succeeded'
  return settledElsewhere || promotion.strategyHash === (plan?.strategyHash ?? '')
}

/** A promotion merged while it was being withdrawn: the environment first gets what was merged, within its deadline. */
function isLetArrive(draft: Draft, environment: EnvironmentPlan, { state, want }: Case): boolean {
  const promotion = state.promotion!
  const arrived = isDoneOn(draft, environment, promotion.revision)
  const deadline = at(promotion.phaseAt) + environment.rolloutDeadlineMs
  if (promotion.supersededBy && !arrived && draft.now < deadline) {
    wake(draft, deadline)
    return true
  }
  if (arrived) enter(promotion, 'Succeeded', 'Arrived', draft.now)
  else supersede(draft, environment.name, promotion, { because: 'NewRevision', by: want.revision })
  if (!isOver(promotion)) return true
  toHistory(state, draft.now)
  return false
}

/** Only where it is known what the branch holds can the next one go on with it. */
function canBeTakenOver({ phase, failedIn, attempt, pullRequest }: Promotion): boolean {
  const reached = phase === 'Failed' ? failedIn : phase
  if (reached === 'Pushed' || reached === 'Proposed') return true
  return pullRequest?.state === 'open' && (reached !== 'Intended' || attempt === 0)
}

/** The same branch and pull request get the newer revision; approvals of the old one do not carry over. */
function takeOver(draft: Draft, environment: EnvironmentPlan, { state, want }: Case): void {
  const old = state.promotion!
  supersede(draft, environment.name, old, { because: 'NewRevision', by: want.revision, leaveOpen: true })
  toHistory(state, draft.now)
  const next = newPromotion(draft, environment, want)
  if (old.pullRequest) next.pullRequest = old.pullRequest
  if (old.branch) next.branch = old.branch
  const tip = old.headSHA ?? old.replacesSHA
  if (tip) next.replacesSHA = tip
  state.promotion = next
}

function arrive(draft: Draft, environment: EnvironmentPlan, { state, want }: Case): void {
  const { promotion } = state
  delete state.gates
  delete state.waitingApproval
  if (!promotion) return warnUnexplained(draft, environment, { state, want })
  if (hasEnded(promotion)) return
  // Only a pull request known to be open, or a branch that may be there, still has to go.
  const leftOpen = mayHaveEffects(promotion)
  enter(promotion, 'Succeeded', 'Arrived', draft.now)
  promotion.attempt = 0
  if (leftOpen) promotion.withdraw = 'Due'
  delete promotion.lastError
  announcePhase(draft, environment.name, promotion)
}

/** The environment got the revision before anybody promoted it: perhaps all environments follow the same branch. */
function warnUnexplained(draft: Draft, environment: EnvironmentPlan, { state, want }: Case): void {
  const { run } = draft.status
  if (!run || run.sequence === 1 || state.passedRun !== run.sequence) return
  if (state.passedAt !== formatTime(draft.now)) return
  announce(draft, {
    type: 'Warning',
    because: 'RevisionNotDiscriminating',
    environment: environment.name,
    message: `${environment.name} gained ${want.revision} without a promotion`,
  })
}

/** A failed promotion is tried again once spec or credentials have changed. */
function rearm(draft: Draft, environment: EnvironmentPlan, promotion: Promotion): void {
  if (promotion.phase !== 'Failed' || !promotion.failedIn || !environment.promotion) return
  const current = armedBy(draft, environment)
  if (isSameArm(promotion.armedBy ?? '', current)) return
  enter(promotion, promotion.failedIn, 'Rearmed', draft.now)
  promotion.armedBy = current
  promotion.strategy = environment.promotion.strategy
  delete promotion.failedIn
  delete promotion.lastError
  announcePhase(draft, environment.name, promotion)
}

/** A Secret whose version is not known yet has not changed: only a known one can have. */
function isSameArm(former: string, current: string): boolean {
  return former === current || (current.endsWith('/') && former.startsWith(current))
}

function isUnderWay({ phase }: Promotion): boolean {
  return phase !== 'Gated' && phase !== 'AwaitingApproval'
}

/** Decided, but not carried out yet: what has come in the way meanwhile counts. Where nothing was tried it is as if it had not been decided. */
function recheck(draft: Draft, environment: EnvironmentPlan, { state, want }: Case): void {
  const promotion = state.promotion!
  state.gates = gatesOf(draft, environment, want)
  if (promotion.attempt > 0 || areOpen(state.gates)) return
  enter(promotion, 'Gated', 'GatesOpen', draft.now)
  for (const field of ['intentAt', 'eventID', 'armedBy'] as const) delete promotion[field]
  // A branch that was taken over is there all the same.
  if (promotion.replacesSHA === undefined) delete promotion.branch
}

function follow(draft: Draft, environment: EnvironmentPlan, promotion: Promotion): void {
  if (promotion.phase === 'Merged' || promotion.phase === 'Notified' || promotion.phase === 'RollingOut')
    watchRollout(draft, environment, promotion)
}

/** Not decided yet: looks at the gates, then at the approvals, then records the intent. */
function advance(draft: Draft, environment: EnvironmentPlan, { state, want }: Case): void {
  const gates = gatesOf(draft, environment, want)
  state.gates = gates
  const upstream = gates.find(({ name }) => name === 'upstream')
  if (upstream?.state === 'Open' && !state.promotion) state.promotion = begin(draft, environment, want)
  const { promotion } = state
  if (!promotion) return
  if (promotion.phase === 'Gated') promotion.because = whyGated(gates)
  if (upstream?.state === 'Open' && runsAlready(draft, environment, want)) return adopt(draft, environment, promotion)
  demandVerification(promotion, { isDue: areOpen(gates, 'verification') && !areOpen(gates) })
  const plan = environment.promotion
  if (!plan || !areOpen(gates)) return
  const verdict = judgeApproval(draft, { state, promotion, plan, direction: want.direction })
  if (verdict === 'given') intend(draft, environment, { promotion, plan })
  else if (verdict === 'refused') {
    enter(promotion, 'Rejected', 'ApprovalRefused', draft.now)
    announcePhase(draft, environment.name, promotion)
  } else if (promotion.phase !== 'AwaitingApproval') {
    enter(promotion, 'AwaitingApproval', 'AwaitingApproval', draft.now)
    announcePhase(draft, environment.name, promotion)
  }
}

function whyGated(gates: readonly Gate[]): string {
  return gates.find(({ state }) => state !== 'Open')?.reason ?? ('GatesOpen' satisfies Because)
}

function begin(draft: Draft, environment: EnvironmentPlan, want: Want): Promotion {
  draft.status.sequence = Math.max(draft.status.sequence ?? 0, want.sequence)
  return newPromotion(draft, environment, want)
}

function runsAlready(draft: Draft, environment: EnvironmentPlan, want: Want): boolean {
  return targetsOf(draft, environment).some(({ revision }) => revision === want.revision)
}

/** Somebody else has begun to roll the revision out: there is nothing to promote, only to wait for. */
function adopt(draft: Draft, environment: EnvironmentPlan, promotion: Promotion): void {
  enter(promotion, 'RollingOut', 'AlreadyRunning', draft.now)
  announcePhase(draft, environment.name, promotion)
  watchRollout(draft, environment, promotion)
}
