import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ownedBy } from '../../cascades.ts'
import type { OwnerReference, StoredObject } from '../../../src/kube/object.ts'
import { LiveCascades } from './live-cascades.ts'

/** Sizes at which a mistake in the order of growth would show; how fast it goes is measured by `npm run bench -- collector`. */
describe('cascades of some size, in the server', () => {
  let here: LiveCascades
  beforeAll(async () => {
    here = await LiveCascades.start({ isInServer: true })
  })
  afterAll(() => here[Symbol.asyncDispose]())

  /** Many at once, by the server's own door. */
  function plant(
    names: readonly string[],
    ownersOf: (index: number) => readonly OwnerReference[],
  ): Promise<StoredObject[]> {
    return Promise.all(
      names.map((name, index) => {
        const metadata = { name, namespace: here.namespace, ownerReferences: ownersOf(index) }
        return here.world.create<StoredObject>({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
      }),
    )
  }

  /** How often each name was told to be deleted, by a watch of its own, once this many were. */
  async function deletions(amount: number, work: () => Promise<void>): Promise<ReadonlyMap<string, number>> {
    const type = await here.type('v1', 'ConfigMap')
    const { metadata } = await here.client.list(type, { namespace: here.namespace, limit: 1 })
    const { resourceVersion } = metadata
    const stop = new AbortController()
    const told = new Map<string, number>()
    const enough = Promise.withResolvers<void>()
    const watching = (async () => {
      const options = { namespace: here.namespace, resourceVersion, signal: stop.signal }
      for await (const event of here.client.watch<StoredObject>(type, options)) {
        if (event.type !== 'DELETED') continue
        const { name } = event.object.metadata
        told.set(name, (told.get(name) ?? 0) + 1)
        if (told.size >= amount) enough.resolve()
      }
    })().catch(() => {})
    await work()
    await enough.promise
    await here.rest()
    stop.abort()
    await watching
    return told
  }
  const numbered = (stem: string, amount: number) => Array.from({ length: amount }, (_, index) => `${stem}-${index}`)
  const isOnce = (told: ReadonlyMap<string, number>) => [...told.values()].every((times) => times === 1)

  it('99: five thousand dependents of one owner go, each told of once, and nothing else', async () => {
    await here.begin()
    const owner = await here.configMap('owner')
    const other = await here.configMap('other')
    await plant(numbered('stays', 100), () => [ownedBy(owner), ownedBy(other)])
    await plant(numbered('goes', 5000), () => [ownedBy(owner)])
    await here.rest()
    const told = await deletions(5001, () => here.ask(owner).then(() => {}))
    expect([told.size, isOnce(told)]).toEqual([5001, true])
    expect((await here.left()).toSorted()).toEqual(['other', ...numbered('stays', 100)].toSorted())
  }, 120_000)

  it.each(['Background', 'Foreground'] as const)(
    '100: a long chain goes in the %s without recursing',
    async (policy) => {
      await here.begin()
      const length = policy === 'Background' ? 1000 : 200
      let owner = await here.configMap('link-0')
      const root = owner
      for (let index = 1; index < length; index++)
        [owner] = (await plant([`link-${index}`], () => [ownedBy(owner, { blockOwnerDeletion: true })])) as [
          StoredObject,
        ]
      await here.rest()
      const told = await deletions(length, () => here.ask(root, { propagationPolicy: policy }).then(() => {}))
      expect([told.size, isOnce(told), await here.left()]).toEqual([length, true, []])
    },
    120_000,
  )

  it('101: a hundred by a hundred owners are no circle: all stay until the last owner goes, then each goes once', async () => {
    await here.begin()
    const width = 100
    const tops = await plant(numbered('top', width), () => [])
    const ownerReferences = tops.map((top) => ownedBy(top))
    for (let start = 0; start < width; start += 50)
      await plant(numbered('leaf', width).slice(start, start + 50), () => ownerReferences)
    await here.rest()
    expect(here.collector.preview(tops[0]!.metadata.uid, 'Background')?.nodes.leaving).toBe(1)
    const graph = here.collector.world.graph
    expect(graph.owners(graph.find(tops[0]!.metadata.uid) ?? -1)).toEqual([])
    const told = await deletions(2 * width, async () => {
      await Promise.all(tops.map((top) => here.ask(top)))
    })
    expect([told.size, isOnce(told), await here.left()]).toEqual([2 * width, true, []])
  }, 120_000)
})
