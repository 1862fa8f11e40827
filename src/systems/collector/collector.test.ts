import { configMaps } from '../../kube/core-types.ts'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { inProcessDeleter } from '../../app/core/in-process-deleter.ts'
import { departurePage, type DeparturePage } from '../../apis/departure-page.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { doorStateName, writeDoorState } from '../../departures/door/door-state.ts'
import { readPages } from '../../departures/records/pages.ts'
import { restore } from '../../departures/restore/restore.ts'
import type { KubeObject, ObjectMeta, OwnerReference, StoredObject } from '../../kube/object.ts'
import { Collector } from './controller.ts'

let world: World
let collector: Collector

beforeEach(async () => {
  world = await startWorld()
  collector = newCollector()
  await world.clock.settle()
})
afterEach(() => world[Symbol.asyncDispose]())

let withSweeper = false

function newCollector(): Collector {
  const made = new Collector({
    ...(withSweeper ? { inProcessDeleter: inProcessDeleter(world.server) } : {}),
    ...world,
    ownsReferences: true,
    exists: (uid) => world.server.store.owners.addressOf(uid) !== undefined,
  })
  world.run({ start: (signal: AbortSignal) => made.start(signal) } as never)
  return made
}

function ownedBy(owner: StoredObject, given: Partial<OwnerReference> = {}): OwnerReference {
  return {
    apiVersion: owner.apiVersion,
    kind: owner.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    ...given,
  }
}

function create(
  name: string,
  owners: readonly OwnerReference[] = [],
  metadata: ObjectMeta = {},
): Promise<StoredObject> {
  const manifest: KubeObject = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'team', ...metadata, ...(owners.length > 0 ? { ownerReferences: owners } : {}) },
  }
  return world.create(manifest)
}

async function left(): Promise<readonly string[]> {
  return (await world.names(configMaps)).filter((name) => !['kube-root-ca.crt', doorStateName].includes(name))
}

async function remove(
  name: string,
  propagationPolicy: 'Background' | 'Foreground' | 'Orphan' = 'Background',
): Promise<void> {
  await world.clock.settle()
  await world.client.deleteObject(configMaps, { namespace: 'team', name }, { propagationPolicy })
  await world.pass(1000)
}

describe.each([
  ['over the API', false],
  ['in the server', true],
])('the collector on owner references, %s', (_, isInServer) => {
  beforeEach(async () => {
    if (!isInServer) return
    withSweeper = true
    await world[Symbol.asyncDispose]()
    world = await startWorld()
    collector = newCollector()
    await world.clock.settle()
  })
  afterEach(() => {
    withSweeper = false
  })

  it('takes dependents along, any depth', async () => {
    const a = await create('a')
    const b = await create('b', [ownedBy(a)])
    await create('c', [ownedBy(b)])
    await create('bystander')
    await remove('a')
    expect(await left()).toEqual(['bystander'])
  })

  it('keeps what another owner keeps, and forgets the one that is gone', async () => {
    const a = await create('a')
    const b = await create('b')
    await create('child', [ownedBy(a), ownedBy(b)])
    await remove('a')
    expect(await left()).toEqual(['b', 'child'])
    const child = await world.get<StoredObject>({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'team',
      name: 'child',
    })
    expect(child?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['b'])
  })

  it('writes down as gone only what goes, not what another owner keeps', async () => {
    const a = await create('a')
    const b = await create('b')
    await create('kept', [ownedBy(a), ownedBy(b)])
    await create('goes', [ownedBy(a)])
    await remove('a')
    const [record] = (await world.client.list<Departure>(departure.type, { namespace: 'team' })).items
    const lines = await Array.fromAsync(readPages(world.client, record as Departure))
    expect(lines.map(({ manifest }) => manifest.metadata.name)).toEqual(['goes'])
  })

  it('frees dependents of an owner that is deleted with Orphan', async () => {
    const a = await create('a')
    await create('child', [ownedBy(a)])
    await remove('a', 'Orphan')
    expect(await left()).toEqual(['child'])
    expect(
      (await world.get<StoredObject>({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name: 'child' }))
        ?.metadata.ownerReferences,
    ).toBeUndefined()
  })

  it('lets a foreground owner go last', async () => {
    const a = await create('a')
    await create('child', [ownedBy(a, { blockOwnerDeletion: true })], { finalizers: ['example.com/slow'] })
    await remove('a', 'Foreground')
    expect(await left()).toEqual(['a', 'child'])
    await world.client.patch(
      configMaps,
      { namespace: 'team', name: 'child' },
      { type: 'merge', body: { metadata: { finalizers: null } } },
    )
    await world.pass(1000)
    expect(await left()).toEqual([])
  })

  it('does not wait for dependents that do not block', async () => {
    const a = await create('a')
    await create('child', [ownedBy(a)], { finalizers: ['example.com/slow'] })
    await remove('a', 'Foreground')
    expect(await left()).toEqual(['child'])
  })

  it('lets a whole ring go that blocks itself', async () => {
    const names = ['r0', 'r1', 'r2']
    const objects = await Promise.all(names.map((name) => create(name)))
    for (const [index, object] of objects.entries()) {
      const owner = objects[(index + 1) % 3] as StoredObject
      await world.client.patch(
        configMaps,
        { namespace: 'team', name: object.metadata.name },
        { type: 'merge', body: { metadata: { ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })] } } },
      )
    }
    await remove('r0', 'Foreground')
    await world.pass(1000)
    expect(await left()).toEqual([])
  })

  it('lets an object go that owns itself', async () => {
    const a = await create('a')
    await world.client.patch(
      configMaps,
      { namespace: 'team', name: 'a' },
      { type: 'merge', body: { metadata: { ownerReferences: [ownedBy(a, { blockOwnerDeletion: true })] } } },
    )
    await remove('a', 'Foreground')
    expect(await left()).toEqual([])
  })

  it('collects what names an owner that never existed, and keeps what names a kind that is not served', async () => {
    const uid = '11111111-1111-4111-8111-111111111111'
    await create('lost', [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'never', uid }])
    await world.pass(1000)
    expect(await left()).toEqual([])
  })

  it('takes an owner recreated under the same name for another one', async () => {
    const a = await create('a')
    await create('old', [ownedBy(a)], {})
    await world.client.deleteObject(configMaps, { namespace: 'team', name: 'a' }, { propagationPolicy: 'Background' })
    const again = await create('a')
    await create('new', [ownedBy(again)])
    await world.pass(1000)
    expect(await left()).toEqual(['a', 'new'])
  })

  it('collects what names an owner in another namespace, and warns', async () => {
    const foreign = await world.create<StoredObject>({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'far', namespace: 'default' },
    })
    await world.clock.settle()
    await create('child', [ownedBy(foreign)])
    await world.pass(1000)
    expect((await left()).includes('child')).toBe(false)
    expect((await left()).includes('far')).toBe(true)
  })

  it('leaves dependents alone while their owner only waits on a finalizer of others', async () => {
    const a = await create('a', [], { finalizers: ['example.com/slow'] })
    await create('child', [ownedBy(a)])
    await remove('a')
    expect(await left()).toEqual(['a', 'child'])
  })

  it('keeps a dependent that is marked to be kept', async () => {
    const a = await create('a')
    await create('kept', [ownedBy(a)], { labels: { 'sojourn.dev/keep': 'true' } })
    await create('child', [ownedBy(a)])
    await remove('a')
    expect(await left()).toEqual(['kept'])
  })

  it.each([
    ['paused', { paused: 'true' }, { paused: null }],
    ['behind an open breaker', { breaker: 'open' }, { breaker: 'closed' }],
  ])('holds a cascade while departures are %s, and goes on at once when they are not', async (_, hold, free) => {
    const owner = await create('owner')
    const child = await create('child', [ownedBy(owner)])
    await create('grandchild', [ownedBy(child)])
    await writeDoorState(world.client, hold)
    await world.clock.settle()
    await remove('owner')
    expect(await left()).toEqual(['child', 'grandchild'])
    await writeDoorState(world.client, free)
    await world.clock.settle()
    expect(await left()).toEqual([])
  })

  it('goes on where it was when it is started again', async () => {
    await world[Symbol.asyncDispose]()
    world = await startWorld()
    const a = await create('a')
    const b = await create('b', [ownedBy(a)])
    await create('c', [ownedBy(b)])
    await world.client.deleteObject(configMaps, { namespace: 'team', name: 'a' }, { propagationPolicy: 'Background' })
    collector = newCollector()
    await world.pass(1000)
    expect(await left()).toEqual([])
  })

  it('does no harm as two at once', async () => {
    newCollector()
    const a = await create('a')
    for (let index = 0; index < 20; index++) await create(`child-${index}`, [ownedBy(a)])
    await remove('a')
    expect(await left()).toEqual([])
  })

  it('writes one record of a cascade as two at once', async () => {
    newCollector()
    const a = await create('a')
    for (const branch of ['b', 'c', 'd']) {
      const owner = await create(branch, [ownedBy(a)])
      for (const leaf of [1, 2, 3]) await create(`${branch}${leaf}`, [ownedBy(owner)])
    }
    await remove('a')
    const records = await world.client.list<Departure>(departure.type, {
      namespace: 'team',
      labelSelector: '!sojourn.dev/page',
    })
    expect(records.items.map(({ spec }) => spec.object.name)).toEqual(['a'])
    await restore(world.client, records.items[0] as Departure, { now: 0 })
    expect((await left()).length).toBe(13)
  })

  it('keeps what it takes along on the record of its root, from which it can be restored', async () => {
    const a = await create('a')
    const b = await create('b', [ownedBy(a)])
    await create('c', [ownedBy(b)])
    await remove('a')
    const records = await world.client.list<Departure>(departure.type, {
      namespace: 'team',
      labelSelector: '!sojourn.dev/page',
    })
    expect(records.items.map(({ spec }) => [spec.object.name, spec.takes])).toEqual([['a', 2]])
    const { objects } = await restore(world.client, records.items[0] as Departure, { now: 0 })
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['a', 'b', 'c'])
    const uid = objects.at(-2)?.metadata.uid
    expect(objects.at(-1)?.metadata.ownerReferences).toMatchObject([{ name: 'b', uid }])
  })

  it.each(['Background', 'Foreground'] as const)(
    'writes what goes together on one page, when the owner goes by %s',
    async (policy) => {
      const a = await create('a')
      for (const name of ['b', 'c', 'd']) await create(name, [ownedBy(a, { blockOwnerDeletion: true })])
      await remove('a', policy)
      expect(await left()).toEqual([])
      const { items } = await world.client.list<DeparturePage>(departurePage.type, { namespace: 'team' })
      expect(items.map(({ spec }) => spec.number)).toEqual([1])
      expect((await world.client.list(departure.type, { namespace: 'team' })).items).toHaveLength(1)
    },
  )

  it('does exactly what its preview says', async () => {
    const shape = fc.array(fc.uniqueArray(fc.nat(7), { maxLength: 3 }), { minLength: 4, maxLength: 8 })
    let round = 0
    await fc.assert(
      fc.asyncProperty(shape, fc.nat(3), async (owners, root) => {
        const prefix = `g${round++}`
        const objects: StoredObject[] = []
        // Owners come before their dependents, so that nothing is collected while the graph is built.
        for (const [index, its] of owners.entries())
          objects.push(
            await create(
              `${prefix}-${index}`,
              its.filter((owner) => owner < index).map((owner) => ownedBy(objects[owner] as StoredObject)),
            ),
          )
        await world.pass(1000)
        const uid = objects[root]?.metadata.uid ?? ''
        const before = await left()
        const said = [...(collector.preview(uid, 'Background')?.nodes ?? [])]
          .filter(({ action }) => action === 'delete')
          .map(({ ref }) => ref.name)
        expect(await left()).toEqual(before)
        await remove(`${prefix}-${root}`)
        const after = await left()
        expect(before.filter((name) => !after.includes(name))).toEqual(said.toSorted())
      }),
      { numRuns: 15 },
    )
  })
})
