import { describe, expect, it } from 'vitest'
import { planJob, type Job } from './jobs.ts'
import type { Pod } from '../types.ts'

const now = Date.parse('2026-01-01T01:00:00Z')
const metadata = { name: 'x', uid: 'x', resourceVersion: '1', creationTimestamp: '2026-01-01T00:00:00Z' }

function job(spec: Partial<Job['spec']> = {}): Job {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata,
    spec: { template: { spec: { containers: [] } }, ...spec },
    status: { startTime: '2026-01-01T00:59:00Z' },
  }
}

function pods(...phases: readonly ('Pending' | 'Running' | 'Succeeded' | 'Failed')[]): Pod[] {
  return phases.map((phase, index) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...metadata, uid: `${index}`, finalizers: ['batch.kubernetes.io/job-tracking'] },
    spec: { containers: [] },
    status: { phase },
  }))
}

const [running] = pods('Running') as [Pod]
const ending = { ...running, metadata: { ...running.metadata, deletionTimestamp: '2026-01-01T00:59:30Z' } }

describe('planJob', () => {
  it.each<[string, Job, Pod[], object]>([
    ['starts its first Pod', job(), [], { do: 'start', count: 1 }],
    ['waits while it runs', job(), pods('Running'), { do: 'wait' }],
    ['is complete when its Pod succeeded', job(), pods('Succeeded'), { do: 'finish', as: 'Complete' }],
    [
      'starts as many at once as it may',
      job({ completions: 5, parallelism: 2 }),
      pods('Succeeded'),
      { do: 'start', count: 2 },
    ],
    [
      'starts no more than it needs',
      job({ completions: 2, parallelism: 5 }),
      pods('Succeeded'),
      { do: 'start', count: 1 },
    ],
    [
      'fails after too many failures',
      job({ backoffLimit: 1 }),
      pods('Failed', 'Failed'),
      { do: 'finish', as: 'Failed', reason: 'BackoffLimitExceeded' },
    ],
    ['tries again before that', job({ backoffLimit: 2 }), pods('Failed', 'Failed'), { do: 'start', count: 1 }],
    [
      'fails when it takes too long',
      job({ activeDeadlineSeconds: 60 }),
      pods('Running'),
      { do: 'finish', as: 'Failed', reason: 'DeadlineExceeded' },
    ],
    ['waits until that time', job({ activeDeadlineSeconds: 90 }), pods('Running'), { do: 'wait', until: now + 30_000 }],
    ['replaces a Pod that is ending', job(), [ending], { do: 'start', count: 1 }],
    ['waits for its end, if the Job asks for that', job({ podReplacementPolicy: 'Failed' }), [ending], { do: 'wait' }],
    [
      'starts few of very many Pods at a time',
      job({ completions: 2 ** 31 - 1, parallelism: 2 ** 31 - 1, completionMode: 'Indexed' }),
      [],
      { do: 'start', count: 200 },
    ],
    [
      'reads no more of its status than it can have completed',
      {
        ...job({ completions: 5, parallelism: 5, completionMode: 'Indexed' }),
        status: { completedIndexes: '0-2147483647,'.repeat(1000) },
      },
      [],
      { do: 'finish', as: 'Complete' },
    ],
    ['stops while suspended', job({ suspend: true }), pods('Running'), { do: 'suspend' }],
  ])('%s', (_, given, owned, expected) => expect(planJob(given, owned, now)).toMatchObject(expected))
})

describe('a Job whose finished Pods are deleted', () => {
  const uncounted = (succeeded: readonly string[], failed: readonly string[] = []) => ({
    uncountedTerminatedPods: { succeeded, failed },
  })
  const after = (status: Job['status'], spec: Partial<Job['spec']> = {}): Job => ({
    ...job(spec),
    status: { ...status },
  })

  it.each<[string, Job, Pod[], object]>([
    ['counts what was counted before', after({ succeeded: 2 }, { completions: 3 }), [], { do: 'start', count: 1 }],
    [
      'counts what was noted, and went before it was part of the sum',
      after({ succeeded: 1, ...uncounted(['gone']) }, { completions: 3 }),
      [],
      { do: 'start', count: 1 },
    ],
    [
      'counts a Pod once that was noted and is still there',
      after({ succeeded: 1, ...uncounted(['0']) }, { completions: 3 }),
      pods('Succeeded'),
      { do: 'start', count: 1 },
    ],
    [
      'forgets no failure',
      after({ failed: 1, ...uncounted([], ['gone']) }, { backoffLimit: 1 }),
      [],
      { do: 'finish', as: 'Failed' },
    ],
    [
      'starts no index again that was completed',
      after({ completedIndexes: '0-1,3' }, { completions: 5, parallelism: 5, completionMode: 'Indexed' }),
      [],
      { do: 'start', count: 2, indexes: [2, 4] },
    ],
  ])('%s', (_, given, owned, expected) => expect(planJob(given, owned, now)).toMatchObject(expected))
})
