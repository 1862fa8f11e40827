import { configMaps, namespaces } from '../../kube/core-types.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { bond, bondFinalizer, grantAnnotation, holdFinalizer } from '../../apis/bond.ts'
import { Client } from '../../client/client.ts'
import type { Transport } from '../../kube/transport.ts'
import { kubeSubject } from '../../departures/subjects/subject.ts'
import { Cascades, ownedBy, type CascadeOptions } from '../../../test/cascades.ts'
import { bondController } from './bonds/bond-controller.ts'
import { Collector } from './controller.ts'

let here: Cascades
const start = async (options: CascadeOptions = {}) => (here = await Cascades.start(options))
afterEach(() => here[Symbol.asyncDispose]())

describe('Bonds, nasty cases', () => {
  it('101: what requires something goes with the first of them that goes', async () => {
    await start()
    await Promise.all(['a', 'b', 'needs-both'].map((name) => here.create(name)))
    await here.bind('needs-both', 'a')
    await here.bind('needs-both', 'b')
    await here.world.pass(5000)
    await here.remove('a')
    expect(await here.left()).toEqual(['b'])
  })

  it('113: a ring of an owner and a Bond goes, in the foreground too', async () => {
    for (const policy of ['Background', 'Foreground'] as const) {
      await start()
      const a = await here.create('a')
      await here.create('b', [ownedBy(a, { blockOwnerDeletion: true })])
      await here.bind('a', 'b')
      await here.world.pass(5000)
      await here.remove('a', policy)
      expect(await here.left()).toEqual([])
      if (policy === 'Background') await here[Symbol.asyncDispose]()
    }
  })

  it('113: a ring whose members wait for finalizers of others is let go once, and not held again', async () => {
    await start()
    for (const name of ['a', 'b']) await here.create(name, [], { finalizers: ['x.dev/held'] })
    await here.bind('a', 'b')
    await here.bind('b', 'a')
    await here.world.pass(5000)
    await here.remove('a')
    await here.world.pass(60_000)
    const { metadata } = (await here.bond('a-b')) ?? { metadata: undefined }
    await here.world.pass(600_000)
    expect((await here.bond('a-b'))?.metadata.resourceVersion).toBe(metadata?.resourceVersion)
    for (const name of ['a', 'b']) await here.finalize(name)
    await here.world.pass(60_000)
    expect(await here.left()).toEqual([])
  })

  it('113: a ring of Bonds goes', async () => {
    await start()
    await Promise.all(['a', 'b', 'c'].map((name) => here.create(name)))
    await here.bind('a', 'b')
    await here.bind('b', 'c')
    await here.bind('c', 'a')
    await here.world.pass(5000)
    await here.remove('b')
    await here.world.pass(60_000)
    expect(await here.left()).toEqual([])
  })

  it('114: a Bond that would close a ring of refusals is refused, naming it', async () => {
    await start()
    await here.create('a')
    await here.create('b')
    await here.bind('a', 'b', 'Deny')
    await here.world.pass(5000)
    await expect(here.bind('b', 'a', 'Deny')).rejects.toThrow(
      'ConfigMap team/b -> ConfigMap team/a -> ConfigMap team/b',
    )
  })

  it('115: what a Bond kept from following its owner is asked for again within a second of its end', async () => {
    await start()
    const root = await here.create('root')
    await here.create('guarded', [ownedBy(root)])
    await here.create('alone')
    await here.create('user')
    await here.bind('user', 'guarded', 'Deny')
    await here.bind('user', 'alone', 'Deny')
    await here.world.pass(5000)
    const denied = here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'alone' })
    await expect(denied).rejects.toMatchObject({ reason: 'Conflict' })
    await here.remove('root')
    expect(await here.left()).toEqual(['alone', 'guarded', 'user'])
    await here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'user' })
    await here.world.pass(1000)
    expect(await here.left()).toEqual(['alone'])
  })

  it('116: a namespace with something denied or held in it cannot be deleted, and says why', async () => {
    await start()
    await Promise.all(['a', 'b', 'user'].map((name) => here.create(name)))
    await here.bind('user', 'a', 'Deny')
    await here.bind('user', 'b', 'Hold')
    await here.world.pass(5000)
    const attempt = here.world.client.deleteObject(namespaces, { name: 'team' })
    await expect(attempt).rejects.toThrow(
      'namespaces "team" contains an object in use by Bond team/user-a, team/user-b',
    )
    await here.remove('user')
    await here.world.client.deleteObject(namespaces, { name: 'team' })
  })

  it('protects until the last user is really gone, though the Bond was deleted first', async () => {
    await start()
    const user = await here.create('user', [], { finalizers: ['x.dev/held'] })
    await here.create('a')
    await here.bind('user', 'a', 'Deny', {
      metadata: { ownerReferences: [ownedBy(user, { blockOwnerDeletion: true })] },
    })
    await here.world.pass(5000)
    expect((await here.bond('user-a'))?.metadata.finalizers).toEqual([bondFinalizer])
    await here.remove('user', 'Foreground')
    const denied = here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'a' })
    await expect(denied).rejects.toMatchObject({ reason: 'Conflict' })
    await here.finalize('user')
    await here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'a' })
    expect([await here.bond('user-a'), await here.get('user')]).toEqual([undefined, undefined])
  })

  it('lets a human lift it by deleting it', async () => {
    await start()
    await here.create('user')
    await here.create('a')
    await here.bind('user', 'a', 'Deny')
    await here.world.pass(5000)
    await here.world.client.deleteObject(bond.type, { namespace: 'team', name: 'user-a' })
    await here.world.pass(5000)
    await here.remove('a')
    expect(await here.left()).toEqual(['user'])
  })

  it('112: a kind that must not be read neither deletes nor releases', async () => {
    await start({ isRunning: false })
    await here.create('a')
    await here.create('user')
    let isForbidden = false
    const transport: Transport = (request) =>
      isForbidden && request.path.includes('/configmaps')
        ? Promise.resolve({
            status: 403,
            body: { kind: 'Status', reason: 'Forbidden', code: 403, message: 'no' },
          } as never)
        : here.world.server.transport(request)
    here.world.run(bondController({ ...here.world, client: new Client(transport) }))
    await here.bind('user', 'a', 'Hold')
    await here.world.pass(5000)
    expect((await here.get('a'))?.metadata.finalizers).toEqual([holdFinalizer])
    isForbidden = true
    await here.remove('user')
    await here.world.pass(60_000)
    expect((await here.get('a'))?.metadata.finalizers).toEqual([holdFinalizer])
    expect((await here.bond('user-a'))?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', reason: 'Forbidden' }),
    )
  })

  it('109, 110: another cluster that is away, or back from a backup, costs at most what the breaker allows', async () => {
    await start({ isRunning: false, door: { limits: { maxPerMinute: 3 } } })
    await using far = await Cascades.start({ isRunning: false })
    for (let index = 0; index < 6; index++) {
      await here.create(`app-${index}`)
      await far.create(`db-${index}`)
    }
    let reach: Client | undefined = far.world.client
    here.world.run(bondController({ ...here.world, clusterClient: () => reach }))
    const end = { apiVersion: 'v1', kind: 'ConfigMap' }
    for (let index = 0; index < 6; index++)
      await here.world.create({
        apiVersion: bond.apiVersion,
        kind: 'Bond',
        metadata: { name: `b-${index}`, namespace: 'team' },
        spec: {
          dependent: { ...end, name: `app-${index}` },
          dependency: { ...end, cluster: 'far', namespace: 'team', name: `db-${index}` },
          onDelete: 'Cascade',
        },
      })
    await here.world.pass(20_000)
    reach = undefined
    await here.world.pass(3_600_000)
    expect(await here.left()).toHaveLength(6)
    for (let index = 0; index < 6; index++)
      await far.world.client.deleteObject(configMaps, { namespace: 'team', name: `db-${index}` })
    reach = far.world.client
    await here.world.pass(16_000)
    expect(await here.left()).toHaveLength(6)
    await here.world.pass(600_000)
    expect(await here.left()).toHaveLength(3)
  })

  it.each([
    ['Deny', { result: 'refused', because: 'bond-denies' }],
    ['Hold', { result: 'held', because: 'bond-holds' }],
  ])(
    '%s of something in another cluster binds our own door, and no user of that cluster',
    async (onDelete, verdict) => {
      await start({ isRunning: false })
      await using far = await Cascades.start({ isRunning: false })
      await here.create('app')
      const database = await far.create('database')
      here.world.run(bondController({ ...here.world, clusterClient: () => far.world.client }))
      const end = { apiVersion: 'v1', kind: 'ConfigMap' }
      const dependency = { ...end, cluster: 'far', namespace: 'team', name: 'database' }
      await here.world.create({
        apiVersion: bond.apiVersion,
        kind: 'Bond',
        metadata: { name: 'app-database', namespace: 'team' },
        spec: { dependent: { ...end, name: 'app' }, dependency, onDelete },
      })
      await here.world.pass(20_000)
      expect((await here.bond('app-database'))?.status?.conditions).toMatchObject([{ reason: 'BoundHere' }])
      const subject = { ...kubeSubject(far.world.client, configMaps, dependency), cluster: 'far' }
      const wish = { subject, uid: database.metadata.uid, because: 'test', by: { system: 'cleaner' as const } }
      expect(await here.world.door.depart(wish)).toMatchObject(verdict)
      expect((await far.get('database'))?.metadata.finalizers).toBeUndefined()
      await far.remove('database')
      expect(await far.left()).toEqual([])
    },
  )

  it.each(['ConfigMap', 'configmap'])(
    'gains no power through a Bond that its maker does not have: %s',
    async (kind) => {
      await start()
      await here.create('app')
      await here.create('database')
      const jo = new Client(here.world.server.transportAs({ name: 'jo', groups: ['system:authenticated'] }))
      const rules = [{ apiGroups: [bond.group], resources: ['bonds'], verbs: ['create'] }]
      const metadata = { name: 'bonds', namespace: 'team' }
      await here.world.create({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata, rules } as never)
      await here.world.create({
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'RoleBinding',
        metadata,
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'bonds' },
        subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jo' }],
      } as never)
      await here.world.clock.settle()
      const end = { apiVersion: 'v1', kind }
      const attempt = jo.create(bond.type, {
        apiVersion: bond.apiVersion,
        kind: 'Bond',
        metadata: { name: 'b', namespace: 'team' },
        spec: { dependent: { ...end, name: 'app' }, dependency: { ...end, name: 'database' }, onDelete: 'Cascade' },
      })
      await expect(attempt).rejects.toThrow(`on behalf of "jo", who cannot delete ${kind} "app" in namespace "team"`)
    },
  )

  it('115: in a cluster of others what it protected goes after all, though it changes in that very moment', async () => {
    await start({ isRunning: false })
    const owner = await here.create('owner')
    await here.create('child', [ownedBy(owner)])
    await here.create('user')
    let changes = 0
    const transport: Transport = async (request) => {
      if (request.method === 'DELETE' && request.path.endsWith('/child') && changes++ === 0)
        await here.world.client.patch(
          configMaps,
          { namespace: 'team', name: 'child' },
          { type: 'merge', body: { metadata: { labels: { at: 'last' } } } },
        )
      return here.world.server.transport(request)
    }
    const collector = new Collector({ ...here.world, client: new Client(transport), ownsReferences: false })
    here.world.run(collector as never)
    here.world.run(bondController({ ...here.world, bondEdges: collector.bondEdges }))
    await here.bind('user', 'child', 'Deny')
    await here.world.pass(5000)
    await here.remove('owner')
    expect(await here.left()).toEqual(['child', 'user'])
    await here.remove('user')
    await here.world.pass(60_000)
    expect([await here.left(), changes]).toEqual([[], 2])
  })

  it('speaks for nothing cluster-scoped from a namespace of users', async () => {
    await start()
    await here.create('a')
    await here.world.create({
      apiVersion: bond.apiVersion,
      kind: 'Bond',
      metadata: { name: 'b', namespace: 'team' },
      spec: {
        dependent: { apiVersion: 'v1', kind: 'Namespace', name: 'team' },
        dependency: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a' },
        onDelete: 'Cascade',
      },
    })
    await here.world.pass(5000)
    expect((await here.bond('b'))?.status?.conditions).toMatchObject([
      { type: 'Ready', status: 'False', reason: 'NotAllowed' },
      { type: 'Stalled', status: 'True', reason: 'NotAllowed' },
    ])
    await here.remove('a')
    expect(await here.world.get({ apiVersion: 'v1', kind: 'Namespace', name: 'team' })).toBeDefined()
  })

  it('needs a grant to hold up another namespace', async () => {
    await start()
    await here.world.create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'platform', annotations: { [grantAnnotation]: 'other' } },
    })
    await here.create('database', [], { namespace: 'platform' })
    await here.create('app')
    await here.bind('app', 'database', 'Deny', { dependencyNamespace: 'platform' })
    await here.world.pass(5000)
    expect((await here.bond('app-database'))?.status).toMatchObject({ phase: 'Pending' })
    await here.world.client.deleteObject(configMaps, { namespace: 'platform', name: 'database' })
  })

  it('cannot come to need something else: that would look as if what it needed were gone', async () => {
    await start()
    await Promise.all(['app', 'a', 'b'].map((name) => here.create(name)))
    await here.bind('app', 'a')
    await here.world.pass(5000)
    const body = { spec: { dependency: { name: 'b' } } }
    const attempt = here.world.client.patch(bond.type, { namespace: 'team', name: 'app-a' }, { type: 'merge', body })
    await expect(attempt).rejects.toThrow('spec.dependency: Invalid value: cannot be changed: make another Bond')
    await here.world.pass(20_000)
    expect(await here.left()).toEqual(['a', 'app', 'b'])
  })
})
