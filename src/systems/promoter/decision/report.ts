import type { EnvironmentStatus, PipelineStatus, Promotion, TargetStatus } from '../../../apis/pipeline-status.ts'
import { findCondition, setCondition, type Condition } from '../../../kube/conditions.ts'
import { sentenceOf, type Because } from '../../../apis/pipeline-reasons.ts'
import { at, describeTarget, isReadable, type Draft, type Why } from './draft.ts'
import { hasDrifted, isUnexplained } from './environments.ts'
import { isRunTimedOut, mustFinish } from './runs.ts'
import { shortRevision } from '../model/revision.ts'
import { effectOf } from './effects.ts'
import type { PlanError } from '../model/plan.ts'
import { overdueVerification } from './promotions.ts'

/** Sets the conditions. They satisfy kstatus: a pipeline that waits as it should is Ready. */
export function reportConditions(draft: Draft): void {
  const unreadable = unreadableTargets(draft)
  const why = unreadable.length > 0 ? whyUnreadable(unreadable) : undefined
  // A right that is missing does not come by itself.
  const isForbidden = unreadable.some(({ reason }) => reason === 'Forbidden')
  const stalled = withNewest(draft, whyStalled(draft) ?? (isForbidden ? why : undefined))
  const ready = stalled ?? why
  setTo(
    draft,
    'Ready',
    ready ? 'False' : 'True',
    ready ?? { because: 'ReconciliationSucceeded', message: summaryOf(draft) },
  )
  setOrRemove(draft, 'Stalled', stalled)
  setOrRemove(draft, 'Reconciling', stalled ? undefined : whyReconciling(draft))
  setOrRemove(draft, 'PromotionPending', draft.noRevision ?? whyGated(draft))
  setOrRemove(draft, 'AwaitingApproval', whyAwaiting(draft))
  setOrRemove(draft, 'Suspended', whySuspended(draft))
  setWarning(draft, 'Drifted', whyDrifted(draft))
  setWarning(draft, 'RevisionNotDiscriminating', whyNotDiscriminating(draft))
}

/** Sets `Suspended` in a dry run, with what would be done. */
export function reportDryRun(draft: Draft): void {
  if (draft.observed.dryRun) setOrRemove(draft, 'Suspended', whySuspended(draft))
}

/** Reports a spec that cannot be read; the other conditions stay as they were. */
export function reportInvalidSpec(draft: Draft, { message }: PlanError): void {
  const why = { because: 'InvalidSpec' as const, message }
  setTo(draft, 'Ready', 'False', why)
  setOrRemove(draft, 'Stalled', why)
  setOrRemove(draft, 'Reconciling', undefined)
}

type Candidate = NonNullable<PipelineStatus['candidate']>

const maxMessage = 2048
/** After this many failures in a row the forge is reported as unavailable. */
const maxQuietFailures = 5
/** After this time without a look at the candidate's commit, that is reported as a problem. */
const maxQuietMs = 600_000

function plain(because: Because): Why {
  return { because, message: sentenceOf(because) }
}

/** Sets a condition; announces when the pipeline becomes Ready again. */
function setTo(draft: Draft, type: string, status: 'True' | 'False', { because, message }: Why): void {
  const { observed, now } = draft
  const before = findCondition(draft.status.conditions as Condition[] | undefined, type)
  const claim = {
    type,
    status,
    reason: because,
    message: shortRevision(message).slice(0, maxMessage),
    observedGeneration: observed.pipeline.metadata.generation ?? 0,
  }
  draft.status.conditions = [...setCondition(draft.status.conditions as Condition[] | undefined, claim, now)]
  if (type === 'Ready' && status === 'True' && before?.status !== 'True')
    draft.announce({ type: 'Normal', because: 'Updated', message })
}

function setOrRemove(draft: Draft, type: string, why: Why | undefined): void {
  if (why) return setTo(draft, type, 'True', why)
  draft.status.conditions = (draft.status.conditions ?? []).filter((condition) => condition.type !== type)
}

/** An Event announces the condition when it becomes true. */
function setWarning(draft: Draft, type: string, why: Why | undefined): void {
  if (why && !draft.status.conditions?.some((known) => known.type === type)) draft.announce({ type: 'Warning', ...why })
  setOrRemove(draft, type, why)
}

function promotionsOf({ plan, status }: Draft): { readonly name: string; readonly promotion: Promotion }[] {
  return plan.environments.flatMap(({ name }) => {
    const promotion = status.environments?.[name]?.promotion
    return promotion ? [{ name, promotion }] : []
  })
}

function unreadableTargets(draft: Draft): readonly TargetStatus[] {
  return draft.plan.environments.flatMap((environment) =>
    draft.targetsOf(environment).filter((target) => !isReadable(target)),
  )
}

function whyUnreadable(targets: readonly TargetStatus[]): Why {
  const each = targets.map((target) => `${describeTarget(target)}: ${target.message ?? target.reason}`)
  return { because: 'TargetNotReadable', message: each.join('; ') }
}

/** Only one of Stalled and Reconciling may be True, so that what a newer revision waits for is part of the first. */
function withNewest(draft: Draft, stalled: Why | undefined): Why | undefined {
  const { candidate } = draft.status
  if (!stalled || !candidate) return stalled
  return { ...stalled, message: `${stalled.message}; ${whyCandidateWaits(draft, candidate).message}` }
}

/** The first reason for which a user has to act. */
function whyStalled(draft: Draft): Why | undefined {
  for (const { name, promotion } of promotionsOf(draft)) {
    const why = whyPromotionStalled(draft, name, promotion)
    if (why) return why
  }
  const { run, candidate } = draft.status
  const { name: pipeline, namespace } = draft.observed.pipeline.metadata
  if (run && isRunTimedOut(draft))
    return {
      because: 'RunTimedOut',
      message: `run ${run.sequence} of ${run.revision} took longer than spec.maxRunDuration; to continue it, run: sojourn retry ${pipeline} -n ${namespace}`,
    }
  if (candidate?.lastError && draft.now >= at(candidate.stableSince) + draft.plan.quietPeriodMs + maxQuietMs)
    return { because: candidate.lastError.reason as Because, message: candidate.lastError.message }
  const unconfigured = draft.plan.environments.find(({ name }) => isUnconfigured(draft, name))
  if (!unconfigured) return undefined
  return { because: 'NoPromotionConfigured', message: `${unconfigured.name}: ${sentenceOf('NoPromotionConfigured')}` }
}

function whyPromotionStalled(draft: Draft, name: string, promotion: Promotion): Why | undefined {
  const { phase, lastError, because, attempt, revision } = promotion
  // Also while it is tried again: only a success shows that it is cured.
  if (lastError?.class === 'Permanent')
    return { because: lastError.reason as Because, message: `${name}: ${lastError.message}` }
  if (phase === 'Rejected')
    return { because: because as Because, message: `${name}: ${sentenceOf(because as Because)}` }
  if (because === 'RolloutTimedOut') return { because, message: `${name}: ${lagging(draft, name, revision)}` }
  const failing = overdueVerification(draft, name, promotion)
  if (failing !== undefined) return { because: 'VerificationFailed', message: `${name}: ${failing}` }
  if (lastError && attempt >= maxQuietFailures)
    return { because: 'GitProviderUnavailable', message: `${name}: ${lastError.message}` }
  if (because === 'PullRequestModified' && promotion.pullRequest?.isConflicting)
    return { because: 'PullRequestConflict', message: `${name}: resolve the conflicts of ${promotion.pullRequest.url}` }
  return undefined
}

/** The targets that do not run the revision, for the message of a timed-out roll-out. */
function lagging(draft: Draft, name: string, revision: string): string {
  const environment = draft.plan.environments.find((plan) => plan.name === name)
  const targets = environment ? draft.targetsOf(environment) : []
  const behind = targets.filter((target) => !target.ready || target.revision !== revision)
  const each = behind.map((target) => {
    const why = target.message ? ` (${target.message})` : ''
    return `${describeTarget(target)} runs ${target.revision ?? 'an unknown revision'}${why}`
  })
  return `${each.join(', ')}, not a healthy ${revision}`
}

/** Whether a revision has arrived before an environment that has no promotion configured. */
function isUnconfigured({ status }: Draft, name: string): boolean {
  const gates = status.environments?.[name]?.gates ?? []
  const isOpen = gates.some((gate) => gate.name === 'upstream' && gate.state === 'Open')
  return isOpen && gates.some(({ reason }) => reason === 'NoPromotionConfigured')
}

function whyReconciling(draft: Draft): Why | undefined {
  const { run, candidate } = draft.status
  if (candidate) return whyCandidateWaits(draft, candidate)
  if (run?.phase !== 'Running' || isOnlyWaiting(draft)) return undefined
  return { because: 'RunStarted', message: summaryOf(draft) }
}

/** Whether every promotion of the run that is not finished waits for an approval or a gate: then the pipeline does its job. */
function isOnlyWaiting(draft: Draft): boolean {
  const unfinished = promotionsOf(draft).filter(({ promotion }) => promotion.phase !== 'Succeeded')
  return (
    unfinished.length > 0 &&
    unfinished.every(({ promotion: { phase } }) => phase === 'AwaitingApproval' || phase === 'Gated')
  )
}

/** The newest revision, and what it waits for. */
function whyCandidateWaits(draft: Draft, { revision, stableSince, origin, lastError }: Candidate): Why {
  const { run } = draft.status
  const newest = `the newest revision is ${revision}`
  const hasSettled = draft.now >= at(stableSince) + draft.plan.quietPeriodMs && stableSince !== undefined
  if (hasSettled && run && mustFinish(draft)) {
    const why = draft.plan.runPolicy === 'Finish' ? 'spec.runPolicy is Finish' : `${run.restarts} restarts in a row`
    return {
      because: 'WaitingForRun',
      message: `${newest}; run ${run.sequence} of ${run.revision} finishes first: ${why}`,
    }
  }
  const failure = lastError ? `; the last attempt failed: ${lastError.message}` : ''
  if (origin === 'Unknown')
    return { because: 'CheckingOrigin', message: `${newest}: ${sentenceOf('CheckingOrigin')}${failure}` }
  return { because: 'Settling', message: `${newest}, which must stay unchanged for spec.settle.quietPeriod` }
}

/** The gates that hold back promotions. */
function whyGated(draft: Draft): Why | undefined {
  const gated = promotionsOf(draft).filter(({ promotion }) => promotion.phase === 'Gated')
  const closed = gated.flatMap(({ name, promotion }) =>
    (draft.status.environments?.[name]?.gates ?? [])
      .filter(({ state }) => state !== 'Open')
      .map((gate) => ({
        because: gate.reason as Because,
        message: `${name} waits with ${promotion.revision}: ${gate.message ?? gate.reason}`,
      })),
  )
  return closed.length > 0
    ? { because: closed[0]!.because, message: closed.map(({ message }) => message).join('; ') }
    : undefined
}

function whyDrifted(draft: Draft): Why | undefined {
  const drifted = draft.plan.environments.filter((environment) => hasDrifted(draft, environment))
  if (drifted.length === 0) return undefined
  const { namespace = '', name: pipeline } = draft.observed.pipeline.metadata
  const each = drifted.map(({ name }) => `${name} runs ${draft.status.environments?.[name]?.readyOn?.revision ?? ''}`)
  const remedy = `to promote it again, run: sojourn retry ${pipeline} -n ${namespace}, or set spec.drift to Promote`
  return {
    because: 'Drifted',
    message: `${each.join(', ')}, not ${draft.status.run?.revision ?? ''}, which was promoted there; ${remedy}`,
  }
}

/** All environments follow one branch, so that revisions reach them without a promotion and gates protect nothing. */
function whyNotDiscriminating(draft: Draft): Why | undefined {
  const names = draft.plan.environments
    .slice(1)
    .map(({ name }) => name)
    .filter((name) => isUnexplained(draft, draft.status.environments?.[name] ?? {}))
  if (names.length === 0) return undefined
  return {
    because: 'RevisionNotDiscriminating',
    message: `${names.join(', ')} got ${draft.status.run?.revision ?? ''} without a promotion. If it follows the same branch as the first environment, pin it: give it a source of its own with spec.ref.commit (or tag, or digest) and mark that value with {"$promotion": "NAMESPACE:PIPELINE:ENVIRONMENT"}`,
  }
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
  const { suspension } = draft.status
  if (suspension && !draft.observed.dryRun)
    return {
      because: 'Suspended',
      message: `${suspension.by} has suspended the pipeline at ${suspension.at}${suspension.comment ? `: ${suspension.comment}` : ''}`,
    }
  if (draft.plan.suspended && !draft.observed.dryRun) return plain('Suspended')
  if (draft.observed.frozen) return plain('Frozen')
  if (!draft.observed.dryRun) return undefined
  const would = Object.entries(draft.status.environments ?? {}).flatMap(([name, state]) => wouldDo(name, state))
  return { because: 'DryRun', message: would.join('; ') || sentenceOf('DryRun') }
}

function wouldDo(name: string, { promotion, gates = [] }: EnvironmentStatus): string[] {
  const effect = promotion && effectOf(promotion)
  if (effect) return [`${name}: would ${effect} promotion ${promotion.id} of ${promotion.revision}`]
  const [held] = gates.filter(({ name: gate, state }) => state !== 'Open' && gate !== 'verification')
  return held?.reason === 'DryRun' && held.message ? [held.message] : []
}

/** The run, the phases of its promotions, and what users keep elsewhere, in one line. */
function summaryOf(draft: Draft): string {
  const { run, environments = {} } = draft.status
  if (!run) return draft.noRevision?.message ?? sentenceOf('NoRevision')
  const unfinished = promotionsOf(draft).filter(({ promotion }) => promotion.phase !== 'Succeeded')
  const each = unfinished.map(({ name, promotion }) => `${name} ${promotion.phase}`)
  const pinned = draft.plan.environments.flatMap(({ name }) => {
    const { pin, promotion } = environments[name] ?? {}
    const hasArrived = promotion?.phase === 'Succeeded' && promotion.runSequence === pin?.sequence
    return pin && hasArrived && pin.revision !== run.revision
      ? [`; ${name} stays on ${pin.revision}, as ${pin.by} requested`]
      : []
  })
  return `run ${run.sequence} of ${run.revision} is ${run.phase}${each.length > 0 ? `: ${each.join(', ')}` : ''}${pinned.join('')}`
}
