import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { describeRef, refOf, type KubeObject, type ObjectMeta, type StoredObject } from '../../kube/object.ts'
import { contentsOf, restorable } from './contents.ts'

let world: World
beforeEach(async () => {
  world = await startWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

type Given = Omit<Partial<KubeObject>, 'metadata'> & { readonly metadata?: ObjectMeta }

function create(apiVersion: string, kind: string, name: string, { metadata, ...rest }: Given = {}) {
  return world.create<StoredObject>({ apiVersion, kind, metadata: { ...metadata, name, namespace: 'team' }, ...rest })
}

const controlledBy = (apiVersion: string, kind: string) => ({
  ownerReferences: [{ apiVersion, kind, name: 'x', uid: 'u1', controller: true }],
})

const contents = (metadataOnly = false) => contentsOf(world.client, 'team', { metadataOnly })
const named = async (objects: AsyncIterable<KubeObject>) =>
  (await Array.fromAsync(objects)).map((object) => describeRef(refOf(object))).toSorted()

describe('what a namespace holds', () => {
  it('is every object in it, each once, however many versions its kind has, and nothing of other namespaces', async () => {
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'x' }
    await create('autoscaling/v2', 'HorizontalPodAutoscaler', 'scaler', { spec: { maxReplicas: 2, scaleTargetRef } })
    await create('v1', 'ConfigMap', 'settings')
    await world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'other', namespace: 'default' } })
    for (const metadataOnly of [false, true])
      expect(await named(contents(metadataOnly))).toEqual([
        'ConfigMap/team/kube-root-ca.crt',
        'ConfigMap/team/settings',
        'HorizontalPodAutoscaler/team/scaler',
        'ServiceAccount/team/default',
      ])
  })

  it('is nothing that is derived from other objects: Events, Leases, Endpoints, records', async () => {
    const spec = { object: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'u', resourceVersion: '1' } }
    const why = { because: 'test', by: { system: 'cleaner' }, recordedAt: '2026-01-01T00:00:00Z' }
    await create('sojourn.dev/v1alpha1', 'Departure', 'record', { spec: { ...spec, ...why } })
    await create('coordination.k8s.io/v1', 'Lease', 'turn')
    await create('v1', 'Endpoints', 'addresses')
    const about = { involvedObject: { kind: 'ConfigMap', namespace: 'team', name: 'a' }, reason: 'Seen' }
    await create('v1', 'Event', 'news', about as Given)
    expect(await named(contents())).toEqual(['ConfigMap/team/kube-root-ca.crt', 'ServiceAccount/team/default'])
  })
})

describe('what a restore will need of it', () => {
  it('is nothing that the cluster recreates by itself', async () => {
    await create('v1', 'ConfigMap', 'of-a-deployment', { metadata: controlledBy('apps/v1', 'Deployment') })
    await create('v1', 'ConfigMap', 'of-a-job', { metadata: controlledBy('batch/v1', 'Job') })
    await create('v1', 'ConfigMap', 'settings')
    expect(await named(restorable(contents()))).toEqual(['ConfigMap/team/settings'])
  })

  it('is what a custom controller made, and what only names an owner: nothing may recreate them', async () => {
    await create('v1', 'ConfigMap', 'of-an-operator', { metadata: controlledBy('shop.example.io/v1', 'Shop') })
    const [owner] = controlledBy('apps/v1', 'Deployment').ownerReferences
    await create('v1', 'ConfigMap', 'owned', { metadata: { ownerReferences: [{ ...owner!, controller: false }] } })
    expect(await named(restorable(contents()))).toEqual(['ConfigMap/team/of-an-operator', 'ConfigMap/team/owned'])
  })
})
