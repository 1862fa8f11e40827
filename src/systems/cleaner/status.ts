import { groupResource } from '../../kube/object.ts'
import { publicView } from '../../kube/redact.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { healthStatus, setCondition, type Condition, type Health } from '../../kube/conditions.ts'
import { objectsOf, reasons, valueOf, type Decision, type Observed } from './decision/decide.ts'
import type { CleanerStatus, Model } from './decision/model.ts'

/** The status that reports a decision and the next evaluation. It holds no recorded decision. */
export function statusFor(observed: Observed, decision: Decision, now: number): CleanerStatus {
  const { self } = observed
  const {
    decision: _,
    nextScheduledEvaluation: __,
    resolvedTargets: ___,
    resolvedCount: ____,
    ...rest
  } = (self.status ?? {}) as CleanerStatus
  const resolved = decision.do === 'delete' ? [] : resolvedNames(observed)
  const until = decision.do === 'wait' ? decision.until : undefined
  const claim = { health: healthOf(decision), reason: reasons[decision.because], message: decision.message }
  const { conditions, ...observedGeneration } = healthStatus(self, claim, now)
  return {
    ...rest,
    ...observedGeneration,
    conditions: withMonotonic(conditions, decision, now),
    ...(resolved.length > 0
      ? { resolvedTargets: resolved.slice(0, maxShownTargets), resolvedCount: resolved.length }
      : {}),
    ...(until === undefined ? {} : { nextScheduledEvaluation: formatTime(Math.ceil(until / 1000) * 1000) }),
  }
}

/** Adds a Monotonic condition while `retry.monotonic` is seen to be wrong, and removes it otherwise. */
function withMonotonic(conditions: Condition[], decision: Decision, now: number): Condition[] {
  if (decision.do !== 'wait' || !decision.violatesMonotonic)
    return conditions.filter(({ type }) => type !== 'Monotonic')
  const message = 'conditions become true and then false again as time passes: evaluated every retry.period instead'
  return [
    ...setCondition(conditions, { type: 'Monotonic', status: 'False', reason: 'MonotonicityViolated', message }, now),
  ]
}

/** `name.plural.group/version` of every object that conditions see: the format of cleaner-controller. */
function resolvedNames({ reading, resolutions }: Observed): readonly string[] {
  if ('problems' in reading) return []
  return reading.model.targets.flatMap(({ name }) => {
    const resolution = resolutions.get(name)
    if (!resolution || !('type' in resolution)) return []
    const { type } = resolution
    return objectsOf(resolution).map(({ metadata }) => `${metadata.name}.${groupResource(type)}/${type.version}`)
  })
}

/** The retry that the status announces already, if it comes earlier: neither a restart nor a change that did not help is a reason for a write. */
export function announcedRetry({ status }: Observed['self'], at: number, now: number): number {
  const announced = parseTime((status as CleanerStatus | undefined)?.nextScheduledEvaluation) ?? 0
  return announced > now ? Math.min(announced, at) : at
}

/** The targets as evaluated, for the status and the sink. Their states are left out when they are large together. */
export function evaluatedTargets(
  { targets }: Model,
  resolutions: Observed['resolutions'],
): NonNullable<CleanerStatus['targets']> {
  const names = targets.map(({ name, delete: isDeleted, evaluate }) => ({
    name,
    delete: isDeleted,
    includeWhenEvaluating: evaluate,
  }))
  const withState = names.map((target) => {
    const state = valueOf(resolutions.get(target.name), publicView)
    return state === null ? target : { ...target, state }
  })
  return JSON.stringify(withState).length <= maxStateSize ? withState : names
}

const maxShownTargets = 100
const maxStateSize = 48 * 1024

/** A Cleaner that waits does its job. One that a retry cannot help is stalled: a user must change it, or grant a right. */
function healthOf({ do: what, because }: Pick<Decision, 'do' | 'because'>): Health {
  switch (because) {
    case 'not-expired':
    case 'suspended':
    case 'waiting-for-conditions':
    case 'conditions-met':
      return 'ready'
    case 'target-unresolved':
    case 'kind-not-found':
    case 'condition-error':
      return what === 'stall' ? 'stalled' : 'not-ready'
    default:
      return 'stalled'
  }
}
