import type { Job } from './jobs.ts'
import { isPodFinished, type Pod } from '../types.ts'

/** On a Pod of a Job until the Job's status counts it, so that it cannot be deleted uncounted. */
export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'

/** How the Pods of a Job ended, deleted ones included. */
export interface Tally {
  readonly succeeded: number
  readonly failed: number
  /** Empty unless the Job is indexed. */
  readonly completedIndexes: readonly number[]
  /** Must be written to the Job's status before any finalizer is removed. */
  readonly status: Pick<
    NonNullable<Job['status']>,
    'succeeded' | 'failed' | 'completedIndexes' | 'uncountedTerminatedPods'
  >
  /** Whether `uncountedTerminatedPods` is empty. */
  readonly isSettled: boolean
}

/**
 * Counts each finished Pod exactly once. The status first lists it as uncounted, then its finalizer is removed, then it joins the count:
 * after a crash at any point it is found either by its finalizer or in the list.
 */
export function tallyOf({ spec, status = {} }: Job, owned: readonly Pod[]): Tally {
  const tracked = owned.filter(isTracked)
  const trackedUids = new Set(tracked.map(({ metadata }) => metadata.uid))
  const sum = (phase: 'Succeeded' | 'Failed', counted = 0, noted: readonly string[] = []) => {
    const ended = tracked.filter((pod) => pod.status?.phase === phase).map(({ metadata }) => metadata.uid)
    const uncounted = [...new Set([...noted.filter((uid) => trackedUids.has(uid)), ...ended])]
    return { counted: counted + noted.filter((uid) => !trackedUids.has(uid)).length, uncounted }
  }
  const noted = status.uncountedTerminatedPods ?? {}
  const failed = sum('Failed', status.failed, noted.failed)
  const succeeded = sum('Succeeded', status.succeeded, noted.succeeded)
  const isIndexed = spec.completionMode === 'Indexed'
  const completedIndexes = isIndexed ? indexesOf({ spec, status }, owned) : []
  // An indexed Job counts indexes, however many Pods of one index succeeded.
  const uncounted = isIndexed ? [] : succeeded.uncounted
  const counted = isIndexed ? completedIndexes.length : succeeded.counted
  return {
    succeeded: counted + uncounted.length,
    failed: failed.counted + failed.uncounted.length,
    completedIndexes,
    status: {
      succeeded: counted,
      failed: failed.counted,
      uncountedTerminatedPods: {
        ...(uncounted.length > 0 ? { succeeded: uncounted } : {}),
        ...(failed.uncounted.length > 0 ? { failed: failed.uncounted } : {}),
      },
      ...(isIndexed ? { completedIndexes: formatRanges(completedIndexes) } : {}),
    },
    isSettled: uncounted.length + failed.uncounted.length === 0,
  }
}

/** Whether the Pod still carries the tracking finalizer. */
export function isTracked({ metadata: { finalizers = [] } }: Pod): boolean {
  return finalizers.includes(trackingFinalizer)
}

/** Pods whose finalizer may be removed once the status is written: finished or terminating ones. */
export function releasable(owned: readonly Pod[]): readonly Pod[] {
  return owned.filter((pod) => isTracked(pod) && (isPodFinished(pod) || pod.metadata.deletionTimestamp))
}

export const indexAnnotation = 'batch.kubernetes.io/job-completion-index'

export function indexOf({ metadata }: Pod): number {
  return Number(metadata.annotations?.[indexAnnotation] ?? Number.NaN)
}

/** Sorted, without duplicates. */
function indexesOf({ spec, status }: Pick<Job, 'spec' | 'status'>, owned: readonly Pod[]): readonly number[] {
  const completed = owned.filter(({ status }) => status?.phase === 'Succeeded').map(indexOf)
  const all = new Set([...parseRanges(status?.completedIndexes, (spec.completions ?? 1) - 1), ...completed])
  return [...all].filter(Number.isInteger).toSorted((left, right) => left - right)
}

/** The format of `status.completedIndexes`: `0-2,5`. */
function formatRanges(indexes: readonly number[]): string {
  const runs: [number, number][] = []
  for (const index of indexes) {
    const last = runs.at(-1)
    if (last && last[1] === index - 1) last[1] = index
    else runs.push([index, index])
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}

/** The indexes up to `last`, each once: a user who may write the status may write any text. */
function parseRanges(text = '', last: number): readonly number[] {
  const indexes: number[] = []
  for (const run of text.split(',').filter(Boolean)) {
    const [from = Number.NaN, to = from] = run.split('-').map(Number)
    for (let index = Math.max(from, (indexes.at(-1) ?? -1) + 1); index <= Math.min(to, last); index++)
      indexes.push(index)
  }
  return indexes
}
