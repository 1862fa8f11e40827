import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { evaluate, type NextLook, type Variables } from './conditions.ts'
import type { Model, Problem, Reading, Target } from './model.ts'

/** What a target's reference leads to at the moment. */
export type Resolution =
  | { readonly found: 'object'; readonly object: StoredObject }
  | {
      readonly found: 'list'
      readonly apiVersion: string
      readonly kind: string
      readonly objects: readonly StoredObject[]
    }
  | { readonly found: 'missing' }
  | { readonly found: 'no-such-kind' }
  | { readonly found: 'not-allowed'; readonly message: string }
  | { readonly found: 'unknown'; readonly message: string }

/** Everything a decision depends on, besides the time. */
export interface Observed {
  readonly self: StoredObject
  readonly reading: Reading
  /** By target name; only what conditions see. Empty before the time is up: nothing is looked at until then. */
  readonly resolutions: ReadonlyMap<string, Resolution>
  /** Whether a release that is to be uninstalled is there; unknown until the cluster itself is asked. */
  readonly isReleaseLeft?: boolean
}

/** Why a Cleaner does what it does, in words of its own. Its users' tools know the reason that belongs to each. */
export const reasons = {
  'not-expired': 'NotExpired',
  suspended: 'Suspended',
  'invalid-spec': 'InvalidSpec',
  'condition-compile-error': 'ConditionCompileError',
  'target-unresolved': 'TargetResolveError',
  'kind-not-found': 'KindNotFound',
  'target-forbidden': 'TargetForbidden',
  'too-many-targets': 'TooManyTargets',
  'condition-error': 'ConditionEvaluationError',
  'condition-not-boolean': 'ConditionResultNotBoolean',
  'waiting-for-conditions': 'WaitingForConditions',
  'conditions-met': 'Terminating',
} as const

export type Because = keyof typeof reasons

export type Decision =
  /** Look again at `until`, or when something changes. */
  | {
      readonly do: 'wait'
      readonly because: Because
      readonly message: string
      readonly until?: number
      /** The user's word that conditions stay true was seen to be wrong. */
      readonly violatesMonotonic?: true
    }
  /** Only a change of the spec, a target or the cluster's kinds can help. */
  | { readonly do: 'stall'; readonly because: Because; readonly message: string }
  /** Everything is true: let the targets leave. */
  | {
      readonly do: 'leave'
      readonly because: 'conditions-met'
      readonly message: string
      /** Nothing was evaluated, for nothing is left: only the Cleaner itself may go. */
      readonly onlySelf?: true
    }

/** What a Cleaner has to do now. Whatever cannot be read or evaluated means that everything stays. */
export function decide(observed: Observed, now: number): Decision {
  const { self, reading, resolutions } = observed
  if ('problems' in reading) return invalid(reading.problems)
  const { model } = reading
  if (model.suspend) return { do: 'wait', because: 'suspended', message: 'spec.suspend is set' }
  const expiresAt = expiryOf(self, model)
  if (expiresAt === undefined)
    return { do: 'stall', because: 'invalid-spec', message: 'metadata.creationTimestamp cannot be read' }
  if (now < expiresAt)
    return {
      do: 'wait',
      because: 'not-expired',
      message: `its time is up at ${formatTime(expiresAt)}`,
      until: expiresAt,
    }
  return unresolved(model, observed, now) ?? judge(model, variablesOf(model, resolutions), now)
}

/** When the time of a Cleaner is up. */
export function expiryOf({ metadata }: KubeObject, { ttlMs }: Model): number | undefined {
  const createdAt = parseTime(metadata.creationTimestamp)
  return createdAt === undefined ? undefined : createdAt + ttlMs
}

/** What conditions see: an object, a list, or null, by target name. */
export function variablesOf({ targets }: Model, resolutions: ReadonlyMap<string, Resolution>): Variables {
  const seen = targets.filter(({ evaluate: isEvaluated }) => isEvaluated)
  return Object.fromEntries(seen.map(({ name }) => [name, valueOf(resolutions.get(name))]))
}

function valueOf(resolution: Resolution | undefined): unknown {
  if (resolution?.found === 'object') return resolution.object
  if (resolution?.found !== 'list') return null
  return { apiVersion: resolution.apiVersion, kind: `${resolution.kind}List`, metadata: {}, items: resolution.objects }
}

function invalid(problems: readonly Problem[]): Decision {
  const onlyConditions = problems.every(({ field }) => field.startsWith('spec.conditions['))
  const message = problems.map(({ field, message: text }) => `${field}: ${text}`).join('; ')
  return { do: 'stall', because: onlyConditions ? 'condition-compile-error' : 'invalid-spec', message }
}

/** The decision that an evaluated target forces by not being there to look at; undefined when all can be seen. */
function unresolved(model: Model, { resolutions, isReleaseLeft = false }: Observed, now: number): Decision | undefined {
  for (const target of model.targets) {
    const resolution = resolutions.get(target.name)
    const decision = target.evaluate
      ? unseen(target, resolution ?? notSeen)
      : resolution && undeletable(target, resolution)
    if (!decision) continue
    const mayComplete = target.onMissing === 'WaitForAny' && resolution?.found === 'missing' && !isReleaseLeft
    if (mayComplete && isNothingLeft(model, resolutions)) return nothingLeft
    return decision.do === 'wait' ? { ...decision, until: now + model.periodMs } : decision
  }
  return undefined
}

const nothingLeft: Decision = {
  do: 'leave',
  because: 'conditions-met',
  message: 'everything that was to be deleted is gone',
  onlySelf: true,
}

/** Whether all that is to be deleted is known to be gone, or, where it has not been looked up yet, may be. */
function isNothingLeft({ targets, releases }: Model, resolutions: ReadonlyMap<string, Resolution>): boolean {
  const deletable = targets.filter((target) => target.delete)
  return (
    deletable.length + releases.length > 0 &&
    deletable.every((target) => {
      const resolution = resolutions.get(target.name) ?? (target.evaluate ? notSeen : undefined)
      if (resolution?.found === 'list') return resolution.objects.length === 0
      if (resolution?.found === 'no-such-kind') return !target.evaluate
      return resolution === undefined || resolution.found === 'missing'
    })
  )
}

const notSeen: Resolution = { found: 'unknown', message: 'not looked up yet' }

/** What is only to be deleted may be gone, or its kind; but it must be known what there is. */
function undeletable(target: Target, resolution: Resolution): Decision | undefined {
  if (resolution.found === 'unknown' || resolution.found === 'not-allowed') return unseen(target, resolution)
  const count = resolution.found === 'list' ? resolution.objects.length : 0
  if (count <= mostTargets) return undefined
  return {
    do: 'stall',
    because: 'too-many-targets',
    message: `target ${target.name} selects ${count} objects; at most ${mostTargets} may go at once`,
  }
}

const mostTargets = 10_000

function unseen(target: Target, resolution: Resolution): Decision | undefined {
  const { name, kind, apiVersion, onMissing } = target
  switch (resolution.found) {
    case 'object':
    case 'list':
      return target.delete ? undeletable(target, resolution) : undefined
    case 'missing':
      if (onMissing === 'Null') return undefined
      if (onMissing === 'Complete')
        return { do: 'leave', because: 'conditions-met', message: `target ${name} is gone, which completes this` }
      return { do: 'wait', because: 'target-unresolved', message: `target ${name} is not there` }
    case 'no-such-kind':
      return {
        do: 'wait',
        because: 'kind-not-found',
        message: `target ${name}: the cluster serves no ${kind} in ${apiVersion}`,
      }
    case 'not-allowed':
      return { do: 'wait', because: 'target-forbidden', message: `target ${name}: ${resolution.message}` }
    case 'unknown':
      return { do: 'wait', because: 'target-unresolved', message: `target ${name}: ${resolution.message}` }
  }
}

function judge(model: Model, variables: Variables, now: number): Decision {
  const verdict = evaluate(model, variables, now)
  const period = now + model.periodMs
  switch (verdict.is) {
    case 'true':
      return {
        do: 'leave',
        because: 'conditions-met',
        message: model.conditions.length > 0 ? 'all conditions are true' : 'its time is up',
      }
    case 'error':
      return {
        do: 'wait',
        because: 'condition-error',
        message: `spec.conditions[${verdict.condition}]: ${verdict.message}`,
        // What costs too much to evaluate must not be tried over and over, whatever the period says.
        until: verdict.isSpent ? Math.max(period, now + costlyRetryMs) : period,
      }
    case 'not-boolean':
      return {
        do: 'stall',
        because: 'condition-not-boolean',
        message: `spec.conditions[${verdict.condition}] is ${verdict.type}, not true or false`,
      }
    case 'false':
      return {
        do: 'wait',
        because: 'waiting-for-conditions',
        message: `spec.conditions[${verdict.condition}] is false`,
        ...nextLook(verdict.next, period),
      }
  }
}

const costlyRetryMs = 60_000

/** The instant at which the answer can change; the period where that cannot be known; nothing, if only the targets can change it. */
function nextLook(next: NextLook, period: number): { until?: number; violatesMonotonic?: true } {
  switch (next.look) {
    case 'at':
      return { until: next.at }
    case 'never':
      return {}
    case 'by-period':
      return { until: period, ...(next.violatesMonotonic ? { violatesMonotonic: true } : {}) }
  }
}
