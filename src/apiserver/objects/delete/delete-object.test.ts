import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestObjects, type TestObjects } from '../../../../test/apiserver/test-objects.ts'

describe('delete', () => {
  let world: TestObjects
  beforeEach(async () => {
    world = await openTestObjects()
  })
  afterEach(() => world.close())

  it('removes what nothing holds, and says which it was', async () => {
    const object = await world.create('v1/configmaps', { metadata: { name: 'a' } })
    const watch = world.watch('v1/configmaps', { resourceVersion: object.metadata.resourceVersion })
    expect(await world.delete('v1/configmaps', 'a')).toMatchObject({
      code: 200,
      status: { status: 'Success', details: { name: 'a', kind: 'configmaps', uid: object.metadata.uid } },
    })
    await world.settle()
    expect(watch.story).toEqual(['DELETED a'])
    expect(watch.events[0]?.object.metadata.resourceVersion).toBe(String(world.store.revision))
    await expect(world.delete('v1/configmaps', 'a')).rejects.toMatchObject({ code: 404 })
  })

  it('marks what a finalizer holds, once', async () => {
    await world.create('apps/v1/deployments', { ...deployment, metadata: { name: 'd', finalizers: ['x.dev/hold'] } })
    const { document } = await world.delete('apps/v1/deployments', 'd')
    expect(document?.object.metadata).toMatchObject({
      deletionTimestamp: '2023-11-14T22:13:20Z',
      deletionGracePeriodSeconds: 0,
      generation: 2,
      finalizers: ['x.dev/hold'],
    })
    world.clock.advance(5000)
    const again = await world.delete('apps/v1/deployments', 'd')
    expect(again.document?.object).toEqual(document?.object)
  })

  it.each([
    [{ uid: 'other' }, 'the UID in the precondition (other) does not match the UID in record'],
    [
      { resourceVersion: '1' },
      'the ResourceVersion in the precondition (1) does not match the ResourceVersion in record',
    ],
  ])('keeps an object that is not the one meant by %o', async (preconditions, message) => {
    await world.create('v1/configmaps', { metadata: { name: 'a' } })
    await expect(world.delete('v1/configmaps', 'a', { body: { preconditions } })).rejects.toMatchObject({
      code: 409,
      message: expect.stringContaining(message),
    })
    expect(await world.get('v1/configmaps', 'a')).toBeDefined()
  })

  it('removes exactly the object meant', async () => {
    const { metadata } = await world.create('v1/configmaps', { metadata: { name: 'a' } })
    const { uid, resourceVersion } = metadata
    await world.delete('v1/configmaps', 'a', { body: { preconditions: { uid, resourceVersion } } })
    await expect(world.get('v1/configmaps', 'a')).rejects.toMatchObject({ code: 404 })
  })

  it.each([
    ['Foreground', [], ['foregroundDeletion']],
    ['Orphan', [], ['orphan']],
    ['Background', [], undefined],
    [undefined, [], undefined],
    ['Background', ['orphan'], undefined],
    ['Background', ['foregroundDeletion'], undefined],
    ['Orphan', ['foregroundDeletion'], ['orphan']],
    [undefined, ['foregroundDeletion'], ['foregroundDeletion']],
    [undefined, ['orphan'], ['orphan']],
    ['Foreground', ['x.dev/own', 'orphan'], ['x.dev/own', 'foregroundDeletion']],
  ])('with %s on finalizers %j leaves %j', async (propagationPolicy, finalizers, expected) => {
    await world.create('v1/configmaps', { metadata: { name: 'a', finalizers } })
    const { document } = await world.delete('v1/configmaps', 'a', {
      body: propagationPolicy ? { propagationPolicy } : {},
    })
    expect(document?.object.metadata.finalizers).toEqual(expected)
    const attempt = world.get('v1/configmaps', 'a')
    if (expected) expect((await attempt).metadata.finalizers).toEqual(expected)
    else await expect(attempt).rejects.toMatchObject({ code: 404 })
  })

  it('leaves the pods of a Job unless told otherwise', async () => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } }
    await world.create('batch/v1/jobs', { metadata: { name: 'j' }, spec: { template } })
    const { document } = await world.delete('batch/v1/jobs', 'j')
    expect(document?.object.metadata.finalizers).toEqual(['orphan'])
  })

  it('lets a background delete end a hanging foreground one', async () => {
    await world.create('v1/configmaps', { metadata: { name: 'a' } })
    await world.delete('v1/configmaps', 'a', { query: { propagationPolicy: 'Foreground' } })
    expect(await world.get('v1/configmaps', 'a')).toBeDefined()
    await world.delete('v1/configmaps', 'a', { query: { propagationPolicy: 'Background' } })
    await expect(world.get('v1/configmaps', 'a')).rejects.toMatchObject({ code: 404 })
  })

  it.each([
    [{ propagationPolicy: 'Sideways' }, 422, 'propagationPolicy: Unsupported value: "Sideways"'],
    [
      { propagationPolicy: 'Orphan', orphanDependents: true },
      422,
      'orphanDependents and deletionPropagation cannot be both set',
    ],
    [{ dryRun: ['Some'] }, 422, 'dryRun: Unsupported value: ["Some"]'],
    [{ gracePeriodSeconds: 'soon' }, 400, 'json: cannot unmarshal string'],
    ['now', 400, 'must be DeleteOptions'],
    [{ kind: 'Pod' }, 400, 'no kind "Pod" is registered'],
  ])('refuses the options %j', async (body, code, message) => {
    await world.create('v1/configmaps', { metadata: { name: 'a' } })
    const attempt = world.delete('v1/configmaps', 'a', { body })
    await expect(attempt).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
    expect(await world.get('v1/configmaps', 'a')).toBeDefined()
  })

  it('answers 202 to the old way of saying background while the object stays', async () => {
    await world.create('v1/configmaps', { metadata: { name: 'a', finalizers: ['x.dev/hold'] } })
    expect(await world.delete('v1/configmaps', 'a', { body: { orphanDependents: false } })).toMatchObject({ code: 202 })
  })

  it('only says what it would do on a dry run', async () => {
    await world.create('v1/configmaps', { metadata: { name: 'a', finalizers: ['x.dev/hold'] } })
    const { document } = await world.delete('v1/configmaps', 'a', { body: { dryRun: ['All'] } })
    expect(document?.object.metadata.deletionTimestamp).toBeDefined()
    await world.create('v1/configmaps', { metadata: { name: 'b' } })
    await world.delete('v1/configmaps', 'b', { query: { dryRun: ['All'] } })
    const { items } = await world.list('v1/configmaps')
    expect(items.map(({ metadata }) => [metadata.name, metadata.deletionTimestamp])).toEqual([
      ['a', undefined],
      ['b', undefined],
    ])
  })

  describe('of a pod', () => {
    const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }], nodeName: 'n' } }

    it('gives a scheduled one time to end, and can only shorten it', async () => {
      await world.create('v1/pods', pod)
      const { document } = await world.delete('v1/pods', 'p')
      expect(document?.object.metadata).toMatchObject({
        deletionTimestamp: '2023-11-14T22:13:50Z',
        deletionGracePeriodSeconds: 30,
      })
      const longer = await world.delete('v1/pods', 'p', { body: { gracePeriodSeconds: 60 } })
      expect(longer.document?.object.metadata.deletionGracePeriodSeconds).toBe(30)
      const shorter = await world.delete('v1/pods', 'p', { body: { gracePeriodSeconds: 5 } })
      expect(shorter.document?.object.metadata).toMatchObject({
        deletionTimestamp: '2023-11-14T22:13:25Z',
        deletionGracePeriodSeconds: 5,
      })
      await world.delete('v1/pods', 'p', { body: { gracePeriodSeconds: 0 } })
      await expect(world.get('v1/pods', 'p')).rejects.toMatchObject({ code: 404 })
    })

    it('removes one whose time is long up when its node says that it has ended', async () => {
      await world.create('v1/pods', pod)
      await world.delete('v1/pods', 'p')
      world.clock.advance(3_600_000)
      await world.delete('v1/pods', 'p', { body: { gracePeriodSeconds: 0 } })
      await expect(world.get('v1/pods', 'p')).rejects.toMatchObject({ code: 404 })
    })

    it('removes one that never ran or has ended at once', async () => {
      const { nodeName: _node, ...spec } = pod.spec
      await world.create('v1/pods', { ...pod, spec })
      await world.delete('v1/pods', 'p')
      await world.create('v1/pods', pod)
      await world.merge('v1/pods', 'p', { status: { phase: 'Succeeded' } }, { subresource: 'status' })
      await world.delete('v1/pods', 'p')
      expect((await world.list('v1/pods')).names).toEqual([])
    })

    it('is not removed by an update while it has time to end', async () => {
      await world.create('v1/pods', pod)
      await world.delete('v1/pods', 'p')
      await world.merge('v1/pods', 'p', { metadata: { labels: { x: 'y' } } })
      expect(await world.get('v1/pods', 'p')).toBeDefined()
    })
  })

  describe('where objects need others', () => {
    it('adds the cascade finalizer last, and an update without finalizers ends it', async () => {
      const krake = await openTestObjects({ cascades: ({ metadata }) => metadata.labels?.['needed'] === 'yes' })
      await krake.create('v1/configmaps', {
        metadata: { name: 'a', labels: { needed: 'yes' }, finalizers: ['x.dev/own'] },
      })
      const { document } = await krake.delete('v1/configmaps', 'a')
      expect(document?.object.metadata.finalizers).toEqual(['x.dev/own', 'cascade_deletion'])
      await krake.merge('v1/configmaps', 'a', { metadata: { finalizers: ['x.dev/own'] } })
      const again = await krake.delete('v1/configmaps', 'a')
      expect(again.document?.object.metadata.finalizers).toEqual(['x.dev/own'])
      await krake.merge('v1/configmaps', 'a', { metadata: { finalizers: [] } })
      await expect(krake.get('v1/configmaps', 'a')).rejects.toMatchObject({ code: 404 })
      await krake.close()
    })
  })

  it('deletes a collection and answers with it', async () => {
    for (const name of ['a', 'b', 'c'])
      await world.create('v1/configmaps', { metadata: { name, labels: { x: name === 'c' ? 'no' : 'yes' } } })
    const { items } = await world.objects.deleteCollection({ ...world.at('v1/configmaps', ''), labelSelector: 'x=yes' })
    const deleted: string[] = []
    for await (const chunk of items) deleted.push(...chunk.map(({ object }) => object.metadata.name))
    expect(deleted).toEqual(['a', 'b'])
    expect((await world.list('v1/configmaps')).names).toEqual(['c'])
  })

  it('keeps the owners table in step', async () => {
    const owner = await world.create('v1/configmaps', { metadata: { name: 'owner' } })
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid, blockOwnerDeletion: true },
    ]
    await world.create('v1/configmaps', { metadata: { name: 'a', ownerReferences } })
    expect(world.store.owners.countBlocking(owner.metadata.uid)).toBe(1)
    await world.delete('v1/configmaps', 'owner')
    expect(world.store.owners.danglingOwners(5)).toEqual([owner.metadata.uid])
    await world.merge('v1/configmaps', 'a', { metadata: { ownerReferences: null } })
    expect(world.store.owners.danglingOwners(5)).toEqual([])
  })
})

const deployment = {
  metadata: { name: 'd' },
  spec: {
    selector: { matchLabels: { app: 'd' } },
    template: { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
}
