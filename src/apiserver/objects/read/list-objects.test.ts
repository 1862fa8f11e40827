import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openTestObjects, type TestObjects } from '../../../../test/apiserver/test-objects.ts'

describe('list', () => {
  let world: TestObjects
  beforeEach(async () => {
    world = await openTestObjects()
    for (const name of ['e', 'd', 'c', 'b', 'a'])
      await world.create('v1/configmaps', { metadata: { name, labels: { tier: name < 'c' ? 'low' : 'high' } } })
  })
  afterEach(() => world.close())
  const configMaps = (options = {}) => world.list('v1/configmaps', { namespace: 'default', ...options })

  it('comes in order, at the newest revision', async () => {
    const { names, metadata } = await configMaps()
    expect(names).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(metadata).toEqual({ resourceVersion: String(world.store.revision) })
  })

  it('selects Events of both kinds by who reported them', async () => {
    const event = { metadata: { name: 'x', namespace: 'default' }, action: 'Do', reason: 'Why', type: 'Normal' }
    const reporter = {
      reportingController: 'ex.io/c',
      reportingInstance: 'i',
      eventTime: '2026-01-01T00:00:00.000000Z',
    }
    await world.create('events.k8s.io/v1/events', { ...event, ...reporter } as never)
    for (const fieldSelector of ['source=ex.io/c', 'reportingController=ex.io/c', 'reportingComponent=ex.io/c'])
      for (const kind of ['v1/events', 'events.k8s.io/v1/events'])
        expect((await world.list(kind, { namespace: 'default', fieldSelector })).names).toEqual(['x'])
  })

  it('lists all namespaces, or one', async () => {
    await world.create('v1/namespaces', { metadata: { name: 'other' } })
    await world.create('v1/configmaps', { metadata: { name: 'z' } }, { namespace: 'other' })
    expect((await world.list('v1/configmaps')).names).toHaveLength(6)
    expect((await world.list('v1/configmaps', { namespace: 'other' })).names).toEqual(['z'])
  })

  it.each([
    [{ labelSelector: 'tier=low' }, ['a', 'b']],
    [{ labelSelector: 'tier!=low' }, ['c', 'd', 'e']],
    [{ labelSelector: 'tier in (low,none)' }, ['a', 'b']],
    [{ labelSelector: 'tier notin (low)' }, ['c', 'd', 'e']],
    [{ labelSelector: '!tier' }, []],
    [{ labelSelector: 'tier' }, ['a', 'b', 'c', 'd', 'e']],
    [{ fieldSelector: 'metadata.name=c' }, ['c']],
    [{ fieldSelector: 'metadata.name!=c', labelSelector: 'tier=high' }, ['d', 'e']],
    [{ fieldSelector: 'metadata.namespace=nowhere' }, []],
  ])('selects by %j', async (selection, expected) => {
    expect((await configMaps(selection)).names).toEqual(expected)
    expect((await world.list('v1/configmaps', selection)).names).toEqual(expected)
  })

  it('selects by the fields a kind offers, zeros included', async () => {
    const spec = { containers: [{ name: 'c', image: 'i' }] }
    await world.create('v1/pods', { metadata: { name: 'p' }, spec: { ...spec, nodeName: 'n1' } })
    await world.create('v1/pods', { metadata: { name: 'q' }, spec })
    expect((await world.list('v1/pods', { fieldSelector: 'spec.nodeName=n1' })).names).toEqual(['p'])
    expect((await world.list('v1/pods', { fieldSelector: 'spec.nodeName=' })).names).toEqual(['q'])
    expect(
      (await world.list('v1/pods', { fieldSelector: 'status.phase=Pending,spec.hostNetwork=false' })).names,
    ).toEqual(['p', 'q'])
  })

  it('pages through one snapshot, whatever happens meanwhile', async () => {
    const first = await configMaps({ limit: '2' })
    expect(first.names).toEqual(['a', 'b'])
    expect(first.metadata.remainingItemCount).toBe(3)
    await world.delete('v1/configmaps', 'd')
    await world.create('v1/configmaps', { metadata: { name: 'bb' } })
    const second = await configMaps({ limit: '2', continue: first.metadata.continue })
    expect(second.names).toEqual(['c', 'd'])
    expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion)
    expect(second.metadata.remainingItemCount).toBe(1)
    const third = await configMaps({ limit: '2', continue: second.metadata.continue })
    expect(third.names).toEqual(['e'])
    expect(third.metadata).toEqual({ resourceVersion: first.metadata.resourceVersion })
  })

  it('does not count what remains behind a selector', async () => {
    const { metadata, names } = await configMaps({ limit: '1', labelSelector: 'tier=high' })
    expect(names).toEqual(['c'])
    expect(metadata.continue).toBeDefined()
    expect(metadata).not.toHaveProperty('remainingItemCount')
    const rest = await configMaps({ continue: metadata.continue, labelSelector: 'tier=high' })
    expect(rest.names).toEqual(['d', 'e'])
  })

  it('shows the past that is kept, and only that', async () => {
    const then = String(world.store.revision)
    await world.delete('v1/configmaps', 'a')
    expect((await configMaps({ resourceVersion: then, resourceVersionMatch: 'Exact' })).names).toHaveLength(5)
    expect((await configMaps({ resourceVersion: then, limit: '9' })).names).toHaveLength(5)
    expect((await configMaps({ resourceVersion: then })).names).toHaveLength(4)
    expect((await configMaps({ resourceVersion: '0' })).names).toHaveLength(4)
    const page = await configMaps({ limit: '1', resourceVersion: then, resourceVersionMatch: 'Exact' })
    await world.store.compact({ olderThanMs: 0, keep: 0 })
    await expect(configMaps({ resourceVersion: then, resourceVersionMatch: 'Exact' })).rejects.toMatchObject({
      code: 410,
      reason: 'Expired',
    })
    const expired = await configMaps({ limit: '1', continue: page.metadata.continue }).catch((error: unknown) => error)
    expect(expired).toMatchObject({ code: 410, reason: 'Expired' })
    const { metadata } = (expired as { toStatus(): { metadata: { continue: string } } }).toStatus()
    expect((await configMaps({ continue: metadata.continue })).names).toEqual(['b', 'c', 'd', 'e'])
  })

  it('waits a little for a version that is still to come', async () => {
    const next = String(world.store.revision + 1)
    const waiting = configMaps({ resourceVersion: next, resourceVersionMatch: 'NotOlderThan' })
    await world.create('v1/configmaps', { metadata: { name: 'f' } })
    expect((await waiting).names).toContain('f')
    const tooFar = configMaps({ resourceVersion: '999999' })
    const failed = expect(tooFar).rejects.toMatchObject({
      code: 504,
      details: { retryAfterSeconds: 1, causes: [{ reason: 'ResourceVersionTooLarge' }] },
    })
    await world.settle()
    world.clock.advance(3000)
    await failed
  })

  it.each([
    [{ resourceVersionMatch: 'Exact' }, 422, 'resourceVersionMatch is forbidden unless resourceVersion is provided'],
    [{ resourceVersionMatch: 'Exact', resourceVersion: '0' }, 422, 'is forbidden for resourceVersion "0"'],
    [{ resourceVersionMatch: 'Some', resourceVersion: '1' }, 422, 'resourceVersionMatch: Unsupported value: "Some"'],
    [{ resourceVersion: 'x' }, 400, 'Invalid value'],
    [{ limit: 'x' }, 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
    [{ continue: 'x' }, 400, 'continue key is not valid'],
    [{ continue: Buffer.from('{"v":"v0"}').toString('base64url') }, 400, 'continue key is not valid'],
    [{ labelSelector: 'a in' }, 400, 'unable to parse requirement'],
    [{ labelSelector: '=x' }, 400, ''],
    [{ fieldSelector: 'spec.x=1' }, 400, 'field'],
    [{ fieldSelector: 'nonsense' }, 400, "can't understand 'nonsense'"],
    [{ sendInitialEvents: 'true' }, 422, 'sendInitialEvents is forbidden for list'],
  ])('refuses %j', async (options, code, message) => {
    await expect(configMaps(options)).rejects.toMatchObject({ code, message: expect.stringContaining(message) })
  })

  it('finds one name, present, absent or gone since the snapshot', async () => {
    const one = (name: string, options = {}) => configMaps({ fieldSelector: `metadata.name=${name}`, ...options })
    const then = { resourceVersion: String(world.store.revision), resourceVersionMatch: 'Exact' }
    expect([(await one('a')).names, (await one('none')).names]).toEqual([['a'], []])
    await world.delete('v1/configmaps', 'a')
    expect([(await one('a')).names, (await one('a', then)).names, (await one('none', then)).names]).toEqual([
      [],
      ['a'],
      [],
    ])
  })

  it('ends a page of large objects early, and reads no more of them at once', async () => {
    const data = { text: 'x'.repeat(1_100_000) }
    const names = Array.from({ length: 9 }, (_, n) => `s${n}`)
    for (const name of names) await world.create('v1/secrets', { metadata: { name }, stringData: data })
    const pages: number[] = []
    const seen: string[] = []
    for (let next: { continue?: string } = {}; ;) {
      const page = await world.list('v1/secrets', { namespace: 'default', limit: '500', ...next })
      pages.push(page.names.length)
      seen.push(...page.names)
      if (!page.metadata.continue) break
      next = { continue: page.metadata.continue }
    }
    expect([pages, seen]).toEqual([[3, 3, 3], names])
    const { items } = await world.objects.list({ type: world.type('v1/secrets'), user: { name: 'x', groups: [] } })
    for await (const chunk of items) expect(chunk.length).toBe(1)
  })

  it('hands over text in chunks, never all of a long list at once', async () => {
    await Promise.all(
      Array.from({ length: 1200 }, (_, n) => world.create('v1/secrets', { metadata: { name: `s${n}` } })),
    )
    const { items } = await world.objects.list({ type: world.type('v1/secrets'), user: { name: 'x', groups: [] } })
    const sizes: number[] = []
    for await (const chunk of items) sizes.push(chunk.length)
    expect(sizes).toEqual([500, 500, 200])
  })
})
