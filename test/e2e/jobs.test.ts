import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredObject } from '../../src/kube/object.ts'
import { formatTime } from '../../src/kube/time.ts'
import { jobController } from '../../src/workloads/jobs.ts'
import { jobs, pods } from '../../src/workloads/types.ts'
import { startWorld, type World } from '../world.ts'

let world: World

beforeEach(async () => {
  world = await startWorld()
  world.run(jobController(world))
})
afterEach(() => world[Symbol.asyncDispose]())

async function begin(name: string, spec: Record<string, unknown> = {}): Promise<void> {
  const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'none' }] } }
  await world.create({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'team' },
    spec: { template, ...spec },
  })
  await world.pass(1000)
}

async function podsOf(job: string): Promise<readonly string[]> {
  const where = { namespace: 'team', labelSelector: `job-name=${job}` }
  return (await world.client.list<StoredObject>(pods, where)).items.map(({ metadata }) => metadata.name).toSorted()
}

/** Says of a Pod what its node would. */
async function becomes(name: string, phase: 'Running' | 'Succeeded'): Promise<void> {
  const at = formatTime(world.clock.now())
  const state = phase === 'Running' ? { running: { startedAt: at } } : { terminated: { exitCode: 0, finishedAt: at } }
  const body = {
    status: { phase, containerStatuses: [{ name: 'c', image: '', imageID: '', ready: false, restartCount: 0, state }] },
  }
  await world.client.patch(pods, { namespace: 'team', name }, { type: 'merge', body }, { subresource: 'status' })
  await world.pass(1000)
}

const suspend = async (name: string) => {
  await world.client.patch(jobs, { namespace: 'team', name }, { type: 'merge', body: { spec: { suspend: true } } })
  await world.pass(1000)
}

describe('a Job', () => {
  it('leaves its Pods alone while they run', async () => {
    await begin('a')
    const [pod = ''] = await podsOf('a')
    await becomes(pod, 'Running')
    await world.pass(60_000)
    expect(await podsOf('a')).toEqual([pod])
  })

  it('that is suspended ends what runs, keeps what has finished, and touches no other Job', async () => {
    await begin('a', { completions: 3, parallelism: 2 })
    await begin('b')
    const [done = '', running = ''] = await podsOf('a')
    const others = await podsOf('b')
    await becomes(running, 'Running')
    await becomes(done, 'Succeeded')
    await suspend('a')
    expect([await podsOf('a'), await podsOf('b')]).toEqual([[done], others])
  })

  it('that is complete keeps the Pods that tell of it', async () => {
    await begin('a')
    const [pod = ''] = await podsOf('a')
    await becomes(pod, 'Succeeded')
    await world.pass(60_000)
    expect([await world.names(jobs), await podsOf('a')]).toEqual([['a'], [pod]])
  })

  it('goes when its time after finishing is over, and not before', async () => {
    await begin('a', { ttlSecondsAfterFinished: 60 })
    await begin('b')
    for (const name of ['a', 'b']) await becomes((await podsOf(name))[0] ?? '', 'Succeeded')
    await world.pass(50_000)
    expect(await world.names(jobs)).toEqual(['a', 'b'])
    await world.pass(20_000)
    expect(await world.names(jobs)).toEqual(['b'])
  })
})
