import { describe, expect, it } from 'vitest'
import { howToGrant } from '../apis/group.ts'
import { Client } from '../client/client.ts'
import type { KubeObject } from '../kube/object.ts'
import type { ApiRequest } from '../kube/transport.ts'
import { VirtualClock } from '../runtime/time/virtual-clock.ts'
import { AccessReviews } from './access-reviews.ts'
import { ActAs, type TenancyOptions } from './act-as.ts'
import type { Access } from './confinement.ts'

const deleteConfigMap: Access = { verb: 'delete', group: '', resource: 'configmaps', namespace: 'a', name: 'settings' }

interface World {
  /** Users who may do everything. */
  readonly entitled?: readonly string[]
  readonly accounts?: readonly string[]
  readonly provesCreators?: boolean
  readonly reviewsFail?: boolean
  readonly asksForOwnRights?: boolean
}

function worldOf({ entitled = [], accounts = [], provesCreators = true, reviewsFail = false, ...own }: World) {
  const requests: ApiRequest[] = []
  const client = new Client((request) => {
    requests.push(request)
    if (request.path.endsWith('subjectaccessreviews')) {
      const { user = 'self' } = (request.body as { readonly spec: { readonly user?: string } }).spec
      const status = reviewsFail ? 500 : 201
      return Promise.resolve({ status, headers: {}, body: { status: { allowed: entitled.includes(user) } } })
    }
    const found = accounts.some((name) => request.path.endsWith(`/serviceaccounts/${name}`))
    return Promise.resolve({ status: found ? 200 : 404, headers: {}, body: { kind: 'Status', reason: 'NotFound' } })
  })
  const clock = new VirtualClock()
  const reviews = new AccessReviews({ client, clock })
  const actAs = (options: TenancyOptions = {}) =>
    new ActAs({ client, reviews, provesCreators: () => provesCreators, ...own }, options)
  return { requests, actAs, clock }
}

function cleaner(overrides: {
  readonly creator?: string
  readonly serviceAccountName?: string
  readonly namespace?: string
}) {
  const { creator, serviceAccountName, namespace = 'a' } = overrides
  return {
    apiVersion: 'v1',
    kind: 'Cleaner',
    metadata: { name: 'preview', namespace, ...(creator ? { annotations: { 'sojourn.dev/creator': creator } } : {}) },
    spec: serviceAccountName === undefined ? {} : { serviceAccountName },
  } satisfies KubeObject
}

describe('acting for an object', () => {
  it('does what its recorded creator may do', async () => {
    const { actAs } = worldOf({ entitled: ['jo'] })
    expect(
      await actAs()
        .for(cleaner({ creator: 'jo' }))
        .refusalOf(deleteConfigMap),
    ).toBeUndefined()
  })

  it('does not begin what Sojourn itself may not do, and asks before every write', async () => {
    const asksForOwnRights = true
    const { actAs, requests } = worldOf({ entitled: ['jo'], asksForOwnRights })
    const actor = actAs().for(cleaner({ creator: 'jo' }))
    expect(await actor.refusalOf(deleteConfigMap)).toEqual({
      reason: 'TargetForbidden',
      message: `Sojourn itself may not delete configmaps "settings" in namespace a: grant that right to its account (${howToGrant})`,
    })
    expect(await actor.refusalOf({ ...deleteConfigMap, verb: 'get' })).toBeUndefined()
    expect(requests.some(({ path }) => path.endsWith('/selfsubjectaccessreviews'))).toBe(true)
    const entitled = worldOf({ entitled: ['jo', 'self'], asksForOwnRights })
    expect(
      await entitled
        .actAs()
        .for(cleaner({ creator: 'jo' }))
        .refusalOf(deleteConfigMap),
    ).toBeUndefined()
  })

  it('does not do what its recorded creator may not do, and says who may not do what', async () => {
    const { actAs } = worldOf({ entitled: ['sam'] })
    expect(
      await actAs()
        .for(cleaner({ creator: 'jo' }))
        .refusalOf(deleteConfigMap),
    ).toEqual({
      reason: 'CreatorForbidden',
      message:
        'user "jo", who last wrote its spec, may not delete configmaps "settings" in namespace a: grant that right, or have a user with it apply the object again',
    })
  })

  it.each([
    ['another namespace', { ...deleteConfigMap, namespace: 'b' }],
    ['a cluster-scoped object', { ...deleteConfigMap, resource: 'clusterroles', namespace: '' }],
    ['another Namespace', { ...deleteConfigMap, resource: 'namespaces', namespace: '', name: 'b' }],
    [
      'its own Namespace, where its kind may not',
      { ...deleteConfigMap, resource: 'namespaces', namespace: '', name: 'a' },
    ],
    [
      'a RoleBinding to be created',
      { ...deleteConfigMap, verb: 'create', group: 'rbac.authorization.k8s.io', resource: 'rolebindings' },
    ],
    ['a Secret read elsewhere', { ...deleteConfigMap, verb: 'get', resource: 'secrets', namespace: 'b' }],
  ])('never reaches %s, even for a cluster administrator', async (_, access) => {
    const { actAs } = worldOf({ entitled: ['admin'] })
    expect(
      await actAs()
        .for(cleaner({ creator: 'admin' }))
        .refusalOf(access),
    ).toMatchObject({ reason: 'Confined' })
  })

  it('reads elsewhere for kinds that may, with the rights of the creator', async () => {
    const { actAs } = worldOf({ entitled: ['jo'] })
    const get = { ...deleteConfigMap, verb: 'get', namespace: 'b' }
    const read = (creator: string) => actAs().for(cleaner({ creator }), { readsElsewhere: true }).refusalOf(get)
    expect(await read('jo')).toBeUndefined()
    expect(await read('sam')).toMatchObject({ reason: 'CreatorForbidden' })
  })

  it('48: its own Namespace is deleted only for a creator who may, never without a record', async () => {
    const { actAs } = worldOf({ entitled: ['jo'] })
    const deletion = { verb: 'delete', group: '', resource: 'namespaces', namespace: '', name: 'a' }
    const refusal = (creator?: string) =>
      actAs()
        .for(cleaner(creator ? { creator } : {}), { ownNamespace: true })
        .refusalOf(deletion)
    expect(await refusal('jo')).toBeUndefined()
    expect(await refusal('sam')).toMatchObject({ reason: 'CreatorForbidden' })
    expect(await refusal()).toMatchObject({ reason: 'CreatorUnknown' })
  })

  it('is confined to the namespace when no creator is recorded, or held where that is asked for', async () => {
    const { actAs } = worldOf({})
    expect(await actAs().for(cleaner({})).refusalOf(deleteConfigMap)).toBeUndefined()
    const elsewhere = { ...deleteConfigMap, verb: 'get', namespace: 'b' }
    const refusal = await actAs().for(cleaner({}), { readsElsewhere: true }).refusalOf(elsewhere)
    expect(refusal).toMatchObject({ reason: 'CreatorUnknown' })
    const held = await actAs({ withoutCreator: 'Hold' }).for(cleaner({})).refusalOf(deleteConfigMap)
    expect(held).toMatchObject({ reason: 'CreatorUnknown' })
  })

  it('does not believe a record that the cluster does not keep true', async () => {
    const { actAs } = worldOf({ entitled: ['admin'], provesCreators: false })
    const get = { ...deleteConfigMap, verb: 'get', namespace: 'b' }
    const refusal = await actAs()
      .for(cleaner({ creator: 'admin' }), { readsElsewhere: true })
      .refusalOf(get)
    expect(refusal).toMatchObject({ reason: 'CreatorUnknown' })
  })

  it('does nothing when the review cannot be had', async () => {
    const { actAs } = worldOf({ entitled: ['jo'], reviewsFail: true })
    await expect(
      actAs()
        .for(cleaner({ creator: 'jo' }))
        .refusalOf(deleteConfigMap),
    ).rejects.toThrow()
  })

  it('asks again a second after a yes, and at once after a no', async () => {
    const { actAs, requests, clock } = worldOf({ entitled: ['jo'] })
    const actor = actAs().for(cleaner({ creator: 'jo' }))
    const refusalOf = (access: Access) => actor.refusalOf(access)
    await refusalOf(deleteConfigMap)
    await refusalOf(deleteConfigMap)
    expect(requests).toHaveLength(1)
    await clock.runFor(1000)
    await refusalOf(deleteConfigMap)
    expect(requests).toHaveLength(2)
    const refused = actAs().for(cleaner({ creator: 'sam' }))
    await refused.refusalOf(deleteConfigMap)
    await refused.refusalOf(deleteConfigMap)
    expect(requests.length).toBeGreaterThan(4)
  })
})

it('asks once for all who ask the same at the same time', async () => {
  const { actAs, requests } = worldOf({ entitled: ['jo'] })
  const names = Array.from({ length: 100 }, (_, index) => `settings-${index}`)
  const ask = (name: string) =>
    actAs()
      .for(cleaner({ creator: 'jo' }))
      .refusalOf({ ...deleteConfigMap, name })
  expect(new Set(await Promise.all(names.map(ask)))).toEqual(new Set([undefined]))
  expect(requests).toHaveLength(1)
})

describe('acting as a ServiceAccount', () => {
  const account = 'system:serviceaccount:a:deleter'

  it('sends requests as the account of the object’s own namespace', async () => {
    const { actAs, requests } = worldOf({ accounts: ['deleter'], entitled: [account] })
    const actor = actAs().for(cleaner({ serviceAccountName: 'deleter' }))
    expect(await actor.refusalOf(deleteConfigMap)).toBeUndefined()
    await actor.client.request({ method: 'GET', path: '/api' }).catch(() => undefined)
    expect(requests.at(-1)?.headers).toMatchObject({ 'impersonate-user': account })
  })

  it.each(['missing', '../kube-system:admin', 'b:admin', 'b/admin', 'Admin', ''])(
    'refuses the name %j',
    async (name) => {
      const { actAs } = worldOf({ accounts: ['deleter'], entitled: [account, 'system:serviceaccount:a:missing'] })
      const refusal = await actAs({ requireServiceAccount: true })
        .for(cleaner({ serviceAccountName: name }))
        .refusalOf(deleteConfigMap)
      expect(refusal?.reason).toMatch(/^ServiceAccount(NotFound|Required)$/)
    },
  )

  it('is the default account where the object names none', async () => {
    const { actAs } = worldOf({ accounts: ['deleter'] })
    const refusal = await actAs({ defaultServiceAccount: 'deleter' })
      .for(cleaner({ creator: 'admin' }))
      .refusalOf(deleteConfigMap)
    expect(refusal).toMatchObject({
      reason: 'CreatorForbidden',
      message: expect.stringContaining('ServiceAccount a/deleter') as string,
    })
  })

  it('is required where the operator says so', async () => {
    const { actAs } = worldOf({ entitled: ['admin'] })
    const refusal = await actAs({ requireServiceAccount: true })
      .for(cleaner({ creator: 'admin' }))
      .refusalOf(deleteConfigMap)
    expect(refusal).toMatchObject({ reason: 'ServiceAccountRequired' })
  })
})
