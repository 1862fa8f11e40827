import { cronJobs, jobs } from '../../src/kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredObject } from '../../src/kube/object.ts'
import { formatTime } from '../../src/kube/time.ts'
import { cronJobController } from '../../src/workloads/controllers/cron-jobs.ts'
import { startWorld, type World } from '../world.ts'

let world: World
const minute = 60_000

beforeEach(async () => {
  world = await startWorld()
  world.run(cronJobController(world))
})
afterEach(() => world[Symbol.asyncDispose]())

const at = { namespace: 'team', name: 'c' }

/** Every five minutes, from 08:00. */
async function schedule(spec: Record<string, unknown> = {}): Promise<void> {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'none' }] } }
  await world.create({
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: at,
    spec: { schedule: '*/5 * * * *', jobTemplate: { spec: { template } }, ...spec },
  })
  await world.pass(1000)
}

const started = () => world.names(jobs)
const status = async () =>
  (
    await world.client.get<
      StoredObject & {
        status?: { active?: { name: string }[]; lastScheduleTime?: string; lastSuccessfulTime?: string }
      }
    >(cronJobs, at)
  ).status

/** Ends a Job as its controller would. */
async function end(name: string, type: 'Complete' | 'Failed'): Promise<void> {
  const now = formatTime(world.clock.now())
  const first = type === 'Complete' ? 'SuccessCriteriaMet' : 'FailureTarget'
  const condition = { status: 'True', lastProbeTime: now, lastTransitionTime: now, reason: 'x', message: '' }
  const conditions = [first, type].map((each) => ({ type: each, ...condition }))
  const ended = { startTime: now, conditions, ...(type === 'Complete' ? { completionTime: now, succeeded: 1 } : {}) }
  const body = { status: { ...ended, uncountedTerminatedPods: {} } }
  await world.client.patch(jobs, { namespace: 'team', name }, { type: 'merge', body }, { subresource: 'status' })
  await world.pass(10)
}

describe('a CronJob', () => {
  it('runs at an interval', async () => {
    await schedule({ schedule: '@every 2m' })
    await world.pass(2 * minute)
    expect(await started()).toHaveLength(1)
    await world.pass(4 * minute)
    expect(await started()).toHaveLength(3)
  })

  it('starts a Job on schedule, and reports active and successful runs', async () => {
    await schedule()
    expect(await started()).toEqual([])
    await world.pass(5 * minute)
    const [job = ''] = await started()
    expect(await status()).toMatchObject({ active: [{ name: job }], lastScheduleTime: '2026-01-05T08:05:00Z' })
    await end(job, 'Complete')
    const after = await status()
    expect([after?.active ?? [], after?.lastSuccessfulTime]).toEqual([[], expect.stringMatching(/^2026-01-05T08:05/)])
  })

  it('keeps the newest finished Jobs up to the history limits', async () => {
    await schedule({ successfulJobsHistoryLimit: 1, failedJobsHistoryLimit: 2 })
    const ended: string[] = []
    for (const outcome of ['Complete', 'Failed', 'Complete', 'Complete', 'Failed', 'Failed'] as const) {
      await world.pass(5 * minute)
      const running = (await status())?.active?.[0]?.name ?? ''
      ended.push(running)
      await end(running, outcome)
    }
    expect(await started()).toEqual(ended.slice(3))
  })

  it.each([
    ['Allow', 3],
    ['Forbid', 1],
    ['Replace', 1],
  ])('with a running Job follows its concurrency policy: %s', async (concurrencyPolicy, running) => {
    await schedule({ concurrencyPolicy })
    await world.pass(5 * minute)
    const [first] = await started()
    await world.pass(10 * minute)
    const names = await started()
    expect(names).toHaveLength(running)
    expect(names.includes(first ?? '')).toBe(concurrencyPolicy !== 'Replace')
  })

  it('starts nothing while it is suspended, and then one Job for all missed runs', async () => {
    await schedule({ suspend: true })
    await world.pass(60 * minute)
    expect(await started()).toEqual([])
    await world.client.patch(cronJobs, at, { type: 'merge', body: { spec: { suspend: false } } })
    await world.pass(1000)
    expect(await started()).toHaveLength(1)
  })

  it('skips runs missed for longer than startingDeadlineSeconds', async () => {
    await schedule({ suspend: true, startingDeadlineSeconds: 30 })
    await world.pass(62 * minute)
    await world.client.patch(cronJobs, at, { type: 'merge', body: { spec: { suspend: false } } })
    await world.pass(1000)
    expect(await started()).toEqual([])
  })
})
