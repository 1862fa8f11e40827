import { afterEach, beforeEach, expect, it } from 'vitest'
import { startWorld, type World } from '../../test/world.ts'
import { Client } from '../client/client.ts'
import { deployments, pods, replicaSets } from '../kube/core-types.ts'
import type { StoredObject } from '../kube/object.ts'
import type { Transport } from '../kube/transport.ts'
import { workloadControllers } from './controllers/workloads.ts'

let world: World
beforeEach(async () => void (world = await startWorld()))
afterEach(() => world[Symbol.asyncDispose]())

it('rolls out what was written before a start, though lists of what is owned come last', async () => {
  const labels = { app: 'w' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'image' }] } }
  const spec = { replicas: 2, selector: { matchLabels: labels }, template }
  await world.create({ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace: 'team', name: 'w' }, spec })
  const { promise: late, resolve: arrive } = Promise.withResolvers<void>()
  const slow: Transport = async (request) => {
    if (request.method === 'GET' && /\/(?:replicasets|pods)$/.test(request.path)) await late
    return world.client.request(request) as ReturnType<Transport>
  }
  const client = new Client(slow)
  for (const controller of workloadControllers({ ...world, client })) world.run(controller)
  await world.pass(1000)
  arrive()
  await world.pass(1000)
  expect((await world.client.list<StoredObject>(replicaSets, { namespace: 'team' })).items).toHaveLength(1)
  expect((await world.client.list(pods, { namespace: 'team' })).items).toHaveLength(2)
  expect((await world.client.get<StoredObject>(deployments, { namespace: 'team', name: 'w' })).status).toMatchObject({
    replicas: 2,
  })
})
