import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { StatusError } from '../../../kube/status-error.ts'
import type { AdmissionHook } from '../contract/admission.ts'
import { openTestObjects, type TestObjects } from '../../../../test/apiserver/test-objects.ts'

describe('namespaces', () => {
  let world: TestObjects
  beforeEach(async () => {
    world = await openTestObjects()
    await world.create('v1/namespaces', { metadata: { name: 'team' } })
  })
  afterEach(() => world.close())

  it('begin active, labelled with their name and held by their content', async () => {
    expect(await world.get('v1/namespaces', 'team')).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'team' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    })
  })

  it('refuse labels of Pod Security that would switch it off by a typing error, once they change', async () => {
    const label = (name: string, labels: Record<string, string>) =>
      world.create('v1/namespaces', { metadata: { name, labels } })
    const enforce = 'pod-security.kubernetes.io/enforce'
    await expect(label('a', { [enforce]: 'Restricted' })).rejects.toMatchObject({
      code: 422,
      message: `Namespace "a" is invalid: metadata.labels[${enforce}]: Invalid value: "Restricted": must be one of privileged, baseline, restricted`,
    })
    await expect(label('a', { [`${enforce}-version`]: '1.30' })).rejects.toMatchObject({ code: 422 })
    const made = await label('a', { [enforce]: 'restricted', [`${enforce}-version`]: 'v1.30' })
    const mistyped = { ...made, metadata: { ...made.metadata, labels: { [enforce]: 'none' } } }
    await expect(world.update('v1/namespaces', mistyped as never)).rejects.toMatchObject({ code: 422 })
  })

  it('terminate until they are finalized, and refuse new objects meanwhile', async () => {
    const { document } = await world.delete('v1/namespaces', 'team')
    expect(document?.object).toMatchObject({
      status: { phase: 'Terminating' },
      metadata: { deletionTimestamp: expect.any(String) },
    })
    const attempt = world.create('v1/configmaps', { metadata: { name: 'a' } }, { namespace: 'team' })
    await expect(attempt).rejects.toMatchObject({
      code: 403,
      message:
        'configmaps "a" is forbidden: unable to create new content in namespace team because it is being terminated',
      details: { causes: [{ reason: 'NamespaceTerminating' }] },
    })
    const terminating = await world.get('v1/namespaces', 'team')
    const body = { ...terminating, spec: { finalizers: [] } }
    await world.objects.update({ ...world.at('v1/namespaces', 'team'), body, subresource: 'finalize' })
    await expect(world.get('v1/namespaces', 'team')).rejects.toMatchObject({ code: 404 })
  })

  it('keep their finalizer through an ordinary update', async () => {
    const namespace = await world.get('v1/namespaces', 'team')
    const after = await world.update('v1/namespaces', { ...namespace, spec: { finalizers: [] } } as never)
    expect(after.spec).toEqual({ finalizers: ['kubernetes'] })
  })

  it.each(['default', 'kube-system', 'kube-public'])('never lose %s', async (name) => {
    if (name !== 'default') await world.create('v1/namespaces', { metadata: { name } })
    await expect(world.delete('v1/namespaces', name)).rejects.toMatchObject({
      code: 403,
      message: `namespaces "${name}" is forbidden: this namespace may not be deleted`,
    })
    expect(await world.get('v1/namespaces', name)).not.toHaveProperty('metadata.deletionTimestamp')
  })
})

describe('admission', () => {
  it('changes and refuses writes of all kinds, and sees the store as it is', async () => {
    const hook: AdmissionHook = {
      mutate: ({ object, operation }) =>
        operation === 'CREATE'
          ? { ...object, metadata: { ...object.metadata, labels: { ...object.metadata.labels, seen: 'yes' } } }
          : object,
      validate({ operation, type, name, old, view }) {
        if (operation === 'DELETE' && type.resource === 'configmaps' && view.countBlocking(old?.metadata.uid ?? '') > 0)
          throw new StatusError('Conflict', `${name} is in use`)
        return operation === 'UPDATE' ? ['careful'] : []
      },
    }
    const world = await openTestObjects({ admission: [hook] })
    const a = await world.create('v1/configmaps', { metadata: { name: 'a' } })
    expect(a.metadata.labels).toEqual({ seen: 'yes' })
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: a.metadata.uid, blockOwnerDeletion: true },
    ]
    await world.create('v1/configmaps', { metadata: { name: 'b', ownerReferences } })
    await expect(world.delete('v1/configmaps', 'a')).rejects.toThrow('a is in use')
    expect(await world.get('v1/configmaps', 'a')).toBeDefined()
    const request = { ...world.at('v1/configmaps', 'b'), patchType: 'merge' as const, body: { data: { k: 'v' } } }
    expect(await world.objects.patch(request)).toMatchObject({ warnings: ['careful'] })
    await world.delete('v1/configmaps', 'b')
    await world.delete('v1/configmaps', 'a')
    await world.close()
  })
})
