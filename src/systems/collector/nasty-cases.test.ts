import { configMaps, customResourceDefinitions, pods } from '../../kube/core-types.ts'
import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import { Client } from '../../client/client.ts'
import type { StoredObject } from '../../kube/object.ts'
import type { Transport } from '../../kube/transport.ts'
import { Collector } from './controller.ts'
import { Cascades, ownedBy, type CascadeOptions } from '../../../test/cascades.ts'

let here: Cascades
const start = async (options: CascadeOptions = {}) => (here = await Cascades.start(options))
afterEach(() => here[Symbol.asyncDispose]())

describe('owner references, nasty cases', () => {
  it('an object that names its owner twice, once by a wrong name, is deleted with it, whatever the second name says', async () => {
    await start()
    const owner = await here.create('owner')
    await here.create('owned', [ownedBy(owner), ownedBy(owner, { name: 'mistyped' })])
    await here.world.pass(20_000)
    expect((await here.get('owned'))?.metadata.ownerReferences).toEqual([ownedBy(owner)])
    await here.remove('owner')
    expect(await here.left()).toEqual([])
  })

  it('91: an object that owns itself, blocking, goes in the foreground', async () => {
    await start()
    const a = await here.create('a')
    const ownerReferences = [ownedBy(a, { blockOwnerDeletion: true })]
    await here.world.client.update(configMaps, { ...a, metadata: { ...a.metadata, ownerReferences } })
    await here.remove('a', 'Foreground')
    expect(await here.left()).toEqual([])
  })

  async function circle(collectCycles: boolean): Promise<void> {
    await start({ collectCycles })
    const o = await here.create('o')
    const a = await here.create('a', [ownedBy(o)])
    const b = await here.create('b', [ownedBy(a)])
    const ownerReferences = [ownedBy(o), ownedBy(b)]
    await here.world.client.update(configMaps, { ...a, metadata: { ...a.metadata, ownerReferences } })
    await here.remove('o')
  }

  it('92: a circle that loses its anchor is kept and reported', async () => {
    await circle(false)
    expect(await here.left()).toEqual(['a', 'b'])
    expect((await here.get('a'))?.metadata.ownerReferences?.map(({ name }) => name)).toEqual(['b'])
    expect(await here.told('UnanchoredCycle')).toEqual([expect.stringContaining('a, b')])
  })

  it('92: a circle that loses its anchor goes where that was asked for', async () => {
    await circle(true)
    expect(await here.left()).toEqual([])
  })

  it('93: the dependents of an owner recreated under its name go, its own stay', async () => {
    await start()
    const old = await here.create('owner')
    await here.create('old-child', [ownedBy(old)])
    await here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'owner' })
    const young = await here.create('owner')
    await here.create('young-child', [ownedBy(young)])
    await here.world.pass(20_000)
    expect(await here.left()).toEqual(['owner', 'young-child'])
  })

  it('94: a reference into another namespace costs the dependent its life, a Bond does not', async () => {
    await start()
    await here.world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform' } })
    const far = await here.create('far', [], { namespace: 'platform' })
    await here.create('wrong', [ownedBy(far)])
    await here.create('right')
    await here.bind('right', 'far', 'Cascade', { dependencyNamespace: 'platform' })
    await here.world.pass(20_000)
    expect(await here.left()).toEqual(['right'])
    expect(await here.told('OwnerRefInvalidNamespace')).toHaveLength(1)
  })

  it('96: a branch that waits for a finalizer of others delays no other branch, and is named', async () => {
    await start()
    const root = await here.create('root')
    const stuck = await here.create('stuck', [ownedBy(root, { blockOwnerDeletion: true })], {
      finalizers: ['x.dev/held'],
    })
    await here.create('below', [ownedBy(stuck, { blockOwnerDeletion: true })])
    await here.create('sibling', [ownedBy(root, { blockOwnerDeletion: true })])
    const other = await here.create('other')
    await here.create('its', [ownedBy(other)])
    await here.remove('root', 'Foreground')
    await here.remove('other')
    expect(await here.left()).toEqual(['root', 'stuck'])
    await here.world.pass(120_000)
    expect(await here.told('CascadeWaiting')).toContainEqual(
      expect.stringContaining('ConfigMap team/stuck with finalizer x.dev/held'),
    )
    expect((await here.get('stuck'))?.metadata.finalizers).toContain('x.dev/held')
    await here.finalize('stuck')
    expect(await here.left()).toEqual([])
  })

  it('a foreground owner stays until a dependent that does not block it has been told', async () => {
    let isOwnerThere: boolean | undefined
    await start({
      isInServer: false,
      through: (server) => async (request) => {
        if (request.method === 'DELETE' && request.path.endsWith('/child')) {
          for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve))
          isOwnerThere = (await here.get('root')) !== undefined
        }
        return server(request)
      },
    })
    await here.create('child', [ownedBy(await here.create('root'))])
    await here.remove('root', 'Foreground')
    expect([isOwnerThere, await here.left()]).toEqual([true, []])
  })

  it('97: a watch that breaks in the middle of a cascade deletes nothing wrong and forgets nothing', async () => {
    await start({ isRunning: false })
    let isBroken = false
    const flaky: Transport = (request) =>
      isBroken ? Promise.reject(new Error('connection lost')) : here.world.server.transport(request)
    const client = new Client(flaky)
    const collector = new Collector({ ...here.world, client, ownsReferences: true })
    here.world.run(collector as never)
    await here.world.clock.settle()
    const root = await here.create('root')
    for (let index = 0; index < 20; index++) await here.create(`child-${index}`, [ownedBy(root)])
    await here.create('bystander', [ownedBy(await here.create('solid'))])
    isBroken = true
    await here.remove('root')
    isBroken = false
    await here.world.pass(300_000)
    expect(await here.left()).toEqual(['bystander', 'solid'])
  })

  it('98: what comes twice or out of order leaves the same graph', async () => {
    await start()
    const { graph } = here.collector.world
    const a = await here.create('a')
    const b = await here.create('b', [ownedBy(a)])
    await here.world.clock.settle()
    const known = graph.object(graph.find(b.metadata.uid) ?? -1) as StoredObject
    const size = graph.size
    graph.put(known)
    graph.put(known)
    expect(graph.size).toBe(size)
    expect(graph.dependents(graph.find(a.metadata.uid) ?? -1)).toHaveLength(1)
  })

  it('101: a triangle and 30 by 30 owners are no circles, and each goes once', async () => {
    await start()
    const tops: StoredObject[] = []
    for (let index = 0; index < 30; index++) tops.push(await here.create(`top-${index}`))
    for (let index = 0; index < 30; index++)
      await here.create(
        `leaf-${index}`,
        tops.map((top) => ownedBy(top)),
      )
    for (let index = 0; index < 29; index++) await here.remove(`top-${index}`)
    expect((await here.left()).filter((name) => name.startsWith('leaf'))).toHaveLength(30)
    await here.remove('top-29')
    expect(await here.left()).toEqual([])
  })

  it('103: two collectors at once come to the same end', async () => {
    await start()
    await here.startCollector()
    const root = await here.create('root')
    const other = await here.create('other')
    for (let index = 0; index < 20; index++) await here.create(`child-${index}`, [ownedBy(root)])
    await here.create('kept', [ownedBy(root), ownedBy(other)])
    await here.remove('root', 'Foreground')
    expect(await here.left()).toEqual(['kept', 'other'])
  })

  it('104: a deletion during the first look condemns nothing that has not been seen whole', async () => {
    await start({ isRunning: false })
    const root = await here.create('root')
    await here.create('child', [ownedBy(root)])
    await here.create('kept', [ownedBy(await here.create('solid'))])
    const starting = here.startCollector()
    await here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'root' })
    await starting
    await here.world.pass(20_000)
    expect(await here.left()).toEqual(['kept', 'solid'])
  })

  it('105: dependents stay while their owner waits for a finalizer of others', async () => {
    await start()
    const root = await here.create('root', [], { finalizers: ['x.dev/held'] })
    await here.create('child', [ownedBy(root)])
    await here.remove('root')
    expect(await here.left()).toEqual(['child', 'root'])
    await here.finalize('root')
    expect(await here.left()).toEqual([])
  })

  it('108: a second DELETE changes the manner of the first', async () => {
    await start()
    const root = await here.create('root')
    await here.create('stuck', [ownedBy(root, { blockOwnerDeletion: true })], { finalizers: ['x.dev/held'] })
    await here.remove('root', 'Foreground')
    expect((await here.get('root'))?.metadata.finalizers).toEqual(['foregroundDeletion'])
    await here.remove('root', 'Background')
    expect(await here.left()).toEqual(['stuck'])
  })

  it('111: dependents of what belonged to a kind that is gone are collected', async () => {
    await start()
    const definition = await here.world.create<StoredObject>({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.x.dev' },
      spec: {
        group: 'x.dev',
        scope: 'Namespaced',
        names: { kind: 'Widget', plural: 'widgets', singular: 'widget' },
        versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
      },
    })
    await here.world.pass(5000)
    here.world.client.discovery.forget()
    const owner = await here.world.create<StoredObject>({
      apiVersion: 'x.dev/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'team' },
    })
    await here.create('child', [ownedBy(owner)])
    await here.world.pass(5000)
    await here.world.client.deleteObject(customResourceDefinitions, { name: definition.metadata.name })
    await here.world.pass(60_000)
    expect(await here.left()).toEqual([])
  })

  it('119, 125: what a preview says is what happens, on random graphs of owners and Bonds', async () => {
    await start({ door: { limits: { maxPercentOfKind: 100 } } })
    const edges = fc.uniqueArray(fc.nat(6), { maxLength: 3 })
    const shape = fc.array(fc.record({ owners: edges, needs: edges }), { minLength: 3, maxLength: 7 })
    const policies = fc.constantFrom('Background' as const, 'Foreground' as const, 'Orphan' as const)
    let round = 0
    await fc.assert(
      fc.asyncProperty(shape, fc.nat(2), policies, async (nodes, root, policy) => {
        const name = (index: number) => `g${round}-${index}`
        round++
        const made: StoredObject[] = []
        for (const [index, { owners }] of nodes.entries())
          made.push(
            await here.create(
              name(index),
              owners.filter((owner) => owner < index).map((owner) => ownedBy(made[owner] as StoredObject)),
            ),
          )
        for (const [index, { needs }] of nodes.entries())
          for (const need of needs.filter((other) => other < nodes.length && other !== index))
            await here.bind(name(index), name(need))
        await here.world.pass(20_000)
        const before = await here.left()
        const said = [...(here.collector.preview(made[root]?.metadata.uid ?? '', policy)?.nodes ?? [])]
        expect(await here.left()).toEqual(before)
        await here.remove(name(root), policy)
        await here.world.pass(60_000)
        const after = await here.left()
        expect(before.filter((each) => !after.includes(each))).toEqual(
          said
            .filter(({ action }) => action === 'delete')
            .map(({ ref }) => ref.name)
            .toSorted(),
        )
      }),
      { numRuns: 12, seed: 119 },
    )
  }, 60_000)

  it('120: a preview says when a kind could not be read', async () => {
    await start({ isRunning: false })
    const deaf: Transport = (request) =>
      request.path.endsWith('/secrets') ? Promise.reject(new Error('no')) : here.world.server.transport(request)
    const collector = new Collector({ ...here.world, client: new Client(deaf), ownsReferences: true })
    here.world.run(collector as never)
    const root = await here.create('root')
    await here.world.pass(5000)
    expect(collector.preview(root.metadata.uid, 'Background')).toMatchObject({
      complete: false,
      unknownKinds: ['secrets'],
    })
  })

  it('121: a foreground owner waits until a pod with time to end is really gone', async () => {
    await start()
    const owner = await here.create('root')
    await here.world.create({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'p',
        namespace: 'team',
        ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true })],
      },
      spec: { nodeName: 'n', terminationGracePeriodSeconds: 30, containers: [{ name: 'c', image: 'i' }] },
    })
    await here.remove('root', 'Foreground')
    expect(await here.left()).toEqual(['root'])
    await here.world.client.deleteObject(pods, { namespace: 'team', name: 'p' }, { gracePeriodSeconds: 0 })
    await here.world.pass(20_000)
    expect(await here.left()).toEqual([])
  })

  it('122: a clock that jumps changes no decision about what exists', async () => {
    await start()
    const root = await here.create('root')
    await here.create('child', [ownedBy(root)])
    await here.world.pass(3_600_000)
    expect(await here.left()).toEqual(['child', 'root'])
  })
})
