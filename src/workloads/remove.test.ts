import { jobs, pods } from '../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../test/world.ts'
import type { StoredObject } from '../kube/object.ts'
import { confirmGone, removeFinishedJob, removeOwned } from './remove.ts'

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

describe('the mechanics of a cluster', () => {
  it.each([undefined, false])('never take away what no controller owns: %s', async (controller) => {
    await expect(removeOwned(world.client, pods, await pod(controller))).rejects.toThrow('Pod x has no controller')
    expect(await world.names(pods)).toEqual(['x'])
  })

  it('leave what was made anew under the name', async () => {
    const old = await pod(true)
    await world.client.deleteObject(pods, at, { gracePeriodSeconds: 0 })
    await pod(true)
    await removeOwned(world.client, pods, old)
    expect(await world.names(pods)).toEqual(['x'])
  })

  it('confirm the end of no Pod that was not told to end', async () => {
    await expect(confirmGone(world.client, pods, await pod(true))).rejects.toThrow('Pod x is not terminating')
    expect(await world.names(pods)).toEqual(['x'])
  })

  it('keep a Job that does not ask to go', async () => {
    await expect(removeFinishedJob(world.client, jobs, await job({}))).rejects.toThrow('Job x asks to be kept')
    expect(await world.names(jobs)).toEqual(['x'])
  })

  it('keep a Job that asks for more time in that moment', async () => {
    const before = await job({ ttlSecondsAfterFinished: 0 })
    await world.client.patch(jobs, at, { type: 'merge', body: { spec: { ttlSecondsAfterFinished: 3600 } } })
    await removeFinishedJob(world.client, jobs, before)
    expect(await world.names(jobs)).toEqual(['x'])
  })
})
