import type { EnvironmentStatus, Gate, Promotion } from '../../../apis/pipeline-status.ts'
import { formatTime } from '../../../kube/time.ts'
import { judgeApprovals } from './approvals.ts'
import type { Because } from '../../../apis/pipeline-reasons.ts'
import { at, notAfter, type Draft } from './draft.ts'
import { areOpen, gatesOf, upstreamGate, type WantedRevision } from './gates.ts'
import type { EnvironmentPlan } from '../model/plan.ts'
import {
  announceAbandoned,
  enterPhase,
  hasEnded,
  isOver,
  isRollingOut,
  isUnfinished,
  mayHaveEffects,
  moveToHistory,
  promoteAgain,
  newPromotion,
  recordIntent,
  resumeFailed,
  retryTrigger,
  supersede,
  transition,
  watchRollout,
  requestVerification,
} from './promotions.ts'
import { isLowerRevision } from '../model/revision.ts'

/** Advances one environment as far as its gates, approvals and open promotion allow. */
export function advanceEnvironment(draft: Draft, environment: EnvironmentPlan): void {
  const state = draft.environment(environment.name)
  const wanted = pinnedRevision(draft, environment, state) ?? wantedRevision(draft, environment, state)
  if (!wanted) return void delete state.gates
  // The gates are those of the next promotion, which is none yet.
  if (isBlockedByPrevious(draft, environment, { state, wanted })) return void delete state.gates
  if (draft.isReadyOn(environment, wanted.revision)) return arrive(draft, environment, state)
  const { promotion } = state
  if (draft.status.run?.phase === 'Complete' && draft.plan.runPolicy !== 'Pairwise' && !state.pin) {
    delete state.gates
    if (draft.plan.drift === 'Promote' && hasDrifted(draft, environment)) promoteAgain(draft, environment.name)
    return
  }
  if (promotion && hasEnded(promotion)) return retryIfChanged(draft, environment, promotion)
  if (promotion && untilMerge.has(promotion.phase)) recheckGates(draft, environment, { state, wanted })
  if (promotion && isInProgress(promotion)) {
    if (isRollingOut(promotion)) watchRollout(draft, environment, promotion)
    return
  }
  startIfAllowed(draft, environment, { state, wanted })
}

/** Records the revision an environment is ready on, since when, and the newest run that has passed through it. */
export function recordArrival(draft: Draft, environment: EnvironmentPlan): void {
  const { status, now } = draft
  const state = draft.environment(environment.name)
  const revision = readyRevision(draft, environment)
  if (revision === undefined) {
    if (state.readyOn) state.unreadySince = formatTime(now)
    delete state.readyOn
  } else if (state.readyOn?.revision !== revision) state.readyOn = { revision, since: formatTime(now) }
  else state.readyOn.since = notAfter(state.readyOn.since, now)
  if (revision !== undefined) delete state.unreadySince
  const { run } = status
  if (!run || state.passedRun === run.sequence || !draft.isReadyOn(environment, run.revision)) return
  state.passedRun = run.sequence
  state.passedAt = formatTime(now)
}

/** Whether an environment that had the run's revision is healthy on another one now. */
export function hasDrifted(draft: Draft, environment: EnvironmentPlan): boolean {
  const { run, environments } = draft.status
  const { passedRun, pin, readyOn } = environments?.[environment.name] ?? {}
  if (run?.phase !== 'Complete' || passedRun !== run.sequence || pin || draft.plan.runPolicy === 'Pairwise')
    return false
  return environment.dependsOn.length > 0 && readyOn !== undefined && readyOn.revision !== run.revision
}

/** The revision a user asked for. It lasts until the revision of a newer run is due here. */
function pinnedRevision(
  draft: Draft,
  environment: EnvironmentPlan,
  state: EnvironmentStatus,
): WantedRevision | undefined {
  const { pin } = state
  if (!pin) return undefined
  const { run } = draft.status
  const isNewer = run !== undefined && run.sequence > pin.sequence
  if (isNewer && (draft.plan.runPolicy === 'Pairwise' || upstreamGate(draft, environment, run).state === 'Open'))
    return void delete state.pin
  const { revision, sequence, at: requestedAt, by: requestedBy } = pin
  const direction = directionOf(revision, state, [state.readyOn?.revision])
  return { revision, sequence, direction, requestedAt, requestedBy }
}

/** Backward for a revision that the environment has had, or whose version is lower than one that runs there. */
function directionOf(
  revision: string,
  { promotion, history = [] }: EnvironmentStatus,
  running: readonly (string | undefined)[],
): WantedRevision['direction'] {
  const arrived = [...(promotion ? [promotion] : []), ...history].filter(({ phase }) => phase === 'Succeeded')
  const past = arrived.some(
    (each) => each.fromRevision === revision || (each !== promotion && each.revision === revision),
  )
  const isLower = running.some((current) => current !== undefined && isLowerRevision(revision, current))
  return past || isLower ? 'Backward' : 'Forward'
}

interface Case {
  readonly state: EnvironmentStatus
  readonly wanted: WantedRevision
}

/** With `requireTargets` below All an environment can be ready on two revisions; the one of the run wins. */
function readyRevision(draft: Draft, environment: EnvironmentPlan): string | undefined {
  const running = draft.targetsOf(environment).map(({ revision }) => revision)
  const revisions = new Set([draft.status.run?.revision, ...running])
  return [...revisions].find((revision) => revision !== undefined && draft.isReadyOn(environment, revision))
}

/** The run's revision or, pairwise, the one that all environments before this one agree on. */
function wantedRevision(
  draft: Draft,
  environment: EnvironmentPlan,
  state: EnvironmentStatus,
): WantedRevision | undefined {
  const { status, plan } = draft
  if (plan.runPolicy !== 'Pairwise') return status.run
  const upstream = plan.environments.filter(({ name }) => environment.dependsOn.includes(name))
  const revisions = new Set(upstream.map((before) => readyRevision(draft, before)))
  const [revision] = revisions
  const { promotion } = state
  if (revisions.size !== 1 || revision === undefined) return promotion && sameRevisionAgain(promotion)
  if (promotion?.revision === revision) return sameRevisionAgain(promotion)
  const running = draft.targetsOf(environment).map((target) => target.revision)
  return { revision, sequence: (status.sequence ?? 0) + 1, direction: directionOf(revision, state, running) }
}

function sameRevisionAgain({ revision, runSequence, direction = 'Forward' }: Promotion): WantedRevision {
  return { revision, sequence: runSequence, direction }
}

/** Ends a promotion of another revision. True while it still occupies the environment, so that no new one may start. */
function isBlockedByPrevious(draft: Draft, environment: EnvironmentPlan, { state, wanted }: Case): boolean {
  const { promotion } = state
  if (!promotion || isCurrent(promotion, environment, wanted)) return false
  if (promotion.withdraw === 'Due') {
    waitForWithdrawal(draft, promotion, environment)
    return true
  }
  if (!isUnfinished(promotion)) {
    announceAbandoned(draft, environment.name, promotion)
    moveToHistory(state, draft.now)
    return false
  }
  if (isRollingOut(promotion)) return waitForRollout(draft, environment, { state, wanted })
  const because = promotion.revision === wanted.revision ? 'StrategyChanged' : 'NewRevision'
  const policy = environment.promotion?.supersede ?? 'Replace'
  if (policy === 'Update' && because === 'NewRevision' && canBeTakenOver(promotion)) {
    takeOver(draft, environment, { state, wanted })
    return false
  }
  supersede(draft, environment.name, promotion, { because, by: wanted.revision, leaveOpen: policy === 'Keep' })
  if (!isOver(promotion)) return true
  moveToHistory(state, draft.now)
  return false
}

/** Withdraws with the current credentials, at once when they have changed; a withdrawal from another repository may be abandoned (`StrategyChanged`). */
function waitForWithdrawal(draft: Draft, promotion: Promotion, environment: EnvironmentPlan): void {
  const { promotion: plan } = environment
  if (plan && promotion.strategyHash === plan.strategyHash) promotion.strategy = plan.strategy
  else promotion.because = 'StrategyChanged'
  const current = retryTrigger(draft, environment)
  if (promotion.lastError?.class !== 'Permanent' || isSameTrigger(promotion.armedBy ?? '', current)) return
  promotion.armedBy = current
  delete promotion.nextAttemptAt
}

function isCurrent(promotion: Promotion, { promotion: plan }: EnvironmentPlan, wanted: WantedRevision): boolean {
  if (promotion.revision !== wanted.revision || promotion.runSequence !== wanted.sequence) return false
  if (promotion.phase === 'Superseded') return false
  // Already in the repository: a changed strategy makes no difference any more.
  const isDelivered =
    promotion.phase === 'RollingOut' || promotion.phase === 'Merged' || promotion.phase === 'Succeeded'
  return isDelivered || promotion.strategyHash === (plan?.strategyHash ?? '')
}

/** A promotion that was merged while being superseded may roll out until its deadline. True while it may. */
function waitForRollout(draft: Draft, environment: EnvironmentPlan, { state, wanted }: Case): boolean {
  const promotion = state.promotion!
  const arrived = draft.isReadyOn(environment, promotion.revision)
  const deadline = at(promotion.phaseAt) + environment.rolloutDeadlineMs
  if (promotion.supersededBy && !arrived && draft.now < deadline) {
    draft.wakeAt(deadline)
    return true
  }
  if (arrived) enterPhase(promotion, { phase: 'Succeeded', because: 'Arrived' }, draft.now)
  else supersede(draft, environment.name, promotion, { because: 'NewRevision', by: wanted.revision })
  if (!isOver(promotion)) return true
  moveToHistory(state, draft.now)
  return false
}

/** Whether the next promotion can reuse the branch: only when the branch's content is known. */
function canBeTakenOver({ phase, failedIn, attempt, pullRequest }: Promotion): boolean {
  const reached = phase === 'Failed' ? failedIn : phase
  if (reached === 'Pushed' || reached === 'Proposed') return true
  return pullRequest?.state === 'open' && (reached !== 'Intended' || attempt === 0)
}

/** Gives the branch and pull request of the old promotion to a new one. Approvals of the old one do not count for it. */
function takeOver(draft: Draft, environment: EnvironmentPlan, { state, wanted }: Case): void {
  const old = state.promotion!
  supersede(draft, environment.name, old, { because: 'NewRevision', by: wanted.revision, leaveOpen: true })
  moveToHistory(state, draft.now)
  const next = newPromotion(draft, environment, wanted)
  if (old.pullRequest) next.pullRequest = old.pullRequest
  if (old.branch) next.branch = old.branch
  const tip = old.headSHA ?? old.replacesSHA
  if (tip) next.replacesSHA = tip
  state.promotion = next
}

/** The environment is ready on the wanted revision: the promotion, if there is one, has succeeded. */
function arrive(draft: Draft, environment: EnvironmentPlan, state: EnvironmentStatus): void {
  const { promotion } = state
  delete state.gates
  delete state.waitingApproval
  if (!promotion || hasEnded(promotion)) return
  if (mayHaveEffects(promotion)) promotion.withdraw = 'Due'
  promotion.attempt = 0
  delete promotion.lastError
  const seen = draft.status.revisions?.find(({ revision }) => revision === promotion.revision)?.seenAt
  promotion.leadSeconds = Math.max(
    0,
    Math.round((draft.now - at(seen ?? promotion.intentAt ?? promotion.phaseAt)) / 1000),
  )
  transition(draft, environment.name, promotion, { phase: 'Succeeded', because: 'Arrived' })
}

/** Whether an environment has a run's revision without a promotion. The first run finds what was there before it. */
export function isUnexplained({ status: { run } }: Draft, { passedRun, promotion, pin }: EnvironmentStatus): boolean {
  return run !== undefined && run.sequence > 1 && passedRun === run.sequence && !promotion && !pin
}

/** What a commit, a setting of the repository or a right can cure, without a change of the Pipeline or its Secrets. */
const curedOutside: ReadonlySet<string> = new Set<Because>([
  'MarkerNotFound',
  'MarkerUnusable',
  'BaseBranchNotFound',
  'RepositoryNotFound',
  'BranchNotOurs',
  'CredentialsMissing',
  'CredentialsRefused',
  'RequestRefused',
])

/** Retries a failed promotion once the spec or a Secret has changed, and each `interval` where the repository may have. */
function retryIfChanged(draft: Draft, environment: EnvironmentPlan, promotion: Promotion): void {
  if (promotion.phase !== 'Failed' || !promotion.failedIn || !environment.promotion) return
  const current = retryTrigger(draft, environment)
  if (isSameTrigger(promotion.armedBy ?? '', current)) {
    if (!curedOutside.has(promotion.because)) return
    const retryAt = at(promotion.phaseAt) + draft.plan.intervalMs
    if (draft.now < retryAt) return draft.wakeAt(retryAt)
    return enterPhase(promotion, { phase: promotion.failedIn, because: 'RetriedAtInterval' }, draft.now)
  }
  promotion.armedBy = current
  promotion.strategy = environment.promotion.strategy
  resumeFailed(draft, environment.name, promotion, 'Rearmed')
}

/** A Secret whose version is not known yet does not count as changed. */
function isSameTrigger(former: string, current: string): boolean {
  return former === current || (current.endsWith('/') && former.startsWith(current))
}

/** Whether the intent is recorded: gates and approvals no longer decide about the start. */
function isInProgress({ phase }: Promotion): boolean {
  return phase !== 'Gated' && phase !== 'AwaitingApproval'
}

/** The phases in which a closed gate still keeps the promoter from changing anything in the environment. */
const untilMerge: ReadonlySet<Promotion['phase']> = new Set(['Intended', 'Pushed', 'Proposed'])

/** Returns an intended promotion to Gated when a gate has closed before its first attempt. */
function recheckGates(draft: Draft, environment: EnvironmentPlan, { state, wanted }: Case): void {
  const promotion = state.promotion!
  state.gates = gatesOf(draft, environment, wanted)
  if (promotion.phase !== 'Intended' || promotion.attempt > 0 || areOpen(state.gates)) return
  enterPhase(promotion, { phase: 'Gated', because: 'GatesOpen' }, draft.now)
  for (const field of ['intentAt', 'eventID', 'armedBy'] as const) delete promotion[field]
  // A branch taken over from an earlier promotion exists and stays recorded.
  if (promotion.replacesSHA === undefined) delete promotion.branch
}

/** Checks the gates, then the approvals, then records the intent. */
function startIfAllowed(draft: Draft, environment: EnvironmentPlan, { state, wanted }: Case): void {
  const gates = gatesOf(draft, environment, wanted)
  state.gates = gates
  const upstream = gates.find(({ name }) => name === 'upstream')
  if (upstream?.state === 'Open' && !state.promotion) state.promotion = startPromotion(draft, environment, wanted)
  const { promotion } = state
  if (!promotion) return
  if (promotion.phase === 'Gated') promotion.because = whyGated(gates)
  if (upstream?.state === 'Open' && isAlreadyRunning(draft, environment, wanted))
    return adoptRollout(draft, environment, promotion)
  requestVerification(promotion, { isDue: areOpen(gates, 'verification') && !areOpen(gates) })
  const plan = environment.promotion
  if (!plan || !areOpen(gates)) return
  const verdict = judgeApprovals(draft, { state, promotion, plan, wanted })
  if (verdict === 'given') recordIntent(draft, environment, { promotion, plan })
  else if (verdict === 'refused') {
    transition(draft, environment.name, promotion, { phase: 'Rejected', because: 'ApprovalRefused' })
  } else if (promotion.phase !== 'AwaitingApproval') {
    transition(draft, environment.name, promotion, { phase: 'AwaitingApproval', because: 'AwaitingApproval' })
  }
}

function whyGated(gates: readonly Gate[]): string {
  return gates.find(({ state }) => state !== 'Open')?.reason ?? ('GatesOpen' satisfies Because)
}

function startPromotion(draft: Draft, environment: EnvironmentPlan, wanted: WantedRevision): Promotion {
  draft.status.sequence = Math.max(draft.status.sequence ?? 0, wanted.sequence)
  return newPromotion(draft, environment, wanted)
}

function isAlreadyRunning(draft: Draft, environment: EnvironmentPlan, wanted: WantedRevision): boolean {
  return draft.targetsOf(environment).some(({ revision }) => revision === wanted.revision)
}

/** The revision is being rolled out without this promotion: nothing to push, only to wait for. */
function adoptRollout(draft: Draft, environment: EnvironmentPlan, promotion: Promotion): void {
  transition(draft, environment.name, promotion, { phase: 'RollingOut', because: 'AlreadyRunning' })
  watchRollout(draft, environment, promotion)
}
