import type { Promotion } from '../../../apis/pipeline-status.ts'
import { formatTime } from '../../../kube/time.ts'
import { at, copyOf, wake, type Draft } from './draft.ts'
import { areOpen } from './gates.ts'

/** Something to be done outside. Each can be done again without doing harm, and finds what was done before. */
export type EffectKind =
  /** Put the change on a branch of its own. */
  | 'push'
  /** Put the change on the base branch. */
  | 'commit'
  /** Emit the Event and tell the events address. */
  | 'notify'
  /** Post the CloudEvent. */
  | 'call'
  /** Find or open the pull request. */
  | 'propose'
  /** Call what runs before the environment. */
  | 'verify'
  /** See what became of the pull request; merge it where that is asked for. */
  | 'poll'
  /** Close the pull request and drop the branch, if they are still ours. */
  | 'withdraw'

export interface Effect {
  readonly do: EffectKind
  readonly environment: string
  /** As recorded; the result counts only while id and phase are still these. */
  readonly promotion: Promotion
  /** Promotions are paused: what is open may be looked at or taken back, no more. */
  readonly paused: boolean
}

/** The first effect that is due. Everything but a look at a pull request is recorded as an attempt. */
export function dueEffect(draft: Draft): Effect | undefined {
  const { status, now } = draft
  for (const [environment, { promotion, gates = [] }] of Object.entries(status.environments ?? {})) {
    if (!promotion || draft.observed.busy.has(promotion.id)) continue
    // What runs before was checked before this was decided; all else must still be so.
    if (promotion.phase === 'Intended' && !areOpen(gates, 'verification')) continue
    const kind = effectOf(promotion)
    if (!kind || !isAllowed(draft, kind)) continue
    const dueAt = kind === 'poll' ? pollAt(draft, promotion) : at(promotion.nextAttemptAt)
    if (now < dueAt) {
      wake(draft, dueAt)
      continue
    }
    if (kind !== 'poll') recordAttempt(promotion, now)
    return { do: kind, environment, promotion: copyOf(promotion), paused: isPaused(draft) }
  }
  return undefined
}

/** What a promotion needs done outside next. */
export function effectOf({ phase, strategy, withdraw, verification }: Promotion): EffectKind | undefined {
  if (withdraw === 'Due') return 'withdraw'
  if (phase === 'Gated' || phase === 'AwaitingApproval')
    return verification && verification.state !== 'Passed' ? 'verify' : undefined
  if (phase === 'Pushed') return 'propose'
  if (phase === 'Proposed') return 'poll'
  if (phase !== 'Intended') return undefined
  switch (strategy?.kind) {
    case 'pull-request':
      return 'push'
    case 'commit':
      return 'commit'
    case 'webhook':
      return 'call'
    case 'notification':
      return 'notify'
    case undefined:
      return undefined
  }
}

function isAllowed(draft: Draft, kind: EffectKind): boolean {
  if (draft.observed.dryRun) return false
  return !isPaused(draft) || kind === 'poll' || kind === 'withdraw'
}

function isPaused({ plan, observed }: Draft): boolean {
  return plan.suspended || observed.frozen
}

function recordAttempt(promotion: Promotion, now: number): void {
  promotion.attempt += 1
  promotion.lastAttemptAt = formatTime(now)
  delete promotion.nextAttemptAt
}

const soonestPollMs = 30_000
const latestPollMs = 300_000

/** A young pull request is looked at often, an old one rarely. */
function pollAt({ observed, now }: Draft, promotion: Promotion): number {
  const polledAt = observed.polledAt.get(promotion.id) ?? -Infinity
  const ageMs = now - at(promotion.phaseAt)
  const intervalMs = Math.min(Math.max(ageMs / 10, soonestPollMs), latestPollMs)
  return Math.max(polledAt > now ? -Infinity : polledAt + intervalMs, at(promotion.nextAttemptAt))
}
