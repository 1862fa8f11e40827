import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cascades, ownedBy } from '../../../test/cascades.ts'
import { configMap, startCleaner, cleanerOf, target, left } from '../../../test/cleaners.ts'
import { startWorld, type World } from '../../../test/world.ts'
import { findRecord } from './find-record.ts'
import { restore } from './restore.ts'

let world: World
beforeEach(async () => void (world = await startWorld()))
afterEach(() => world[Symbol.asyncDispose]())

describe('the record of a deleted object', () => {
  it('is its newest one', async () => {
    const running = await startCleaner(world)
    for (const round of ['first', 'second']) {
      await world.create(configMap('a', {}, { round }))
      await world.create(cleanerOf({ ttl: '1m', targets: [target('a')] }))
      await world.pass(5 * 60_000)
      expect(await left(world)).toEqual([])
    }
    await running.kill()
    const { record, decidedBy } = await findRecord(world.client, { kind: 'ConfigMap', namespace: 'team', name: 'a' })
    expect([record.spec.manifest, decidedBy]).toMatchObject([{ data: { round: 'second' } }, undefined])
    await restore(world.client, record, { now: world.clock.now(), decidedBy })
    expect(await left(world)).toEqual(['a'])
  })

  it('is missing for what was never deleted', async () => {
    const wanted = { kind: 'ConfigMap', namespace: 'team', name: 'never' }
    await expect(findRecord(world.client, wanted)).rejects.toThrow('no deletion of ConfigMap/team/never is recorded')
  })

  it('names the record of its owner, without which it would be deleted again', async () => {
    await using here = await Cascades.start()
    const owner = await here.create('owner')
    await here.create('part', [ownedBy(owner)])
    await here.remove('owner', 'Background')
    const wanted = { kind: 'ConfigMap', namespace: 'team', name: 'part' }
    await expect(findRecord(here.world.client, wanted)).rejects.toThrow(
      /^ConfigMap\/team\/part was deleted with ConfigMap\/team\/owner: run "sojourn restore configmap-owner-\w+ -n team"/,
    )
  })
})
