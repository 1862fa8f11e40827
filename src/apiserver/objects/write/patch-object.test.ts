import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { PatchType } from '../../../kube/patches/patch.ts'
import { openTestObjects, type TestObjects } from '../../../../test/apiserver/test-objects.ts'

describe('patch', () => {
  let world: TestObjects
  beforeEach(async () => {
    world = await openTestObjects()
    await world.create('v1/configmaps', { metadata: { name: 'a' }, data: { k: '1' } })
  })
  afterEach(() => world.close())
  const patch = (patchType: PatchType, body: unknown, options = {}) =>
    world.objects.patch({ ...world.at('v1/configmaps', 'a'), patchType, body, ...options })

  it.each([
    ['json', [{ op: 'add', path: '/data/x', value: '2' }]],
    ['merge', { data: { x: '2' } }],
    ['strategic', { data: { x: '2' } }],
  ] as const)('changes an object by a %s patch', async (patchType, body) => {
    const { document, created } = await patch(patchType, body)
    expect(document.object.data).toEqual({ k: '1', x: '2' })
    expect(created).toBe(false)
  })

  it('merges lists of a built-in kind by key', async () => {
    const containers = [{ name: 'c', image: 'i' }]
    const template = { metadata: { labels: { app: 'd' } }, spec: { containers } }
    await world.create('apps/v1/deployments', {
      metadata: { name: 'd' },
      spec: { selector: { matchLabels: { app: 'd' } }, template },
    })
    const body = {
      spec: {
        template: {
          spec: {
            containers: [
              { name: 'c', image: 'j' },
              { name: 'e', image: 'k' },
            ],
          },
        },
      },
    }
    const { document } = await world.objects.patch({
      ...world.at('apps/v1/deployments', 'd'),
      patchType: 'strategic',
      body,
    })
    expect(document.object.spec).toMatchObject({
      template: { spec: { containers: [{ name: 'c', image: 'j' }, { name: 'e' }] } },
    })
  })

  it('takes a version or uid in the patch as a precondition', async () => {
    await expect(patch('merge', { metadata: { resourceVersion: '1' }, data: { x: '1' } })).rejects.toMatchObject({
      reason: 'Conflict',
    })
    await expect(patch('merge', { metadata: { uid: 'other' } })).rejects.toMatchObject({
      code: 422,
      message: 'ConfigMap "a" is invalid: metadata.uid: Invalid value: "other": field is immutable',
    })
  })

  it('loses no patch of many at once', async () => {
    await Promise.all(Array.from({ length: 50 }, (_, n) => patch('merge', { data: { [`k${n}`]: 'v' } })))
    expect(Object.keys((await world.get('v1/configmaps', 'a')).data as object)).toHaveLength(51)
  })

  it.each([
    ['json', [{ op: 'test', path: '/data/k', value: '2' }], {}, 422],
    ['json', [{ op: 'remove', path: '/nothing' }], {}, 422],
    ['json', { op: 'remove' }, {}, 400],
    ['json', [{ op: 'dance', path: '/data' }], {}, 422],
    ['json', [null], {}, 422],
    ['merge', { metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' } }, {}, 422],
    ['apply', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, dat: {} }, { fieldManager: 'm' }, 400],
    ['json', Array.from({ length: 10_001 }, () => ({ op: 'remove', path: '/data/k' })), {}, 413],
    ['merge', [], {}, 400],
    ['merge', 'x', {}, 400],
    ['merge', { data: { k: 1 } }, {}, 422],
    ['merge', { dat: {} }, { fieldValidation: 'Strict' }, 422],
    ['merge', { metadata: { name: 'b' } }, {}, 400],
    ['merge', { kind: 'Pod' }, {}, 422],
    ['merge', {}, { force: true }, 422],
    ['apply', { metadata: { name: 'a' } }, {}, 422],
    ['apply', { metadata: { name: 'b' } }, { fieldManager: 'm' }, 400],
  ] as const)('refuses the %s patch %j', async (patchType, body, options, code) => {
    await expect(patch(patchType, body, options)).rejects.toMatchObject({ code })
  })

  it('has nothing to patch where nothing is', async () => {
    const missing = { ...world.at('v1/configmaps', 'nothing'), patchType: 'merge' as const, body: {} }
    await expect(world.objects.patch(missing)).rejects.toMatchObject({ code: 404 })
  })

  describe('server-side apply', () => {
    const applied = (data: Record<string, string>, name = 'b') => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      data,
    })

    it('makes what is not there and says so', async () => {
      const first = await world.apply('v1/configmaps', applied({ k: '1' }), 'm')
      expect(first).toMatchObject({ created: true, document: { object: { data: { k: '1' } } } })
      expect(first.document.object.metadata.managedFields).toMatchObject([{ manager: 'm', operation: 'Apply' }])
      const again = await world.apply('v1/configmaps', applied({ k: '1' }), 'm')
      expect(again.created).toBe(false)
      expect(again.document.object.metadata.resourceVersion).toBe(first.document.object.metadata.resourceVersion)
    })

    it('makes no other object than the one whose uid it names', async () => {
      const named = applied({ k: '1' })
      const metadata = { ...named.metadata, uid: 'gone' }
      await expect(world.apply('v1/configmaps', { ...named, metadata }, 'm')).rejects.toMatchObject({
        reason: 'Conflict',
        message: expect.stringContaining('no existing object was found') as string,
      })
    })

    it('takes back what this manager does not apply any more', async () => {
      await world.apply('v1/configmaps', applied({ k: '1', l: '2' }), 'm')
      const { document } = await world.apply('v1/configmaps', applied({ k: '1' }), 'm')
      expect(document.object.data).toEqual({ k: '1' })
    })

    it('refuses to change what another owns, unless forced', async () => {
      await world.apply('v1/configmaps', applied({ k: '1' }), 'm')
      await expect(world.apply('v1/configmaps', applied({ k: '2' }), 'n')).rejects.toMatchObject({
        code: 409,
        reason: 'Conflict',
        details: { causes: [{ reason: 'FieldManagerConflict' }] },
      })
      const { document } = await world.apply('v1/configmaps', applied({ k: '2' }), 'n', true)
      expect(document.object.data).toEqual({ k: '2' })
    })

    it('conflicts with what an update has set', async () => {
      await world.merge('v1/configmaps', 'a', { data: { k: '3' } })
      await expect(world.apply('v1/configmaps', applied({ k: '4' }, 'a'), 'm')).rejects.toMatchObject({ code: 409 })
    })
  })

  describe('scale', () => {
    const scale = (method: 'get' | 'patch', body?: unknown, patchType: PatchType = 'merge') => {
      const at = { ...world.at('apps/v1/deployments', 'd'), subresource: 'scale' }
      if (method === 'get') return world.objects.get(at).then(({ object }) => object)
      return world.objects
        .patch({ ...at, body, patchType, fieldManager: 'scaler' })
        .then(({ document }) => document.object)
    }
    beforeEach(async () => {
      const template = { metadata: { labels: { app: 'd' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }
      await world.create('apps/v1/deployments', {
        metadata: { name: 'd' },
        spec: { replicas: 2, selector: { matchLabels: { app: 'd' } }, template },
      })
    })

    it('shows replicas and selector of a Deployment', async () => {
      expect(await scale('get')).toMatchObject({
        kind: 'Scale',
        apiVersion: 'autoscaling/v1',
        metadata: { name: 'd', namespace: 'default' },
        spec: { replicas: 2 },
        status: { replicas: 0, selector: 'app=d' },
      })
    })

    it('changes the replicas of the object behind it', async () => {
      expect(await scale('patch', { spec: { replicas: 5 } })).toMatchObject({ kind: 'Scale', spec: { replicas: 5 } })
      const object = await world.get('apps/v1/deployments', 'd')
      expect(object).toMatchObject({ spec: { replicas: 5 }, metadata: { generation: 2 } })
      const current = await scale('get')
      const put = {
        ...world.at('apps/v1/deployments', 'd'),
        subresource: 'scale',
        body: { ...current, spec: { replicas: 0 } },
      }
      expect((await world.objects.update(put)).document.object).toMatchObject({ spec: {} })
      expect(await world.get('apps/v1/deployments', 'd')).toMatchObject({ spec: { replicas: 0 } })
    })

    it('takes an apply, and owns the replicas then', async () => {
      const body = { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: { name: 'd' }, spec: { replicas: 4 } }
      const at = { ...world.at('apps/v1/deployments', 'd'), subresource: 'scale' }
      await world.objects.patch({ ...at, body, patchType: 'apply', fieldManager: 'hpa', force: true })
      const { spec, metadata } = await world.get('apps/v1/deployments', 'd')
      expect(spec).toMatchObject({ replicas: 4 })
      expect(metadata.managedFields).toContainEqual(expect.objectContaining({ manager: 'hpa', operation: 'Apply' }))
    })

    it('refuses a negative number and an old version', async () => {
      await expect(scale('patch', { spec: { replicas: -1 } })).rejects.toMatchObject({ code: 422 })
      await expect(scale('patch', { metadata: { resourceVersion: '1' }, spec: { replicas: 1 } })).rejects.toMatchObject(
        { code: 409 },
      )
    })
  })
})
