import { backoffDelay } from '../../../kube/basics/backoff-delay.ts'
import type { CandidateStatus, CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { sentenceOf, type DepartResult } from '../../../departures/door/because.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import { sentenceFor } from '../model/because.ts'
import { turned } from '../decision/candidate.ts'
import { describeResource } from '../model/resource.ts'
import { writeMark, type Work, type WorkPorts } from '../work/work.ts'

const longestRetryMs = 24 * 3_600_000

/** Writes down how the door answered. */
export async function note(
  work: Work,
  ports: WorkPorts,
  candidate: CleanupCandidate,
  { result, isGone }: { readonly result: DepartResult; readonly isGone: boolean },
): Promise<void> {
  const at = ports.clock.now()
  switch (result.result) {
    case 'gone':
      if (isGone) return end(work, ports, candidate, { phase: 'Deleted', because: 'deleted', at })
      return waitForEnd(work, ports, candidate, at)
    case 'leaving':
      return waitForEnd(work, ports, candidate, at)
    case 'stale': {
      // It changed since it was judged: judged again, on what it is now.
      const status = turned(
        candidate.status,
        { phase: 'Due', because: 'changed', at },
        { scheduledTime: formatTime(at + 5000), message: sentenceFor('changed') },
      )
      await tolerating(() => writeMark(ports, work, candidate, status))
      return
    }
    case 'held': {
      const status = turned(
        candidate.status,
        { phase: 'Due', because: result.because, at },
        {
          scheduledTime: formatTime(result.until ?? at + Math.min(work.policy.intervalMs, 300_000)),
          message: sentenceOf(result),
        },
      )
      await tolerating(() => writeMark(ports, work, candidate, status))
      return
    }
    case 'refused': {
      const spared =
        result.because === 'opted-out' || result.because === 'never-expires' || result.because === 'keep-mark'
      if (result.because !== 'bond-denies')
        return end(work, ports, candidate, { phase: spared ? 'OptedOut' : 'Unmarked', because: result.because, at })
      return fail(work, ports, candidate, new Error(sentenceOf(result)))
    }
  }
}

/** The provider said no: the mark stays, and it is tried again later and later. */
export async function fail(work: Work, ports: WorkPorts, candidate: CleanupCandidate, error: unknown): Promise<void> {
  const at = ports.clock.now()
  const attempts = (candidate.status?.attempts ?? 0) + 1
  const message = (error as Error).message.slice(0, 1000)
  const status = turned(
    candidate.status,
    { phase: 'Failed', because: 'refused', at },
    {
      attempts,
      nextAttemptTime: formatTime(at + backoffDelay(attempts, { baseMs: 10_000, maxMs: longestRetryMs })),
      message,
    },
  )
  ports.metrics.turns.inc({ policy: work.policy.name, phase: 'Failed', because: 'refused' })
  ports.log.error('not deleted', {
    policy: work.policy.name,
    resource: describeResource(candidate.spec.resource),
    attempts,
    error,
  })
  await tolerating(() => writeMark(ports, work, candidate, status))
}

/** The mark has ended. */
export async function end(
  work: Work,
  ports: WorkPorts,
  candidate: CleanupCandidate,
  {
    phase,
    because,
    at,
  }: { readonly phase: NonNullable<CandidateStatus['phase']>; readonly because: string; readonly at: number },
): Promise<void> {
  const ended = { finishedAt: formatTime(at), nextAttemptTime: null, message: sentenceFor(because) }
  const written = await tolerating(() =>
    writeMark(ports, work, candidate, turned(candidate.status, { phase, because, at }, ended)),
  )
  if (!written) return
  ports.metrics.turns.inc({ policy: work.policy.name, phase, because })
  ports.log.info('mark turned', {
    policy: work.policy.name,
    resource: describeResource(candidate.spec.resource),
    phase,
    because,
  })
}

/** Somebody else wrote to this mark, or dropped it: what is true of it now, the next look will tell. */
export async function tolerating<T>(write: () => Promise<T>): Promise<T | undefined> {
  try {
    return await write()
  } catch (error) {
    if (isStatusError(error, 'Conflict', 'NotFound')) return undefined
    throw error
  }
}

/** It has been told to go and is still there: looked at again after a while. */
export async function waitForEnd(work: Work, ports: WorkPorts, candidate: CleanupCandidate, at: number): Promise<void> {
  const change = { nextAttemptTime: formatTime(at + work.policy.intervalMs), message: 'it is on its way out' }
  await tolerating(() => writeMark(ports, work, candidate, { ...candidate.status, ...change }))
}
