import { setTimeout } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Cascades, ownedBy } from '../../../test/cascades.ts'
import { startRealWorld } from '../../../test/world.ts'
import { inProcessDeleter } from '../../app/core/in-process-deleter.ts'
import { configMaps } from '../../kube/core-types.ts'
import type { OwnerReference } from '../../kube/object.ts'
import { Collector } from './controller.ts'

describe('a foreground deletion while a client keeps creating dependents that block it', () => {
  it('never deletes the owner while one of them exists', async () => {
    await using world = await startRealWorld()
    const { client, server } = world
    const exists = (uid: string) => server.store.owners.addressOf(uid) !== undefined
    const parts = { ...world, ownsReferences: true, exists, inProcessDeleter: inProcessDeleter(server) }
    world.run(new Collector(parts) as never)
    const create = (name: string, ownerReferences: readonly OwnerReference[] = []) => {
      const metadata = { name, namespace: 'team', ownerReferences }
      return client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata })
    }
    for (let round = 0; round < 8; round++) {
      const owner = await create(`owner-${round}`)
      const { name, uid } = owner.metadata
      const blocking = [ownedBy(owner, { blockOwnerDeletion: true })]
      const alive = new Set<string>()
      const leftBehind: string[] = []
      const unsubscribe = server.store.subscribe((events) => {
        for (const event of events) {
          if (event.type === 'create' && event.name.endsWith(`-of-${round}`)) alive.add(event.name)
          if (event.type === 'delete') alive.delete(event.name)
          if (event.type === 'delete' && event.uid === uid) leftBehind.push(...alive)
        }
      })
      await create(`first-of-${round}`, blocking)
      await client.deleteObject(configMaps, { namespace: 'team', name }, { propagationPolicy: 'Foreground' })
      for (let late = 0; late < 100 && exists(uid); late++) {
        await create(`late-${late}-of-${round}`, blocking)
        // With a pause, so that there are moments in which no dependent is left.
        await setTimeout(late % 7)
      }
      await expect.poll(() => exists(uid)).toBe(false)
      unsubscribe()
      expect(leftBehind).toEqual([])
    }
  })
})

describe('a dependent created between the last look and the end of a foreground deletion', () => {
  it('keeps its owner until it is gone itself', async () => {
    await using here = await Cascades.start()
    const { objects } = here.world.server
    const owner = await here.create('owner')
    await here.create('first', [ownedBy(owner, { blockOwnerDeletion: true })])
    const patch = objects.patch.bind(objects)
    let isCreated = false
    objects.patch = async (request) => {
      if (request.name === 'owner' && !isCreated) {
        isCreated = true
        await here.create('late', [ownedBy(owner, { blockOwnerDeletion: true })], { finalizers: ['example.com/wait'] })
      }
      return patch(request)
    }
    await here.remove('owner', 'Foreground')
    expect(await here.left()).toEqual(['late', 'owner'])
    await here.finalize('late')
    expect(await here.left()).toEqual([])
  })
})

describe('a chain of owners deleted in the foreground', () => {
  it('costs each level the same, however long the chain is', async () => {
    const looks = await Promise.all([looksPerLevel(50), looksPerLevel(200)])
    expect(looks[1]).toBeLessThan(looks[0]! * 1.2)
  })
})

/** How often the collector looks at an object of the chain, for each level: a figure that does not depend on the machine. */
async function looksPerLevel(levels: number): Promise<number> {
  await using here = await Cascades.start()
  const { graph } = here.collector.world
  let owner = await here.create('level-0')
  for (let level = 1; level < levels; level++)
    owner = await here.create(`level-${level}`, [ownedBy(owner, { blockOwnerDeletion: true })])
  await here.world.clock.settle()
  let looks = 0
  const object = graph.object.bind(graph)
  graph.object = (node) => (looks++, object(node))
  await here.remove('level-0', 'Foreground')
  expect(await here.left()).toEqual([])
  return looks / levels
}
