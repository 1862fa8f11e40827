import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cleaner as cleanerKind } from '../../src/apis/cleaner.ts'
import type { KubeObject } from '../../src/kube/object.ts'
import { cleaner, configMap, refTo, refToCleaner } from './manifests.ts'
import { recordingWorlds, type TenantWorld } from './tenant-world.ts'

const rbac = 'rbac.authorization.k8s.io'

describe.each(recordingWorlds)('the identity behind a Cleaner: $name', ({ start, recordsCreators }) => {
  const itRecorded = it.skipIf(!recordsCreators)
  let world: TenantWorld
  beforeAll(async () => void (world = await start()))
  afterAll(() => world?.[Symbol.asyncDispose]())

  const ready = (name: string, ...reasons: readonly string[]) => world.ready(refToCleaner('a', name), ...reasons)
  const exists = async (name: string) => (await world.get(refTo('a', name))) !== undefined
  const patchSpec = (user: Parameters<TenantWorld['as']>[0], name: string, body: object) =>
    world.as(user).patch(cleanerKind.type, { namespace: 'a', name }, { type: 'merge', body })

  it('lets a user with the rights delete by a Cleaner', async () => {
    await world.create('tenant', configMap('a', 'entitled'))
    await world.create('tenant', cleaner('a', 'entitled', { deletes: ['entitled'] }))
    await world.gone(refTo('a', 'entitled'))
    await world.gone(refToCleaner('a', 'entitled'))
  })

  itRecorded('30: a user who may only write Cleaners deletes nothing, and the condition says why', async () => {
    await world.create('tenant', configMap('a', 'kept'))
    await world.create('cleanerAuthor', cleaner('a', 'author', { deletes: ['kept'] }))
    expect(await ready('author', 'CreatorForbidden')).toMatchObject({
      status: 'False',
      message: expect.stringContaining('user "cleanerAuthor", who last wrote its spec, may not') as string,
    })
    expect(await exists('kept')).toBe(true)
  })

  itRecorded('30: a user who may only write Cleaners cannot ask by a condition what an object holds', async () => {
    await world.create('tenant', configMap('a', 'asked'))
    const target = {
      name: 'asked',
      reference: { apiVersion: 'v1', kind: 'ConfigMap', name: 'asked' },
      includeWhenEvaluating: true,
    }
    const spec = { targets: [{ ...target, delete: false }], conditions: ['asked.data.key == "value"'] }
    await world.create('cleanerAuthor', cleaner('a', 'asks', { spec }))
    await ready('asks', 'CreatorForbidden')
    expect(JSON.stringify((await world.get(refToCleaner('a', 'asks')))?.status)).not.toContain('"value"')
  })

  itRecorded('31: a weaker user who changes the spec answers for all of it', async () => {
    await world.create('tenant', configMap('a', 'weaker'))
    await world.create('tenant', cleaner('a', 'weaker', { deletes: ['weaker'], spec: { ttl: '1h' } }))
    await patchSpec('cleanerAuthor', 'weaker', { spec: { ttl: '0s' } })
    await ready('weaker', 'CreatorForbidden')
    expect(await exists('weaker')).toBe(true)
  })

  itRecorded('32: a stronger user who changes labels does not lend their rights', async () => {
    await world.create('tenant', configMap('a', 'stronger'))
    await world.create('cleanerAuthor', cleaner('a', 'stronger', { deletes: ['stronger'], spec: { ttl: '3s' } }))
    await patchSpec('administrator', 'stronger', { metadata: { labels: { seen: 'yes' } } })
    await ready('stronger', 'CreatorForbidden')
    expect(await exists('stronger')).toBe(true)
  })

  itRecorded('33: a record of the creator that the author forges is replaced', async () => {
    await world.create('tenant', configMap('a', 'forged'))
    const annotations = { 'sojourn.dev/creator': 'administrator', 'sojourn.dev/creator-groups': 'system:masters' }
    await world.create('cleanerAuthor', cleaner('a', 'forged', { deletes: ['forged'], annotations })).catch(() => {})
    const stored = await world.get(refToCleaner('a', 'forged'))
    expect(stored?.metadata.annotations?.['sojourn.dev/creator']).not.toBe('administrator')
    if (stored) await ready('forged', 'CreatorForbidden')
    expect(await exists('forged')).toBe(true)
  })

  itRecorded.each([
    ['changed', { 'sojourn.dev/creator': 'administrator' }],
    ['removed', { 'sojourn.dev/creator': null, 'sojourn.dev/creator-groups': null }],
  ])('35: a record that is %s later does not count', async (how, annotations) => {
    await world.create('tenant', configMap('a', `record-${how}`))
    await world.create(
      'cleanerAuthor',
      cleaner('a', `record-${how}`, { deletes: [`record-${how}`], spec: { ttl: '3s' } }),
    )
    await patchSpec('cleanerAuthor', `record-${how}`, { metadata: { annotations } }).catch(() => {})
    await ready(`record-${how}`, 'CreatorForbidden')
    expect(await exists(`record-${how}`)).toBe(true)
  })

  it('36: a decision forged in the status reaches no other namespace', async () => {
    const victim = await world.create('neighbour', configMap('b', 'decided'))
    const made = await world.create('tenant', cleaner('a', 'decides', { deletes: ['nothing'], spec: { ttl: '1h' } }))
    const target = { name: 't0', apiVersion: 'v1', kind: 'ConfigMap', namespace: 'b' }
    const decision = {
      at: '2026-01-01T00:00:00Z',
      generation: made.metadata.generation,
      targets: [{ ...target, objects: [{ name: 'decided', uid: victim.metadata.uid }] }],
    }
    await world
      .as('tenant')
      .patch(
        cleanerKind.type,
        { namespace: 'a', name: 'decides' },
        { type: 'merge', body: { status: { decision } } },
        { subresource: 'status' },
      )
      .then(() => ready('decides', 'Confined'))
      .catch((error: { readonly reason?: string }) => expect(error.reason).toMatch(/Forbidden|Invalid/))
    expect(await world.get(refTo('b', 'decided'))).toBeDefined()
  })

  itRecorded('37: a right that is revoked before the deletion counts', async () => {
    const user = 'leaver'
    await grant(world, user)
    await world.create('tenant', configMap('a', 'revoked'))
    const author = world.asUser(user)
    await author.create(cleanerKind.type, cleaner('a', 'revoked', { deletes: ['revoked'], spec: { ttl: '4s' } }))
    await revoke(world, user)
    await ready('revoked', 'CreatorForbidden')
    expect(await exists('revoked')).toBe(true)
  })

  it.each([
    ['38: an account named with a slash', '../b/default'],
    ['39: an account of kube-system', 'kube-system:admin'],
    ['40: an account that does not exist', 'missing'],
  ])('%s acts for nobody', async (what, serviceAccountName) => {
    const name = `account-${what.slice(0, 2)}`
    await world.create('tenant', configMap('a', name))
    const made = await world
      .create('tenant', cleaner('a', name, { deletes: [name], spec: { serviceAccountName } }))
      .catch((error: { readonly reason?: string }) => error.reason)
    if (typeof made === 'object') await ready(name, 'ServiceAccountNotFound')
    expect(await exists(name)).toBe(true)
  })

  itRecorded('41: an account that its author may not use is refused', async () => {
    await world.create('administrator', {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace: 'a', name: 'deleter' },
    })
    await world.create('tenant', configMap('a', 'borrowed'))
    const spec = { serviceAccountName: 'deleter' }
    await expect(
      world.create('cleanerAuthor', cleaner('a', 'borrowed', { deletes: ['borrowed'], spec })),
    ).rejects.toMatchObject({ reason: 'Forbidden' })
  })

  it('acts as the account that the spec names, with its rights and no others', async () => {
    await world.create('administrator', {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { namespace: 'a', name: 'weak' },
    })
    await world.create('tenant', configMap('a', 'by-account'))
    await world.create(
      'tenant',
      cleaner('a', 'by-account', { deletes: ['by-account'], spec: { serviceAccountName: 'weak' } }),
    )
    const { message } = await ready('by-account', 'CreatorForbidden')
    expect(message).toContain('ServiceAccount a/weak')
    expect(await exists('by-account')).toBe(true)
  })

  itRecorded('44: a user who restores objects of others acts with their own rights', async () => {
    await world.create('tenant', configMap('a', 'restored'))
    const annotations = { 'sojourn.dev/creator': 'tenant', 'sojourn.dev/creator-groups': 'system:authenticated' }
    const made = await world
      .create('cleanerAuthor', cleaner('a', 'restored', { deletes: ['restored'], annotations }))
      .catch(() => undefined)
    if (made) await ready('restored', 'CreatorForbidden')
    expect(await exists('restored')).toBe(true)
  })

  itRecorded('one target that its creator may not delete stays, the others go', async () => {
    const user = 'partial'
    await grant(world, user, ['mine'])
    for (const name of ['mine', 'yours']) await world.create('tenant', configMap('a', name))
    await world.asUser(user).create(cleanerKind.type, cleaner('a', 'partial', { deletes: ['mine', 'yours'] }))
    await world.gone(refTo('a', 'mine'))
    await ready('partial', 'CreatorForbidden')
    expect(await exists('yours')).toBe(true)
  })
})

/** Lets a user write Cleaners, read ConfigMaps and delete all of them, or those with these names. */
async function grant(world: TenantWorld, user: string, resourceNames?: readonly string[]): Promise<void> {
  const rules = [
    { apiGroups: ['cleaner.vtex.dev'], resources: ['*'], verbs: ['*'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['delete'], ...(resourceNames ? { resourceNames } : {}) },
  ]
  const metadata = { namespace: 'a', name: user }
  const subjects = [{ apiGroup: rbac, kind: 'User', name: user }]
  const manifests: readonly KubeObject[] = [
    { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules },
    {
      apiVersion: `${rbac}/v1`,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: rbac, kind: 'Role', name: user },
      subjects,
    },
  ]
  for (const manifest of manifests) await world.create('administrator', manifest)
  await world.may(user, { verb: 'list', group: '', resource: 'configmaps', namespace: 'a' }, true)
}

async function revoke(world: TenantWorld, user: string): Promise<void> {
  const type = { group: rbac, version: 'v1', kind: 'RoleBinding', plural: 'rolebindings', namespaced: true }
  await world.as('administrator').deleteObject(type, { namespace: 'a', name: user })
  await world.may(user, { verb: 'delete', group: '', resource: 'configmaps', namespace: 'a' }, false)
}
