import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { departure } from '../../apis/departure.ts'
import { configMaps } from '../../kube/core-types.ts'
import { refOf, type StoredObject } from '../../kube/object.ts'
import { kubeSubject } from '../subjects/subject.ts'
import { closeBreaker, writeDoorState } from './door-state.ts'
import { Door, type DepartRequest } from './door.ts'

let world: World
const limits = { maxPerMinute: 10, maxPerHourOfKind: 1000, maxPercentOfKind: 100, namespaceShare: 100 }
beforeEach(async () => {
  world = await startWorld({ door: { limits } })
})
afterEach(() => world[Symbol.asyncDispose]())

async function createAll(count: number): Promise<StoredObject[]> {
  const names = Array.from({ length: count }, (_, index) => `object-${index}`)
  return Promise.all(
    names.map((name) => world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team' } })),
  )
}

async function departAll(objects: readonly StoredObject[], given: Partial<DepartRequest> = {}, door = world.door) {
  const results: string[] = []
  for (const object of objects) {
    const subject = kubeSubject(world.client, configMaps, refOf(object))
    const { result } = await door.depart({
      subject,
      uid: object.metadata.uid,
      because: 'test',
      by: { system: 'cleaner' },
      ...given,
    })
    results.push(result)
  }
  await world.clock.settle()
  return Object.fromEntries(
    Map.groupBy(results, (result) => result)
      .entries()
      .map(([key, all]) => [key, all.length]),
  )
}

describe('the circuit breaker and deletions that users planned', () => {
  it('stays closed, however many are due together, and counts none of them after a restart either', async () => {
    expect(await departAll(await createAll(30), { isPlanned: true })).toEqual({ gone: 30 })
    expect(world.door.state?.breaker).toBe('closed')
    const { clock, events, informers, metrics, ports, client } = world
    const parts = { client, informers, clock, events, metrics, log: ports.log }
    const restarted = new Door({ ...parts, provesRecords: () => Promise.resolve(true) }, { limits })
    await world.clock.settle()
    expect(await departAll(await createAll(5), {}, restarted)).toEqual({ gone: 5 })
    restarted.close()
  })

  it('counts no object that deletes itself', async () => {
    for (const object of await createAll(30))
      expect(await departAll([object], { by: { system: 'cleaner', object: refOf(object) } })).toEqual({ gone: 1 })
    expect(world.door.state?.breaker).toBe('closed')
  })

  it('holds planned deletions, too, while it is open', async () => {
    const objects = await createAll(30)
    expect(await departAll(objects.slice(0, 15))).toEqual({ gone: 10, held: 5 })
    expect(await departAll(objects.slice(15), { isPlanned: true })).toEqual({ held: 15 })
  })

  it('lets go what it held once a user has closed it, and does not open again for that', async () => {
    const objects = await createAll(40)
    expect(await departAll(objects.slice(0, 35))).toEqual({ gone: 10, held: 25 })
    await writeDoorState(world.client, closeBreaker(world.door.state!, world.clock.now()))
    await world.clock.settle()
    expect(await departAll(objects.slice(10, 35))).toEqual({ gone: 25 })
    expect(await departAll(objects.slice(35))).toEqual({ gone: 5 })
    expect(world.door.state?.breaker).toBe('closed')
  })

  it('paces announced deletions instead: they wait for the next minute', async () => {
    const objects = await createAll(15)
    expect(await departAll(objects, { isAnnounced: true })).toEqual({ gone: 10, held: 5 })
    expect(world.door.state?.breaker).toBe('closed')
    await world.pass(61_000)
    expect(await departAll(objects.slice(10), { isAnnounced: true })).toEqual({ gone: 5 })
  })

  it('opens for announced deletions when they are too large a part of their kind', async () => {
    const percent = { ...limits, maxPerMinute: 1000, maxPercentOfKind: 50, freeOfPercent: 5 }
    const { clock, events, informers, metrics, ports, client } = world
    const parts = { client, informers, clock, events, metrics, log: ports.log }
    const door = new Door({ ...parts, provesRecords: () => Promise.resolve(true) }, { limits: percent })
    await world.clock.settle()
    const before = (await client.list(configMaps)).items.length
    expect(await departAll(await createAll(30), { isAnnounced: true }, door)).toMatchObject({ held: expect.anything() })
    expect(before).toBeGreaterThan(0)
    expect(world.door.state?.breaker).toBe('open')
    door.close()
  })

  it('marks the records of what no budget counted', async () => {
    await departAll(await createAll(1), { isPlanned: true })
    const [record] = (await world.client.list(departure.type, { namespace: 'team' })).items
    expect(record?.metadata.labels?.['sojourn.dev/budget']).toBe('planned')
  })
})
