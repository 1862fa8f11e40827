import type { Job } from './jobs.ts'
import { isPodFinished, type Pod } from '../types.ts'

/** On a Pod of a Job until its end has been noted in the Job's status: nobody can delete it uncounted. */
export const trackingFinalizer = 'batch.kubernetes.io/job-tracking'

/** What a Job's Pods have come to, those included that are gone. */
export interface Tally {
  readonly succeeded: number
  readonly failed: number
  /** Of an indexed Job. */
  readonly completedIndexes: readonly number[]
  /** What its status has to say before any of them may go. */
  readonly status: Pick<
    NonNullable<Job['status']>,
    'succeeded' | 'failed' | 'completedIndexes' | 'uncountedTerminatedPods'
  >
  /** Whether each end is counted, and none only noted. */
  readonly isSettled: boolean
}

/**
 * Counts each end of a Pod once. First the status names it as uncounted, then the Pod may go, then it is part of the sum: cut off
 * anywhere, it is found again in the one place or the other.
 */
export function tallyOf({ spec, status = {} }: Job, owned: readonly Pod[]): Tally {
  const tracked = owned.filter(isTracked)
  const heldUids = new Set(tracked.map(({ metadata }) => metadata.uid))
  const sum = (phase: 'Succeeded' | 'Failed', counted = 0, noted: readonly string[] = []) => {
    const ended = tracked.filter((pod) => pod.status?.phase === phase).map(({ metadata }) => metadata.uid)
    const uncounted = [...new Set([...noted.filter((uid) => heldUids.has(uid)), ...ended])]
    return { counted: counted + noted.filter((uid) => !heldUids.has(uid)).length, uncounted }
  }
  const noted = status.uncountedTerminatedPods ?? {}
  const failed = sum('Failed', status.failed, noted.failed)
  const succeeded = sum('Succeeded', status.succeeded, noted.succeeded)
  const isIndexed = spec.completionMode === 'Indexed'
  const completedIndexes = isIndexed ? indexesOf(status.completedIndexes, owned) : []
  // Of an indexed Job its indexes are counted, however often one succeeded.
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
      ...(isIndexed ? { completedIndexes: ranges(completedIndexes) } : {}),
    },
    isSettled: uncounted.length + failed.uncounted.length === 0,
  }
}

export function isTracked({ metadata: { finalizers = [] } }: Pod): boolean {
  return finalizers.includes(trackingFinalizer)
}

/** Pods that may go once the status has been written: they have ended, or were told to. */
export function releasable(owned: readonly Pod[]): readonly Pod[] {
  return owned.filter((pod) => isTracked(pod) && (isPodFinished(pod) || pod.metadata.deletionTimestamp))
}

export const indexAnnotation = 'batch.kubernetes.io/job-completion-index'

export function indexOf({ metadata }: Pod): number {
  return Number(metadata.annotations?.[indexAnnotation] ?? Number.NaN)
}

/** In their order, each once. */
function indexesOf(written: string | undefined, owned: readonly Pod[]): readonly number[] {
  const completed = owned.filter(({ status }) => status?.phase === 'Succeeded').map(indexOf)
  const all = new Set([...parseRanges(written), ...completed])
  return [...all].filter(Number.isInteger).toSorted((left, right) => left - right)
}

/** `0-2,5`, as a Job's status has it. */
function ranges(indexes: readonly number[]): string {
  const runs: [number, number][] = []
  for (const index of indexes) {
    const last = runs.at(-1)
    if (last && last[1] === index - 1) last[1] = index
    else runs.push([index, index])
  }
  return runs.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(',')
}

function parseRanges(text = ''): readonly number[] {
  return text
    .split(',')
    .filter(Boolean)
    .flatMap((run) => {
      const [from = Number.NaN, to = from] = run.split('-').map(Number)
      return Array.from({ length: to - from + 1 || 0 }, (_, index) => from + index)
    })
}
