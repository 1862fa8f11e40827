import type { Approval, ApprovalStatus } from '../../../apis/approval.ts'
import type { PipelineStatus } from '../../../apis/pipeline-status.ts'
import { approvalStatuses, expiredApprovals, handleRequests } from './approvals.ts'
import { Draft, type Announcement, type Observed } from './draft.ts'
import { dueEffect, type Effect } from './effects.ts'
import { advanceEnvironment, recordArrival } from './environments.ts'
import { PlanError, tryPlan, type Plan } from '../model/plan.ts'
import { reportConditions, reportInvalidSpec, reportDryRun } from './report.ts'
import { advanceRun, updateRunPhase } from './runs.ts'
import { recordTargets } from './target-records.ts'
import { announceAbandoned, isOver, isUnfinished, supersede } from './promotions.ts'
import type { Because } from '../../../apis/pipeline-reasons.ts'

/** The next status of a pipeline, and at most one effect to carry out. */
export interface Decision {
  /** Must be written before the effect starts. */
  readonly status: PipelineStatus
  readonly effect: Effect | undefined
  readonly announcements: readonly Announcement[]
  /** The status each Approval should get. */
  readonly approvals: ReadonlyMap<Approval, ApprovalStatus>
  /** Approvals past their retention, to be deleted. */
  readonly expired: readonly Approval[]
  /** When to reconcile again if nothing changes before: `changesAt` or the next resync, whichever is earlier. */
  readonly wakeAt: number
  /** When the passage of time alone changes the decision. */
  readonly changesAt: number
  /** The pipeline is being deleted and nothing of it is open outside, so its finalizer may be removed. */
  readonly canBeDeleted: boolean
}

/** Decides a pipeline's next step. A pure function of what was observed and the time. */
export function decide(observed: Observed, now: number): Decision {
  const { pipeline } = observed
  const plan = tryPlan(pipeline)
  const draft = new Draft(plan instanceof PlanError ? emptyPlan : plan, observed, now)
  if (pipeline.metadata.deletionTimestamp) {
    const step = decideDeletion(draft)
    return { ...step, wakeAt: draft.nextChangeAt, changesAt: draft.nextChangeAt }
  }
  draft.status.observedGeneration = pipeline.metadata.generation ?? 0
  if (plan instanceof PlanError) reportInvalidSpec(draft, plan)
  else advancePipeline(draft)
  const effect = dueEffect(draft)
  const { expired, nextAt } = expiredApprovals(observed.approvals, draft.status, now)
  draft.wakeAt(nextAt)
  const { status, announcements, nextChangeAt: changesAt } = draft
  return {
    status,
    effect,
    announcements,
    approvals: approvalStatuses(draft),
    expired: observed.dryRun ? [] : expired,
    wakeAt: plan instanceof PlanError ? changesAt : Math.min(changesAt, now + plan.intervalMs),
    changesAt,
    canBeDeleted: false,
  }
}

/** The steps of a decision. Each relies on what the steps before it wrote into the draft's status. */
function advancePipeline(draft: Draft): void {
  const { environments } = draft.plan
  recordTargets(draft)
  withdrawRemovedEnvironments(draft)
  handleRequests(draft)
  advanceRun(draft)
  for (const environment of environments) recordArrival(draft, environment)
  // Nothing is promoted into the first environment: revisions come from there.
  for (const environment of environments.slice(1)) advanceEnvironment(draft, environment)
  updateRunPhase(draft)
  reportConditions(draft)
}

/** Stands in for a spec that cannot be read: suspended, so that no effect but polling and withdrawing is due. */
const emptyPlan: Plan = {
  environments: [],
  suspended: true,
  intervalMs: 300_000,
  quietPeriodMs: 0,
  maxWaitMs: 0,
  runPolicy: 'Restart',
  maxRestarts: 0,
  maxRunDurationMs: undefined,
  rollback: 'Hold',
  drift: 'Report',
  withdrawal: 'Close',
}

/** Withdraws what environments removed from the spec have open, then drops their status. */
function withdrawRemovedEnvironments(draft: Draft): void {
  const planned = new Set(draft.plan.environments.map(({ name }) => name))
  for (const name of Object.keys(draft.status.environments ?? {}))
    if (!planned.has(name) && withdraw(draft, name, 'EnvironmentRemoved')) delete draft.status.environments?.[name]
}

/** The decision for a pipeline that is being deleted: withdraw everything it has open, then let the deletion finish. */
function decideDeletion(draft: Draft): Omit<Decision, 'wakeAt' | 'changesAt'> {
  const { status } = draft
  const over = Object.keys(status.environments ?? {}).map((name) => withdraw(draft, name, 'PipelineDeleted'))
  const canBeDeleted = !over.includes(false)
  const effect = canBeDeleted ? undefined : dueEffect(draft)
  reportDryRun(draft)
  const { announcements } = draft
  return { status, effect, announcements, approvals: new Map(), expired: [], canBeDeleted }
}

/** Ends the environment's promotion. True once nothing of it is open outside. */
function withdraw(draft: Draft, name: string, because: Because): boolean {
  const promotion = draft.status.environments?.[name]?.promotion
  if (!promotion) return true
  if (isUnfinished(promotion)) {
    const leaveOpen = draft.observed.pipeline.spec.withdrawal === 'Orphan'
    supersede(draft, name, promotion, { because, leaveOpen })
  } else if (promotion.withdraw === 'Due') promotion.because = because
  announceAbandoned(draft, name, promotion)
  return isOver(promotion)
}
