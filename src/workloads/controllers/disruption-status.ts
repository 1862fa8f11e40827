import type { Condition } from '../../kube/conditions.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { LabelSelector } from '../../kube/selector.ts'
import type { StoredObject } from '../../kube/object.ts'
import { isPodFinished, isPodReady, type Pod } from '../types.ts'

/** The fields of a PodDisruptionBudget that the controller reads. */
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

/** What the status of a budget depends on. */
export interface Observed {
  readonly budget: DisruptionBudget
  /** All Pods it selects. */
  readonly pods: readonly Pod[]
  /** The replicas their controllers want, or why that is unknown. */
  readonly wanted: number | { readonly problem: string }
}

/** An eviction whose Pod is not deleted after this time has failed and no longer counts. */
const evictionTimeoutMs = 120_000

/** The status of a budget: how many of its Pods may be evicted now. */
export function disruptionStatus({ budget, pods, wanted }: Observed, now: number): DisruptionStatus {
  const running = pods.filter((pod) => !isPodFinished(pod))
  const disruptedPods = disrupted(budget, running, now)
  const healthy = running.filter(
    (pod) => isPodReady(pod) && !pod.metadata.deletionTimestamp && !(pod.metadata.name in disruptedPods),
  ).length
  const needs = expectedPods(budget, running.length, wanted)
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

/** When the next failed eviction stops counting; undefined when none is pending. */
export function nextRecount({ disruptedPods = {} }: DisruptionStatus): number | undefined {
  const times = Object.values(disruptedPods).map((time) => (parseTime(time) ?? 0) + evictionTimeoutMs)
  return times.length > 0 ? Math.min(...times) : undefined
}

/** Evictions that were allowed and whose Pods are not terminating yet. */
function disrupted({ status }: DisruptionBudget, running: readonly Pod[], now: number): Record<string, string> {
  const notTerminating = new Set(
    running.filter((pod) => !pod.metadata.deletionTimestamp).map(({ metadata }) => metadata.name),
  )
  const entries = Object.entries(status?.disruptedPods ?? {})
  return Object.fromEntries(
    entries.filter(([name, time]) => notTerminating.has(name) && (parseTime(time) ?? 0) + evictionTimeoutMs > now),
  )
}

/** The expected Pods, and how many must be healthy. Only percentages and `maxUnavailable` depend on the controllers. */
function expectedPods(
  { spec }: DisruptionBudget,
  found: number,
  wanted: Observed['wanted'],
): { readonly expected: number; readonly desired: number } | { readonly problem: string } {
  const { minAvailable, maxUnavailable } = spec
  if (typeof minAvailable === 'number') return { expected: found, desired: minAvailable }
  if (minAvailable === undefined && maxUnavailable === undefined) return { expected: found, desired: 0 }
  if (typeof wanted !== 'number') return wanted
  if (minAvailable !== undefined) return { expected: wanted, desired: scaled(minAvailable, wanted) }
  return { expected: wanted, desired: Math.max(0, wanted - scaled(maxUnavailable ?? 0, wanted)) }
}

/** A number, or a percentage of the total, rounded up. */
function scaled(value: number | string, total: number): number {
  return typeof value === 'number' ? value : Math.ceil((Number.parseInt(value, 10) / 100) * total)
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
