import { configMaps, customResourceDefinitions, namespaces } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cascades, ownedBy } from '../../../test/cascades.ts'
import { bond, holdFinalizer, type Bond } from '../../apis/bond.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { Client } from '../../client/client.ts'
import { StatusError } from '../../kube/status-error.ts'
import { restore } from '../../departures/restore/restore.ts'
import { kubeSubject } from '../../departures/subjects/subject.ts'

let here: Cascades
beforeEach(async () => {
  here = await Cascades.start()
})
afterEach(() => here[Symbol.asyncDispose]())

/** The newest record of an object of this name. */
async function recordOf(name: string): Promise<Departure> {
  const found = (await here.records()).filter(({ spec }) => spec.object.name === name)
  return found.at(-1) as Departure
}

async function bringBack(name: string): Promise<readonly string[]> {
  const { objects } = await restore(here.world.client, await recordOf(name), { now: here.world.clock.now() })
  await here.world.pass(60_000)
  return objects.map(({ metadata }) => metadata.name)
}

/** What Bonds say of themselves: their phase, and whether they are pinned to the one that has its name now. */
async function isBoundAnew(name: string, dependency: string, namespace?: string): Promise<void> {
  const uid = (await here.get(dependency, namespace))?.metadata.uid
  expect(uid).toBeDefined()
  expect((await here.bond(name))?.status).toMatchObject({ phase: 'Active', dependencyUid: uid, dependents: 1 })
}

describe('what a Bond took along', () => {
  it('comes back with what it needed by one restore, and stays, bound anew', async () => {
    await here.create('app')
    await here.create('database')
    await here.bind('app', 'database')
    await here.remove('database')
    expect(await here.left()).toEqual([])
    expect((await recordOf('database')).spec).toMatchObject({ because: 'deleted', by: { system: 'user' } })

    expect((await bringBack('database')).toSorted()).toEqual(['app', 'database'])
    expect(await here.left()).toEqual(['app', 'database'])
    await isBoundAnew('app-database', 'database')
    const phases = (await here.records()).map(({ spec, status }) => [spec.object.name, status?.phase])
    expect(phases).toEqual([
      ['app', 'Restored'],
      ['database', 'Restored'],
    ])
    // And it means what it meant.
    await here.remove('database')
    expect(await here.left()).toEqual([])
  })

  it('comes back with all that went because of it: who needed it in turn, and what they owned', async () => {
    await here.create('database')
    const app = await here.create('app')
    await here.create('cache', [ownedBy(app)])
    await here.create('page')
    await here.bind('app', 'database')
    await here.bind('page', 'app')
    await here.remove('database')
    expect(await here.left()).toEqual([])
    await bringBack('database')
    expect(await here.left()).toEqual(['app', 'cache', 'database', 'page'])
    const uid = (await here.get('app'))?.metadata.uid
    expect((await here.get('cache'))?.metadata.ownerReferences).toMatchObject([{ uid }])
    await isBoundAnew('page-app', 'app')
  })

  it('is not restored where a user has created it again, and does not prevent the restore of what it needed', async () => {
    await here.create('database')
    await here.create('app')
    await here.bind('app', 'database')
    await here.remove('database')
    await here.world.client.deleteObject(bond.type, { namespace: 'team', name: 'app-database' })
    const { uid } = (await here.create('app')).metadata
    const now = here.world.clock.now()
    const { objects, notes } = await restore(here.world.client, await recordOf('database'), { now })
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['database'])
    expect(notes).toEqual([
      `ConfigMap/team/app, which was deleted because of it, was not restored: ConfigMap/team/app exists (uid ${uid})`,
    ])
    expect((await here.get('app'))?.metadata.uid).toBe(uid)
    expect((await recordOf('app')).status?.phase).toBe('Gone')
  })

  it('comes back where two need each other', async () => {
    await here.create('one')
    await here.create('other')
    await here.bind('one', 'other')
    await here.bind('other', 'one')
    await here.remove('one')
    expect(await here.left()).toEqual([])
    await bringBack('one')
    expect(await here.left()).toEqual(['one', 'other'])
  })

  it('comes back across namespaces, though what it needed did not wait for it', async () => {
    await here.world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform' } })
    await here.create('app')
    await here.create('database', [], { namespace: 'platform' })
    await here.bind('app', 'database', 'Cascade', { dependencyNamespace: 'platform' })
    await here.world.pass(5000)
    await here.world.client.deleteObject(configMaps, { namespace: 'platform', name: 'database' })
    await here.world.pass(20_000)
    expect([await here.left(), await here.left('platform')]).toEqual([[], []])
    await bringBack('database')
    expect([await here.left(), await here.left('platform')]).toEqual([['app'], ['database']])
    await isBoundAnew('app-database', 'database', 'platform')
  })

  it('comes back with a namespace, Bonds to one very object included', async () => {
    const namespace = 'guest'
    const guest = await here.world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } })
    await here.create('app', [], { namespace })
    const { uid } = (await here.create('database', [], { namespace })).metadata
    const end = { apiVersion: 'v1', kind: 'ConfigMap' }
    for (const [name, pin] of Object.entries({ plain: {}, pinned: { uid } }))
      await here.world.create<Bond>({
        apiVersion: bond.apiVersion,
        kind: 'Bond',
        metadata: { name, namespace },
        spec: { dependent: { ...end, name: 'app' }, dependency: { ...end, ...pin, name: 'database' } },
      })
    await here.world.pass(5000)
    const ref = { apiVersion: 'v1', kind: 'Namespace', name: namespace }
    const subject = kubeSubject(here.world.client, namespaces, ref)
    const wish = { subject, uid: guest.metadata.uid, because: 'test', by: { system: 'cleaner' as const } }
    expect(await here.world.door.depart(wish)).toEqual({ result: 'leaving' })
    await here.world.pass(20_000)
    expect(await here.world.get(ref)).toBeUndefined()
    await bringBack(namespace)
    expect(await here.left(namespace)).toEqual(['app', 'database'])
    const anew = (await here.get('database', namespace))?.metadata.uid
    for (const name of ['plain', 'pinned'])
      expect((await here.bond(name, namespace))?.status).toMatchObject({ phase: 'Active', dependencyUid: anew })
  })

  it('comes back once, as it was last, though it was made and taken along again and again', async () => {
    await here.create('app', [], { labels: { number: '1' } })
    await here.create('database')
    await here.bind('app', 'database')
    await here.remove('database')
    for (const number of ['2', '3']) {
      await here.create('app', [], { labels: { number } })
      await here.world.pass(20_000)
    }
    expect(await here.left()).toEqual([])
    await bringBack('database')
    expect((await here.get('app'))?.metadata.labels).toEqual({ number: '3' })
  })

  it('stays until what it needs is recorded', async () => {
    await here.create('app')
    await here.create('database')
    await here.bind('app', 'database')
    await here.world.pass(5000)
    await here.world.client.patch(
      customResourceDefinitions,
      { name: `departures.${departure.group}` },
      { type: 'json', body: [{ op: 'add', path: rules, value: [{ rule: "self.object.name != 'database'" }] }] },
    )
    await here.remove('database')
    expect(await here.left()).toEqual(['app', 'database'])
  })
})

describe('a restore of what a Bond took along', () => {
  it('by itself changes nothing, and says with what it comes back', async () => {
    await here.create('app')
    await here.create('database')
    await here.bind('app', 'database')
    await here.remove('database')
    const { name } = (await recordOf('database')).metadata
    await expect(bringBack('app')).rejects.toThrow(
      `nothing was restored: Bond/team/app-database would delete ConfigMap/team/app again, because its dependency ConfigMap database is gone: restore ${name} instead, which includes it`,
    )
    expect(await here.left()).toEqual([])
  })

  it('changes nothing while a Bond names the very one that is no more', async () => {
    await here.create('app', [], { labels: { app: 'yes' } })
    const { uid } = (await here.create('database')).metadata
    const end = { apiVersion: 'v1', kind: 'ConfigMap' }
    await here.world.create<Bond>({
      apiVersion: bond.apiVersion,
      kind: 'Bond',
      metadata: { name: 'app-database', namespace: 'team' },
      spec: {
        dependent: { ...end, selector: { matchLabels: { app: 'yes' } } },
        dependency: { ...end, name: 'database', uid },
      },
    })
    await here.remove('database')
    await expect(bringBack('database')).rejects.toThrow('is gone: delete the Bond first')
    expect(await here.left()).toEqual([])
    await here.world.client.deleteObject(bond.type, { namespace: 'team', name: 'app-database' })
    await here.world.pass(5000)
    await bringBack('database')
    expect(await here.left()).toEqual(['app', 'database'])
  })

  it('heeds no Bond that may not speak for what comes back', async () => {
    const { metadata } = await here.world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } })
    const ref = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' }
    // Who makes it has no say about namespaces: it never takes one along.
    await here.world.create<Bond>({
      apiVersion: bond.apiVersion,
      kind: 'Bond',
      metadata: { name: 'claims-shop', namespace: 'team' },
      spec: {
        dependent: ref,
        dependency: { apiVersion: 'v1', kind: 'ConfigMap', name: 'none', uid: 'no-such-uid' },
      },
    })
    const subject = kubeSubject(here.world.client, namespaces, ref)
    await here.world.door.depart({ subject, uid: metadata.uid, because: 'test', by: { system: 'cleaner' } })
    await here.world.pass(60_000)
    expect(await bringBack('shop')).toEqual(['shop'])
  })

  it('needs nothing else while what it needs is there', async () => {
    await here.create('app')
    await here.create('database')
    await here.bind('app', 'database')
    await here.world.pass(5000)
    const { metadata } = (await here.get('app'))!
    const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name: 'app' }
    const subject = kubeSubject(here.world.client, configMaps, ref)
    await here.world.door.depart({ subject, uid: metadata.uid, because: 'test', by: { system: 'cleaner' } })
    await here.world.pass(5000)
    expect(await bringBack('app')).toEqual(['app'])
    await isBoundAnew('app-database', 'database')
  })

  it('leaves others’ Bonds alone, and says so; it changes nothing where they would take something of it', async () => {
    const confined = new Client(async (request) => {
      if (request.method === 'PATCH' && request.path.includes('/bonds/'))
        throw new StatusError('Forbidden', 'not yours')
      return here.world.server.transport(request)
    })
    await here.create('app')
    await here.create('database')
    await here.bind('app', 'database')
    await here.remove('database')
    const attempt = async () => restore(confined, await recordOf('database'), { now: here.world.clock.now() })
    await expect(attempt()).rejects.toThrow('not yours')
    expect(await here.left()).toEqual([])
    await here.world.client.deleteObject(departure.type, { ...(await recordOf('app')).metadata, namespace: 'team' })
    expect((await attempt()).notes).toEqual([
      'Bond/team/app-database does not protect the restored object, and you may not change it: create the Bond again',
    ])
  })

  it('leaves no mark of a Bond that is gone by then', async () => {
    await here.create('app')
    await here.create('database')
    await here.bind('app', 'database')
    await here.remove('database')
    await here.world.client.deleteObject(bond.type, { namespace: 'team', name: 'app-database' })
    await here.world.pass(5000)
    expect(JSON.stringify((await recordOf('database')).spec.manifest)).toContain(holdFinalizer)
    await bringBack('database')
    expect((await here.get('database'))?.metadata.finalizers).toBeUndefined()
  })

  it('binds anew what a Bond held', async () => {
    await here.create('app')
    await here.create('database')
    await here.bind('app', 'database', 'Hold')
    await here.world.pass(5000)
    const { metadata } = (await here.get('database'))!
    await here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'app' })
    await here.world.pass(20_000)
    const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name: 'database' }
    const subject = kubeSubject(here.world.client, configMaps, ref)
    await here.world.door.depart({ subject, uid: metadata.uid, because: 'test', by: { system: 'cleaner' } })
    await here.world.pass(20_000)
    await here.create('app')
    await bringBack('database')
    await isBoundAnew('app-database', 'database')
  })
})

const rules = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/x-kubernetes-validations'
