import { endpointSlices, pods, services } from '../../src/kube/core-types.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import type { StoredObject } from '../../src/kube/object.ts'
import { endpointsController } from '../../src/workloads/controllers/endpoints.ts'
import { startWorld, type World } from '../world.ts'

let world: World

beforeEach(async () => {
  world = await startWorld()
  world.run(endpointsController(world))
})
afterEach(() => world[Symbol.asyncDispose]())

const addService = () =>
  world.create({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'shop', namespace: 'team' },
    spec: { selector: { app: 'shop' }, ports: [{ port: 80 }] },
  })
const setReady = async (isReady: boolean) => {
  const status = {
    podIP: '10.0.0.1',
    phase: 'Running',
    conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }],
  }
  await world.client.patch(
    pods,
    { namespace: 'team', name: 'p' },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  )
  await world.pass(1000)
}
const listed = async () =>
  (await world.client.list<StoredObject>(endpointSlices, { namespace: 'team' })).items.map((slice) => {
    const [endpoint] = (slice as unknown as { endpoints: { conditions: { ready: boolean } }[] }).endpoints
    return { owner: slice.metadata.ownerReferences?.[0]?.uid, ready: endpoint?.conditions.ready }
  })

it('lists the Pods of a recreated Service although old slices of that name are not collected yet', async () => {
  const containers = [{ name: 'c', image: 'none' }]
  await world.create({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', namespace: 'team', labels: { app: 'shop' } },
    spec: { containers },
  })
  const former = (await addService()) as StoredObject
  await setReady(false)
  expect(await listed()).toEqual([{ owner: former.metadata.uid, ready: false }])
  await world.client.deleteObject(services, { namespace: 'team', name: 'shop' })
  await world.pass(1000)
  const { metadata } = (await addService()) as StoredObject
  await setReady(true)
  expect(await listed()).toEqual([{ owner: metadata.uid, ready: true }])
})
