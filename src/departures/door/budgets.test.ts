import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { departure } from '../../apis/departure.ts'
import { closeOpenBreaker } from '../../app/operations/deletion-switches.ts'
import { configMaps } from '../../kube/core-types.ts'
import type { StoredObject } from '../../kube/object.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { Metrics } from '../../runtime/observability/metrics.ts'
import { departureRecord } from '../records/record.ts'
import { kubeSubject } from '../subjects/subject.ts'
import { Budgets, scopeOf } from './budget.ts'
import { Door } from './door.ts'

let world: World
beforeEach(async () => {
  world = await startWorld({ door: { limits: { maxPerMinute: 300, maxPercentOfKind: 100 } } })
  await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } })
})
afterEach(() => world[Symbol.asyncDispose]())

const create = (namespace: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, index) =>
      world.create<StoredObject>({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: `made-${index}-${namespace}`, namespace },
      }),
    ),
  )

async function depart(objects: readonly StoredObject[], door = world.door): Promise<readonly string[]> {
  const results: string[] = []
  for (const { metadata } of objects) {
    const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: metadata.namespace ?? '', name: metadata.name }
    const subject = kubeSubject(world.client, configMaps, ref)
    results.push((await door.depart({ subject, uid: metadata.uid, because: 'test', by: { system: 'cleaner' } })).result)
    await world.clock.settle()
  }
  return results
}

describe('the budget of a namespace', () => {
  it('used up holds that namespace and never another one', async () => {
    const mine = await create('team', 32)
    const results = await depart(mine)
    expect(results).toEqual([...Array<string>(30).fill('gone'), 'held', 'held'])
    expect(await depart(await create('other', 3))).toEqual(['gone', 'gone', 'gone'])
    expect(world.metrics.render()).toContain('sojourn_departures_breaker_open 0')
    expect(world.metrics.render()).toContain('sojourn_departures_namespace_breakers_open 1')
    const kept = world.door.keepCheck()
    expect([kept(mine[31] as StoredObject), world.door.hasOnlyOwnMarks]).toEqual(['breaker-open', false])
  })

  it('stays used up until a user closes the circuit breaker', async () => {
    const mine = await create('team', 32)
    await depart(mine)
    await world.pass(2 * 3_600_000)
    expect(await depart(mine.slice(30))).toEqual(['held', 'held'])
    expect(await closeOpenBreaker(world.client, world.clock.now())).toBe(true)
    await world.clock.settle()
    expect(await depart(mine.slice(30))).toEqual(['gone', 'gone'])
    expect(await closeOpenBreaker(world.client, world.clock.now())).toBe(false)
  })

  it('is used up by half of a kind in it, however many there are elsewhere', async () => {
    const budgets = new Budgets({
      maxPerMinute: 1000,
      maxPerHourOfKind: 5000,
      maxPercentOfKind: 50,
      freeOfPercent: 100,
      namespaceShare: 10,
    })
    const ofKind = (where: string) => Promise.resolve(where === 'namespace' ? 10 : 100_000)
    const booking = { kind: '/ConfigMap', scope: 'team' }
    for (let index = 0; index < 20; index++) budgets.count(`r${index}`, booking, 1000)
    expect(await budgets.exceeded(booking, 1000, ofKind)).toEqual({
      scope: 'team',
      isPace: false,
      because: 'in namespace team, 20 of 30 ConfigMap were deleted within an hour; the limit is 50 %',
    })
    expect(await budgets.exceeded({ ...booking, scope: 'other' }, 1000, ofKind)).toBeUndefined()
  })

  it('is that of one cluster: the same name elsewhere has its own', () => {
    expect(scopeOf('', 'team')).toBe('team')
    expect(scopeOf('team/production', 'team')).toBe('team_production.team')
    expect(scopeOf('', undefined)).toBeUndefined()
  })
})

describe('records that a door finds', () => {
  const ports = (isProven: boolean) => ({
    client: world.client,
    informers: world.informers,
    clock: world.clock,
    events: world.events,
    log: silentLogger,
    metrics: new Metrics(),
    provesRecords: () => Promise.resolve(isProven),
  })

  async function plant(count: number, change: { readonly namespace?: string } = {}) {
    for (let index = 0; index < count; index++) {
      const metadata = { name: `never-${index}`, namespace: 'team', uid: `uid-${index}` }
      const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata }
      const by = { system: 'cleaner' } as const
      const record = departureRecord({ cluster: '', object, because: 'test', by, now: world.clock.now() })
      await world.client.create(departure.type, { ...record, metadata: { ...record.metadata, ...change } })
    }
    await world.clock.settle()
  }

  async function departs(isProven: boolean) {
    const door = new Door(ports(isProven), { limits: { maxPerMinute: 5, maxPercentOfKind: 100 } })
    await world.clock.settle()
    const results = await depart(await create('other', 1), door)
    door.close()
    return results
  }

  it('count where only Sojourn can have written them', async () => {
    await plant(5)
    expect(await departs(true)).toEqual(['held'])
  })

  it('do not count where a tenant may have planted them', async () => {
    await plant(5)
    expect(await departs(false)).toEqual(['gone'])
  })

  it('do not count in a place where no door writes them', async () => {
    await plant(5, { namespace: 'other' })
    expect(await departs(true)).toEqual(['gone'])
  })
})
