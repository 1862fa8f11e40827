import { configMaps } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { seedFinalizer } from '../../apis/bond.ts'
import type { StoredObject } from '../../kube/object.ts'
import { Graph } from './graph/graph.ts'
import { Cascades, ownedBy } from '../../../test/cascades.ts'

describe('the five actions on the graph', () => {
  const put = (graph: Graph, name: string, owners: readonly string[] = []) =>
    graph.put({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name,
        uid: name,
        resourceVersion: '1',
        creationTimestamp: '',
        ownerReferences: owners.map((uid) => ({ apiVersion: 'v1', kind: 'ConfigMap', name: uid, uid })),
      },
    })
  const dependents = (graph: Graph, uid: string) =>
    graph
      .dependents(graph.find(uid) ?? -1)
      .map((node) => graph.uidOf(node))
      .toSorted()

  it.each([
    ['1: top-down', ['up', 'cluster', 'app1', 'app2', 'app3']],
    ['2: bottom-up', ['app3', 'app2', 'app1', 'cluster', 'up']],
  ])('%s, the graph knows who depends on whom', (_, order) => {
    const owners: Record<string, string[]> = {
      up: [],
      cluster: ['up'],
      app1: ['cluster'],
      app2: ['cluster'],
      app3: ['cluster'],
    }
    const graph = new Graph()
    for (const name of order) put(graph, name, owners[name])
    expect([graph.size, dependents(graph, 'up'), dependents(graph, 'cluster')]).toEqual([
      5,
      ['cluster'],
      ['app1', 'app2', 'app3'],
    ])
    graph.remove('app1')
    expect([graph.size, dependents(graph, 'cluster')]).toEqual([4, ['app2', 'app3']])
  })

  it('4: edges move with the owners, dependents stay', () => {
    const graph = new Graph()
    for (const name of ['up2', 'cluster1', 'cluster2']) put(graph, name)
    put(graph, 'app', ['cluster1'])
    put(graph, 'app', ['cluster2'])
    put(graph, 'cluster2', ['up2'])
    expect([dependents(graph, 'cluster1'), dependents(graph, 'cluster2'), dependents(graph, 'up2')]).toEqual([
      [],
      ['app'],
      ['cluster2'],
    ])
    put(graph, 'cluster2', [])
    expect([dependents(graph, 'up2'), dependents(graph, 'cluster2')]).toEqual([[], ['app']])
  })

  it('17: the removal of an owner keeps the names of those who depended on it', () => {
    const graph = new Graph()
    put(graph, 'owner')
    put(graph, 'a', ['owner'])
    put(graph, 'b', ['owner'])
    graph.remove('owner')
    expect(dependents(graph, 'owner')).toEqual(['a', 'b'])
  })
})

describe("the seed's workflow", () => {
  let here: Cascades
  beforeEach(async () => {
    here = await Cascades.start()
  })
  afterEach(() => here[Symbol.asyncDispose]())

  it('7, 8: what was marked before the collector came is handled, what lives is left', async () => {
    await here[Symbol.asyncDispose]()
    here = await Cascades.start({ isRunning: false })
    await here.create('live')
    const marked = await here.create('marked')
    await here.create('child', [ownedBy(marked, { blockOwnerDeletion: true })])
    const propagationPolicy = 'Foreground'
    await here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'marked' }, { propagationPolicy })
    expect((await here.get('marked'))?.metadata.deletionTimestamp).toBeDefined()
    await here.startCollector()
    await here.world.pass(20_000)
    expect(await here.left()).toEqual(['live'])
  })

  it('9–11: A needs C; C is marked with its finalizer, A goes, then C; a DELETED event tells of each', async () => {
    await here.create('c')
    await here.create('a')
    await here.bind('a', 'c')
    await here.world.pass(5000)
    const { metadata } = await here.world.client.list(configMaps, { namespace: 'team', limit: 1 })
    const events: string[] = []
    const stop = new AbortController()
    const watching = (async () => {
      const { resourceVersion } = metadata
      for await (const { type, object } of here.world.client.watch<StoredObject>(configMaps, {
        namespace: 'team',
        resourceVersion,
        signal: stop.signal,
      }))
        events.push(
          `${type} ${object.metadata.name}${object.metadata.finalizers?.includes(seedFinalizer) ? ' cascade_deletion' : ''}`,
        )
    })().catch(() => {})
    await here.remove('c')
    stop.abort()
    await watching
    expect(await here.left()).toEqual([])
    expect(events[0]).toBe('MODIFIED c cascade_deletion')
    expect(events.filter((event) => event.startsWith('DELETED')).map((event) => event.split(' ')[1])).toEqual([
      'a',
      'c',
    ])
  })

  it.each<[string, () => Promise<unknown>, object]>([
    ['a Bond', async () => here.bind('a', 'c'), {}],
    ['an owner reference that blocks, and foreground deletion', async () => {}, { propagationPolicy: 'Foreground' }],
  ])('the twelve steps happen in the seed’s order with %s', async (_, bind, options) => {
    // 1: A and C are there, and the graph knows it.
    const c = await here.create('c')
    const owners = [ownedBy(c, { blockOwnerDeletion: true })]
    await here.create('a', 'propagationPolicy' in options ? owners : [])
    await bind()
    await here.world.pass(5000)
    const { metadata } = await here.world.client.list(configMaps, { namespace: 'team', limit: 1 })
    const steps: string[] = []
    const stop = new AbortController()
    const { resourceVersion } = metadata
    const watching = (async () => {
      const where = { namespace: 'team', resourceVersion, signal: stop.signal }
      for await (const { type, object } of here.world.client.watch<StoredObject>(configMaps, where)) {
        const isMarked = object.metadata.deletionTimestamp !== undefined
        steps.push(`${type}${isMarked ? ' marked' : ''} ${object.metadata.name}`)
      }
    })().catch(() => {})
    // 2: the user requests the deletion of C.
    await here.world.client.deleteObject(configMaps, { namespace: 'team', name: 'c' }, options)
    await here.world.pass(20_000)
    stop.abort()
    await watching
    const first = (step: string) => steps.findIndex((each) => each.startsWith(step))
    // 3: C is marked. 4–8: A is handled, marked or removed at once if nothing holds it. 9: A is deleted. 10, 11: C is handled again. 12: C is deleted.
    expect(first('MODIFIED marked c')).toBe(0)
    expect(first('DELETED marked a') >= 0 ? first('DELETED marked a') : first('DELETED a')).toBeGreaterThan(0)
    expect(steps.filter((step) => step.startsWith('DELETED')).map((step) => step.split(' ').at(-1))).toEqual(['a', 'c'])
    expect(steps.at(-1)).toMatch(/^DELETED (marked )?c$/)
    expect(await here.left()).toEqual([])
  })

  it('12: dependents with cleanup of their own are marked; the owner goes when the last of them is gone', async () => {
    await here.create('cluster')
    for (const name of ['app1', 'app2', 'app3']) {
      await here.create(name, [], { finalizers: ['x.dev/cleanup'] })
      await here.bind(name, 'cluster')
    }
    await here.world.pass(5000)
    await here.remove('cluster')
    for (const name of ['app1', 'app2', 'app3']) {
      expect((await here.get(name))?.metadata.deletionTimestamp).toBeDefined()
      expect(await here.get('cluster')).toBeDefined()
      await here.finalize(name)
    }
    expect(await here.left()).toEqual([])
  })

  it('14: only the branch of what was deleted goes', async () => {
    for (const name of ['a', 'b', 'c', 'd', 'e']) await here.create(name)
    for (const [dependent, dependency] of [
      ['b', 'a'],
      ['c', 'a'],
      ['d', 'b'],
      ['e', 'c'],
    ] as const)
      await here.bind(dependent, dependency)
    await here.world.pass(5000)
    await here.remove('b')
    expect(await here.left()).toEqual(['a', 'c', 'e'])
  })

  it('15: the mark goes down layer by layer, the deletion comes up', async () => {
    await here.create('upper')
    await here.create('middle')
    await here.create('lower', [], { finalizers: ['x.dev/cleanup'] })
    await here.bind('middle', 'upper')
    await here.bind('lower', 'middle')
    await here.world.pass(5000)
    await here.remove('upper')
    const marked = await Promise.all(['upper', 'middle', 'lower'].map((name) => here.get(name)))
    expect(marked.map((object) => object?.metadata.deletionTimestamp !== undefined)).toEqual([true, true, true])
    await here.finalize('lower')
    expect(await here.left()).toEqual([])
  })

  it('16, 18: a cycle stops no other deletion, and does not outlive the deletion of one of its members', async () => {
    for (const name of ['a', 'b', 'c', 'out1', 'out2']) await here.create(name)
    for (const [dependent, dependency] of [
      ['a', 'b'],
      ['b', 'c'],
      ['c', 'a'],
      ['out2', 'out1'],
    ] as const)
      await here.bind(dependent, dependency)
    await here.world.pass(5000)
    await here.remove('out1')
    expect(await here.left()).toEqual(['a', 'b', 'c'])
    await here.remove('a')
    await here.world.pass(60_000)
    expect(await here.left()).toEqual([])
  })

  it('stands for Bonds: a depends-on annotation binds, and lets go when it is taken away', async () => {
    await here.create('database')
    const annotations = { 'config.kubernetes.io/depends-on': '/namespaces/team/ConfigMap/database' }
    await here.create('app', [], { annotations })
    await here.create('broken', [], { annotations: { 'config.kubernetes.io/depends-on': 'database' } })
    await here.world.pass(5000)
    expect((await here.get('database'))?.metadata.finalizers).toEqual(['sojourn.dev/cascade-deletion'])
    expect(await here.told('InvalidDependsOn')).toEqual([expect.stringContaining('"database" is not a reference')])
    const body = { metadata: { annotations: { 'config.kubernetes.io/depends-on': null } } }
    await here.world.client.patch(configMaps, { namespace: 'team', name: 'app' }, { type: 'merge', body })
    await here.world.pass(5000)
    expect((await here.get('database'))?.metadata.finalizers).toBeUndefined()
    await here.world.client.patch(
      configMaps,
      { namespace: 'team', name: 'app' },
      { type: 'merge', body: { metadata: { annotations } } },
    )
    await here.world.pass(5000)
    await here.remove('database')
    expect(await here.left()).toEqual(['broken'])
  })
})
