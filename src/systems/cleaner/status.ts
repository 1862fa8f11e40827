import { groupResource, type StoredObject } from '../../kube/object.ts'
import { publicView } from '../../kube/redact.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { healthStatus, setCondition, type Condition, type Health, findCondition } from '../../kube/conditions.ts'
import { objectsOf, reasons, valueOf, type Decision, type Observed } from './decision/decide.ts'
import type { CleanerStatus, Model } from './decision/model.ts'
import { isOutdated } from './decision/warning.ts'
import { sentenceOf, type DepartResult, type Hold } from '../../departures/door/because.ts'
import { wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { writeStatus, type CleanerPorts } from './ports.ts'

/** The status that reports a decision and the next evaluation. It holds no recorded decision. */
export function statusFor(observed: Observed, decision: Decision, now: number): CleanerStatus {
  const { self } = observed
  const {
    decision: _,
    nextScheduledEvaluation: __,
    resolvedTargets: ___,
    resolvedCount: ____,
    warning,
    ...rest
  } = (self.status ?? {}) as CleanerStatus
  const resolved = decision.do === 'delete' ? [] : resolvedNames(observed)
  const until = decision.do === 'wait' ? decision.until : undefined
  const claim = { health: healthOf(decision), reason: reasons[decision.because], message: decision.message }
  const { conditions, ...observedGeneration } = healthStatus(self, claim, now)
  return {
    ...rest,
    ...(warning && !isOutdated(warning, decision, now) ? { warning } : {}),
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
    case 'announced':
    case 'held':
      return 'ready'
    case 'target-unresolved':
    case 'kind-not-found':
    case 'condition-error':
    case 'not-announced':
      return what === 'stall' ? 'stalled' : 'not-ready'
    default:
      return 'stalled'
  }
}

/** The Door's answer when it does not delete. */
type Denial = Extract<DepartResult, { because: string }>

/** Whether the conditions are met but the Door does not delete yet. */
export function isHeld({ status }: StoredObject): boolean {
  const { conditions } = (status ?? {}) as { conditions?: readonly Condition[] }
  return findCondition(conditions, 'Ready')?.reason === 'Held'
}

/** Reports in the status why the Door does not delete the Cleaner, and retries when that may have changed. */
export async function reportHeld(ports: CleanerPorts, self: StoredObject, denial: Denial): Promise<Outcome> {
  const { until = announcedRetry(self, retryAt(denial, ports.clock.now()), ports.clock.now()) } = denial as {
    until?: number
  }
  await writeHealth(ports, self, { ...heldBecause(self, sentenceOf(denial)), until })
  return wakeAt(until)
}

/** The claim of a Cleaner that is due and may not delete yet. */
export function heldBecause({ spec }: StoredObject, why: string) {
  const { conditions = [] } = spec as { readonly conditions?: readonly string[] }
  const due = conditions.length > 0 ? 'all conditions are true' : 'its TTL has expired'
  return { health: 'ready', reason: 'Held', message: `${due}, but ${why}` } as const
}

/** Changes only what the status says of the Cleaner's health, and when it is looked at next, if that is known. */
export async function writeHealth(
  ports: CleanerPorts,
  self: StoredObject,
  claim: Parameters<typeof healthStatus>[1] & { readonly until?: number },
): Promise<void> {
  const { nextScheduledEvaluation: _, ...status } = (self.status ?? {}) as CleanerStatus
  const { until } = claim
  await writeStatus(ports, self, {
    ...status,
    ...(until === undefined ? {} : { nextScheduledEvaluation: formatTime(Math.ceil(until / 1000) * 1000) }),
    ...healthStatus(self, claim, ports.clock.now()),
  })
}

/** When to ask the Door again. Its change notification comes earlier for Cleaners whose Ready reason is `Held`. */
export function retryAt(denial: Denial, now: number): number {
  if (denial.result === 'held' && denial.until !== undefined) return denial.until
  return now + (notifiedHolds.has(denial.because) ? slowRetryMs : fastRetryMs)
}

/** The end of these holds is an event: the Cleaner is edited, or the Door notices a switch, a schedule or a Bond. */
const notifiedHolds: ReadonlySet<string> = new Set<Hold>([
  'dry-run',
  'paused',
  'breaker-open',
  'outside-window',
  'no-such-schedule',
  'bond-holds',
])
const fastRetryMs = 60_000
const slowRetryMs = 3_600_000
