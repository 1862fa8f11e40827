import { configMaps, deployments, pods, replicaSets, replicationControllers } from '../../kube/core-types.ts'
import { afterEach, describe, expect, it } from 'vitest'
import type { KubeObject, OwnerReference, StoredObject } from '../../kube/object.ts'
import { Cascades, ownedBy, type CascadeOptions } from '../../../test/cascades.ts'

let here: Cascades
afterEach(() => here[Symbol.asyncDispose]())

const template = { metadata: { labels: { app: 'a' } }, spec: { containers: [{ name: 'c', image: 'i' }] } }

const make = (apiVersion: string, kind: string, name: string, given: Partial<KubeObject> = {}) =>
  here.world.create<StoredObject>({
    apiVersion,
    kind,
    ...given,
    metadata: { name, namespace: 'team', ...given.metadata },
  })
const controller = (name: string) =>
  make('v1', 'ReplicationController', name, { spec: { replicas: 0, selector: { app: 'a' }, template } })
const deployment = (name: string) =>
  make('apps/v1', 'Deployment', name, { spec: { replicas: 0, selector: { matchLabels: { app: 'a' } }, template } })
const pod = (name: string, ownerReferences: readonly OwnerReference[]) =>
  make('v1', 'Pod', name, { metadata: { ownerReferences }, spec: { containers: [{ name: 'c', image: 'i' }] } })
const controlledBy = (owner: StoredObject, blockOwnerDeletion = true) =>
  ownedBy(owner, { controller: true, blockOwnerDeletion })

async function remove(
  type: typeof pods,
  name: string,
  propagationPolicy?: 'Background' | 'Foreground' | 'Orphan',
): Promise<void> {
  await here.world.clock.settle()
  await here.world.client.deleteObject(
    type,
    { namespace: 'team', name },
    propagationPolicy ? { propagationPolicy } : {},
  )
  await here.world.pass(30_000)
}

describe.each<[string, CascadeOptions]>([
  ['in the server', { isInServer: true }],
  ['over the API', { isInServer: false }],
])('owner references as Kubernetes proves them, %s', (_, options) => {
  const start = async () => (here = await Cascades.start(options))

  it('60, 79★: of pods with one owner, both and none, only those of the deleted owner alone go', async () => {
    await start()
    const gone = await controller('gone')
    const stays = await controller('stays')
    await pod('one', [ownedBy(gone)])
    await pod('both', [ownedBy(gone), ownedBy(stays)])
    await pod('none', [])
    await remove(replicationControllers, 'gone', 'Background')
    expect(await here.world.names(pods)).toEqual(['both', 'none'])
    const both = await here.world.get<StoredObject>({ apiVersion: 'v1', kind: 'Pod', namespace: 'team', name: 'both' })
    expect(both?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['stays'])
    expect(both?.metadata.deletionTimestamp).toBeUndefined()
  })

  it('61: what is created with an owner that does not exist goes', async () => {
    await start()
    await pod('p', [{ apiVersion: 'v1', kind: 'ReplicationController', name: 'x', uid: 'no-such-uid' }])
    await here.world.pass(30_000)
    expect(await here.world.names(pods)).toEqual([])
  })

  it('63, 75★: orphaned pods stay, without the reference', async () => {
    await start()
    const owner = await controller('rc')
    for (let index = 0; index < 10; index++) await pod(`p${index}`, [controlledBy(owner)])
    await remove(replicationControllers, 'rc', 'Orphan')
    const { items } = await here.world.client.list<StoredObject>(pods, { namespace: 'team' })
    expect(items.map(({ metadata }) => metadata.ownerReferences)).toEqual(Array.from({ length: 10 }))
    expect(await here.world.names(replicationControllers)).toEqual([])
  })

  it('27: a dependent that comes between the freeing of the others and the end of its owner is freed, too', async () => {
    let isLate = false
    here = await Cascades.start({
      ...options,
      through: (server) => async (request) => {
        const isRelease = request.method === 'PATCH' && request.path.endsWith('/configmaps/owner') && !isLate
        isLate ||= isRelease
        if (isRelease) await here.create('late', [ownedBy(owner)])
        return server(request)
      },
    })
    const owner = await here.create('owner')
    await here.create('early', [ownedBy(owner)])
    await here.remove('owner', 'Orphan')
    expect(isLate).toBe(true)
    expect(await here.left()).toEqual(['early', 'late'])
    expect((await here.get('late'))?.metadata.ownerReferences).toBeUndefined()
  })

  it('64: a foreground owner is not held up by what another owner keeps', async () => {
    await start()
    const gone = await controller('gone')
    const stays = await controller('stays')
    await pod('p', [controlledBy(gone), ownedBy(stays)])
    await remove(replicationControllers, 'gone', 'Foreground')
    expect([await here.world.names(replicationControllers), await here.world.names(pods)]).toEqual([['stays'], ['p']])
  })

  it.each([
    ['65: a stuck dependent that does not block lets its foreground owner go', false, []],
    ['66: a stuck dependent that blocks keeps its foreground owner', true, ['rc']],
  ])('%s', async (_name, blocks, left) => {
    await start()
    const owner = await controller('rc')
    await here.create('stuck', [ownedBy(owner, { blockOwnerDeletion: blocks })], { finalizers: ['x.dev/held'] })
    await remove(replicationControllers, 'rc', 'Foreground')
    expect(await here.world.names(replicationControllers)).toEqual(left)
  })

  it('67: a foreground deletion asked for twice round a finalizer of others ends when that does', async () => {
    await start()
    await here.create('a', [], { finalizers: ['x.dev/held'] })
    await here.remove('a', 'Foreground')
    await here.remove('a', 'Foreground')
    expect((await here.get('a'))?.metadata.finalizers).toEqual(['x.dev/held'])
    await here.finalize('a')
    expect(await here.left()).toEqual([])
  })

  it('74★: the pods of a controller go with it in the background', async () => {
    await start()
    const owner = await controller('rc')
    for (let index = 0; index < 10; index++) await pod(`p${index}`, [controlledBy(owner)])
    await remove(replicationControllers, 'rc', 'Background')
    expect(await here.world.names(pods)).toEqual([])
  })

  it.each([
    ['76★: a Deployment takes its ReplicaSet and pods along', 'Background' as const, [[], [], []]],
    ['77★: an orphaning Deployment leaves its ReplicaSet and pods', 'Orphan' as const, [[], ['set'], ['p']]],
  ])('%s', async (_name, policy, left) => {
    await start()
    const owner = await deployment('web')
    const set = await make('apps/v1', 'ReplicaSet', 'set', {
      metadata: { ownerReferences: [controlledBy(owner)] },
      spec: { replicas: 0, selector: { matchLabels: { app: 'a' } }, template },
    })
    await pod('p', [controlledBy(set)])
    await remove(deployments, 'web', policy)
    const names = [deployments, replicaSets, pods].map((type) => here.world.names(type))
    expect(await Promise.all(names)).toEqual(left)
  })

  it('78★: in the foreground the pods go before their controller', async () => {
    await start()
    const owner = await controller('rc')
    await make('v1', 'Pod', 'p', {
      metadata: { ownerReferences: [controlledBy(owner)], finalizers: ['x.dev/held'] },
      spec: { containers: [{ name: 'c', image: 'i' }] },
    })
    await remove(replicationControllers, 'rc', 'Foreground')
    expect([await here.world.names(replicationControllers), await here.world.names(pods)]).toEqual([['rc'], ['p']])
    const body = { metadata: { finalizers: null } }
    await here.world.client.patch(pods, { namespace: 'team', name: 'p' }, { type: 'merge', body })
    await here.world.pass(30_000)
    expect([await here.world.names(replicationControllers), await here.world.names(pods)]).toEqual([[], []])
  })

  it('80★: a ring of three blocking pods goes by one foreground deletion', async () => {
    await start()
    const ring = [await pod('p0', []), await pod('p1', []), await pod('p2', [])]
    for (const [index, { metadata }] of ring.entries()) {
      const owner = ring[(index + 2) % 3] as StoredObject
      const body = { metadata: { ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })] } }
      await here.world.client.patch(pods, { namespace: 'team', name: metadata.name }, { type: 'merge', body })
    }
    await remove(pods, 'p0', 'Foreground')
    expect(await here.world.names(pods)).toEqual([])
  })

  it('81: without a word the pods of a ReplicationController stay', async () => {
    await start()
    await pod('p', [controlledBy(await controller('rc'))])
    await remove(replicationControllers, 'rc')
    expect(await here.world.names(pods)).toEqual(['p'])
  })

  it('37: a cluster-scoped object that names a namespaced owner is left alone', async () => {
    await start()
    const owner = await here.create('a')
    await here.world.create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'odd', ownerReferences: [ownedBy(owner)] },
    })
    await here.remove('a')
    expect(await here.world.get({ apiVersion: 'v1', kind: 'Namespace', name: 'odd' })).toBeDefined()
  })

  it.each(['first', 'last'])(
    '44–46: a child with the right uid under a wrong kind, made %s, goes; the good one stays',
    async (when) => {
      await start()
      const owner = await here.create('owner')
      const bad = () => here.create('bad', [ownedBy(owner, { kind: 'Secret' })])
      if (when === 'first') await bad()
      await here.create('good', [ownedBy(owner)])
      if (when === 'last') await bad()
      await here.world.pass(30_000)
      expect(await here.left()).toEqual(['good', 'owner'])
    },
  )

  it('50: what changes all the time cannot escape, and what changed its owners is judged again', async () => {
    await start()
    const owner = await here.create('owner')
    const other = await here.create('other')
    const child = await here.create('child', [ownedBy(owner)])
    await here.world.clock.settle()
    await here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'owner' })
    const body = { metadata: { ownerReferences: [ownedBy(other)] } }
    await here.world.client
      .patch(configMaps, { namespace: 'team', name: child.metadata.name }, { type: 'merge', body })
      .catch(() => {})
    await here.world.pass(30_000)
    expect((await here.left()).includes('other')).toBe(true)
  })
})
