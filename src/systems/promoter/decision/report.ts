import type { EnvironmentStatus, Promotion } from '../../../apis/pipeline-status.ts'
import { findCondition, setCondition, type Condition } from '../../../kube/conditions.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { announce, describeTarget, isReadable, targetsOf, type Draft } from './draft.ts'
import { effectOf } from './effects.ts'
import type { PlanError } from '../model/plan.ts'
import { whyUnverified } from './verification.ts'

/** Says in conditions how the pipeline stands. */
export function report(draft: Draft): void {
  const unreadable = unreadableTargets(draft)
  const stalled = whyStalled(draft)
  const ready = stalled ?? (unreadable ? { because: 'TargetNotReadable' as const, message: unreadable } : undefined)
  set(
    draft,
    'Ready',
    ready ? 'False' : 'True',
    ready ?? { because: 'ReconciliationSucceeded', message: summaryOf(draft) },
  )
  toggle(draft, 'Stalled', stalled)
  toggle(draft, 'Reconciling', stalled ? undefined : whyReconciling(draft))
  toggle(draft, 'PromotionPending', draft.pending)
  toggle(draft, 'AwaitingApproval', whyAwaiting(draft))
  toggle(draft, 'Suspended', whySuspended(draft))
}

/** In a dry run: what would be done outside, and is not. */
export function reportDryRun(draft: Draft): void {
  if (draft.observed.dryRun) toggle(draft, 'Suspended', whySuspended(draft))
}

/** The spec cannot be followed: nothing else is said or done until it changes. */
export function reportInvalid(draft: Draft, { message }: PlanError): void {
  const why = { because: 'InvalidSpec' as const, message }
  set(draft, 'Ready', 'False', why)
  toggle(draft, 'Stalled', why)
  toggle(draft, 'Reconciling', undefined)
}

interface Why {
  readonly because: Because
  readonly message: string
}

const maxMessage = 2048
/** So many failures in a row and the forge counts as unavailable. */
const troublingAttempts = 5

function plain(because: Because): Why {
  return { because, message: sentenceOf(because) }
}

function set(draft: Draft, type: string, status: 'True' | 'False', { because, message }: Why): void {
  const { observed, now } = draft
  const before = findCondition(draft.status.conditions as Condition[] | undefined, type)
  const claim = {
    type,
    status,
    reason: because,
    message: message.slice(0, maxMessage),
    observedGeneration: observed.pipeline.metadata.generation ?? 0,
  }
  draft.status.conditions = [...setCondition(draft.status.conditions as Condition[] | undefined, claim, now)]
  if (type === 'Ready' && status === 'True' && before?.status !== 'True')
    announce(draft, { type: 'Normal', because: 'Updated', message })
}

function toggle(draft: Draft, type: string, why: Why | undefined): void {
  if (why) return set(draft, type, 'True', why)
  draft.status.conditions = (draft.status.conditions ?? []).filter((condition) => condition.type !== type)
}

function promotionsOf({ plan, status }: Draft): { readonly name: string; readonly promotion: Promotion }[] {
  return plan.environments.flatMap(({ name }) => {
    const promotion = status.environments?.[name]?.promotion
    return promotion ? [{ name, promotion }] : []
  })
}

function unreadableTargets(draft: Draft): string | undefined {
  const unreadable = draft.plan.environments.flatMap((environment) =>
    targetsOf(draft, environment)
      .filter((target) => !isReadable(target))
      .map((target) => `${describeTarget(target)}: ${target.message ?? target.reason}`),
  )
  return unreadable.length > 0 ? unreadable.join('; ') : undefined
}

function whyStalled(draft: Draft): Why | undefined {
  for (const { name, promotion } of promotionsOf(draft)) {
    const why = whyPromotionStalled(draft, name, promotion)
    if (why) return why
  }
  const unconfigured = draft.plan.environments.find(({ name }) => isUnconfigured(draft, name))
  if (!unconfigured) return undefined
  return { because: 'NoPromotionConfigured', message: `${unconfigured.name}: ${sentenceOf('NoPromotionConfigured')}` }
}

function whyPromotionStalled(draft: Draft, name: string, promotion: Promotion): Why | undefined {
  const { phase, lastError, because, attempt, revision } = promotion
  if (phase === 'Failed' && lastError)
    return { because: lastError.reason as Because, message: `${name}: ${lastError.message}` }
  if (phase === 'Rejected')
    return { because: because as Because, message: `${name}: ${sentenceOf(because as Because)}` }
  if (because === 'RolloutTimedOut') return { because, message: `${name}: ${lagging(draft, name, revision)}` }
  const unverified = whyUnverified(draft, name, promotion)
  if (unverified !== undefined) return { because: 'VerificationFailed', message: `${name}: ${unverified}` }
  if (lastError && attempt >= troublingAttempts)
    return { because: 'GitProviderUnavailable', message: `${name}: ${lastError.message}` }
  return undefined
}

function lagging(draft: Draft, name: string, revision: string): string {
  const environment = draft.plan.environments.find((plan) => plan.name === name)
  const targets = environment ? targetsOf(draft, environment) : []
  const behind = targets.filter((target) => !target.ready || target.revision !== revision)
  return `${behind.map((target) => `${describeTarget(target)} runs ${target.revision ?? 'nothing known'}`).join(', ')}, not a healthy ${revision}`
}

function isUnconfigured({ status }: Draft, name: string): boolean {
  const gates = status.environments?.[name]?.gates ?? []
  const isOpen = gates.some((gate) => gate.name === 'upstream' && gate.state === 'Open')
  return isOpen && gates.some(({ reason }) => reason === 'NoPromotionConfigured')
}

function whyReconciling(draft: Draft): Why | undefined {
  const { run, candidate } = draft.status
  if (candidate) return { because: 'Settling', message: `${candidate.revision} is settling` }
  if (run?.phase !== 'Running') return undefined
  return { because: 'RunStarted', message: summaryOf(draft) }
}

function whyAwaiting(draft: Draft): Why | undefined {
  const waiting = promotionsOf(draft).filter(({ promotion }) => promotion.phase === 'AwaitingApproval')
  if (waiting.length === 0) return undefined
  const each = waiting.map(
    ({ name, promotion }) => `${name} waits for approval of ${promotion.revision} (${promotion.id})`,
  )
  return { because: 'AwaitingApproval', message: each.join('; ') }
}

function whySuspended(draft: Draft): Why | undefined {
  if (draft.plan.suspended && !draft.observed.dryRun) return plain('Suspended')
  if (draft.observed.frozen) return plain('Frozen')
  if (!draft.observed.dryRun) return undefined
  const would = Object.entries(draft.status.environments ?? {}).flatMap(([name, state]) => whatWouldBe(name, state))
  return { because: 'DryRun', message: would.join('; ') || sentenceOf('DryRun') }
}

function whatWouldBe(name: string, { promotion, gates = [] }: EnvironmentStatus): string[] {
  const effect = promotion && effectOf(promotion)
  if (effect) return [`${name}: would ${effect} promotion ${promotion.id} of ${promotion.revision}`]
  const [held] = gates.filter(({ name: gate, state }) => state !== 'Open' && gate !== 'verification')
  return held?.reason === 'DryRun' && held.message ? [held.message] : []
}

function summaryOf(draft: Draft): string {
  const { run } = draft.status
  if (!run) return draft.pending?.message ?? sentenceOf('NoRevision')
  const under = promotionsOf(draft).filter(({ promotion }) => promotion.phase !== 'Succeeded')
  const each = under.map(({ name, promotion }) => `${name} ${promotion.phase}`)
  return `run ${run.sequence} of ${run.revision} is ${run.phase}${each.length > 0 ? `: ${each.join(', ')}` : ''}`
}
