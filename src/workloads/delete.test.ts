import { jobs, pods } from '../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../test/world.ts'
import type { StoredObject } from '../kube/object.ts'
import { deleteTerminatedPod, deleteFinishedJob, deleteOwned } from './delete.ts'

let world: World
beforeEach(async () => void (world = await startWorld()))
afterEach(() => world[Symbol.asyncDispose]())

const at = { namespace: 'team', name: 'x' }
const container = { name: 'c', image: 'none' }
const owner = { apiVersion: 'batch/v1', kind: 'Job', name: 'j', uid: 'j' }
const pod = (controller?: boolean) =>
  world.create<StoredObject>({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...at, ...(controller === undefined ? {} : { ownerReferences: [{ ...owner, controller }] }) },
    spec: { containers: [container] },
  })
const job = (spec: object) =>
  world.create<StoredObject>({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: at,
    spec: { template: { spec: { restartPolicy: 'Never', containers: [container] } }, ...spec },
  })

describe('deletes by the controllers of workloads', () => {
  it.each([undefined, false])('keep an object without a controller: %s', async (controller) => {
    await expect(deleteOwned(world.client, pods, await pod(controller))).rejects.toThrow('Pod x has no controller')
    expect(await world.names(pods)).toEqual(['x'])
  })

  it('keep an object recreated under the same name', async () => {
    const old = await pod(true)
    await world.client.deleteObject(pods, at, { gracePeriodSeconds: 0 })
    await pod(true)
    await deleteOwned(world.client, pods, old)
    expect(await world.names(pods)).toEqual(['x'])
  })

  it('keep a Pod that is not terminating', async () => {
    await expect(deleteTerminatedPod(world.client, pods, await pod(true))).rejects.toThrow('Pod x is not terminating')
    expect(await world.names(pods)).toEqual(['x'])
  })

  it('keep a Job without ttlSecondsAfterFinished', async () => {
    await expect(deleteFinishedJob(world.client, jobs, await job({}))).rejects.toThrow(
      'Job x does not set ttlSecondsAfterFinished',
    )
    expect(await world.names(jobs)).toEqual(['x'])
  })

  it('keep a Job whose TTL is extended at the same time', async () => {
    const before = await job({ ttlSecondsAfterFinished: 0 })
    await world.client.patch(jobs, at, { type: 'merge', body: { spec: { ttlSecondsAfterFinished: 3600 } } })
    await deleteFinishedJob(world.client, jobs, before)
    expect(await world.names(jobs)).toEqual(['x'])
  })
})
