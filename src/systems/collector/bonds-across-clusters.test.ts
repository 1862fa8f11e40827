import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cascades, configMaps, ownedBy, spaces } from '../../../test/cascades.ts'
import { bond, bondFinalizer, grantAnnotation, holdFinalizer, inUseAnnotation, inUseLabel } from '../../apis/bond.ts'
import { drain } from '../../app/drain.ts'
import { explainObject } from '../../app/explain.ts'
import { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import { kubeSubject } from '../../departures/subject.ts'
import type { StoredObject } from '../../kube/object.ts'
import type { Transport } from '../../kube/transport.ts'
import { bondController } from './bonds.ts'

type OnDelete = 'Cascade' | 'Orphan' | 'Hold' | 'Deny'

let here: Cascades
let far: Cascades
/** What the other cluster knows ours by. */
let id: string
/** The way to the other cluster; undefined while it is away. */
let way: Client | undefined

beforeEach(async () => {
  here = await Cascades.start({ isRunning: false })
  far = await Cascades.start()
  way = far.world.client
  here.world.run(bondController({ ...here.world, clusterClient: () => way }))
  const system = await here.world.client.get<StoredObject>(spaces, { name: 'kube-system' })
  id = system.metadata.uid
  await here.create('app')
  await far.create('database')
})
afterEach(async () => {
  await here[Symbol.asyncDispose]()
  await far[Symbol.asyncDispose]()
})

const end = { apiVersion: 'v1', kind: 'ConfigMap' }
const database = { ...end, cluster: 'far', namespace: 'team', name: 'database' }

async function give(leave: string | null): Promise<void> {
  const body = { metadata: { annotations: { [grantAnnotation]: leave } } }
  await far.world.client.patch(spaces, { name: 'team' }, { type: 'merge', body })
}

/** Our app needs their database. */
async function bind(onDelete: OnDelete, dependency: object = database): Promise<void> {
  await here.world.create({
    apiVersion: bond.apiVersion,
    kind: 'Bond',
    metadata: { name: 'app-database', namespace: 'team' },
    spec: { dependent: { ...end, name: 'app' }, dependency, onDelete, reason: 'orders' },
  })
  await pass()
}

async function pass(ms = 40_000): Promise<void> {
  await here.world.pass(ms)
  await far.world.pass(ms)
}

async function letGo(name = 'app'): Promise<void> {
  await here.world.client.deleteObject(configMaps, { namespace: 'team', name })
  await pass()
}

const reason = async () => (await here.bond('app-database'))?.status?.conditions?.[0]
const marks = async () => {
  const { finalizers, labels, annotations } = (await far.get('database'))?.metadata ?? {}
  return { finalizers, labels, annotations }
}
const unmarked = { finalizers: undefined, labels: undefined, annotations: undefined }
const farSpace = () => far.world.client.get<StoredObject>(spaces, { name: 'team' })
const heldFrom = () => `sojourn.dev/held-from-${id}`
const named = () => `team/app-database of cluster ${id} (orders)`
const inUseBy = () => `${inUseAnnotation}.${id}`

/** The other cluster, where one path must not be read or, without one, nothing may be changed. */
function unreadable(path: string): Client {
  const body = { kind: 'Status', reason: 'Forbidden', code: 403, message: 'you may not' }
  const transport: Transport = (request) =>
    request.path === path || (path === '' && request.method === 'PATCH')
      ? Promise.resolve({ status: 403, body } as never)
      : far.world.server.transport(request)
  return new Client(transport, { cluster: 'far' })
}

describe('a Bond to something in another cluster, with leave', () => {
  beforeEach(() => give(`others, ${id}/team`))

  it('Hold: makes it wait there until the last who needs it is gone', async () => {
    await bind('Hold')
    expect(await marks()).toMatchObject({ finalizers: [heldFrom()] })
    expect(await reason()).toMatchObject({ status: 'True', reason: 'Bound' })
    await far.remove('database')
    await pass()
    expect(await far.left()).toEqual(['database'])
    expect(await reason()).toMatchObject({ reason: 'Holding' })
    await letGo()
    expect(await far.left()).toEqual([])
  })

  it('Deny: is refused there, with its namespace, naming the Bond and its cluster', async () => {
    await bind('Deny')
    const refusal = `"database" is in use by Bond team/app-database of cluster ${id} (orders)`
    await expect(far.remove('database')).rejects.toThrow(refusal)
    await expect(far.world.client.deleteObject(spaces, { name: 'team' })).rejects.toThrow(`"team" is in use by Bond`)
    expect(await reason()).toMatchObject({ status: 'True', reason: 'Bound' })
    await letGo()
    expect(await marks()).toEqual(unmarked)
    expect((await farSpace()).metadata.labels?.[inUseLabel]).toBeUndefined()
    expect(Object.keys((await farSpace()).metadata.annotations ?? {})).toEqual([grantAnnotation])
    await far.remove('database')
    expect(await far.left()).toEqual([])
  })

  it('Hold: keeps the namespace it is in from being deleted over its head', async () => {
    await bind('Hold')
    await expect(far.world.client.deleteObject(spaces, { name: 'team' })).rejects.toThrow(
      `is in use by Bond team/app-database of cluster ${id}`,
    )
  })

  it('Cascade: those who need it go first', async () => {
    await bind('Cascade')
    await far.remove('database')
    expect(await far.left()).toEqual(['database'])
    await pass()
    expect(await here.left()).toEqual([])
    expect(await far.left()).toEqual([])
  })

  it('Orphan: leaves no mark', async () => {
    await bind('Orphan')
    expect(await marks()).toEqual(unmarked)
  })

  it.each(['Hold', 'Deny'] as const)('%s: lets go when the leave is withdrawn', async (onDelete) => {
    await bind(onDelete)
    expect(await marks()).not.toEqual(unmarked)
    await give(null)
    await pass()
    expect(await marks()).toEqual(unmarked)
    expect((await farSpace()).metadata.annotations?.[inUseBy()]).toBeUndefined()
    expect(await reason()).toMatchObject({ reason: 'BoundHere' })
  })

  it.each(['Hold', 'Deny'] as const)(
    '%s: holds on while that cluster is away, and the Bond with it',
    async (onDelete) => {
      await bind(onDelete)
      const before = await marks()
      way = undefined
      await letGo()
      await here.world.client.deleteObject(bond.type, { namespace: 'team', name: 'app-database' })
      await pass(600_000)
      expect(await marks()).toEqual(before)
      expect((await here.bond('app-database'))?.metadata.finalizers).toEqual([bondFinalizer])
      expect((await reason())?.message).toContain('the Bond stays until what it may hold can be let go')
      way = far.world.client
      await pass()
      expect(await marks()).toEqual(unmarked)
      expect(await here.bond('app-database')).toBeUndefined()
    },
  )

  it('Deny: binds the doors and cascades of that cluster, too', async () => {
    const root = await far.create('root')
    const body = { metadata: { ownerReferences: [ownedBy(root)] } }
    await far.world.client.patch(configMaps, { namespace: 'team', name: 'database' }, { type: 'merge', body })
    await bind('Deny')
    const { uid = '' } = (await far.get('database'))?.metadata ?? {}
    const subject = kubeSubject(far.world.client, configMaps, { ...end, namespace: 'team', name: 'database' })
    const wish = { subject, uid, because: 'test', by: { system: 'cleaner' as const } }
    expect(await far.world.door.depart(wish)).toMatchObject({
      result: 'refused',
      because: 'bond-denies',
      detail: `Bond team/app-database of cluster ${id} (orders)`,
    })
    const type = (await far.world.client.discovery.typeOf(end)) as DiscoveredType
    const object = await far.world.client.get<StoredObject>(configMaps, { namespace: 'team', name: 'database' })
    const told = await explainObject(far.world.client, { type, object }, far.world.clock.now())
    const why = `something still in use needs it and its Bond refuses the deletion (Bond ${named()})`
    expect(told.sentences).toContain(`No system of ours deletes it: ${why}.`)
    const actions = (root: string) =>
      [...(far.collector.preview(root, 'Background')?.nodes ?? [])].map(({ action }) => action)
    expect(actions(uid)).toEqual(['refuse'])
    expect(actions(root.metadata.uid)).toEqual(['delete', 'keep'])
    await far.remove('root')
    expect(await far.left()).toEqual(['database'])
    await letGo()
    await pass(700_000)
    expect(await far.left()).toEqual([])
  })

  it('takes no mark off but its own', async () => {
    await far.create('stuck', [], { finalizers: [holdFinalizer] })
    await bind('Hold', { ...database, name: 'stuck' })
    expect((await far.get('stuck'))?.metadata.finalizers).toEqual([holdFinalizer, heldFrom()])
    await letGo()
    expect((await far.get('stuck'))?.metadata.finalizers).toEqual([holdFinalizer])
  })

  it('leaves the marks of that cluster’s own Bonds alone, and they ours', async () => {
    await far.create('user')
    await far.bind('user', 'database', 'Hold')
    await bind('Hold')
    expect((await marks()).finalizers?.toSorted()).toEqual([holdFinalizer, heldFrom()])
    await letGo()
    expect((await marks()).finalizers).toEqual([holdFinalizer])
    await here.create('app')
    await pass()
    await far.remove('user')
    expect((await marks()).finalizers).toEqual([heldFrom()])
  })

  it('leaves the label to that cluster’s own Bonds, and they to ours', async () => {
    far.world.run(bondController({ ...far.world, guards: true }))
    await far.create('user')
    await far.bind('user', 'database', 'Deny')
    await bind('Deny')
    expect((await marks()).annotations).toEqual({ [inUseAnnotation]: 'team/user-database', [inUseBy()]: named() })
    await letGo()
    expect(await marks()).toMatchObject({
      labels: { [inUseLabel]: 'true' },
      annotations: { [inUseAnnotation]: 'team/user-database' },
    })
    await here.create('app')
    await pass()
    await far.remove('user')
    expect((await marks()).annotations).toEqual({ [inUseBy()]: named() })
    await expect(far.remove('database')).rejects.toThrow(`in use by Bond ${named()}`)
    expect((await farSpace()).metadata.annotations).toMatchObject({ [inUseBy()]: named() })
    expect((await farSpace()).metadata.annotations).not.toHaveProperty([inUseAnnotation])
  })

  it('goes on holding there while nobody can say whether it has leave', async () => {
    await bind('Hold')
    way = unreadable('/api/v1/namespaces/team')
    await pass(120_000)
    expect(await marks()).toMatchObject({ finalizers: [heldFrom()] })
    expect(await reason()).toMatchObject({ status: 'Unknown', reason: 'Forbidden' })
  })

  it('says what is missing where nothing refuses a deletion, and where it may not look', async () => {
    let status = 404
    const other: Transport = (request) => {
      if (request.path === '/version') return Promise.resolve({ status: 200, body: { gitVersion: 'v1.38.0' } } as never)
      if (!request.path.includes('validatingadmissionpolicybindings')) return far.world.server.transport(request)
      const named = { 404: 'NotFound', 403: 'Forbidden' }[status]
      const body = { kind: 'Status', reason: named, code: status, message: 'no' }
      return Promise.resolve({
        status,
        body: status === 200 ? { metadata: { name: 'sojourn-in-use' } } : body,
      } as never)
    }
    way = new Client(other, { cluster: 'far' })
    await bind('Deny')
    expect(await reason()).toMatchObject({ status: 'False', reason: 'NotEnforced' })
    status = 403
    await pass()
    expect(await reason()).toMatchObject({ status: 'Unknown', reason: 'Bound' })
    status = 200
    await pass()
    expect(await reason()).toMatchObject({ status: 'True', reason: 'Bound' })
  })

  it('says whom to ask where it may not put its mark, and claims nothing until then', async () => {
    way = unreadable('')
    await bind('Hold')
    expect(await reason()).toMatchObject({ status: 'False', reason: 'TakingHold' })
    expect(await here.told('MarkRefused')).toEqual(['you may not'])
    way = far.world.client
    await pass(120_000)
    expect(await reason()).toMatchObject({ status: 'True', reason: 'Bound' })
    way = unreadable('')
    await here.world.client.deleteObject(bond.type, { namespace: 'team', name: 'app-database' })
    await pass()
    expect((await here.bond('app-database'))?.metadata.finalizers).toEqual([bondFinalizer])
  })

  it('is asked again as soon as that cluster can be reached', async () => {
    let tell: (cluster: string) => void = () => {}
    way = undefined
    here.world.run(
      bondController({
        ...here.world,
        clusterClient: () => way,
        onClusterChange: (listener) => void (tell = listener),
      }),
    )
    await bind('Hold')
    expect(await reason()).toMatchObject({ reason: 'ClusterUnreachable' })
    way = far.world.client
    tell('far')
    await pass(2000)
    expect(await reason()).toMatchObject({ reason: 'Bound' })
  })

  it('is named by a drain, which does not reach there', async () => {
    await bind('Hold')
    const { problems } = await drain(here.world.client, { dryRun: true, clock: here.world.clock })
    expect(problems).toEqual([
      'may be held in cluster "far": ConfigMap database, by Bond team/app-database; delete the Bond while the collector runs, or take the marks off there',
    ])
  })

  it('is let go by a drain of that cluster, marks of others included', async () => {
    await bind('Deny')
    way = undefined
    const draining = drain(far.world.client, { dryRun: false, clock: far.world.clock })
    await far.world.pass(5000)
    expect((await draining).problems).toEqual([])
    expect(await marks()).toEqual(unmarked)
    expect(Object.keys((await farSpace()).metadata.annotations ?? {})).toEqual([grantAnnotation])
  })

  it('holds something that has no namespace by the leave it gives itself', async () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }
    const metadata = { name: 'shared', annotations: { [grantAnnotation]: `${id}/*` } }
    await far.world.create({ ...role, metadata, rules: [] } as never)
    await bind('Hold', { ...role, cluster: 'far', name: 'shared' })
    const found = await far.world.get<StoredObject>({ ...role, name: 'shared' })
    expect(found?.metadata.finalizers).toEqual([heldFrom()])
  })

  it('keeps a namespace whole that it holds or denies', async () => {
    await far.world.create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'data', annotations: { [grantAnnotation]: `${id}/team` } },
    })
    await bind('Deny', { apiVersion: 'v1', kind: 'Namespace', cluster: 'far', name: 'data' })
    expect(await reason()).toMatchObject({ status: 'True', reason: 'Bound' })
    await expect(far.world.client.deleteObject(spaces, { name: 'data' })).rejects.toThrow('"data" is in use by Bond')
    await letGo()
    await far.world.client.deleteObject(spaces, { name: 'data' })
  })
})

describe('a Bond to something in another cluster, without leave', () => {
  it.each(['*', 'team', 'another-cluster/team', 'another-cluster/*'])(
    'takes no other leave for its own: %s',
    async (leave) => {
      await give(leave)
      await bind('Deny')
      expect(await marks()).toEqual(unmarked)
      expect(await reason()).toMatchObject({ status: 'True', reason: 'BoundHere' })
      expect((await reason())?.message).toContain(`${grantAnnotation}=${id}/team`)
    },
  )

  it('uses no way into a cluster that another namespace has and does not lend', async () => {
    await here.world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform' } })
    const asked: string[] = []
    way = new Client((request) => (asked.push(request.path), far.world.server.transport(request)))
    await bind('Cascade', { ...database, cluster: 'platform.far' })
    expect(asked).toEqual([])
    expect(await reason()).toMatchObject({ status: 'False', reason: 'ClusterNotLent' })
    const body = { metadata: { annotations: { [grantAnnotation]: 'team' } } }
    await here.world.client.patch(spaces, { name: 'platform' }, { type: 'merge', body })
    await pass()
    expect(asked).not.toEqual([])
  })

  it('takes a namespace that it may not read for one that has given none', async () => {
    await give(`${id}/team`)
    way = unreadable('/api/v1/namespaces/team')
    await bind('Cascade')
    expect(await reason()).toMatchObject({ status: 'True', reason: 'Bound' })
    expect(await marks()).toEqual(unmarked)
  })
})
