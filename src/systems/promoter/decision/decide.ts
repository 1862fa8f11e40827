import type { Approval, ApprovalStatus } from '../../../apis/approval.ts'
import type { Pipeline } from '../../../apis/pipeline.ts'
import type { PipelineStatus } from '../../../apis/pipeline-status.ts'
import { approvalStates, outdatedApprovals } from './approvals.ts'
import { deletionStep, dropRemoved } from './departing.ts'
import { copyOf, wake, type Announcement, type Draft, type Observed } from './draft.ts'
import { dueEffect, type Effect } from './effects.ts'
import { judgeEnvironment, noteArrival } from './environments.ts'
import { PlanError, planOf, type Plan } from '../model/plan.ts'
import { report, reportInvalid } from './report.ts'
import { handleRetry } from './retry.ts'
import { closeRun, judgeRun } from './runs.ts'
import { recordTargets } from './target-records.ts'

/** What should be true next, and at most one thing to do about it. */
export interface Decision {
  /** To be written, and only then acted on. */
  readonly status: PipelineStatus
  readonly effect: Effect | undefined
  readonly announcements: readonly Announcement[]
  /** What each approval is to be told of itself. */
  readonly approvals: ReadonlyMap<Approval, ApprovalStatus>
  /** Approvals of long ago, to be removed. */
  readonly outdated: readonly Approval[]
  /** Look again at this time, if nothing changes before. */
  readonly wakeAt: number
  /** When time alone makes a difference; `wakeAt` may come sooner, to make sure that nothing was missed. */
  readonly changesAt: number
  /** Nothing of a pipeline that is being deleted is left outside. */
  readonly mayGo: boolean
}

/** Decides the whole of a pipeline's next step from what was observed and the time, and from nothing else. */
export function decide(observed: Observed, now: number): Decision {
  const { pipeline } = observed
  const status = copyOf(pipeline.status ?? {})
  const planned = readPlan(pipeline)
  const draft: Draft = {
    plan: planned instanceof PlanError ? emptyPlan : planned,
    observed,
    now,
    status,
    announcements: [],
    pending: undefined,
    wakeAt: Infinity,
  }
  if (pipeline.metadata.deletionTimestamp)
    return { ...deletionStep(draft), wakeAt: draft.wakeAt, changesAt: draft.wakeAt }
  status.observedGeneration = pipeline.metadata.generation ?? 0
  if (planned instanceof PlanError) reportInvalid(draft, planned)
  else walk(draft)
  const effect = dueEffect(draft)
  const { outdated, nextAt } = outdatedApprovals(observed.approvals, status, now)
  wake(draft, nextAt)
  const { announcements, plan, wakeAt: changesAt } = draft
  const wakeAt = planned instanceof PlanError ? changesAt : Math.min(changesAt, now + plan.intervalMs)
  return {
    status,
    effect,
    announcements,
    approvals: approvalStates(draft),
    outdated: observed.dryRun ? [] : outdated,
    wakeAt,
    changesAt,
    mayGo: false,
  }
}

function walk(draft: Draft): void {
  const { plan } = draft
  recordTargets(draft)
  dropRemoved(draft)
  handleRetry(draft)
  judgeRun(draft)
  for (const environment of plan.environments) noteArrival(draft, environment)
  for (const environment of plan.environments.slice(1)) judgeEnvironment(draft, environment)
  closeRun(draft)
  report(draft)
}

function readPlan({ spec, metadata }: Pipeline): Plan | PlanError {
  try {
    return planOf(spec, metadata.namespace ?? '')
  } catch (error) {
    if (error instanceof PlanError) return error
    throw error
  }
}

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
  withdrawal: 'Close',
}
