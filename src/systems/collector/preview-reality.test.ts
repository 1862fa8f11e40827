import fc from 'fast-check'
import { afterEach, describe, expect, it } from 'vitest'
import type { StoredObject } from '../../kube/object.ts'
import { Cascades, configMaps, ownedBy, type CascadeOptions } from '../../../test/cascades.ts'

let here: Cascades
afterEach(() => here[Symbol.asyncDispose]())

/** One object of a random graph; it owns and is needed by others of the same graph, by their places in it. */
interface Shape {
  readonly owners: readonly { readonly at: number; readonly blocks: boolean }[]
  readonly needs: readonly { readonly at: number; readonly onDelete: 'Cascade' | 'Orphan' }[]
  /** Whether somebody else's finalizer is on it. */
  readonly isHeld: boolean
}

interface Plan {
  readonly shapes: readonly Shape[]
  readonly root: number
  readonly policy: 'Background' | 'Foreground' | 'Orphan'
}

const places = 6
const seldom = fc.integer({ min: 0, max: 7 }).map((number) => number === 0)
const shape = fc.record<Shape>({
  owners: fc.uniqueArray(fc.record({ at: fc.nat(places), blocks: fc.boolean() }), {
    maxLength: 2,
    selector: ({ at }) => at,
  }),
  needs: fc.uniqueArray(
    fc.record({
      at: fc.nat(places),
      onDelete: fc.constantFrom('Cascade' as const, 'Orphan'),
    }),
    { maxLength: 1, selector: ({ at }) => at },
  ),
  isHeld: seldom,
})
const plan = fc.record<Plan>({
  shapes: fc.array(shape, { minLength: 3, maxLength: places + 1 }),
  root: fc.nat(2),
  policy: fc.constantFrom('Background' as const, 'Foreground', 'Orphan'),
})
/** Graphs that have nothing to do with each other grow side by side: time passes for all of them at once. */
const sideBySide = 8

describe.each<[string, CascadeOptions]>([
  ['in the server', { isInServer: true }],
  ['over the API', { isInServer: false }],
])('119, 125: what a preview says is what happens, %s', (_, options) => {
  const fates = async (root: string, policy: Plan['policy']) => {
    await here.world.pass(20_000)
    const { uid } = (await here.get(root))?.metadata ?? { uid: '' }
    const nodes = [...(here.collector.preview(uid, policy)?.nodes ?? [])]
    const before = await here.left()
    await here.remove(root, policy)
    await here.world.pass(120_000)
    const after = await here.left()
    const said = nodes.filter(({ action }) => action === 'delete').map(({ ref }) => ref.name)
    expect(said.toSorted()).toEqual(before.filter((name) => !after.includes(name)))
    return Object.fromEntries(nodes.map(({ ref, action, waitsFor }) => [ref.name, [action, ...waitsFor].join(' ')]))
  }
  const kept = { annotations: { 'sojourn.dev/keep': 'true' } }

  it('an owner that goes in the foreground waits for a dependent that is kept and blocks it', async () => {
    here = await Cascades.start(options)
    const root = await here.create('root')
    const middle = await here.create('middle', [ownedBy(root, { blockOwnerDeletion: true })])
    await here.create('kept', [ownedBy(middle, { blockOwnerDeletion: true })], kept)
    await here.create('free', [ownedBy(root, { blockOwnerDeletion: true })])
    expect(await fates('root', 'Foreground')).toEqual({
      root: 'hold ConfigMap/team/middle',
      middle: 'hold ConfigMap/team/kept',
      kept: 'keep',
      free: 'delete',
    })
  })

  it('an owner that goes in the foreground does not wait for one that is kept and does not block it', async () => {
    here = await Cascades.start(options)
    const root = await here.create('root')
    await here.create('kept', [ownedBy(root)], kept)
    expect(await fates('root', 'Foreground')).toEqual({ root: 'delete', kept: 'keep' })
  })

  it('what is held for something that it owns waits for ever, but not in the foreground', async () => {
    here = await Cascades.start(options)
    for (const name of ['back', 'fore']) {
      const root = await here.create(name)
      await here.create(`${name}-child`, [ownedBy(root, { blockOwnerDeletion: true })])
      await here.bind(`${name}-child`, name, 'Hold')
    }
    expect(await fates('back', 'Background')).toEqual({ back: 'hold Bond team/back-child-back' })
    expect(await fates('fore', 'Foreground')).toEqual({ fore: 'delete', 'fore-child': 'delete' })
  })

  it('115: what a Bond denies goes when all who need it have left in the same cascade, and only then', async () => {
    here = await Cascades.start(options)
    const root = await here.create('root')
    for (const name of ['used', 'user', 'needed']) await here.create(name, [ownedBy(root)])
    await here.create('outsider')
    await here.bind('user', 'used', 'Deny')
    await here.bind('outsider', 'needed', 'Deny')
    expect(await fates('root', 'Background')).toEqual({
      root: 'delete',
      used: 'delete',
      user: 'delete',
      needed: 'keep',
    })
  })

  it('one that owns itself goes, also when its dependents are to be orphaned', async () => {
    here = await Cascades.start(options)
    const root = await here.create('root')
    await change('root', { ownerReferences: [ownedBy(root, { blockOwnerDeletion: true })] })
    await here.create('needs')
    await here.bind('needs', 'root')
    expect(await fates('root', 'Orphan')).toEqual({ root: 'delete', needs: 'delete' })
  })

  it('on random graphs of owners, circles, Bonds and finalizers, in every manner', async () => {
    here = await Cascades.start(options)
    let count = 0
    await fc.assert(
      fc.asyncProperty(fc.array(plan, { minLength: sideBySide, maxLength: sideBySide }), async (plans) => {
        const graphs = plans.map((given) => ({ ...given, prefix: `g${count++}` }))
        const roots = new Map<string, StoredObject>()
        for (const graph of graphs) roots.set(graph.prefix, await grow(graph.prefix, graph))
        await here.world.pass(20_000)
        const before = await here.left()
        const said = graphs.map(({ prefix, policy }) => {
          const nodes = [...(here.collector.preview(roots.get(prefix)?.metadata.uid ?? '', policy)?.nodes ?? [])]
          return nodes.filter(({ action }) => action === 'delete').map(({ ref }) => ref.name)
        })
        expect(await here.left()).toEqual(before)
        for (const { prefix, policy } of graphs) {
          const { name } = roots.get(prefix)?.metadata ?? {}
          await here.world.client.deleteObject(
            configMaps,
            { namespace: 'team', name: name ?? '' },
            { propagationPolicy: policy },
          )
        }
        await settle()
        const after = new Set(await here.left())
        const wrong = graphs.flatMap(({ prefix, ...given }, index) => {
          const gone = before.filter((name) => name.startsWith(`${prefix}-`) && !after.has(name))
          const isRight = gone.join() === said[index]?.toSorted().join()
          return isRight ? [] : [{ given: JSON.stringify(given), said: said[index], gone }]
        })
        expect(wrong).toEqual([])
      }),
      { numRuns: 15, endOnFailure: true },
    )
  }, 300_000)
})

/** Makes a graph; returns the object that will be deleted. */
async function grow(prefix: string, { shapes, root }: Plan): Promise<StoredObject> {
  const name = (at: number) => `${prefix}-${at}`
  const made: StoredObject[] = []
  for (const [at, { isHeld }] of shapes.entries())
    made.push(await here.create(name(at), [], isHeld ? { finalizers: ['x.dev/held'] } : {}))
  // Owners come last: only so there can be circles.
  for (const [at, { owners }] of shapes.entries()) {
    const ownerReferences = owners
      .filter((owner) => owner.at < shapes.length)
      .map((owner) => ownedBy(made[owner.at] as StoredObject, { blockOwnerDeletion: owner.blocks }))
    if (ownerReferences.length > 0) await change(name(at), { ownerReferences })
  }
  for (const [at, { needs }] of shapes.entries())
    for (const need of needs.filter((other) => other.at < shapes.length && other.at !== at))
      await here.bind(name(at), name(need.at), need.onDelete)
  return made[root] as StoredObject
}

/** Lets everything come to its end, finalizers of others included. */
async function settle(): Promise<void> {
  for (let isMoving = true; isMoving;) {
    await here.world.pass(120_000)
    const { items } = await here.world.client.list(configMaps, { namespace: 'team' })
    const waiting = items.filter(
      ({ metadata }) => metadata.deletionTimestamp && metadata.finalizers?.includes('x.dev/held'),
    )
    for (const { metadata } of waiting)
      await change(metadata.name, { finalizers: metadata.finalizers?.filter((other) => other !== 'x.dev/held') })
    isMoving = waiting.length > 0
  }
}

function change(name: string, metadata: object): Promise<StoredObject> {
  return here.world.client.patch(configMaps, { namespace: 'team', name }, { type: 'merge', body: { metadata } })
}
