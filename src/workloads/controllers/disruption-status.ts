import { formatTime, parseTime } from '../../kube/time.ts'
import type { LabelSelector } from '../../kube/selector.ts'
import type { StoredObject } from '../../kube/object.ts'
import { isPodFinished, isPodReady, type Pod } from '../types.ts'

export interface DisruptionBudget extends StoredObject {
  readonly spec: {
    readonly selector?: LabelSelector
    readonly minAvailable?: number | string
    readonly maxUnavailable?: number | string
  }
  readonly status?: DisruptionStatus
}

export interface DisruptionStatus {
  readonly observedGeneration?: number
  readonly disruptionsAllowed: number
  readonly currentHealthy: number
  readonly desiredHealthy: number
  readonly expectedPods: number
  readonly disruptedPods?: Readonly<Record<string, string>>
  readonly conditions: readonly Condition[]
}

interface Condition {
  readonly type: string
  readonly status: string
  readonly observedGeneration?: number
  readonly lastTransitionTime: string
  readonly reason: string
  readonly message: string
}

/** What a budget's status follows from. */
export interface Observed {
  readonly budget: DisruptionBudget
  /** All pods it selects. */
  readonly pods: readonly Pod[]
  /** How many pods their controllers want; why that cannot be said, when it cannot. */
  readonly wanted: number | { readonly problem: string }
}

/** An eviction that has not led to a deletion after this time will not. */
const evictionTimeMs = 120_000

/** How many pods of a budget may be evicted now, and when to count again. */
export function disruptionStatus({ budget, pods, wanted }: Observed, now: number): DisruptionStatus {
  const living = pods.filter((pod) => !isPodFinished(pod))
  const disruptedPods = disrupted(budget, living, now)
  const healthy = living.filter(
    (pod) => isPodReady(pod) && !pod.metadata.deletionTimestamp && !(pod.metadata.name in disruptedPods),
  ).length
  const needs = needed(budget, living.length, wanted)
  const failure = 'problem' in needs ? needs.problem : undefined
  const { expected, desired } = 'problem' in needs ? { expected: 0, desired: 0 } : needs
  const allowed = failure === undefined && expected > 0 ? Math.max(0, healthy - desired) : 0
  return {
    observedGeneration: budget.metadata.generation ?? 0,
    disruptionsAllowed: allowed,
    currentHealthy: healthy,
    desiredHealthy: desired,
    expectedPods: expected,
    ...(Object.keys(disruptedPods).length > 0 ? { disruptedPods } : {}),
    conditions: [condition(budget, { allowed, failure, now })],
  }
}

/** The next moment at which an eviction that came to nothing stops to count; undefined when there is none. */
export function nextRecount({ disruptedPods = {} }: DisruptionStatus): number | undefined {
  const times = Object.values(disruptedPods).map((time) => (parseTime(time) ?? 0) + evictionTimeMs)
  return times.length > 0 ? Math.min(...times) : undefined
}

/** Evictions that were let through and whose pods are not on their way out yet. */
function disrupted({ status }: DisruptionBudget, living: readonly Pod[], now: number): Record<string, string> {
  const staying = new Set(living.filter((pod) => !pod.metadata.deletionTimestamp).map(({ metadata }) => metadata.name))
  const entries = Object.entries(status?.disruptedPods ?? {})
  return Object.fromEntries(
    entries.filter(([name, time]) => staying.has(name) && (parseTime(time) ?? 0) + evictionTimeMs > now),
  )
}

/** How many pods there should be and how many must serve. Only percentages and `maxUnavailable` ask the controllers. */
function needed(
  { spec }: DisruptionBudget,
  found: number,
  wanted: Observed['wanted'],
): { readonly expected: number; readonly desired: number } | { readonly problem: string } {
  const { minAvailable, maxUnavailable } = spec
  if (typeof minAvailable === 'number') return { expected: found, desired: minAvailable }
  if (minAvailable === undefined && maxUnavailable === undefined) return { expected: found, desired: 0 }
  if (typeof wanted !== 'number') return wanted
  if (minAvailable !== undefined) return { expected: wanted, desired: share(minAvailable, wanted) }
  return { expected: wanted, desired: Math.max(0, wanted - share(maxUnavailable ?? 0, wanted)) }
}

/** A number, or a percentage of the whole, rounded up. */
function share(value: number | string, whole: number): number {
  return typeof value === 'number' ? value : Math.ceil((Number.parseInt(value, 10) / 100) * whole)
}

function condition(
  { metadata, status }: DisruptionBudget,
  { allowed, failure, now }: { allowed: number; failure: string | undefined; now: number },
): Condition {
  const before = status?.conditions?.find(({ type }) => type === 'DisruptionAllowed')
  const value = allowed > 0 ? 'True' : 'False'
  return {
    type: 'DisruptionAllowed',
    status: value,
    observedGeneration: metadata.generation ?? 0,
    lastTransitionTime: before?.status === value ? before.lastTransitionTime : formatTime(now),
    reason: failure !== undefined ? 'SyncFailed' : allowed > 0 ? 'SufficientPods' : 'InsufficientPods',
    message: failure ?? '',
  }
}
