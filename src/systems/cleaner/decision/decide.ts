import { apiVersionOf, type KubeObject, type ResourceType, type StoredObject } from '../../../kube/object.ts'
import { evaluatedView } from '../../../kube/redact.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import type { Refusal } from '../../../tenancy/act-as.ts'
import { evaluate, type NextEvaluation, type Variables } from './conditions.ts'
import type { Model, Problem, Reading, Target } from './model.ts'
import { keptUntil, withWarning } from './warning.ts'

/** What a target's reference resolves to now. */
export type Resolution =
  | { readonly found: 'object'; readonly type: ResourceType; readonly object: StoredObject }
  | { readonly found: 'list'; readonly type: ResourceType; readonly objects: readonly StoredObject[] }
  | { readonly found: 'missing' }
  | { readonly found: 'no-such-kind' }
  | { readonly found: 'not-allowed'; readonly message: string }
  | { readonly found: 'unknown'; readonly message: string }
  /** The identity behind the Cleaner may not read it. */
  | { readonly found: 'refused'; readonly refusal: Refusal }

/** A resolution that no missing right stands in the way of. */
type Readable = Exclude<Resolution, { found: 'refused' }>

/** Everything a decision depends on, except the time. */
export interface Observed {
  readonly self: StoredObject
  readonly reading: Reading
  /** By target name. From caches: only evaluated targets, and none before the TTL expires. Live: deleted ones too. */
  readonly resolutions: ReadonlyMap<string, Resolution>
  /** Whether a release to uninstall is installed; unset when observed from caches. */
  readonly isReleaseInstalled?: boolean
}

/** Why a decision was made, with the condition reason that users' tools know it by. */
export const reasons = {
  'not-expired': 'NotExpired',
  suspended: 'Suspended',
  'invalid-spec': 'InvalidSpec',
  'condition-compile-error': 'ConditionCompileError',
  'target-unresolved': 'TargetResolveError',
  'kind-not-found': 'KindNotFound',
  'target-forbidden': 'TargetForbidden',
  'too-many-targets': 'TooManyTargets',
  confined: 'Confined',
  'creator-forbidden': 'CreatorForbidden',
  'creator-unknown': 'CreatorUnknown',
  'service-account-required': 'ServiceAccountRequired',
  'service-account-not-found': 'ServiceAccountNotFound',
  'condition-error': 'ConditionEvaluationError',
  'condition-not-boolean': 'ConditionResultNotBoolean',
  'waiting-for-conditions': 'WaitingForConditions',
  announced: 'Announced',
  'not-announced': 'NotAnnounced',
  'channel-not-found': 'ChannelNotFound',
  held: 'Held',
  'conditions-met': 'Terminating',
} as const

export type Because = keyof typeof reasons

export type Decision =
  /** Evaluate again at `until`, or when a target changes. */
  | {
      readonly do: 'wait'
      readonly because: Because
      readonly message: string
      readonly until?: number
      /** `until` is one retry from now, not a computed instant. */
      readonly isPeriodic?: true
      /** `retry.monotonic` was seen to be wrong. */
      readonly violatesMonotonic?: true
    }
  /** Only a change of the spec, a target or the served kinds can help. */
  | { readonly do: 'stall'; readonly because: Because; readonly message: string }
  /** Tell people that nothing is deleted before `date`, and everything from then on. */
  | { readonly do: 'tell'; readonly because: 'announced'; readonly message: string; readonly date: number }
  /** Delete the targets, the releases and the Cleaner. */
  | {
      readonly do: 'delete'
      readonly because: 'conditions-met'
      readonly message: string
      /** What to carry out: the spec, without releases when nothing but the Cleaner is left to delete. */
      readonly model: Model
    }

type Wait = Extract<Decision, { do: 'wait' }>
type NextTry = Pick<Wait, 'until' | 'isPeriodic' | 'violatesMonotonic'>

function wait(because: Because, message: string, next: NextTry = {}): Wait {
  return { do: 'wait', because, message, ...next }
}

function stall(because: Because, message: string): Decision {
  return { do: 'stall', because, message }
}

function finish(message: string, model: Model): Decision {
  return { do: 'delete', because: 'conditions-met', message, model }
}

/** A right can be granted at any time, which no watch reports. */
export const refusalRetryMs = 60_000

const becauseOf: Readonly<Record<Refusal['reason'], Because>> = {
  Confined: 'confined',
  CreatorForbidden: 'creator-forbidden',
  CreatorUnknown: 'creator-unknown',
  ServiceAccountRequired: 'service-account-required',
  ServiceAccountNotFound: 'service-account-not-found',
  TargetForbidden: 'target-forbidden',
}

/** The decision when the identity behind the Cleaner may not do what it asks for. */
export function decideRefused({ reason, message }: Refusal, now: number): Wait {
  return wait(becauseOf[reason], message, { until: now + refusalRetryMs, isPeriodic: true })
}

/** Decides what a Cleaner does now. Whatever cannot be read or evaluated means: keep everything. */
export function decide(observed: Observed, now: number): Decision {
  return withWarning(observed, decideUnwarned(observed, now), now)
}

function decideUnwarned(observed: Observed, now: number): Decision {
  const { self, reading, resolutions } = observed
  if ('problems' in reading) return invalid(reading.problems)
  const { model } = reading
  if (model.suspend) return wait('suspended', 'spec.suspend is set')
  const expiresAt = expiryOf(self, model)
  if (expiresAt === undefined) return stall('invalid-spec', 'metadata.creationTimestamp cannot be read')
  if (now < expiresAt) return wait('not-expired', `its TTL expires at ${formatTime(expiresAt)}`, { until: expiresAt })
  return decideUnresolved(model, observed, now) ?? decideByConditions(model, variablesOf(model, resolutions), now)
}

/** When the TTL of a Cleaner expires, or a user's keep, if that is later; undefined when its creationTimestamp cannot be read. */
export function expiryOf({ metadata, status }: KubeObject, { ttlMs, warn }: Model): number | undefined {
  const createdAt = parseTime(metadata.creationTimestamp)
  return createdAt === undefined ? undefined : Math.max(createdAt + ttlMs, warn ? keptUntil(status) : 0)
}

/** The variables of conditions by target name: an object, a list, or null. */
function variablesOf({ targets }: Model, resolutions: ReadonlyMap<string, Resolution>): Variables {
  const evaluated = targets.filter((target) => target.evaluate)
  return Object.fromEntries(evaluated.map(({ name }) => [name, valueOf(resolutions.get(name), evaluatedView)]))
}

/** A resolution as conditions or sinks see it. */
export function valueOf(resolution: Resolution | undefined, view: (object: StoredObject) => KubeObject): unknown {
  if (resolution?.found === 'object') return view(resolution.object)
  if (resolution?.found !== 'list') return null
  const { type, objects } = resolution
  return { apiVersion: apiVersionOf(type), kind: `${type.kind}List`, metadata: {}, items: objects.map(view) }
}

/** The objects a resolution holds. */
export function objectsOf(resolution: Resolution | undefined): readonly StoredObject[] {
  if (resolution?.found === 'object') return [resolution.object]
  return resolution?.found === 'list' ? resolution.objects : []
}

function invalid(problems: readonly Problem[]): Decision {
  const onlyConditions = problems.every(({ field }) => field.startsWith('spec.conditions['))
  const message = problems.map(({ field, message: text }) => `${field}: ${text}`).join('; ')
  return stall(onlyConditions ? 'condition-compile-error' : 'invalid-spec', message)
}

/** The decision forced by the first target that cannot be evaluated or deleted; undefined when there is none. */
function decideUnresolved(
  model: Model,
  { resolutions, isReleaseInstalled = false }: Observed,
  now: number,
): Decision | undefined {
  for (const target of model.targets) {
    const resolution = resolutions.get(target.name)
    if (resolution?.found === 'refused') return decideRefused(resolution.refusal, now)
    const decision = target.evaluate
      ? decideUnevaluable(model, target, resolution ?? notResolved)
      : resolution && decideUndeletable(target, resolution)
    if (!decision) continue
    const mayComplete = target.onMissing === 'WaitForAny' && resolution?.found === 'missing' && !isReleaseInstalled
    if (mayComplete && isNothingLeft(model, resolutions))
      return finish('everything it would delete is already deleted', { ...model, releases: [] })
    return decision.do === 'wait' ? { ...decision, until: now + model.periodMs, isPeriodic: true } : decision
  }
  return undefined
}

/** Whether every object to delete is known to be missing, or, for targets that caches do not hold, may be. */
function isNothingLeft({ targets, releases }: Model, resolutions: ReadonlyMap<string, Resolution>): boolean {
  const deletable = targets.filter((target) => target.delete)
  return (
    deletable.length + releases.length > 0 &&
    deletable.every((target) => {
      const resolution = resolutions.get(target.name) ?? (target.evaluate ? notResolved : undefined)
      if (resolution?.found === 'list') return resolution.objects.length === 0
      if (resolution?.found === 'no-such-kind') return !target.evaluate
      return resolution === undefined || resolution.found === 'missing'
    })
  )
}

const notResolved: Readable = { found: 'unknown', message: 'it has not been looked up yet' }

/** A target that is only deleted may be missing, or its kind may be; but it must be possible to look. */
function decideUndeletable(target: Target, resolution: Readable): Decision | undefined {
  if (resolution.found === 'unknown' || resolution.found === 'not-allowed') return waitFor(target, resolution)
  const count = resolution.found === 'list' ? resolution.objects.length : 0
  if (count <= maxTargets) return undefined
  const message = `target ${target.name} selects ${count} objects; at most ${maxTargets} can be deleted: narrow its selector`
  return stall('too-many-targets', message)
}

const maxTargets = 10_000

function decideUnevaluable(model: Model, target: Target, resolution: Readable): Decision | undefined {
  const { name, onMissing } = target
  switch (resolution.found) {
    case 'object':
    case 'list':
      return target.delete ? decideUndeletable(target, resolution) : undefined
    case 'missing':
      if (onMissing === 'Null') return undefined
      if (onMissing !== 'Complete') return waitFor(target, resolution)
      return finish(`target ${name} does not exist any more, and its onMissing is Complete`, model)
    default:
      return waitFor(target, resolution)
  }
}

function waitFor(
  { name, kind, apiVersion }: Target,
  resolution: Exclude<Readable, { found: 'object' | 'list' }>,
): Wait {
  switch (resolution.found) {
    case 'missing':
      return wait('target-unresolved', `target ${name} does not exist`)
    case 'no-such-kind':
      return wait('kind-not-found', `target ${name}: the cluster serves no ${kind} in ${apiVersion}`)
    case 'not-allowed':
      return wait('target-forbidden', `target ${name}: ${resolution.message}`)
    case 'unknown':
      return wait('target-unresolved', `target ${name}: ${resolution.message}`)
  }
}

function decideByConditions(model: Model, variables: Variables, now: number): Decision {
  const verdict = evaluate(model, variables, now)
  const period = now + model.periodMs
  switch (verdict.is) {
    case 'true':
      return finish(model.conditions.length > 0 ? 'all conditions are true' : 'its TTL has expired', model)
    case 'error':
      return wait('condition-error', `spec.conditions[${verdict.condition}]: ${verdict.message}`, {
        // A condition that exceeds the cost limit is not retried more often than this, however short the period.
        until: verdict.isSpent ? Math.max(period, now + costlyRetryMs) : period,
        isPeriodic: true,
      })
    case 'not-boolean':
      return stall(
        'condition-not-boolean',
        `spec.conditions[${verdict.condition}] evaluates to ${verdict.type}, not to a boolean`,
      )
    case 'false':
      return wait(
        'waiting-for-conditions',
        `spec.conditions[${verdict.condition}] is false${verdict.where && ` ${verdict.where.slice(0, -2)}`}`,
        untilNext(verdict.next, { period, idle: now + model.idlePeriodMs }),
      )
  }
}

const costlyRetryMs = 60_000

/** When to evaluate false conditions again: by period, too, when only a change of the targets can make them true. */
function untilNext(
  next: NextEvaluation,
  { period, idle }: { readonly period: number; readonly idle: number },
): NextTry {
  switch (next.evaluate) {
    case 'at':
      return { until: next.at }
    case 'never':
      return { until: idle, isPeriodic: true }
    case 'by-period':
      return { until: period, isPeriodic: true, ...(next.violatesMonotonic ? { violatesMonotonic: true } : {}) }
  }
}
