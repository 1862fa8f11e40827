import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { worlds, type TenantWorld } from './tenant-world.ts'
import { cleaner, configMap, refTo } from './manifests.ts'

describe.each(worlds)('the identity behind a Cleaner: $name', ({ start }) => {
  let world: TenantWorld
  beforeAll(async () => void (world = await start()))
  afterAll(() => world?.[Symbol.asyncDispose]())

  it('lets a user with the rights delete by a Cleaner', async () => {
    await world.create('tenant', configMap('a', 'entitled'))
    await world.create('tenant', cleaner('a', 'entitled', { deletes: ['entitled'] }))
    await world.gone(refTo('a', 'entitled'))
    expect(await world.get({ apiVersion: 'v1', kind: 'Namespace', name: 'a' })).toBeDefined()
  })
})
