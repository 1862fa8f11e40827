import type { PipelineStatus, Run, TargetStatus } from '../../../apis/pipeline-status.ts'
import { formatTime } from '../../../kube/time.ts'
import { at, describeTarget, isReadable, isTargetReadyOn, notAfter, type Draft, type Why } from './draft.ts'
import type { EnvironmentPlan } from '../model/plan.ts'
import { commitOf, isLowerRevision } from '../model/revision.ts'
import { hasEnded, overdueVerification } from './promotions.ts'

/** Reads the revision of the first environment and, once it has settled, starts a run that promotes it. */
export function advanceRun(draft: Draft): void {
  const { status, plan } = draft
  reopenRun(draft)
  const head = readyHead(draft)
  if (head === undefined) return
  status.latestRevision = head
  recordSeen(draft, head)
  if (status.run?.revision === head) {
    delete status.candidate
    delete status.unsettledSince
    return
  }
  if (plan.runPolicy === 'Pairwise') return startRun(draft, head)
  settle(draft, head)
}

/** An environment added after a run has completed still gets its revision. */
function reopenRun({ status, plan }: Draft): void {
  const { run } = status
  if (run?.phase !== 'Complete' || plan.environments.every(({ name }) => hasPassed(status, name))) return
  run.phase = 'Running'
  delete run.completedAt
}

/** Whether an environment has had the run's revision, or a user has chosen another one for it. */
function hasPassed({ run, environments }: PipelineStatus, name: string): boolean {
  const { passedRun = 0, pin } = environments?.[name] ?? {}
  return Math.max(passedRun, pin?.sequence ?? 0) >= (run?.sequence ?? 0)
}

/** Sets the run's phase from the phases of all environments. */
export function updateRunPhase(draft: Draft): void {
  const { status, plan } = draft
  const { run } = status
  if (!run || run.phase === 'Complete') return
  const names = plan.environments.map(({ name }) => name)
  if (names.every((name) => hasPassed(status, name))) return completeRun(draft, run)
  const phases = names.map((name) => status.environments?.[name]?.promotion?.phase)
  if (isOverdue(draft, run)) {
    if (run.phase !== 'Failed')
      draft.announce(
        warning('RunTimedOut', `run ${run.sequence} of ${run.revision} took longer than spec.maxRunDuration`),
      )
    run.phase = 'Failed'
  } else if (isHeld(draft, run)) run.phase = 'Held'
  else run.phase = phases.some((phase) => phase === 'Rejected' || phase === 'Failed') ? 'Failed' : 'Running'
  if (plan.maxRunDurationMs !== undefined && run.phase !== 'Failed')
    draft.wakeAt(at(run.startedAt) + plan.maxRunDurationMs)
}

/** Whether a newer revision must wait: by policy or after too many restarts, as long as this run makes progress. */
export function mustFinish(draft: Draft): boolean {
  const { plan, status } = draft
  const { run } = status
  if (run?.phase !== 'Running') return false
  if (plan.runPolicy !== 'Finish' && run.restarts < plan.maxRestarts) return false
  if (wasRolledBack(draft)) return false
  // A person may take for ever; by default the newest revision must not wait for one.
  if (plan.runPolicy !== 'Finish' && waitsForPeople(draft)) return false
  return !plan.environments.slice(1).some((environment) => isStuckIn(draft, environment, run))
}

/** Whether `rollback: Hold` stops promotions of an older revision. */
export function isHeldRollback(
  { plan }: Draft,
  { direction, requestedAt }: Pick<Run, 'direction'> & { readonly requestedAt?: string },
): boolean {
  return direction === 'Backward' && plan.rollback === 'Hold' && requestedAt === undefined
}

/** Whether the run has exceeded `maxRunDuration`. */
export function isOverdue({ plan, now }: Draft, run: Run): boolean {
  return plan.maxRunDurationMs !== undefined && now >= at(run.startedAt) + plan.maxRunDurationMs
}

/** Whether the run has ended because it took too long. */
export function isRunTimedOut(draft: Draft): boolean {
  const { run } = draft.status
  return run?.phase === 'Failed' && isOverdue(draft, run)
}

const maxRecentRuns = 10
const maxRevisions = 20

/** Keeps the revisions that were ready in the first environment, newest first: each may be promoted on request. */
function recordSeen({ status, now }: Draft, revision: string): void {
  const { revisions = [] } = status
  if (revisions.some((seen) => seen.revision === revision)) return
  status.revisions = [{ revision, seenAt: formatTime(now) }, ...revisions].slice(0, maxRevisions)
}

/** Whether the run waits for a person: for an approval, or for a pull request to be merged. */
function waitsForPeople({ status, plan }: Draft): boolean {
  return plan.environments.some(({ name }) => {
    const { phase, runSequence } = status.environments?.[name]?.promotion ?? {}
    return runSequence === status.run?.sequence && (phase === 'AwaitingApproval' || phase === 'Proposed')
  })
}

/** Whether the first environment was rolled back: its revision must not be promoted any further. */
function wasRolledBack(draft: Draft): boolean {
  const [first] = draft.plan.environments
  if (!first) return false
  const running = [...countBy(draft.targetsOf(first))].filter(([, count]) => count >= first.requiredTargets)
  return running.length > 0 && running.every(([revision]) => isBackward(draft, revision))
}

/** Whether the revision has been unhealthy for longer than the roll-out deadline: a newer one may fix it. */
function isStuckIn(draft: Draft, environment: EnvironmentPlan, { revision, sequence }: Run): boolean {
  const { targets = [], promotion, passedRun, pin } = draft.status.environments?.[environment.name] ?? {}
  if (draft.isReadyOn(environment, revision)) return false
  // Once it has what a user requested, environments that depend on it cannot get the run's revision.
  if (pin) {
    const isOver = promotion?.runSequence === pin.sequence && hasEnded(promotion)
    if (!isOver && !draft.isReadyOn(environment, pin.revision)) return false
    const dependents = draft.plan.environments.filter(({ dependsOn }) => dependsOn.includes(environment.name))
    return dependents.some(({ name }) => !hasPassed(draft.status, name))
  }
  const current = promotion?.runSequence === sequence ? promotion : undefined
  if (current && overdueVerification(draft, environment.name, current) !== undefined) return true
  const unhealthySince = targets
    .filter((target) => (target.revision === revision || passedRun === sequence) && !isTargetReadyOn(target, revision))
    .map(({ observedAt }) => at(observedAt))
  if (current?.phase === 'RollingOut') unhealthySince.push(at(current.phaseAt))
  const stuckAt = Math.min(...unhealthySince) + environment.rolloutDeadlineMs
  if (draft.now >= stuckAt) return true
  draft.wakeAt(stuckAt)
  return false
}

/** The one revision that enough targets of the first environment are ready on. Explains in the draft why there is none. */
function readyHead(draft: Draft): string | undefined {
  const [first] = draft.plan.environments
  if (!first) return undefined
  const targets = draft.targetsOf(first)
  const ready = countBy(targets.filter((target) => target.reason === 'Found' && target.ready))
  const agreed = [...ready].filter(([, count]) => count >= first.requiredTargets).map(([revision]) => revision)
  if (agreed.length === 1) return agreed[0]
  draft.explainNoRevision(whyNoRevision(targets))
  const running = countBy(targets)
  const { candidate } = draft.status
  if (candidate && (running.size !== 1 || !running.has(candidate.revision))) dropCandidate(draft, candidate)
  else if (candidate) delete candidate.stableSince
  return undefined
}

/** The revision changed before it settled. `maxWait` still counts from when the first one was seen. */
function dropCandidate({ status }: Draft, { firstSeenAt }: NonNullable<PipelineStatus['candidate']>): void {
  delete status.candidate
  status.unsettledSince = firstSeenAt
}

function whyNoRevision(targets: readonly TargetStatus[]): Why {
  const because = 'EnvironmentNotReady'
  const unreadable = targets.filter((target) => !isReadable(target))
  if (unreadable.length > 0)
    return {
      because,
      message: `cannot read ${unreadable.map(describeTarget).join(', ')}: ${unreadable[0]?.message ?? ''}`,
    }
  const unknown = targets.filter(({ revision }) => !revision)
  if (unknown.length > 0) return { because, message: `${unknown.map(describeTarget).join(', ')} has no revision yet` }
  const revisions = countBy(targets)
  if (revisions.size > 1) {
    const each = targets.map((target) => `${describeTarget(target)} runs ${target.revision}`)
    return { because, message: each.join(', ') }
  }
  const unready = targets.filter(({ ready, reason }) => !ready || reason !== 'Found')
  return { because, message: `${unready.map(describeTarget).join(', ')} is not ready` }
}

/** Targets per revision. */
function countBy(targets: readonly TargetStatus[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { revision } of targets) if (revision) counts.set(revision, (counts.get(revision) ?? 0) + 1)
  return counts
}

/** Starts the run once the revision has been stable for `quietPeriod`, or after `maxWait` at the latest. */
function settle(draft: Draft, revision: string): void {
  const { status, plan, now } = draft
  const previous = status.candidate
  const firstSeenAt = notAfter(previous?.firstSeenAt ?? status.unsettledSince, now)
  delete status.unsettledSince
  const stableSince = notAfter(previous?.revision === revision ? previous.stableSince : undefined, now)
  status.candidate = { ...(previous?.revision === revision ? previous : {}), revision, firstSeenAt, stableSince }
  const dueAt = Math.min(at(stableSince) + plan.quietPeriodMs, at(firstSeenAt) + plan.maxWaitMs)
  if (now < dueAt) return draft.wakeAt(dueAt)
  if (mustFinish(draft)) return
  if (status.candidate.origin !== 'Foreign' && mayBeOwn(draft, revision))
    return void (status.candidate.origin = 'Unknown')
  startRun(draft, revision)
}

/** Whether the commit may differ from the run's only by promotions: both are commits, and promotions are commits too. */
function mayBeOwn({ status, plan, observed }: Draft, revision: string): boolean {
  const isWritten = plan.environments.some(({ promotion }) => promotion?.strategy.baseBranch !== undefined)
  const former = status.run?.revision ?? ''
  return isWritten && !observed.dryRun && commitOf(revision) !== undefined && commitOf(former) !== undefined
}

/** Starts a run and retires the previous one. */
function startRun(draft: Draft, revision: string): void {
  const { status, plan, now } = draft
  const previous = status.run
  const sequence = (status.sequence ?? 0) + 1
  const direction = isBackward(draft, revision) ? 'Backward' : 'Forward'
  if (previous) retireRun(draft, previous)
  const isStarved = previous && previous.phase !== 'Complete'
  const restarts = isStarved ? previous.restarts + (waitsForPeople(draft) ? 0 : 1) : 0
  status.sequence = sequence
  status.run = { sequence, revision, phase: 'Running', direction, startedAt: formatTime(now), restarts }
  delete status.candidate
  const [first] = plan.environments
  if (first) draft.environment(first.name).passedRun = sequence
  draft.announce({
    type: 'Normal',
    because: 'RunStarted',
    message: `run ${sequence} of ${revision} has started (${direction})`,
  })
  if (plan.runPolicy === 'Restart' && restarts >= plan.maxRestarts && restarts > 0)
    draft.announce(
      warning(
        'StarvationGuard',
        `run ${sequence} will finish before a newer revision starts: ${restarts} restarts in a row`,
      ),
    )
}

/** Moves the previous run to `recentRuns`; an unfinished one is superseded. */
function retireRun(draft: Draft, run: Run): void {
  const { status, now } = draft
  const unfinished = run.phase !== 'Complete' && run.phase !== 'Failed'
  const record: Run = unfinished ? { ...run, phase: 'Superseded', completedAt: formatTime(now) } : run
  status.recentRuns = [record, ...(status.recentRuns ?? [])].slice(0, maxRecentRuns)
  if (unfinished)
    draft.announce({
      type: 'Normal',
      because: 'RunSuperseded',
      message: `run ${run.sequence} of ${run.revision} was superseded by a newer revision`,
    })
}

function completeRun(draft: Draft, run: Run): void {
  run.phase = 'Complete'
  run.completedAt = formatTime(draft.now)
  draft.announce({
    type: 'Normal',
    because: 'RunComplete',
    message: `run ${run.sequence} of ${run.revision} has reached every environment`,
  })
}

/** Whether a revision is older: lower by semantic version, or completed by an earlier run. */
function isBackward({ status }: Draft, revision: string): boolean {
  const { run, recentRuns = [] } = status
  if (run && isLowerRevision(revision, run.revision)) return true
  return recentRuns.some((recent) => recent.phase === 'Complete' && recent.revision === revision)
}

function isHeld(draft: Draft, run: Run): boolean {
  return draft.isSuspended || draft.observed.frozen || isHeldRollback(draft, run)
}

function warning(because: 'RunTimedOut' | 'StarvationGuard', message: string) {
  return { type: 'Warning', because, message } as const
}
