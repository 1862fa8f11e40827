import type { TargetStatus } from '../../../apis/pipeline-status.ts'
import { deepEqual } from '../../../kube/patch.ts'
import { formatTime } from '../../../kube/time.ts'
import { announce, describeTarget, environmentStatus, isReadable, isReadyOn, targetsOf, type Draft } from './draft.ts'
import type { EnvironmentPlan } from '../model/plan.ts'

/** Writes down what each target looks like; the time moves only when something else does. */
export function recordTargets(draft: Draft): void {
  for (const environment of draft.plan.environments) recordEnvironment(draft, environment)
}

const maxListedTargets = 400
const maxMessage = 256

function recordEnvironment(draft: Draft, environment: EnvironmentPlan): void {
  const state = environmentStatus(draft, environment.name)
  const previous = new Map((state.targets ?? []).map((target) => [placeOf(target), target]))
  const records = targetsOf(draft, environment).map((target) => {
    const before = previous.get(placeOf(target))
    noteTrouble(draft, environment.name, target, before)
    return withTime(bounded(target), before, draft.now)
  })
  const revision = draft.status.run?.revision
  state.targetsTotal = records.length
  state.targetsDone = records.filter((target) => revision !== undefined && isReadyOn(target, revision)).length
  state.targets = listed(draft, records)
}

/** All of them in a pipeline of ordinary size; in a huge one those that need a look, so that the status stays small. */
function listed({ plan, status }: Draft, records: TargetStatus[]): TargetStatus[] {
  const total = plan.environments.reduce((sum, { targets }) => sum + targets.length, 0)
  if (total <= maxListedTargets) return records
  const share = Math.max(1, Math.floor(maxListedTargets / plan.environments.length))
  const revision = status.run?.revision ?? ''
  return records.filter((target) => !isReadyOn(target, revision)).slice(0, share)
}

function bounded(target: TargetStatus): TargetStatus {
  const { message } = target
  const record = message ? { ...target, message: message.slice(0, maxMessage) } : target
  return isReadable(record) || !record.message ? record : { ...record, error: record.message }
}

function withTime(target: TargetStatus, before: TargetStatus | undefined, now: number): TargetStatus {
  const { observedAt } = before ?? {}
  if (before && observedAt && deepEqual({ ...target, observedAt }, before)) return before
  return { ...target, observedAt: formatTime(now) }
}

function placeOf({ cluster = '', namespace, kind, name }: TargetStatus): string {
  return JSON.stringify([cluster, namespace, kind, name])
}

/** Says so once when a target can no longer be read. */
function noteTrouble(draft: Draft, environment: string, target: TargetStatus, before: TargetStatus | undefined): void {
  if (isReadable(target) || target.reason === 'NotSynced' || before?.reason === target.reason) return
  announce(draft, {
    type: 'Warning',
    because: target.reason.startsWith('Cluster') ? 'GetClusterError' : 'GetAppError',
    environment,
    message: `${environment}: ${describeTarget(target)}: ${target.message ?? target.reason}`,
  })
}
