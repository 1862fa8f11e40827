import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { cleaner as cleanerKind } from '../../src/apis/cleaner.ts'
import { cleaner, configMap, refTo, refToCleaner } from './manifests.ts'
import { until, worlds, type TenantWorld } from './tenant-world.ts'

const real = worlds.filter(({ name }) => name === 'kube-apiserver')
it.skipIf(real.length === 0)('has a kube-apiserver', () => {})

/** What Kubernetes 1.30 to 1.35 do while the webhook does not answer: nothing writes records, and the policy still refuses false ones. */
describe.each(real)('while nothing records creators: $name', ({ start }) => {
  let world: TenantWorld
  beforeAll(async () => {
    world = await start({ recorder: 'WebhookDown' })
    await until(async () => {
      const error: unknown = await world.create('tenant', cleaner('a', 'try', { spec: { ttl: '1h' } })).catch(String)
      if (typeof error === 'string') return error.includes('sojourn-creator') || undefined
      await world.as('administrator').deleteObject(cleanerKind.type, { namespace: 'a', name: 'try' })
      return undefined
    })
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  const recorded = (user: string) => ({
    'sojourn.dev/creator': user,
    'sojourn.dev/creator-groups': 'system:authenticated',
  })
  const waiting = (name: string, annotations = {}) => cleaner('a', name, { spec: { ttl: '1h' }, annotations })

  it('43: a new spec without a record is refused, and the rest of the cluster is not touched', async () => {
    await expect(world.create('tenant', waiting('c43'))).rejects.toThrow('sojourn-creator')
    await world.create('tenant', configMap('a', 'untouched'))
    expect(await world.get(refTo('a', 'untouched'))).toBeDefined()
  })

  it('34: a forged record is refused, and a true one written by hand is kept', async () => {
    await expect(world.create('cleanerAuthor', waiting('c34', recorded('administrator')))).rejects.toThrow(
      'sojourn-creator',
    )
    await world.create('tenant', waiting('c34', recorded('tenant')))
    expect((await world.get(refToCleaner('a', 'c34')))?.metadata.annotations).toMatchObject(recorded('tenant'))
  })

  it('43: what is stored still runs and can be deleted', async () => {
    await world.create('tenant', configMap('a', 'c43-run'))
    const due = cleaner('a', 'c43-run', { deletes: ['c43-run'], annotations: recorded('tenant') })
    await world.create('tenant', due)
    await world.gone(refTo('a', 'c43-run'))
    await world.as('tenant').deleteObject(cleanerKind.type, { namespace: 'a', name: 'c34' })
  })
})

describe.each(real)('where nothing proves creators: $name', ({ start }) => {
  let world: TenantWorld
  beforeAll(async () => {
    world = await start({ recorder: 'Off', flags: { 'without-creator': 'Hold' } })
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  it('42: a record that its author wrote counts for nothing', async () => {
    await world.create('administrator', configMap('a', 'kept'))
    const annotations = { 'sojourn.dev/creator': 'administrator', 'sojourn.dev/creator-groups': 'system:authenticated' }
    await world.create('cleanerAuthor', cleaner('a', 'c42', { deletes: ['kept'], annotations }))
    await world.ready(refToCleaner('a', 'c42'), 'CreatorUnknown')
    expect(await world.get(refTo('a', 'kept'))).toBeDefined()
  })
})
