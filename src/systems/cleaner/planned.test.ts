import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  cleanerOf,
  configMap,
  hour,
  left,
  readyOf,
  selected,
  startCleaner,
  target,
  type CleanerProcess,
} from '../../../test/cleaners.ts'
import { startWorld, type World } from '../../../test/world.ts'
import { closeOpenBreaker } from '../../app/operations/deletion-switches.ts'
import { events } from '../../kube/core-types.ts'
import type { StoredObject } from '../../kube/object.ts'

let world: World
let running: CleanerProcess
beforeEach(async () => {
  world = await startWorld()
  running = await startCleaner(world)
})
afterEach(async () => {
  await running.kill()
  await world[Symbol.asyncDispose]()
})

/** More than the breaker lets one namespace delete in a minute. */
const names = Array.from({ length: 130 }, (_, index) => `preview-${index}`)

describe('Cleaners that expire together', () => {
  it('are plans of their users: none of them opens the breaker', async () => {
    for (const name of names) {
      await world.create(configMap(name))
      await world.create(
        cleanerOf(
          { ttl: '1h', targets: [target('it', { reference: { version: 'v1', kind: 'configmap', name } })] },
          { name },
        ),
      )
    }
    await world.pass(hour + 30_000)
    expect([await left(world), world.door.state?.circuits]).toEqual([[], {}])
  })

  it('are rules once they select many: a selector that matches too much opens the breaker', async () => {
    for (const name of names) await world.create(configMap(name, { labels: { app: 'preview' } }))
    await world.create(cleanerOf({ ttl: '1h', targets: [selected('all', { app: 'preview' })] }))
    await world.pass(hour + 30_000)
    expect(Object.keys(world.door.state?.circuits ?? {})).toEqual(['team'])
    expect(await left(world)).toHaveLength(30)
    const { reason, message } = (await readyOf(world)) ?? {}
    expect(reason).toBe('Held')
    // A condition that named thousands would be refused, and the user would not see why nothing happens.
    expect(message).toMatch(/^its TTL has expired, but (\S+preview-\d+,? ){5}and 25 more are not deleted yet: /)
    expect(message?.split('circuit breaker is open')).toHaveLength(2)
    expect(message).toContain('sojourn departures --close-breaker')
    await world.events.flush()
    const { items } = await world.client.list<StoredObject & { reason?: string }>(events, { namespace: 'team' })
    expect(items.filter(({ reason }) => reason === 'TargetHeld')).not.toEqual([])
    await closeOpenBreaker(world.client, world.clock.now())
    await world.pass(60_000)
    expect(await left(world)).toEqual([])
  })
})
