import { jobs, pods } from '../../src/kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredObject } from '../../src/kube/object.ts'
import { formatTime } from '../../src/kube/time.ts'
import { jobController } from '../../src/workloads/controllers/jobs.ts'
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
  it('does not delete its running Pods', async () => {
    await begin('a')
    const [pod = ''] = await podsOf('a')
    await becomes(pod, 'Running')
    await world.pass(60_000)
    expect(await podsOf('a')).toEqual([pod])
  })

  it('that is suspended deletes running Pods, keeps finished ones, and affects no other Job', async () => {
    await begin('a', { completions: 3, parallelism: 2 })
    await begin('b')
    const [done = '', running = ''] = await podsOf('a')
    const others = await podsOf('b')
    await becomes(running, 'Running')
    await becomes(done, 'Succeeded')
    await suspend('a')
    expect([await podsOf('a'), await podsOf('b')]).toEqual([[done], others])
  })

  it('that is complete keeps its finished Pods', async () => {
    await begin('a')
    const [pod = ''] = await podsOf('a')
    await becomes(pod, 'Succeeded')
    await world.pass(60_000)
    expect([await world.names(jobs), await podsOf('a')]).toEqual([['a'], [pod]])
  })

  it('is deleted when ttlSecondsAfterFinished is over, and not before', async () => {
    await begin('a', { ttlSecondsAfterFinished: 60 })
    await begin('b')
    for (const name of ['a', 'b']) await becomes((await podsOf(name))[0] ?? '', 'Succeeded')
    await world.pass(50_000)
    expect(await world.names(jobs)).toEqual(['a', 'b'])
    await world.pass(20_000)
    expect(await world.names(jobs)).toEqual(['b'])
  })

  it('counts every finished Pod once, even if Pods are deleted as soon as they finish', async () => {
    await begin('a', { completions: 3 })
    for (let ended = 1; ended <= 3; ended++) {
      const [pod = ''] = await podsOf('a')
      await becomes(pod, 'Succeeded')
      await world.client.deleteObject(pods, { namespace: 'team', name: pod })
      await world.pass(1000)
      expect(await podsOf('a')).not.toContain(pod)
      const { status } = await world.client.get(jobs, { namespace: 'team', name: 'a' })
      expect(status).toMatchObject({ succeeded: ended, uncountedTerminatedPods: {} })
    }
    await world.pass(60_000)
    expect(await podsOf('a')).toEqual([])
    const { status } = await world.client.get(jobs, { namespace: 'team', name: 'a' })
    expect((status as { conditions: { type: string }[] }).conditions.at(-1)?.type).toBe('Complete')
  })

  it('counts a Pod that was deleted before the controller saw it finish', async () => {
    await begin('a', { completions: 2 })
    const [pod = ''] = await podsOf('a')
    const place = { namespace: 'team', name: pod }
    // It was told to go while it ran, and ended well all the same.
    const body = { status: { phase: 'Succeeded' } }
    await world.client.patch(pods, place, { type: 'merge', body }, { subresource: 'status' })
    await world.client.deleteObject(pods, place)
    await world.pass(1000)
    const { status } = await world.client.get(jobs, { namespace: 'team', name: 'a' })
    expect(status).toMatchObject({ succeeded: 1 })
    expect(await podsOf('a')).not.toContain(pod)
  })

  it('removes the finalizers of Pods when it is deleted, and of Pods it no longer owns', async () => {
    await begin('a')
    await begin('b')
    const [orphan = ''] = await podsOf('b')
    await world.client.deleteObject(jobs, { namespace: 'team', name: 'a' }, { propagationPolicy: 'Background' })
    const labels = { 'batch.kubernetes.io/controller-uid': 'another' }
    const body = { metadata: { ownerReferences: null, labels } }
    await world.client.patch(pods, { namespace: 'team', name: orphan }, { type: 'merge', body })
    await world.pass(60_000)
    const { items } = await world.client.list<StoredObject>(pods, { namespace: 'team' })
    const held = items.filter(({ metadata }) => metadata.finalizers?.length).map(({ metadata }) => metadata.name)
    // Another one has come in its place.
    expect(held).toEqual((await podsOf('b')).filter((name) => name !== orphan))
    expect(items.map(({ metadata }) => metadata.name)).toEqual(expect.arrayContaining([orphan, ...(await podsOf('a'))]))
  })
})
