import type { CandidatePhase, CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { sentenceOf, type DepartResult } from '../../../departures/door/because.ts'
import { backoffDelay } from '../../../kube/basics/backoff-delay.ts'
import { formatTime } from '../../../kube/time.ts'
import { sentenceFor } from '../model/because.ts'
import { withPhase } from '../decision/candidate.ts'
import { isOptOut } from '../decision/decide.ts'
import { describeResource } from '../model/resource.ts'
import { reportPhase, tryWriteMark, type Work } from '../work/work.ts'

const maxRetryMs = 24 * 3_600_000

/** Records the door's answer in the mark. */
export async function recordResult(
  work: Work,
  candidate: CleanupCandidate,
  { result, isGone }: { readonly result: DepartResult; readonly isGone: boolean },
): Promise<void> {
  const at = work.ports.clock.now()
  switch (result.result) {
    case 'gone':
      if (isGone) return endMark(work, candidate, { phase: 'Deleted', because: 'deleted', at })
      return awaitDeletion(work, candidate, at)
    case 'leaving':
      return awaitDeletion(work, candidate, at)
    case 'stale':
      // The resource changed since it was judged: it is judged again as it is now.
      return retryAt(work, candidate, { because: 'changed', at, until: at + 5000, message: sentenceFor('changed') })
    case 'held': {
      const until = result.until ?? at + Math.min(work.policy.intervalMs, 300_000)
      return retryAt(work, candidate, { because: result.because, at, until, message: sentenceOf(result) })
    }
    case 'refused': {
      const { because } = result
      if (because === 'bond-denies') return recordFailure(work, candidate, new Error(sentenceOf(result)))
      return endMark(work, candidate, { phase: isOptOut(because) ? 'OptedOut' : 'Unmarked', because, at })
    }
  }
}

/** Records that the deletion failed. The mark stays, and the deletion is retried with increasing delays. */
export async function recordFailure(work: Work, candidate: CleanupCandidate, error: unknown): Promise<void> {
  const { policy, ports } = work
  const at = ports.clock.now()
  const attempts = (candidate.status?.attempts ?? 0) + 1
  const message = (error as Error).message.slice(0, 1000)
  const nextAttemptTime = formatTime(at + backoffDelay(attempts, { baseMs: 10_000, maxMs: maxRetryMs }))
  ports.metrics.phaseChanges.inc({ policy: policy.name, phase: 'Failed', because: 'refused' })
  ports.log.error('deletion failed', {
    policy: policy.name,
    resource: describeResource(candidate.spec.resource),
    attempts,
    error,
  })
  const change = { phase: 'Failed', because: 'refused', at } as const
  await tryWriteMark(work, candidate, withPhase(candidate.status, change, { attempts, nextAttemptTime, message }))
}

/** Records that the mark has ended. */
export async function endMark(
  work: Work,
  candidate: CleanupCandidate,
  change: { readonly phase: CandidatePhase; readonly because: string; readonly at: number },
): Promise<void> {
  const ended = {
    finishedAt: formatTime(change.at),
    nextAttemptTime: null,
    message: sentenceFor(change.because),
  }
  if (await tryWriteMark(work, candidate, withPhase(candidate.status, change, ended)))
    reportPhase(work, candidate, change)
}

/** Records that the resource was told to go but still exists, for instance because of a finalizer. */
export async function awaitDeletion(work: Work, candidate: CleanupCandidate, at: number): Promise<void> {
  const nextAttemptTime = formatTime(at + work.policy.intervalMs)
  const message = 'deletion was requested; waiting until the resource is gone'
  await tryWriteMark(work, candidate, { ...candidate.status, nextAttemptTime, message })
}

/** Puts the deletion off until a time. */
async function retryAt(
  work: Work,
  candidate: CleanupCandidate,
  {
    because,
    at,
    until,
    message,
  }: { readonly because: string; readonly at: number; readonly until: number; readonly message: string },
): Promise<void> {
  const change = { scheduledTime: formatTime(until), message }
  await tryWriteMark(work, candidate, withPhase(candidate.status, { phase: 'Due', because, at }, change))
}
