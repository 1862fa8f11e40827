import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startJanitorWorld, type JanitorWorld } from '../../../test/janitor/janitor-world.ts'

const hour = 3_600_000

describe('a mark', () => {
  let world: JanitorWorld
  beforeEach(async () => {
    world = await startJanitorWorld()
  })
  afterEach(() => world[Symbol.asyncDispose]())

  it('is made, announced, waited for and carried out', async () => {
    await world.configMap('old')
    await world.pass(2 * hour)
    await world.configMap('young')
    await world.policy({})
    await world.pass(hour / 2)
    expect(await world.phases()).toEqual({ old: 'Notified' })
    const [candidate] = await world.candidates()
    expect(candidate?.status?.notices).toMatchObject([{ channel: 'events', recipient: 'event:events' }])
    await world.pass(5 * hour)
    expect(await world.exists('old')).toBe(true)
    await world.pass(hour)
    expect(await world.exists('old')).toBe(false)
    expect(await world.phases()).toMatchObject({ old: 'Deleted' })
  })
})
