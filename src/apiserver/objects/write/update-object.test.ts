import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isStatusError } from '../../../kube/status-error.ts'
import { openTestObjects, type TestObjects } from '../../../../test/apiserver/test-objects.ts'

describe('update', () => {
  let world: TestObjects
  beforeEach(async () => {
    world = await openTestObjects()
  })
  afterEach(() => world.close())

  it('replaces an object and gives it a new version', async () => {
    const before = await world.create('v1/configmaps', { metadata: { name: 'a' }, data: { k: '1' } })
    const after = await world.update('v1/configmaps', { ...before, data: { k: '2' } })
    expect(after).toMatchObject({ data: { k: '2' }, metadata: { uid: before.metadata.uid } })
    expect(Number(after.metadata.resourceVersion)).toBeGreaterThan(Number(before.metadata.resourceVersion))
  })

  it('refuses a version that is not the newest', async () => {
    const before = await world.create('v1/configmaps', { metadata: { name: 'a' }, data: { k: '1' } })
    await world.update('v1/configmaps', { ...before, data: { k: '2' } })
    await expect(world.update('v1/configmaps', { ...before, data: { k: '3' } })).rejects.toMatchObject({
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
      details: { name: 'a', kind: 'configmaps' },
    })
  })

  it('lets exactly one of many writers of the same version win', async () => {
    const before = await world.create('v1/configmaps', { metadata: { name: 'a' }, data: {} })
    const writes = Array.from({ length: 10 }, (_, n) =>
      world.update('v1/configmaps', { ...before, data: { n: String(n) } }),
    )
    const results = await Promise.allSettled(writes)
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const losers = results.filter((result) => result.status === 'rejected')
    expect(losers.every(({ reason }) => isStatusError(reason, 'Conflict'))).toBe(true)
  })

  it('takes a built-in without a version as it comes', async () => {
    const { metadata, ...rest } = await world.create('v1/configmaps', { metadata: { name: 'a' }, data: { k: '1' } })
    const { resourceVersion: _version, ...unversioned } = metadata
    const after = await world.update('v1/configmaps', { ...rest, metadata: unversioned, data: { k: '2' } } as never)
    expect(after.data).toEqual({ k: '2' })
  })

  it('takes version 0 as none', async () => {
    const { metadata, ...rest } = await world.create('v1/configmaps', { metadata: { name: 'a' }, data: { k: '1' } })
    const unversioned = { ...metadata, resourceVersion: '0' }
    const after = await world.update('v1/configmaps', { ...rest, metadata: unversioned, data: { k: '2' } } as never)
    expect(after.data).toEqual({ k: '2' })
    expect(Number(after.metadata.resourceVersion)).toBeGreaterThan(Number(metadata.resourceVersion))
  })

  it('changes nothing, not even the version, when nothing is different', async () => {
    const before = await world.create('v1/configmaps', { metadata: { name: 'a' }, data: { k: '1' } })
    world.clock.advance(5000)
    const watch = world.watch('v1/configmaps', { resourceVersion: before.metadata.resourceVersion })
    expect(await world.update('v1/configmaps', before)).toEqual(before)
    await world.settle()
    expect(watch.story).toEqual([])
  })

  it('ignores what only the server may say', async () => {
    const before = await world.create('v1/configmaps', { metadata: { name: 'a' } })
    const metadata = {
      ...before.metadata,
      creationTimestamp: '1999-01-01T00:00:00Z',
      generation: 9,
      labels: { x: 'y' },
    }
    const after = await world.update('v1/configmaps', { ...before, metadata })
    expect(after.metadata).toMatchObject({ labels: { x: 'y' }, creationTimestamp: before.metadata.creationTimestamp })
    expect(after.metadata).not.toHaveProperty('generation')
  })

  it.each([
    [
      'another name than the URL',
      { name: 'b' },
      400,
      'the name of the object (b) does not match the name on the URL (a)',
    ],
    ['another namespace', { namespace: 'b' }, 400, 'does not match the namespace'],
    ['another uid', { uid: 'other' }, 409, 'Precondition failed: UID in precondition: other, UID in object meta: '],
  ])('refuses %s', async (_, changes, code, message) => {
    const before = await world.create('v1/configmaps', { metadata: { name: 'a' } })
    const body = { ...before, metadata: { ...before.metadata, ...changes } }
    const attempt = world.objects.update({ ...world.at('v1/configmaps', 'a'), body })
    await expect(attempt).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it('finds nothing to update where nothing is, but makes a Lease', async () => {
    const missing = { ...world.at('v1/configmaps', 'a'), body: { metadata: { name: 'a' } } }
    await expect(world.objects.update(missing)).rejects.toMatchObject({
      code: 404,
      message: 'configmaps "a" not found',
    })
    const lease = { ...world.at('coordination.k8s.io/v1/leases', 'l'), body: { metadata: { name: 'l' }, spec: {} } }
    expect(await world.objects.update(lease)).toMatchObject({ created: true })
  })

  it('counts a generation when the spec changes, and only then', async () => {
    const made = await world.create('apps/v1/deployments', deployment)
    const labelled = await world.merge('apps/v1/deployments', 'd', { metadata: { labels: { x: 'y' } } })
    expect(labelled.metadata.generation).toBe(made.metadata.generation)
    const withReplicas = await world.merge('apps/v1/deployments', 'd', { spec: { replicas: 3 } })
    expect(withReplicas.metadata.generation).toBe(2)
    const reported = await world.merge(
      'apps/v1/deployments',
      'd',
      { status: { replicas: 1 } },
      { subresource: 'status' },
    )
    expect(reported.metadata.generation).toBe(2)
  })

  it('writes status at /status only, and nothing else there', async () => {
    const made = await world.create('apps/v1/deployments', deployment)
    const main = await world.update('apps/v1/deployments', { ...made, status: { replicas: 5 } })
    expect(main.status).toEqual(made.status)
    const spec = { ...(made.spec as object), replicas: 7 }
    const status = await world.update('apps/v1/deployments', { ...main, spec, status: { replicas: 5 } } as never, {
      subresource: 'status',
    })
    expect(status).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 5 } })
  })

  it('takes a finalizer without a domain on a custom resource, as Flux and Argo CD set them, and on no built-in', async () => {
    await world.create('apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'apps.example.dev' },
      spec: {
        group: 'example.dev',
        scope: 'Namespaced',
        names: { plural: 'apps', kind: 'App' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    })
    await world.create('example.dev/v1/apps', { apiVersion: 'example.dev/v1', kind: 'App', metadata: { name: 'a' } })
    const finalizers = ['finalizers.fluxcd.io']
    const after = await world.merge('example.dev/v1/apps', 'a', { metadata: { finalizers } })
    expect(after.metadata.finalizers).toEqual(finalizers)
    await world.create('v1/configmaps', { metadata: { name: 'a' } })
    await expect(world.merge('v1/configmaps', 'a', { metadata: { finalizers } })).rejects.toMatchObject({
      reason: 'Invalid',
    })
  })

  it('removes a terminating object with its last finalizer', async () => {
    await world.create('v1/configmaps', { metadata: { name: 'a', finalizers: ['x.dev/one', 'x.dev/two'] } })
    await world.delete('v1/configmaps', 'a')
    const watch = world.watch('v1/configmaps', { resourceVersion: String(world.store.revision) })
    await world.merge('v1/configmaps', 'a', { metadata: { finalizers: ['x.dev/two'] } })
    const last = await world.merge('v1/configmaps', 'a', { metadata: { finalizers: null } })
    expect(last.metadata.name).toBe('a')
    await world.settle()
    expect(watch.story).toEqual(['MODIFIED a', 'DELETED a'])
    await expect(world.get('v1/configmaps', 'a')).rejects.toMatchObject({ code: 404 })
  })

  it('keeps an object without finalizers that is not being deleted', async () => {
    await world.create('v1/configmaps', { metadata: { name: 'a', finalizers: ['x.dev/one'] } })
    await world.merge('v1/configmaps', 'a', { metadata: { finalizers: null } })
    expect((await world.get('v1/configmaps', 'a')).metadata.name).toBe('a')
  })

  it('refuses new finalizers on a terminating object, and a reset of its deletionTimestamp', async () => {
    await world.create('v1/configmaps', { metadata: { name: 'a', finalizers: ['x.dev/one'] } })
    await world.delete('v1/configmaps', 'a')
    const added = world.merge('v1/configmaps', 'a', { metadata: { finalizers: ['x.dev/one', 'x.dev/new'] } })
    await expect(added).rejects.toMatchObject({
      code: 422,
      message: expect.stringContaining(
        'no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.dev/new"}',
      ),
    })
    const recalled = await world.merge('v1/configmaps', 'a', { metadata: { deletionTimestamp: null } })
    expect(recalled.metadata.deletionTimestamp).toBeDefined()
  })

  it('does everything but store it on a dry run', async () => {
    const before = await world.create('v1/configmaps', { metadata: { name: 'a' }, data: { k: '1' } })
    const after = await world.update('v1/configmaps', { ...before, data: { k: '2' } }, { dryRun: ['All'] })
    expect(after.data).toEqual({ k: '2' })
    expect(await world.get('v1/configmaps', 'a')).toEqual(before)
  })
})

const deployment = {
  metadata: { name: 'd' },
  spec: {
    selector: { matchLabels: { app: 'd' } },
    template: { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
  },
}
