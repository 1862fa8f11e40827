import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cleaner, configMap, refTo, refToCleaner } from './manifests.ts'
import { until, worlds, type TenantWorld } from './tenant-world.ts'

describe.each(worlds)('budgets of deletions: $name', ({ start }) => {
  let world: TenantWorld
  beforeAll(async () => {
    // One namespace may delete 20 objects a minute, all together 100.
    const limits = { 'max-departures-per-minute': '100', 'namespace-share': '20', 'max-departures-percent': '100' }
    world = await start({ flags: limits })
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  it('59: a tenant who deletes too much stops the own namespace, never another one', async () => {
    const names = Array.from({ length: 25 }, (_, index) => `mass-${index}`)
    for (const name of names) await world.create('tenant', configMap('a', name))
    await world.create('tenant', cleaner('a', 'mass', { deletes: names }))
    const switches = await until(async () => {
      const { data } = ((await world.get(refTo('sojourn-system', 'sojourn-door'))) ?? {}) as { data?: object }
      return data && 'circuit.a' in data ? (data as Readonly<Record<string, string>>) : undefined
    })
    expect(switches['circuit.a']).toContain('in namespace a, 20 objects were deleted within a minute')
    expect(switches['breaker'] ?? 'closed').toBe('closed')
    const left = await Promise.all(names.map((name) => world.get(refTo('a', name))))
    expect(left.filter(Boolean)).toHaveLength(5)
    await world.create('neighbour', configMap('b', 'other'))
    await world.create('neighbour', cleaner('b', 'other', { deletes: ['other'] }))
    await world.gone(refTo('b', 'other'))
    await world.gone(refToCleaner('b', 'other'))
  })
})
