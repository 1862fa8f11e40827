import type { PipelineStatus, Run, TargetStatus } from '../../../apis/pipeline-status.ts'
import { formatTime } from '../../../kube/time.ts'
import {
  announce,
  at,
  describeTarget,
  environmentStatus,
  isDoneOn,
  isReadable,
  isReadyOn,
  notAfter,
  targetsOf,
  wake,
  type Draft,
} from './draft.ts'
import type { EnvironmentPlan } from '../model/plan.ts'
import { isLowerVersion } from '../model/semver.ts'
import { whyUnverified } from './verification.ts'

/** Reads the revision out of the first environment, lets it settle, and starts the run that carries it. */
export function judgeRun(draft: Draft): void {
  const { status, plan } = draft
  reopenRun(draft)
  const head = headOf(draft)
  if (head === undefined) return
  status.latestRevision = head
  if (status.run?.revision === head) {
    delete status.candidate
    delete status.unsettledSince
    return
  }
  if (plan.runPolicy === 'Pairwise') return startRun(draft, head)
  settle(draft, head)
}

/** An environment that joins a pipeline whose run is complete gets the revision too. */
function reopenRun({ status, plan }: Draft): void {
  const { run } = status
  if (run?.phase !== 'Complete') return
  if (plan.environments.every(({ name }) => status.environments?.[name]?.passedRun === run.sequence)) return
  run.phase = 'Running'
  delete run.completedAt
}

/** Says how the run stands once every environment has been looked at. */
export function closeRun(draft: Draft): void {
  const { status, plan } = draft
  const { run } = status
  if (!run || run.phase === 'Complete') return
  const names = plan.environments.map(({ name }) => name)
  if (names.every((name) => status.environments?.[name]?.passedRun === run.sequence)) return completeRun(draft, run)
  const phases = names.map((name) => status.environments?.[name]?.promotion?.phase)
  if (isOverdue(draft, run)) {
    if (run.phase !== 'Failed') announce(draft, warning('RunTimedOut', `run of ${run.revision} took too long`))
    run.phase = 'Failed'
  } else if (isHeld(draft, run)) run.phase = 'Held'
  else run.phase = phases.some((phase) => phase === 'Rejected' || phase === 'Failed') ? 'Failed' : 'Running'
  if (plan.maxRunDurationMs !== undefined && run.phase !== 'Failed')
    wake(draft, at(run.startedAt) + plan.maxRunDurationMs)
}

/** A run that is let finish is not replaced while it still gets on. */
export function mustFinish(draft: Draft): boolean {
  const { plan, status } = draft
  const { run } = status
  if (run?.phase !== 'Running') return false
  if (plan.runPolicy !== 'Finish' && run.restarts < plan.maxRestarts) return false
  if (hasGoneBack(draft)) return false
  return !plan.environments.slice(1).some((environment) => isStuckIn(draft, environment, run))
}

/** Whether promotions of this run are held for as long as it is the run. */
export function isHeldBack({ plan }: Draft, { direction }: Pick<Run, 'direction'>): boolean {
  return direction === 'Backward' && plan.rollback === 'Hold'
}

export function isOverdue({ plan, now }: Draft, run: Run): boolean {
  return plan.maxRunDurationMs !== undefined && now >= at(run.startedAt) + plan.maxRunDurationMs
}

const keptRuns = 10

/** Whoever takes a revision back out of the first environment wants it nowhere else. */
function hasGoneBack(draft: Draft): boolean {
  const [first] = draft.plan.environments
  if (!first) return false
  const running = [...countBy(targetsOf(draft, first))].filter(([, count]) => count >= first.requiredTargets)
  return running.length > 0 && running.every(([revision]) => isBackward(draft, revision))
}

/** What has not been well with the revision for longer than a roll-out may take waits for a newer one to mend it. */
function isStuckIn(draft: Draft, environment: EnvironmentPlan, { revision, sequence }: Run): boolean {
  const { targets = [], promotion, passedRun } = draft.status.environments?.[environment.name] ?? {}
  if (isDoneOn(draft, environment, revision)) return false
  const current = promotion?.runSequence === sequence ? promotion : undefined
  if (current && whyUnverified(draft, environment.name, current) !== undefined) return true
  const illSince = targets
    .filter((target) => (target.revision === revision || passedRun === sequence) && !isReadyOn(target, revision))
    .map(({ observedAt }) => at(observedAt))
  if (current?.phase === 'RollingOut') illSince.push(at(current.phaseAt))
  const stuckAt = Math.min(...illSince) + environment.rolloutDeadlineMs
  if (draft.now >= stuckAt) return true
  wake(draft, stuckAt)
  return false
}

/** The one revision that enough targets of the first environment are ready on; says in `pending` why there is none. */
function headOf(draft: Draft): string | undefined {
  const [first] = draft.plan.environments
  if (!first) return undefined
  const targets = targetsOf(draft, first)
  const ready = countBy(targets.filter((target) => target.reason === 'Found' && target.ready))
  const agreed = [...ready].filter(([, count]) => count >= first.requiredTargets).map(([revision]) => revision)
  if (agreed.length === 1) return agreed[0]
  draft.pending = whyPending(targets)
  const running = countBy(targets)
  const { candidate } = draft.status
  if (candidate && (running.size !== 1 || !running.has(candidate.revision))) dropCandidate(draft, candidate)
  else if (candidate) delete candidate.stableSince
  return undefined
}

/** Another revision, or several: what was about to settle no longer is, but the longest wait goes on. */
function dropCandidate({ status }: Draft, { firstSeenAt }: NonNullable<PipelineStatus['candidate']>): void {
  delete status.candidate
  status.unsettledSince = firstSeenAt
}

function whyPending(targets: readonly TargetStatus[]): NonNullable<Draft['pending']> {
  const because = 'EnvironmentNotReady'
  const unreadable = targets.filter((target) => !isReadable(target))
  if (unreadable.length > 0)
    return {
      because,
      message: `cannot read ${unreadable.map(describeTarget).join(', ')}: ${unreadable[0]?.message ?? ''}`,
    }
  const without = targets.filter(({ revision }) => !revision)
  if (without.length > 0) return { because, message: `${without.map(describeTarget).join(', ')} has no revision yet` }
  const revisions = countBy(targets)
  if (revisions.size > 1) {
    const each = targets.map((target) => `${describeTarget(target)} runs ${target.revision}`)
    return { because, message: each.join(', ') }
  }
  const unready = targets.filter(({ ready, reason }) => !ready || reason !== 'Found')
  return { because, message: `${unready.map(describeTarget).join(', ')} is not ready` }
}

function countBy(targets: readonly TargetStatus[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { revision } of targets) if (revision) counts.set(revision, (counts.get(revision) ?? 0) + 1)
  return counts
}

function settle(draft: Draft, revision: string): void {
  const { status, plan, now } = draft
  const previous = status.candidate
  const firstSeenAt = notAfter(previous?.firstSeenAt ?? status.unsettledSince, now)
  delete status.unsettledSince
  const stableSince = notAfter(previous?.revision === revision ? previous.stableSince : undefined, now)
  status.candidate = { revision, firstSeenAt, stableSince }
  const dueAt = Math.min(at(stableSince) + plan.quietPeriodMs, at(firstSeenAt) + plan.maxWaitMs)
  if (now < dueAt) return wake(draft, dueAt)
  if (!mustFinish(draft)) startRun(draft, revision)
}

function startRun(draft: Draft, revision: string): void {
  const { status, plan, now } = draft
  const previous = status.run
  const sequence = (status.sequence ?? 0) + 1
  const direction = isBackward(draft, revision) ? 'Backward' : 'Forward'
  if (previous) retireRun(draft, previous)
  const restarts = previous && previous.phase !== 'Complete' ? previous.restarts + 1 : 0
  status.sequence = sequence
  status.run = { sequence, revision, phase: 'Running', direction, startedAt: formatTime(now), restarts }
  delete status.candidate
  const [first] = plan.environments
  if (first) environmentStatus(draft, first.name).passedRun = sequence
  announce(draft, {
    type: 'Normal',
    because: 'RunStarted',
    message: `run ${sequence} carries ${revision} (${direction})`,
  })
  if (plan.runPolicy === 'Restart' && restarts >= plan.maxRestarts && restarts > 0)
    announce(draft, warning('StarvationGuard', `run ${sequence} is let finish after ${restarts} restarts`))
}

/** Keeps the end of a run in mind; an unfinished one was superseded. */
function retireRun(draft: Draft, run: Run): void {
  const { status, now } = draft
  const unfinished = run.phase !== 'Complete' && run.phase !== 'Failed'
  const record: Run = unfinished ? { ...run, phase: 'Superseded', completedAt: formatTime(now) } : run
  status.recentRuns = [record, ...(status.recentRuns ?? [])].slice(0, keptRuns)
  if (unfinished)
    announce(draft, {
      type: 'Normal',
      because: 'RunSuperseded',
      message: `run ${run.sequence} of ${run.revision} gives way`,
    })
}

function completeRun(draft: Draft, run: Run): void {
  run.phase = 'Complete'
  run.completedAt = formatTime(draft.now)
  announce(draft, { type: 'Normal', because: 'RunComplete', message: `${run.revision} has reached every environment` })
}

function isBackward({ status }: Draft, revision: string): boolean {
  const { run, recentRuns = [] } = status
  if (run && isLowerVersion(revision, run.revision)) return true
  return recentRuns.some((recent) => recent.phase === 'Complete' && recent.revision === revision)
}

function isHeld(draft: Draft, run: Run): boolean {
  return draft.plan.suspended || draft.observed.frozen || isHeldBack(draft, run)
}

function warning(because: 'RunTimedOut' | 'StarvationGuard', message: string) {
  return { type: 'Warning', because, message } as const
}
