import type { Environment, EnvironmentStatus } from '../../../apis/environment.ts'
import { findCondition, healthStatus, setCondition, type Condition, type Health } from '../../../kube/conditions.ts'
import { parseTime } from '../../../kube/time.ts'
import type { Surroundings } from './assess.ts'
import { holds, messageOf } from './describe.ts'
import { useProblem, type Observed, type Problem } from './facts.ts'
import type { ClassRules } from './rules.ts'
import { dependsOnUse, type StayDecision } from './stay.ts'

interface Facts extends Surroundings {
  /** The rules of its class; those that delete nothing where it has none. */
  readonly inForce: ClassRules
  readonly stay: StayDecision
  readonly announced: EnvironmentStatus
  readonly contended: string | undefined
  readonly lastUsedAt: number
  readonly now: number
}

/** The message and the conditions of an environment. */
export function report(
  observed: Observed,
  facts: Facts,
): Pick<EnvironmentStatus, 'message' | 'conditions' | 'observedGeneration'> {
  const { environment } = observed
  const { stay, announced, refusal, lastUsedAt, now } = facts
  const claims = claimsOf(observed, facts)
  const told = {
    lastUsedAt,
    lastUsedBy: announced.lastUsedBy,
    toldAt: parseTime(announced.announcement?.toldAt),
    since: facts.inForce.since,
    held: heldBecause(facts, claims),
  }
  const message = refusal?.message ?? messageOf(stay, told)
  const trouble = refusal ?? troubleOf(observed, facts)
  const waiting = { health: 'ready', reason: stay.do === 'hold' ? 'Held' : 'Waiting', message } as const
  const health = trouble ? { health: healthOf(trouble), ...trouble } : waiting
  return { message, ...healthStatus({ ...environment, status: { conditions: claims } }, health, now) }
}

/** All conditions but those of health. */
function claimsOf(observed: Observed, { pull, isBeyondLimit, contended, announced, now }: Facts): readonly Condition[] {
  const { status } = observed.environment
  const seen = { type: 'UseVisible', isTrue: true, reason: 'Visible', message: 'every sign of use can be read' }
  const problem = useProblem(observed)
  const claims = [
    { ...seen, ...problem, isTrue: !problem },
    ...knownClaim(observed.environment, pull),
    { type: 'LimitExceeded', isTrue: isBeyondLimit, reason: 'LimitExceeded', message: 'admission missed it' },
    { type: 'Contended', isTrue: contended !== undefined, reason: 'Contended', message: contended ?? '' },
  ].filter(({ type, isTrue }) => isTrue || type === 'UseVisible' || type === 'PullRequestKnown')
  const stays: Readonly<Record<string, boolean>> = {
    LimitExceeded: isBeyondLimit,
    Contended: contended !== undefined,
    PullRequestKnown: pull !== undefined && pull.url === status?.pullRequest?.url,
    Notified: announced.announcement !== undefined,
  }
  return claims.reduce<readonly Condition[]>(
    (all, { isTrue, ...claim }) => setCondition(all, { ...claim, status: isTrue ? 'True' : 'False' }, now),
    (status?.conditions ?? []).filter(({ type }) => stays[type] ?? true),
  )
}

/** Until it was read since the start, and while the budget of its credential is spent, the condition stays as it is. */
function knownClaim({ status }: Environment, pull: Surroundings['pull']) {
  const { seen, problem } = pull ?? {}
  const isSpent = seen && 'retryAt' in seen && findCondition(status?.conditions, 'PullRequestKnown')
  if (!problem && (!seen || isSpent)) return []
  const unread = problem ?? (seen && 'problem' in seen ? { reason: 'Unreadable', message: seen.problem } : undefined)
  const known = { type: 'PullRequestKnown', isTrue: !unread, reason: 'Known', message: 'it was read' }
  return [{ ...known, ...unread }]
}

/** Why its deletion is held, or will be when its date comes; undefined when nothing is in the way. */
function heldBecause(
  { stay, inForce: rules }: Pick<Facts, 'stay' | 'inForce'>,
  conditions: readonly Condition[],
): string | undefined {
  const failing = (because: keyof typeof holds) => {
    const found = findCondition(conditions, holds[because].type)
    return found?.status === 'False' ? `${holds[because].text}: ${found.message}` : undefined
  }
  if (stay.do === 'hold') return failing(stay.because)
  if (stay.do !== 'stay' || !stay.due) return undefined
  return failing('pull-request-unknown') ?? (dependsOnUse(stay.due.reason, rules) ? failing('use-unknown') : undefined)
}

/** Why the rules of its class cannot be followed; undefined when they can. */
function troubleOf(
  { environment, environmentClass, rules }: Observed,
  { windowAt, isBeyondLimit, now }: Pick<Facts, 'windowAt' | 'isBeyondLimit' | 'now'>,
): Problem | undefined {
  const { className } = environment.spec
  const problem = (reason: string, message: string): Problem => ({ reason, message })
  if (!environmentClass)
    return problem(
      'ClassNotFound',
      `spec.className: there is no EnvironmentClass ${className}; nothing sleeps or is deleted`,
    )
  if (!rules) return problem('ClassInvalid', `EnvironmentClass ${className} has invalid fields; nothing is deleted`)
  const { awake } = environmentClass.spec.sleep ?? {}
  if (windowAt(now) === 'missing')
    return problem(
      'ScheduleNotFound',
      `spec.sleep.awake of the class: there is no WorkSchedule ${awake}; it stays awake`,
    )
  return isBeyondLimit ? problem('LimitExceeded', 'its class allows no more environments: delete one') : undefined
}

/** What does not exist yet may still be created; anything else a user has to change. */
function healthOf({ reason }: Problem): Health {
  return reason.endsWith('NotFound') ? 'not-ready' : 'stalled'
}
