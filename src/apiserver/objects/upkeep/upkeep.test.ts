import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestObjects, type TestObjects } from '../../../../test/apiserver/test-objects.ts'
import { Upkeep } from './upkeep.ts'

describe('upkeep', () => {
  let world: TestObjects
  let upkeep: Upkeep
  beforeEach(async () => {
    world = await openTestObjects()
    upkeep = new Upkeep(world)
  })
  afterEach(async () => {
    await upkeep.close()
    await world.close()
  })
  const event = (name: string) =>
    world.create('v1/events', { metadata: { name }, involvedObject: { namespace: 'default' } })
  const minutes = async (count: number) => {
    for (let minute = 0; minute < count; minute++) {
      world.clock.advance(60_000)
      await world.settle()
    }
  }

  it('lets an Event go an hour after its last write', async () => {
    await event('old')
    await minutes(30)
    await event('young')
    await world.merge('v1/events', 'old', { count: 2 })
    await event('middle')
    await minutes(59)
    expect((await world.list('v1/events')).names).toEqual(['middle', 'old', 'young'])
    await minutes(2)
    expect((await world.list('v1/events')).names).toEqual([])
  })

  it('knows the age of Events that were there before it', async () => {
    await event('old')
    await upkeep.close()
    world.clock.advance(59 * 60_000)
    upkeep = new Upkeep(world)
    await minutes(2)
    expect((await world.list('v1/events')).names).toEqual([])
  })

  it('forgets what is older than five minutes, but keeps a thousand revisions', async () => {
    for (let n = 0; n < 1100; n++) await world.create('v1/configmaps', { metadata: { name: `c${n}` } })
    const { revision } = world.store
    await minutes(4)
    expect(world.store.compactedRevision).toBe(0)
    await minutes(2)
    expect(world.store.compactedRevision).toBe(revision - 1000)
  })
})
