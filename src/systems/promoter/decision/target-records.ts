import type { TargetStatus } from '../../../apis/pipeline-status.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { formatTime } from '../../../kube/time.ts'
import { describeTarget, isReadable, isTargetReadyOn, type Draft } from './draft.ts'
import type { EnvironmentPlan } from '../model/plan.ts'

/** Writes the state of each target into the status; `observedAt` moves only when something else changes. */
export function recordTargets(draft: Draft): void {
  for (const environment of draft.plan.environments) recordEnvironment(draft, environment)
}

const maxListedTargets = 400
const maxMessage = 256

function recordEnvironment(draft: Draft, environment: EnvironmentPlan): void {
  const state = draft.environment(environment.name)
  const previous = new Map((state.targets ?? []).map((target) => [placeOf(target), target]))
  const records = draft.targetsOf(environment).map((target) => {
    const before = previous.get(placeOf(target))
    announceUnreadable(draft, environment.name, { target, before })
    return withTime(bounded(target), before, draft.now)
  })
  const revision = draft.status.run?.revision
  state.targetsTotal = records.length
  state.targetsDone = records.filter((target) => revision !== undefined && isTargetReadyOn(target, revision)).length
  state.targets = listed(draft, records)
}

/** Every target or, in a very large pipeline, only those not ready, to bound the size of the status. */
function listed({ plan, status }: Draft, records: TargetStatus[]): TargetStatus[] {
  const total = plan.environments.reduce((sum, { targets }) => sum + targets.length, 0)
  if (total <= maxListedTargets) return records
  const share = Math.max(1, Math.floor(maxListedTargets / plan.environments.length))
  const revision = status.run?.revision ?? ''
  return records.filter((target) => !isTargetReadyOn(target, revision)).slice(0, share)
}

/** Shortens messages, and repeats one as `error`, the field pipeline-controller has. */
function bounded(target: TargetStatus): TargetStatus {
  const { message } = target
  const record = message ? { ...target, message: message.slice(0, maxMessage) } : target
  return isReadable(record) || !record.message ? record : { ...record, error: record.message }
}

/** Keeps the previous record when nothing but the time would change. */
function withTime(target: TargetStatus, before: TargetStatus | undefined, now: number): TargetStatus {
  const { observedAt } = before ?? {}
  if (before && observedAt && deepEqual({ ...target, observedAt }, before)) return before
  return { ...target, observedAt: formatTime(now) }
}

function placeOf({ cluster = '', namespace, kind, name }: TargetStatus): string {
  return JSON.stringify([cluster, namespace, kind, name])
}

/** Warns once when a target becomes unreadable. */
function announceUnreadable(
  draft: Draft,
  environment: string,
  { target, before }: { readonly target: TargetStatus; readonly before: TargetStatus | undefined },
): void {
  if (isReadable(target) || target.reason === 'NotSynced' || before?.reason === target.reason) return
  draft.announce({
    type: 'Warning',
    because: target.reason.startsWith('Cluster') ? 'GetClusterError' : 'GetAppError',
    environment,
    message: `${environment}: cannot read ${describeTarget(target)}: ${target.message ?? target.reason}`,
  })
}
