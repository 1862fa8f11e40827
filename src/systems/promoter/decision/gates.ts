import type { Gate } from '../../../apis/pipeline-status.ts'
import { formatDuration, formatTime } from '../../../kube/time.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { at, describeTarget, isReadable, type Draft } from './draft.ts'
import type { EnvironmentPlan } from '../model/plan.ts'
import { isHeldRollback, isOverdue, mustFinish } from './runs.ts'
import { isVerified } from './promotions.ts'
import { shortRevision } from '../model/revision.ts'
import { windowsState } from '../model/windows.ts'

/** The revision an environment should get, and as part of which run. */
export interface WantedRevision {
  readonly revision: string
  readonly sequence: number
  readonly direction: 'Forward' | 'Backward'
  /** Set when a user asked for it: it does not wait for the environments before. */
  readonly requestedAt?: string
  readonly requestedBy?: string
}

/** Every gate of a promotion with its state: the complete answer to "why is this pending?". */
export function gatesOf(draft: Draft, environment: EnvironmentPlan, wanted: WantedRevision): Gate[] {
  return [
    pauseGate(draft, wanted),
    configurationGate(environment),
    upstreamGate(draft, environment, wanted),
    targetsGate(draft, environment),
    soakGate(draft, environment, wanted),
    windowGate(draft, environment),
    ...verificationGate(draft, environment, wanted),
    ...dryRunGate(draft, environment, wanted),
  ]
}

/** Whether every gate, apart from the excepted one, is open. */
export function areOpen(gates: readonly Gate[], except?: string): boolean {
  return gates.every(({ name, state }) => state === 'Open' || name === except)
}

/** Closed while promotions are stopped: suspended, frozen, a held rollback, a rejected or an overdue run. */
function pauseGate(draft: Draft, wanted: WantedRevision): Gate {
  const { observed, status } = draft
  if (draft.isSuspended) return gate('pause', 'Closed', 'Suspended')
  if (observed.frozen) return gate('pause', 'Closed', 'Frozen')
  if (isHeldRollback(draft, wanted)) return gate('pause', 'Closed', 'RollbackHeld')
  if (wanted.requestedAt !== undefined) return gate('pause', 'Open', 'GatesOpen')
  if (isRunRejected(draft)) return gate('pause', 'Closed', 'ApprovalRefused')
  if (status.run && isOverdue(draft, status.run)) return gate('pause', 'Closed', 'RunTimedOut')
  return gate('pause', 'Open', 'GatesOpen')
}

/** Whether an approver rejected a promotion of this run where `rejectClosesRun` is set. */
function isRunRejected({ plan, status }: Draft): boolean {
  return plan.environments.some(({ name, promotion }) => {
    const record = status.environments?.[name]?.promotion
    return promotion?.rejectClosesRun && record?.phase === 'Rejected' && record.runSequence === status.run?.sequence
  })
}

function configurationGate({ promotion }: EnvironmentPlan): Gate {
  return promotion ? gate('promotion', 'Open', 'GatesOpen') : gate('promotion', 'Closed', 'NoPromotionConfigured')
}

/** Open when every environment before this one has passed the revision. */
export function upstreamGate(draft: Draft, environment: EnvironmentPlan, wanted: WantedRevision): Gate {
  if (wanted.requestedAt !== undefined) return gate('upstream', 'Open', 'Requested')
  const missing = upstreamOf(draft, environment).filter((upstream) => !hasPassed(draft, upstream, wanted))
  if (missing.length === 0) return gate('upstream', 'Open', 'UpstreamReady')
  const each = missing.map(({ name }) => {
    const { pin } = draft.status.environments?.[name] ?? {}
    const why = pin ? `: ${pin.by} requested ${pin.revision} for it` : ''
    return `${name} is not ready on ${wanted.revision}${why}`
  })
  return gate('upstream', 'Waiting', 'UpstreamNotReady', each.join('; '))
}

/** Waits while too few targets can be read: a promotion into an unknown state could not be judged. */
function targetsGate(draft: Draft, environment: EnvironmentPlan): Gate {
  const targets = draft.targetsOf(environment)
  const known = targets.filter((target) => isReadable(target) && target.reason !== 'Stale')
  if (known.length >= environment.requiredTargets) return gate('targets', 'Open', 'TargetsReadable')
  const unknown = targets.filter((target) => !known.includes(target))
  const each = unknown.map((target) => `${describeTarget(target)}: ${target.message ?? target.reason}`)
  return gate('targets', 'Waiting', 'TargetNotReadable', each.join(', '))
}

/** Waits until the environments before have been ready for the soak time. */
function soakGate(draft: Draft, environment: EnvironmentPlan, wanted: WantedRevision): Gate {
  const { plan, now } = draft
  const soakMs = plan.runPolicy === 'Pairwise' ? Math.max(environment.soakMs, plan.quietPeriodMs) : environment.soakMs
  if (soakMs === 0 || wanted.requestedAt !== undefined) return gate('soak', 'Open', 'Soaked')
  const since = upstreamOf(draft, environment).map((upstream) => readySince(draft, upstream, wanted))
  if (since.includes(undefined)) return gate('soak', 'Waiting', 'UpstreamNotReady')
  const dueAt = Math.max(...since.map((instant) => instant ?? 0)) + soakMs
  if (now >= dueAt) return gate('soak', 'Open', 'Soaked')
  draft.wakeAt(dueAt)
  return {
    ...gate('soak', 'Waiting', 'Soaking', `the environments before must be ready for ${formatDuration(soakMs)}`),
    nextCheckAt: formatTime(dueAt),
  }
}

/** Closed outside the promotion windows. */
function windowGate(draft: Draft, environment: EnvironmentPlan): Gate {
  if (environment.windows.length === 0) return gate('window', 'Open', 'WindowOpen')
  const { open, nextCheckAt } = windowsState(environment.windows, draft.now)
  if (nextCheckAt !== undefined) draft.wakeAt(nextCheckAt)
  if (open) return gate('window', 'Open', 'WindowOpen')
  const next = nextCheckAt === undefined ? {} : { nextCheckAt: formatTime(nextCheckAt) }
  return { ...gate('window', 'Closed', 'WindowClosed'), ...next }
}

/** Only with `verification`. A result counts while the environments before have stayed ready since. */
function verificationGate(draft: Draft, environment: EnvironmentPlan, wanted: WantedRevision): Gate[] {
  if (!environment.verification) return []
  const since = wanted.requestedAt
    ? [at(wanted.requestedAt)]
    : upstreamOf(draft, environment).map((upstream) => readySince(draft, upstream, wanted) ?? Infinity)
  const promotion = draft.status.environments?.[environment.name]?.promotion
  if (isVerified(promotion, Math.max(...since))) return [gate('verification', 'Open', 'Verified')]
  const { nextAttemptAt, verification } = promotion ?? {}
  const failing = verification?.state === 'Failing' ? verification.message : undefined
  const waiting = gate('verification', 'Waiting', 'Verifying', failing)
  return [{ ...waiting, ...(nextAttemptAt ? { nextCheckAt: nextAttemptAt } : {}) }]
}

/** Only in a dry run: its message says what would be done. */
function dryRunGate({ observed }: Draft, { name, promotion }: EnvironmentPlan, { revision }: WantedRevision): Gate[] {
  if (!observed.dryRun) return []
  const { kind, url } = promotion?.strategy ?? {}
  const message = `would promote ${revision} into ${name} by ${kind ?? 'nothing'}${url ? ` on ${url}` : ''}`
  return [gate('dry-run', 'Closed', 'DryRun', message)]
}

function upstreamOf({ plan }: Draft, { dependsOn }: EnvironmentPlan): EnvironmentPlan[] {
  return plan.environments.filter(({ name }) => dependsOn.includes(name))
}

/** Ready on the revision now or, in a run that must finish, ready on it earlier. */
function hasPassed(draft: Draft, upstream: EnvironmentPlan, wanted: WantedRevision): boolean {
  if (draft.isReadyOn(upstream, wanted.revision)) return true
  return hasMovedOn(draft, upstream, wanted)
}

/** Whether the first environment had this run's revision and runs a newer one now, while the run must finish. */
function hasMovedOn(draft: Draft, upstream: EnvironmentPlan, wanted: WantedRevision): boolean {
  // Only the first environment changes without a promotion; in any other, a revision was removed on purpose.
  if (upstream !== draft.plan.environments[0]) return false
  if (!mustFinish(draft) || draft.status.environments?.[upstream.name]?.passedRun !== wanted.sequence) return false
  return draft.targetsOf(upstream).every(({ revision }) => revision !== wanted.revision)
}

/** Since when an environment has been ready on the revision; undefined when it is not. */
function readySince(draft: Draft, upstream: EnvironmentPlan, wanted: WantedRevision): number | undefined {
  const state = draft.status.environments?.[upstream.name]
  if (state?.readyOn?.revision === wanted.revision) return at(state.readyOn.since)
  return hasMovedOn(draft, upstream, wanted) ? at(state?.passedAt) : undefined
}

function gate(name: string, state: Gate['state'], because: Because, message = sentenceOf(because)): Gate {
  return { name, state, reason: because, message: shortRevision(message) }
}
