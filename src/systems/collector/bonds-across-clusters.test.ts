import { configMaps, namespaces } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ownedBy, type Cascades } from '../../../test/cascades.ts'
import { database, TwoClusters } from '../../../test/two-clusters.ts'
import { bond, bondFinalizer, grantAnnotation, holdFinalizer, inUseAnnotation, inUseLabel } from '../../apis/bond.ts'
import { drain } from '../../app/operations/drain.ts'
import { explainObject } from '../../queries/explain.ts'
import { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import { kubeSubject } from '../../departures/subjects/subject.ts'
import type { StoredObject } from '../../kube/object.ts'
import type { Transport } from '../../kube/transport.ts'
import { bondController } from './bonds/bond-controller.ts'

let both: TwoClusters
let here: Cascades
let far: Cascades
/** What the other cluster knows ours by. */
let id: string

beforeEach(async () => {
  both = await TwoClusters.start()
  ;({ near: here, far, id } = both)
  both.run()
})
afterEach(() => both[Symbol.asyncDispose]())

const end = { apiVersion: 'v1', kind: 'ConfigMap' }

async function letGo(name = 'app'): Promise<void> {
  await here.world.client.deleteObject(configMaps, { namespace: 'team', name })
  await both.pass()
}

const marks = async () => {
  const { finalizers, labels, annotations } = (await far.get('database'))?.metadata ?? {}
  return { finalizers, labels, annotations }
}
const unmarked = { finalizers: undefined, labels: undefined, annotations: undefined }
const heldFrom = () => `sojourn.dev/held-from-${id}`
const named = () => `team/app-database of cluster ${id}`

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
  beforeEach(() => both.give(`others, ${id}/team`))

  it('Hold: makes it wait there until the last who needs it is gone', async () => {
    await both.bind('Hold')
    expect(await marks()).toMatchObject({ finalizers: [heldFrom()] })
    expect(await both.condition()).toMatchObject({ status: 'True', reason: 'Bound' })
    await far.remove('database')
    await both.pass()
    expect(await far.left()).toEqual(['database'])
    expect(await both.condition()).toMatchObject({ reason: 'Holding' })
    await letGo()
    expect(await far.left()).toEqual([])
  })

  it('Deny: is refused there, with its namespace, naming the Bond and its cluster', async () => {
    await both.bind('Deny')
    const refusal = `"database" is in use by Bond team/app-database of cluster ${id}`
    await expect(far.remove('database')).rejects.toThrow(refusal)
    await expect(far.world.client.deleteObject(namespaces, { name: 'team' })).rejects.toThrow(
      `"team" is in use by Bond`,
    )
    expect(await both.condition()).toMatchObject({ status: 'True', reason: 'Bound' })
    await letGo()
    expect(await marks()).toEqual(unmarked)
    expect((await both.space()).metadata.labels?.[inUseLabel]).toBeUndefined()
    expect(Object.keys((await both.space()).metadata.annotations ?? {})).toEqual([grantAnnotation])
    await far.remove('database')
    expect(await far.left()).toEqual([])
  })

  it('Hold: keeps the namespace it is in from being deleted over its head', async () => {
    await both.bind('Hold')
    await expect(far.world.client.deleteObject(namespaces, { name: 'team' })).rejects.toThrow(
      `is in use by Bond team/app-database of cluster ${id}`,
    )
  })

  it('Cascade: those who need it go first', async () => {
    await both.bind('Cascade')
    await far.remove('database')
    expect(await far.left()).toEqual(['database'])
    await both.pass()
    expect(await here.left()).toEqual([])
    expect(await far.left()).toEqual([])
  })

  it('Orphan: leaves no mark', async () => {
    await both.bind('Orphan')
    expect(await marks()).toEqual(unmarked)
  })

  it.each(['Hold', 'Deny'] as const)('%s: lets go when the leave is withdrawn', async (onDelete) => {
    await both.bind(onDelete)
    expect(await marks()).not.toEqual(unmarked)
    await both.give(null)
    await both.pass()
    expect(await marks()).toEqual(unmarked)
    expect((await both.space()).metadata.annotations?.[both.inUseBy]).toBeUndefined()
    expect(await both.condition()).toMatchObject({ reason: 'BoundHere' })
  })

  it.each(['Hold', 'Deny'] as const)(
    '%s: holds on while that cluster is away, and the Bond with it',
    async (onDelete) => {
      await both.bind(onDelete)
      const before = await marks()
      both.way = undefined
      await letGo()
      await here.world.client.deleteObject(bond.type, { namespace: 'team', name: 'app-database' })
      await both.pass(600_000)
      expect(await marks()).toEqual(before)
      expect((await here.bond('app-database'))?.metadata.finalizers).toEqual([bondFinalizer])
      expect((await both.condition())?.message).toContain('the Bond stays until its marks can be removed')
      both.way = far.world.client
      await both.pass()
      expect(await marks()).toEqual(unmarked)
      expect(await here.bond('app-database')).toBeUndefined()
    },
  )

  it('Deny: binds the doors and cascades of that cluster, too', async () => {
    const root = await far.create('root')
    const body = { metadata: { ownerReferences: [ownedBy(root)] } }
    await far.world.client.patch(configMaps, { namespace: 'team', name: 'database' }, { type: 'merge', body })
    await both.bind('Deny')
    const { uid = '' } = (await far.get('database'))?.metadata ?? {}
    const subject = kubeSubject(far.world.client, configMaps, { ...end, namespace: 'team', name: 'database' })
    const wish = { subject, uid, because: 'test', by: { system: 'cleaner' as const } }
    expect(await far.world.door.depart(wish)).toMatchObject({
      result: 'refused',
      because: 'bond-denies',
      detail: `Bond team/app-database of cluster ${id}`,
    })
    const type = (await far.world.client.discovery.typeOf(end)) as DiscoveredType
    const object = await far.world.client.get<StoredObject>(configMaps, { namespace: 'team', name: 'database' })
    const told = await explainObject(far.world.client, { type, object }, far.world.clock.now())
    const why = `a Bond forbids its deletion while its dependents exist (Bond ${named()})`
    expect(told.sentences).toContain(`Sojourn does not delete it: ${why}.`)
    const actions = (root: string) =>
      [...(far.collector.preview(root, 'Background')?.nodes ?? [])].map(({ action }) => action)
    expect(actions(uid)).toEqual(['refuse'])
    expect(actions(root.metadata.uid)).toEqual(['delete', 'keep'])
    await far.remove('root')
    expect(await far.left()).toEqual(['database'])
    await letGo()
    await both.pass(700_000)
    expect(await far.left()).toEqual([])
  })

  it('takes no mark off but its own', async () => {
    await far.create('stuck', [], { finalizers: [holdFinalizer] })
    await both.bind('Hold', { ...database, name: 'stuck' })
    expect((await far.get('stuck'))?.metadata.finalizers).toEqual([holdFinalizer, heldFrom()])
    await letGo()
    expect((await far.get('stuck'))?.metadata.finalizers).toEqual([holdFinalizer])
  })

  it('leaves the marks of that cluster’s own Bonds alone, and they ours', async () => {
    await far.create('user')
    await far.bind('user', 'database', 'Hold')
    await both.bind('Hold')
    expect((await marks()).finalizers?.toSorted()).toEqual([holdFinalizer, heldFrom()])
    await letGo()
    expect((await marks()).finalizers).toEqual([holdFinalizer])
    await here.create('app')
    await both.pass()
    await far.remove('user')
    expect((await marks()).finalizers).toEqual([heldFrom()])
  })

  it('leaves the label to that cluster’s own Bonds, and they to ours', async () => {
    far.world.run(bondController({ ...far.world, needsLabels: true }))
    await far.create('user')
    await far.bind('user', 'database', 'Deny')
    await both.bind('Deny')
    expect((await marks()).annotations).toEqual({ [inUseAnnotation]: 'team/user-database', [both.inUseBy]: named() })
    await letGo()
    expect(await marks()).toMatchObject({
      labels: { [inUseLabel]: 'true' },
      annotations: { [inUseAnnotation]: 'team/user-database' },
    })
    await here.create('app')
    await both.pass()
    await far.remove('user')
    expect((await marks()).annotations).toEqual({ [both.inUseBy]: named() })
    await expect(far.remove('database')).rejects.toThrow(`in use by Bond ${named()}`)
    expect((await both.space()).metadata.annotations).toMatchObject({ [both.inUseBy]: named() })
    expect((await both.space()).metadata.annotations).not.toHaveProperty([inUseAnnotation])
  })

  it('goes on holding there while its permission is unknown', async () => {
    await both.bind('Hold')
    both.way = unreadable('/api/v1/namespaces/team')
    await both.pass(120_000)
    expect(await marks()).toMatchObject({ finalizers: [heldFrom()] })
    expect(await both.condition()).toMatchObject({ status: 'Unknown', reason: 'Forbidden' })
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
    both.way = new Client(other, { cluster: 'far' })
    await both.bind('Deny')
    expect(await both.condition()).toMatchObject({ status: 'False', reason: 'NotEnforced' })
    status = 403
    await both.pass()
    expect(await both.condition()).toMatchObject({ status: 'Unknown', reason: 'Bound' })
    status = 200
    await both.pass()
    expect(await both.condition()).toMatchObject({ status: 'True', reason: 'Bound' })
  })

  it('says whom to ask where it may not put its mark, and claims nothing until then', async () => {
    both.way = unreadable('')
    await both.bind('Hold')
    expect(await both.condition()).toMatchObject({ status: 'False', reason: 'TakingHold' })
    expect(await here.told('MarkRefused')).toEqual(['you may not'])
    both.way = far.world.client
    await both.pass(120_000)
    expect(await both.condition()).toMatchObject({ status: 'True', reason: 'Bound' })
    both.way = unreadable('')
    await here.world.client.deleteObject(bond.type, { namespace: 'team', name: 'app-database' })
    await both.pass()
    expect((await here.bond('app-database'))?.metadata.finalizers).toEqual([bondFinalizer])
  })

  it('is asked again as soon as that cluster can be reached', async () => {
    let tell: (cluster: string) => void = () => {}
    both.way = undefined
    here.world.run(
      bondController({
        ...here.world,
        clusterClient: () => both.way,
        onClusterChange: (listener) => void (tell = listener),
      }),
    )
    await both.bind('Hold')
    expect(await both.condition()).toMatchObject({ reason: 'ClusterUnreachable' })
    both.way = far.world.client
    tell('far')
    await both.pass(2000)
    expect(await both.condition()).toMatchObject({ reason: 'Bound' })
  })

  it('lets go of a namespace that is written meanwhile, though the database goes as soon as it may', async () => {
    await both.bind('Deny')
    let writes = 0
    both.way = new Client(
      async (request) => {
        const { method, path } = request
        // Somebody else is faster once, so that the first patch conflicts.
        if (method === 'PATCH' && path === '/api/v1/namespaces/team' && writes++ === 0)
          await both.give(`${id}/team, others`)
        const response = await far.world.server.transport(request)
        if (method === 'PATCH' && path.endsWith('/configmaps/database')) await far.remove('database')
        return response
      },
      { cluster: 'far' },
    )
    await letGo()
    expect(writes).toBe(2)
    expect(await far.left()).toEqual([])
    expect((await both.space()).metadata.labels?.[inUseLabel]).toBeUndefined()
  })

  it('is named by a drain, which does not reach there', async () => {
    await both.bind('Hold')
    const { problems } = await drain(here.world.client, { dryRun: true, clock: here.world.clock })
    expect(problems).toEqual([
      'may be held in cluster "far": ConfigMap database, by Bond team/app-database; delete the Bond while the collector runs, or remove the marks there',
    ])
  })

  it('is let go by a drain of that cluster, marks of others included', async () => {
    await both.bind('Deny')
    both.way = undefined
    const draining = drain(far.world.client, { dryRun: false, clock: far.world.clock })
    await far.world.pass(5000)
    expect((await draining).problems).toEqual([])
    expect(await marks()).toEqual(unmarked)
    expect(Object.keys((await both.space()).metadata.annotations ?? {})).toEqual([grantAnnotation])
  })

  it('holds something that has no namespace by the leave it gives itself', async () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole' }
    const metadata = { name: 'shared', annotations: { [grantAnnotation]: `${id}/*` } }
    await far.world.create({ ...role, metadata, rules: [] } as never)
    await both.bind('Hold', { ...role, cluster: 'far', name: 'shared' })
    const found = await far.world.get<StoredObject>({ ...role, name: 'shared' })
    expect(found?.metadata.finalizers).toEqual([heldFrom()])
  })

  it('keeps a namespace whole that it holds or denies', async () => {
    await far.world.create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'data', annotations: { [grantAnnotation]: `${id}/team` } },
    })
    await both.bind('Deny', { apiVersion: 'v1', kind: 'Namespace', cluster: 'far', name: 'data' })
    expect(await both.condition()).toMatchObject({ status: 'True', reason: 'Bound' })
    await expect(far.world.client.deleteObject(namespaces, { name: 'data' })).rejects.toThrow(
      '"data" is in use by Bond',
    )
    await letGo()
    await far.world.client.deleteObject(namespaces, { name: 'data' })
  })
})

describe('a Bond to something in another cluster, without leave', () => {
  it.each(['*', 'team', 'another-cluster/team', 'another-cluster/*'])(
    'takes no other permission for its own: %s',
    async (leave) => {
      await both.give(leave)
      await both.bind('Deny')
      expect(await marks()).toEqual(unmarked)
      expect(await both.condition()).toMatchObject({ status: 'True', reason: 'BoundHere' })
      expect((await both.condition())?.message).toContain(`${grantAnnotation}=${id}/team`)
    },
  )

  it('uses no way into a cluster that another namespace has and does not lend', async () => {
    await here.world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform' } })
    const asked: string[] = []
    both.way = new Client((request) => (asked.push(request.path), far.world.server.transport(request)))
    await both.bind('Cascade', { ...database, cluster: 'platform.far' })
    expect(asked).toEqual([])
    expect(await both.condition()).toMatchObject({ status: 'False', reason: 'ClusterNotLent' })
    const body = { metadata: { annotations: { [grantAnnotation]: 'team' } } }
    await here.world.client.patch(namespaces, { name: 'platform' }, { type: 'merge', body })
    await both.pass()
    expect(asked).not.toEqual([])
  })

  it('takes a namespace that it may not read for one that has given none', async () => {
    await both.give(`${id}/team`)
    both.way = unreadable('/api/v1/namespaces/team')
    await both.bind('Cascade')
    expect(await both.condition()).toMatchObject({ status: 'True', reason: 'Bound' })
    expect(await marks()).toEqual(unmarked)
  })
})
