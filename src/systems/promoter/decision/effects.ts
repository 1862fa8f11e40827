import type { Promotion } from '../../../apis/pipeline-status.ts'
import { formatTime } from '../../../kube/time.ts'
import { at, copyOf, type Draft } from './draft.ts'
import { areOpen } from './gates.ts'

/** A change outside the cluster, or a look at it. Each is idempotent: it finds what an earlier attempt has done. */
export type EffectKind =
  /** Push the change to the promotion's branch. */
  | 'push'
  /** Commit the change to the base branch. */
  | 'commit'
  /** Create the Event and post it to Flux's notification controller. */
  | 'notify'
  /** Post the CloudEvent. */
  | 'call'
  /** Find the pull request, or open it. */
  | 'propose'
  /** Run the verification checks. */
  | 'verify'
  /** Find out whether the candidate differs from the run's revision only by promotions. */
  | 'inspect'
  /** Find out whether the base branch still has the value while it rolls out. */
  | 'recheck'
  /** Read the state of the pull request; merge it with `autoMerge`. */
  | 'poll'
  /** Close the pull request and delete the branch, unless others have changed them. */
  | 'withdraw'

/** An effect that is due, with the recorded promotion it belongs to. */
export interface Effect {
  readonly do: EffectKind
  readonly environment: string
  /** As recorded. The result counts only while the record still has this id and phase. */
  readonly promotion: Promotion
  /** `all`: suspended or frozen, so that pull requests may only be polled and withdrawn. `merge`: a gate has closed. */
  readonly paused: 'no' | 'merge' | 'all'
}

/** The first effect that is due. Each but a poll is recorded as an attempt in the status. */
export function dueEffect(draft: Draft): Effect | undefined {
  const { status, now } = draft
  const inspection = dueInspection(draft)
  if (inspection) return inspection
  for (const [environment, { promotion, gates = [] }] of Object.entries(status.environments ?? {})) {
    if (!promotion || draft.observed.busy.has(promotion.id)) continue
    // Verification passed before the intent was recorded; every other gate must still be open.
    if (promotion.phase === 'Intended' && !areOpen(gates, 'verification')) continue
    const kind = effectOf(promotion)
    if (!kind || !isAllowed(draft, kind)) continue
    const isLook = kind === 'poll' || kind === 'recheck'
    const dueAt = isLook ? pollAt(draft, promotion) : at(promotion.nextAttemptAt)
    if (now < dueAt) {
      draft.wakeAt(dueAt)
      continue
    }
    if (!isLook) recordAttempt(promotion, now)
    const paused = isPaused(draft) ? 'all' : areOpen(gates, 'verification') ? 'no' : 'merge'
    return { do: kind, environment, promotion: copyOf(promotion), paused }
  }
  return undefined
}

/** The look at a candidate's commit. No promotion exists yet, so a record that is stored nowhere stands in for it. */
function dueInspection(draft: Draft): Effect | undefined {
  const { status, plan, now, observed } = draft
  const { candidate, run } = status
  if (candidate?.origin !== 'Unknown' || !run) return undefined
  const environment = plan.environments.find(({ promotion }) => promotion?.strategy.baseBranch !== undefined)
  if (!environment?.promotion) return undefined
  const dueAt = at(candidate.nextCheckAt)
  if (now < dueAt) {
    draft.wakeAt(dueAt)
    return undefined
  }
  const { strategy, strategyHash } = environment.promotion
  const promotion: Promotion = {
    id: `${inspectionId}-${observed.pipeline.metadata.uid}`,
    runSequence: run.sequence,
    revision: candidate.revision,
    fromRevision: run.revision,
    strategy,
    strategyHash,
    phase: 'Gated',
    because: 'Settling',
    phaseAt: formatTime(now),
    attempt: 0,
  }
  return observed.busy.has(promotion.id)
    ? undefined
    : { do: 'inspect', environment: environment.name, promotion, paused: 'all' }
}

const inspectionId = 'inspect'

/** The next effect a promotion needs. */
export function effectOf(promotion: Promotion): EffectKind | undefined {
  const { phase, because, strategy, withdraw, verification, baseSHA, pullRequest } = promotion
  if (withdraw === 'Due') return 'withdraw'
  // A person may open it again.
  if (because === 'PromotionRejected' && pullRequest) return 'poll'
  if (phase === 'Gated' || phase === 'AwaitingApproval')
    return verification && verification.state !== 'Passed' ? 'verify' : undefined
  if (phase === 'Pushed') return 'propose'
  if (phase === 'Proposed') return 'poll'
  if (phase === 'RollingOut' && baseSHA !== undefined) return 'recheck'
  return phase === 'Intended' && strategy ? firstEffects[strategy.kind] : undefined
}

const firstEffects = { 'pull-request': 'push', commit: 'commit', webhook: 'call', notification: 'notify' } as const

/** A dry run allows no effect; a pause allows only polls and withdrawals. */
function isAllowed(draft: Draft, kind: EffectKind): boolean {
  if (draft.observed.dryRun) return false
  return !isPaused(draft) || kind === 'poll' || kind === 'recheck' || kind === 'withdraw'
}

function isPaused(draft: Draft): boolean {
  return draft.isSuspended || draft.observed.frozen
}

function recordAttempt(promotion: Promotion, now: number): void {
  promotion.attempt += 1
  promotion.lastAttemptAt = formatTime(now)
  delete promotion.nextAttemptAt
}

const minPollMs = 30_000
/** Longest time between two polls of a pull request. */
export const maxPollMs = 300_000

/** Polls every tenth of the pull request's age, within bounds. A poll time in the future (clock set back) is ignored. */
function pollAt({ observed, now }: Draft, promotion: Promotion): number {
  const isRollingOut = promotion.phase === 'RollingOut'
  const polledAt = observed.polledAt.get(promotion.id) ?? (isRollingOut ? at(promotion.phaseAt) : -Infinity)
  const ageMs = now - at(promotion.phaseAt)
  const intervalMs = Math.min(Math.max(ageMs / 10, minPollMs), maxPollMs)
  return Math.max(polledAt > now ? -Infinity : polledAt + intervalMs, at(promotion.nextAttemptAt))
}
