import { configMaps, namespaces } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cascades } from '../../../test/cascades.ts'
import { database, TwoClusters } from '../../../test/two-clusters.ts'
import { bond, grantAnnotation, holdFinalizer, inUseLabel } from '../../apis/bond.ts'
import { Client } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import { ignoring } from '../../kube/status-error.ts'
import type { Transport } from '../../kube/transport.ts'
import { bondController } from './bonds/bond-controller.ts'

let both: TwoClusters
beforeEach(async () => {
  both = await TwoClusters.start()
})
afterEach(() => both[Symbol.asyncDispose]())

const unmarked = { hold: false }
const named = (name: string) => `team/${name} of cluster ${both.id}`
const onApp = (metadata: object) =>
  both.near.world.client.patch(configMaps, { namespace: 'team', name: 'app' }, { type: 'merge', body: { metadata } })
const edits = [
  ['Hold', 'Deny'],
  ['Cascade', 'Deny'],
  ['Deny', 'Hold'],
  ['Deny', 'Cascade'],
] as const

describe('the marks of a Bond', () => {
  it.each(edits)('in another cluster are those of what it says now: %s, then %s', async (before, now) => {
    both.run()
    await both.bind(before)
    await both.edit({ onDelete: now })
    const guard = named('app-database')
    expect(await both.marks()).toEqual({
      hold: now !== 'Deny',
      ...(now === 'Deny' ? { guard } : {}),
      ...(now === 'Cascade' ? {} : { spaceGuard: guard }),
    })
  })

  it.each(edits)('are those of what it says now: %s, then %s', async (before, now) => {
    await using here = await Cascades.start({ needsLabels: true })
    await here.create('app')
    await here.create('database')
    await here.bind('app', 'database', before)
    await here.world.pass(20_000)
    const place = { namespace: 'team', name: 'app-database' }
    await here.world.client.patch(bond.type, place, { type: 'merge', body: { spec: { onDelete: now } } })
    await here.world.pass(20_000)
    const { finalizers = [], labels = {} } = (await here.get('database'))?.metadata ?? {}
    expect(finalizers).toEqual(now === 'Deny' ? [] : [holdFinalizer])
    expect(Object.keys(labels)).toEqual(now === 'Deny' ? [inUseLabel] : [])
  })

  it('of all kinds on one object come to rest, and none is there for a server that asks Bonds itself', async () => {
    await using here = await Cascades.start()
    await here.create('database')
    for (const onDelete of ['Hold', 'Deny', 'Orphan', 'Cascade'] as const) {
      await here.create(onDelete.toLowerCase())
      await here.bind(onDelete.toLowerCase(), 'database', onDelete)
    }
    await here.world.pass(60_000)
    const { finalizers, labels, resourceVersion } = (await here.get('database'))?.metadata ?? {}
    expect({ finalizers, labels }).toEqual({ finalizers: [holdFinalizer], labels: undefined })
    await here.world.pass(600_000)
    expect((await here.get('database'))?.metadata.resourceVersion).toBe(resourceVersion)
  })

  it('of all kinds on one object in another cluster come to rest', async () => {
    both.run()
    for (const onDelete of ['Hold', 'Deny', 'Orphan', 'Cascade'] as const)
      await both.bind(onDelete, database, { name: onDelete.toLowerCase() })
    const { resourceVersion } = (await both.far.get('database'))?.metadata ?? {}
    const spaceGuard = `${named('deny')}, ${named('hold')}`
    expect(await both.marks()).toEqual({ hold: true, guard: named('deny'), spaceGuard })
    await both.pass(600_000)
    expect((await both.far.get('database'))?.metadata.resourceVersion).toBe(resourceVersion)
  })

  it('leave the refusal behind with a former Deny, where another holds already', async () => {
    both.run()
    await both.bind('Cascade', database, { name: 'second' })
    await both.bind('Deny')
    await both.edit({ onDelete: 'Cascade' })
    expect(await both.marks()).toEqual({ hold: true })
  })

  it('where its server asks Bonds itself leave nothing of a former Hold', async () => {
    await using here = await Cascades.start()
    await here.create('app')
    await here.create('database')
    await here.bind('app', 'database', 'Hold')
    await here.world.pass(20_000)
    const place = { namespace: 'team', name: 'app-database' }
    await here.world.client.patch(bond.type, place, { type: 'merge', body: { spec: { onDelete: 'Deny' } } })
    await here.world.pass(20_000)
    expect((await here.get('database'))?.metadata.finalizers).toBeUndefined()
  })

  it('name those that refuse now, and the first of very many', async () => {
    both.run()
    const reason = 'r'.repeat(1024)
    for (let index = 10; index < 22; index++) await both.bind('Deny', database, { name: `b-${index}` })
    await both.edit({ reason }, { name: 'b-10' })
    expect((await both.marks()).guard).toContain(`${named('b-10')} (${reason}), `)
    expect((await both.marks()).guard?.endsWith(`${named('b-19')}, 2 more`)).toBe(true)
    for (let index = 10; index < 21; index++) await both.unbind(`b-${index}`)
    expect(await both.marks()).toEqual({ hold: false, guard: named('b-21'), spaceGuard: named('b-21') })
  })

  it('are put on again where a user took half of them off', async () => {
    both.run()
    await both.bind('Hold')
    const body = { metadata: { labels: { [inUseLabel]: null } } }
    await both.far.world.client.patch(namespaces, { name: 'team' }, { type: 'merge', body })
    await both.pass()
    expect((await both.marks()).spaceGuard).toBe(named('app-database'))
  })

  it('are taken off its namespace when it is deleted, by Sojourn or by a user', async () => {
    both.run()
    await both.bind('Hold')
    await both.far.world.client.deleteObject(configMaps, { namespace: 'team', name: 'database' })
    await both.far.finalize('database')
    await both.pass(200_000)
    expect(await both.condition()).toMatchObject({ reason: 'DependencyGone' })
    expect((await both.space()).metadata.annotations).not.toHaveProperty([both.inUseBy])
  })

  it('are taken off a copy that was made of what it needed', async () => {
    both.run()
    await both.bind('Hold')
    const { finalizers = [] } = (await both.far.get('database'))?.metadata ?? {}
    await both.far.world.client.deleteObject(configMaps, { namespace: 'team', name: 'database' })
    await both.far.finalize('database')
    await both.far.create('database', [], { finalizers })
    await both.pass(200_000)
    expect(await both.condition()).toMatchObject({ reason: 'DependencyGone' })
    expect(await both.marks()).toEqual(unmarked)
  })

  it('are never put on for a Bond that was gone before it could be kept', async () => {
    const { world } = both.near
    let isThere = true
    both.run(
      new Client(async (request) => {
        if (isThere && request.method === 'PATCH' && request.path.endsWith('/bonds/app-database')) {
          isThere = false
          await world.client.deleteObject(bond.type, { namespace: 'team', name: 'app-database' })
        }
        return world.server.transport(request)
      }),
    )
    await both.bind('Hold')
    expect(await both.near.bond('app-database')).toBeUndefined()
    expect(await both.marks()).toEqual(unmarked)
  })

  it('are not waited for by a Bond that needs something for itself', async () => {
    both.run()
    await both.bind('Hold')
    await both.edit({ dependent: { apiVersion: bond.apiVersion, kind: 'Bond', name: 'app-database' } })
    await both.unbind()
    expect(await both.near.bond('app-database')).toBeUndefined()
    expect(await both.marks()).toEqual(unmarked)
  })
})

describe.each(['Hold', 'Deny', 'Cascade'] as const)('no mark of a Bond is left behind: %s', (onDelete) => {
  it.each(Array.from({ length: 9 }, (_, index) => index))(
    'although the controller was killed after %i writes',
    async (most) => {
      const { near, far } = both
      let writes = 0
      const mortal =
        (transport: Transport): Transport =>
        (request) => {
          const isDead = request.method === 'GET' ? writes > most : ++writes > most
          return isDead ? Promise.reject(new TransportError('killed')) : transport(request)
        }
      const way = new Client(mortal(far.world.server.transport), { cluster: 'far' })
      const client = new Client(mortal(near.world.server.transport))
      near.world.run(bondController({ ...near.world, client, clusterClient: () => way }))
      await both.bind(onDelete)
      await near.world.client.deleteObject(configMaps, { namespace: 'team', name: 'app' })
      await both.pass()
      await far.world.client
        .deleteObject(configMaps, { namespace: 'team', name: 'database' })
        .catch(ignoring('Conflict'))
      await both.unbind()
      both.run()
      await both.pass(300_000)
      expect(await near.bond('app-database')).toBeUndefined()
      expect(await both.marks()).toEqual(unmarked)
    },
  )
})

describe('withdrawn leave', () => {
  beforeEach(() => both.run())

  it.each(['Hold', 'Deny', 'Cascade'] as const)(
    'frees what several hold, none for the others: %s',
    async (onDelete) => {
      await both.bind(onDelete)
      await both.bind(onDelete, database, { name: 'second' })
      expect(await both.marks()).not.toEqual(unmarked)
      await both.give(null)
      await both.pass(100_000)
      expect(await both.marks()).toEqual(unmarked)
    },
  )

  it('frees what a Bond holds that waits for its dependents', async () => {
    await onApp({ finalizers: ['x.dev/stuck'] })
    await both.bind('Hold')
    await both.near.world.client.deleteObject(configMaps, { namespace: 'team', name: 'app' })
    await both.unbind()
    expect(await both.condition()).toMatchObject({ reason: 'WaitsForDependents' })
    await both.give(null)
    await both.pass()
    expect(await both.marks()).toEqual(unmarked)
    expect(await both.near.bond('app-database')).toBeUndefined()
  })

  it.each(['Hold', 'Deny'] as const)('releases it although its dependents are unknown: %s', async (onDelete) => {
    await both.bind(onDelete)
    await both.edit({ dependent: { kind: 'Nothing' } })
    expect(await both.marks()).not.toEqual(unmarked)
    await both.give(null)
    await both.pass()
    expect(await both.marks()).toEqual(unmarked)
  })

  it('releases within one cluster, too, although the dependents are unknown', async () => {
    await using here = await Cascades.start()
    const leave = { [grantAnnotation]: 'team' }
    await here.world.create({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'platform', annotations: leave },
    })
    await here.create('database', [], { namespace: 'platform' })
    await here.create('app')
    await here.bind('app', 'database', 'Deny', { dependencyNamespace: 'platform' })
    await here.world.pass(5000)
    const place = { namespace: 'team', name: 'app-database' }
    const body = { spec: { dependent: { kind: 'Nothing' } } }
    await here.world.client.patch(bond.type, place, { type: 'merge', body })
    await here.world.pass(20_000)
    const attempt = () => here.world.client.deleteObject(configMaps, { namespace: 'platform', name: 'database' })
    await expect(attempt()).rejects.toThrow('is in use by Bond team/app-database')
    const withdrawn = { metadata: { annotations: { [grantAnnotation]: null } } }
    await here.world.client.patch(namespaces, { name: 'platform' }, { type: 'merge', body: withdrawn })
    await here.world.pass(20_000)
    await attempt()
  })
})

describe('a Bond without leave', () => {
  it('gets none by another that has it', async () => {
    both.run()
    await both.near.world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'others' } })
    await both.near.create('app', [], { namespace: 'others' })
    await both.bind('Hold')
    await both.bind('Hold', database, { namespace: 'others' })
    await both.edit({ dependent: { kind: 'Nothing' } }, { namespace: 'others' })
    expect((await both.marks()).spaceGuard).toBe(named('app-database'))
    await both.unbind()
    expect(await both.marks()).toEqual(unmarked)
  })

  it('holds nothing by another cluster of its own, with an object of the same uid', async () => {
    await using own = await Cascades.start()
    const uid = (await both.far.get('database'))?.metadata.uid ?? ''
    const leave = { [grantAnnotation]: `${both.id}/*` }
    await own.world.client.patch(
      namespaces,
      { name: 'team' },
      { type: 'merge', body: { metadata: { annotations: leave } } },
    )
    await own.create('database')
    const honest = both.way
    const forged = new Client(async (request) => {
      const answer = await own.world.server.transport(request)
      if (!request.path.endsWith('/configmaps/database')) return answer
      const { metadata, ...rest } = answer.body as { metadata: object }
      return { ...answer, body: { ...rest, metadata: { ...metadata, uid } } } as never
    })
    const ways = new Map([
      ['far', honest],
      ['own', forged],
    ])
    const { world } = both.near
    world.run(bondController({ ...world, clusterClient: (name) => ways.get(name) }))
    await both.near.world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'others' } })
    await both.near.create('app', [], { namespace: 'others' })
    await both.bind('Hold')
    await both.bind('Hold', { ...database, cluster: 'own' }, { namespace: 'others' })
    expect((await both.near.bond('app-database', 'others'))?.status).toMatchObject({
      phase: 'Active',
      dependencyUid: uid,
    })
    await both.unbind()
    expect(await both.marks()).toEqual(unmarked)
  })
})
