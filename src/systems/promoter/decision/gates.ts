import type { Gate } from '../../../apis/pipeline-status.ts'
import { formatDuration, formatTime } from '../../../kube/time.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { at, describeTarget, isDoneOn, isReadable, targetsOf, wake, type Draft } from './draft.ts'
import type { EnvironmentPlan } from '../model/plan.ts'
import { isHeldBack, isOverdue, mustFinish } from './runs.ts'
import { isVerified } from './verification.ts'
import { windowsState } from '../model/windows.ts'

/** The revision an environment should get, and as part of which run. */
export interface Want {
  readonly revision: string
  readonly sequence: number
  readonly direction: 'Forward' | 'Backward'
}

/** Everything that may be in the way of a promotion, with its state: the whole answer to "why is this pending?". */
export function gatesOf(draft: Draft, environment: EnvironmentPlan, want: Want): Gate[] {
  return [
    pauseGate(draft, want),
    configurationGate(environment),
    upstreamGate(draft, environment, want),
    targetsGate(draft, environment),
    soakGate(draft, environment, want),
    windowGate(draft, environment),
    ...verificationGate(draft, environment, want),
    ...dryRunGate(draft, environment, want),
  ]
}

/** Nothing is in the way, except perhaps one. */
export function areOpen(gates: readonly Gate[], except?: string): boolean {
  return gates.every(({ name, state }) => state === 'Open' || name === except)
}

function pauseGate(draft: Draft, want: Want): Gate {
  const { plan, observed, status } = draft
  if (plan.suspended) return gate('pause', 'Closed', 'Suspended')
  if (observed.frozen) return gate('pause', 'Closed', 'Frozen')
  if (isHeldBack(draft, want)) return gate('pause', 'Closed', 'RollbackHeld')
  if (isRefused(draft)) return gate('pause', 'Closed', 'ApprovalRefused')
  if (status.run && isOverdue(draft, status.run)) return gate('pause', 'Closed', 'RunTimedOut')
  return gate('pause', 'Open', 'GatesOpen')
}

/** Somebody refused where a refusal ends the whole run. */
function isRefused({ plan, status }: Draft): boolean {
  return plan.environments.some(({ name, promotion }) => {
    const record = status.environments?.[name]?.promotion
    return promotion?.rejectClosesRun && record?.phase === 'Rejected' && record.runSequence === status.run?.sequence
  })
}

function configurationGate({ promotion }: EnvironmentPlan): Gate {
  return promotion ? gate('promotion', 'Open', 'GatesOpen') : gate('promotion', 'Closed', 'NoPromotionConfigured')
}

function upstreamGate(draft: Draft, environment: EnvironmentPlan, want: Want): Gate {
  const missing = upstreamOf(draft, environment).filter((upstream) => !hasPassed(draft, upstream, want))
  if (missing.length === 0) return gate('upstream', 'Open', 'UpstreamReady')
  const names = missing.map(({ name }) => name).join(', ')
  return gate('upstream', 'Waiting', 'UpstreamNotReady', `${names} is not ready on ${want.revision}`)
}

function targetsGate(draft: Draft, environment: EnvironmentPlan): Gate {
  const targets = targetsOf(draft, environment)
  const known = targets.filter((target) => isReadable(target) && target.reason !== 'Stale')
  if (known.length >= environment.requiredTargets) return gate('targets', 'Open', 'TargetsReadable')
  const unknown = targets.filter((target) => !known.includes(target))
  const each = unknown.map((target) => `${describeTarget(target)}: ${target.reason}`)
  return gate('targets', 'Waiting', 'TargetNotReadable', each.join(', '))
}

function soakGate(draft: Draft, environment: EnvironmentPlan, want: Want): Gate {
  const { plan, now } = draft
  const soakMs = plan.runPolicy === 'Pairwise' ? Math.max(environment.soakMs, plan.quietPeriodMs) : environment.soakMs
  if (soakMs === 0) return gate('soak', 'Open', 'Soaked')
  const since = upstreamOf(draft, environment).map((upstream) => readySince(draft, upstream, want))
  if (since.includes(undefined)) return gate('soak', 'Waiting', 'UpstreamNotReady')
  const dueAt = Math.max(...since.map((instant) => instant ?? 0)) + soakMs
  if (now >= dueAt) return gate('soak', 'Open', 'Soaked')
  wake(draft, dueAt)
  return { ...gate('soak', 'Waiting', 'Soaking', `needs ${formatDuration(soakMs)}`), nextCheckAt: formatTime(dueAt) }
}

function windowGate(draft: Draft, environment: EnvironmentPlan): Gate {
  if (environment.windows.length === 0) return gate('window', 'Open', 'WindowOpen')
  const { open, nextCheckAt } = windowsState(environment.windows, draft.now)
  if (nextCheckAt !== undefined) wake(draft, nextCheckAt)
  if (open) return gate('window', 'Open', 'WindowOpen')
  const next = nextCheckAt === undefined ? {} : { nextCheckAt: formatTime(nextCheckAt) }
  return { ...gate('window', 'Closed', 'WindowClosed'), ...next }
}

/** There only where checks are asked for. An answer counts as long as what runs before has stayed ready since. */
function verificationGate(draft: Draft, environment: EnvironmentPlan, want: Want): Gate[] {
  if (!environment.verification) return []
  const since = upstreamOf(draft, environment).map((upstream) => readySince(draft, upstream, want) ?? Infinity)
  const promotion = draft.status.environments?.[environment.name]?.promotion
  if (isVerified(promotion, Math.max(...since))) return [gate('verification', 'Open', 'Verified')]
  const { nextAttemptAt, verification } = promotion ?? {}
  const failing = verification?.state === 'Failing' ? verification.message : undefined
  const waiting = gate('verification', 'Waiting', 'Verifying', failing)
  return [{ ...waiting, ...(nextAttemptAt ? { nextCheckAt: nextAttemptAt } : {}) }]
}

/** There only in a dry run: what stands behind it is what would be done. */
function dryRunGate({ observed }: Draft, { name, promotion }: EnvironmentPlan, { revision }: Want): Gate[] {
  if (!observed.dryRun) return []
  const { kind, url } = promotion?.strategy ?? {}
  const message = `would promote ${revision} into ${name} by ${kind ?? 'nothing'}${url ? ` on ${url}` : ''}`
  return [gate('dry-run', 'Closed', 'DryRun', message)]
}

function upstreamOf({ plan }: Draft, { dependsOn }: EnvironmentPlan): EnvironmentPlan[] {
  return plan.environments.filter(({ name }) => dependsOn.includes(name))
}

/** Ready on the revision now; or, in a run that is let finish, the first environment was ready on it and has moved on since. */
function hasPassed(draft: Draft, upstream: EnvironmentPlan, want: Want): boolean {
  if (isDoneOn(draft, upstream, want.revision)) return true
  return hasMovedOn(draft, upstream, want)
}

function hasMovedOn(draft: Draft, upstream: EnvironmentPlan, want: Want): boolean {
  // Others do not move by themselves: whoever takes the revision out of one of them means it.
  if (upstream !== draft.plan.environments[0]) return false
  if (!mustFinish(draft) || draft.status.environments?.[upstream.name]?.passedRun !== want.sequence) return false
  return targetsOf(draft, upstream).every(({ revision }) => revision !== want.revision)
}

function readySince(draft: Draft, upstream: EnvironmentPlan, want: Want): number | undefined {
  const state = draft.status.environments?.[upstream.name]
  if (state?.readyOn?.revision === want.revision) return at(state.readyOn.since)
  return hasMovedOn(draft, upstream, want) ? at(state?.passedAt) : undefined
}

function gate(name: string, state: Gate['state'], because: Because, message = sentenceOf(because)): Gate {
  return { name, state, reason: because, message }
}
