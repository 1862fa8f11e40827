import { controllerRevisions, deployments, pods, replicaSets, statefulSets } from '../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../test/world.ts'
import type { StoredObject } from '../kube/object.ts'
import { type Pod } from './types.ts'
import { workloadControllers } from './controllers/workloads.ts'

let world: World
beforeEach(async () => {
  world = await startWorld()
  for (const controller of workloadControllers(world)) world.run(controller)
})
afterEach(() => world[Symbol.asyncDispose]())

const at = { namespace: 'team', name: 'w' }

async function create(kind: 'Deployment' | 'StatefulSet', fields: object): Promise<void> {
  const labels = { app: 'w' }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'image-0' }] } }
  const spec = { selector: { matchLabels: labels }, ...fields, template }
  await world.create({ apiVersion: 'apps/v1', kind, metadata: at, spec })
  await world.pass(1000)
}

async function roll(type: typeof deployments, image: string): Promise<void> {
  const body = { spec: { template: { spec: { containers: [{ name: 'c', image }] } } } }
  await world.client.patch(type, at, { type: 'strategic', body })
  await world.pass(1000)
}

const imageIn = ({ spec }: { readonly spec?: unknown }) =>
  (spec as { readonly template: { readonly spec: Pod['spec'] } }).template.spec.containers[0]?.image ?? ''
/** The images of all former and present ReplicaSets. */
const sets = async () =>
  (await world.client.list<StoredObject>(replicaSets, { namespace: 'team' })).items.map(imageIn).toSorted()
/** The same of StatefulSets. */
const revisions = async () =>
  (await world.client.list<StoredObject>(controllerRevisions, { namespace: 'team' })).items
    .map(({ data }) => imageIn(data as { readonly spec: unknown }))
    .toSorted()

async function serve(): Promise<void> {
  const { items } = await world.client.list<Pod>(pods, { namespace: 'team' })
  const conditions = [{ type: 'Ready', status: 'True' }]
  for (const { metadata } of items)
    await world.client.patch(
      pods,
      { namespace: 'team', name: metadata.name },
      { type: 'merge', body: { status: { phase: 'Running', conditions } } },
      { subresource: 'status' },
    )
  await world.pass(1000)
}

describe('the history of a Deployment', () => {
  it('keeps the newest ReplicaSets up to revisionHistoryLimit', async () => {
    await create('Deployment', { replicas: 0, revisionHistoryLimit: 2 })
    for (const image of ['image-1', 'image-2', 'image-3', 'image-4']) await roll(deployments, image)
    expect(await sets()).toEqual(['image-2', 'image-3', 'image-4'])
  })

  it('keeps an old ReplicaSet that still has Pods', async () => {
    await create('Deployment', { replicas: 4, revisionHistoryLimit: 0 })
    await serve()
    await roll(deployments, 'image-1')
    expect(await sets()).toEqual(['image-0', 'image-1'])
  })
})

describe('the history of a StatefulSet', () => {
  it('keeps the newest revisions up to revisionHistoryLimit', async () => {
    await create('StatefulSet', { replicas: 0, serviceName: 'w', revisionHistoryLimit: 2 })
    for (const image of ['image-1', 'image-2', 'image-3', 'image-4']) await roll(statefulSets, image)
    expect(await revisions()).toEqual(['image-2', 'image-3', 'image-4'])
  })

  it('keeps an old revision that a Pod uses', async () => {
    const updateStrategy = { type: 'OnDelete' }
    await create('StatefulSet', { replicas: 1, serviceName: 'w', revisionHistoryLimit: 0, updateStrategy })
    await serve()
    for (const image of ['image-1', 'image-2']) await roll(statefulSets, image)
    await world.pass(1000)
    expect(await revisions()).toEqual(['image-0', 'image-2'])
  })
})
