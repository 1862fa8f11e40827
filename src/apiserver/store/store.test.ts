import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { isLast, type Store, type StoreEvent } from './store.ts'
import { put, remove, SetClock, storeKinds } from '../../../test/apiserver/test-stores.ts'

const a1 = { resource: 'things', namespace: 'a', name: 'one' }
const a2 = { resource: 'things', namespace: 'a', name: 'two' }
const b1 = { resource: 'things', namespace: 'b', name: 'one' }

describe.each(storeKinds)('%s', (_, open) => {
  let clock: SetClock
  let store: Store
  beforeEach(() => {
    clock = new SetClock()
    store = open(clock)
  })
  afterEach(() => store.close())

  const names = (found: readonly { readonly namespace: string; readonly name: string }[]) =>
    found.map(({ namespace, name }) => `${namespace}/${name}`)
  const specs = (at?: number) =>
    store
      .scan({ resource: 'things', limit: 100, ...(at === undefined ? {} : { at }) })
      .map(({ document }) => document.object.spec)

  it('starts above revision 0, which means "any" to clients', () => {
    expect(store.revision).toBeGreaterThan(0)
  })

  it('gives every write a higher revision and keeps the newest text', async () => {
    const first = await put(store, a1, { v: 1 })
    const second = await put(store, a1, { v: 2 })
    expect(second).toBe(first + 1)
    expect(store.revision).toBe(second)
    expect(store.get(a1)?.document).toMatchObject({ revision: second, object: { spec: { v: 2 } } })
  })

  it('returns nothing for objects that never existed or were deleted', async () => {
    await put(store, a1)
    await remove(store, a1)
    expect([store.get(a1), store.get(a2)]).toEqual([undefined, undefined])
  })

  it('shows each decision those before it in the same turn', async () => {
    const revisions = await Promise.all([put(store, a1), put(store, a1), remove(store, a1), put(store, a1)])
    expect(revisions).toEqual([0, 1, 2, 3].map((n) => (revisions[0] ?? 0) + n))
    expect(store.changes({ resource: 'things', after: 1, limit: 10 }).events.map(({ type }) => type)).toEqual([
      'create',
      'update',
      'delete',
      'create',
    ])
  })

  it('rejects a decision that throws and does nothing for it, but runs its neighbours', async () => {
    const results = await Promise.allSettled([
      put(store, a1),
      store.write(() => {
        throw new Error('no')
      }),
      put(store, a2),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(names(store.scan({ resource: 'things', limit: 10 }))).toEqual(['a/one', 'a/two'])
  })

  it('scans in order of namespace and name, from any place, up to a limit', async () => {
    for (const address of [b1, a2, a1]) await put(store, address)
    await put(store, { ...a1, resource: 'others' })
    expect(names(store.scan({ resource: 'things', limit: 10 }))).toEqual(['a/one', 'a/two', 'b/one'])
    expect(names(store.scan({ resource: 'things', limit: 1, after: a1 }))).toEqual(['a/two'])
    expect(names(store.scan({ resource: 'things', limit: 10, namespace: 'a', after: a1 }))).toEqual(['a/two'])
    expect(names(store.scan({ resource: 'things', limit: 10, namespace: 'b' }))).toEqual(['b/one'])
    expect(store.count({ resource: 'things' })).toBe(3)
    expect(store.count({ resource: 'things', after: a1 })).toBe(2)
    expect(store.count({ resource: 'things', namespace: 'a', after: a1 })).toBe(1)
    expect(store.count({ resource: 'nothing' })).toBe(0)
  })

  it('reads the past as it was', async () => {
    await put(store, a1, { v: 1 })
    const then = await put(store, b1, { v: 2 })
    await put(store, a1, { v: 3 })
    await remove(store, b1)
    await put(store, a2, { v: 4 })
    expect(specs(then)).toEqual([{ v: 1 }, { v: 2 }])
    expect(specs()).toEqual([{ v: 3 }, { v: 4 }])
    expect(store.count({ resource: 'things', at: then })).toBe(2)
    expect(names(store.scan({ resource: 'things', limit: 10, at: then, after: a1 }))).toEqual(['b/one'])
    expect(names(store.scan({ resource: 'things', limit: 10, at: then, namespace: 'b' }))).toEqual(['b/one'])
  })

  it('publishes each change with the state it replaced', async () => {
    const created = await put(store, a1, { v: 1 })
    await put(store, a1, { v: 2 })
    await remove(store, a1)
    const told = store.changes({ resource: 'things', after: created, limit: 10 }).events
    expect(told.map(({ type, previous }) => [type, previous?.object.spec])).toEqual([
      ['update', { v: 1 }],
      ['delete', { v: 2 }],
    ])
    expect(store.changes({ resource: 'things', after: 1, limit: 1 }).events).toMatchObject([
      { type: 'create', previous: undefined },
    ])
  })

  it('reads no more than it is asked to, however large the objects are', async () => {
    const start = store.revision
    const text = 'x'.repeat(1000)
    for (const name of ['a', 'b', 'c', 'd']) await put(store, { ...a1, name }, { text })
    const bounds = { limit: 10, maxSize: 1500 }
    const names: string[][] = []
    for (let after = { namespace: '', name: '' }; ;) {
      const records = store.scan({ resource: 'things', after, ...bounds })
      names.push(records.map(({ name }) => name))
      if (isLast(records, bounds)) break
      after = records.at(-1) ?? after
    }
    expect(names).toEqual([['a', 'b'], ['c', 'd'], []])
    const { events, reached } = store.changes({ resource: 'things', after: start, ...bounds })
    expect([events.map(({ name }) => name), reached]).toEqual([['a', 'b'], start + 2])
    const rest = store.changes({ resource: 'things', after: reached, limit: 10, maxSize: 1e6 })
    expect([rest.events.map(({ name }) => name), rest.reached]).toEqual([['c', 'd'], store.revision])
  })

  it('says how far a page of the log reaches, even when it is empty', async () => {
    const start = store.revision
    for (let n = 0; n < 10; n++) await put(store, { ...a1, resource: n % 5 === 0 ? 'things' : 'others' }, { n })
    const first = store.changes({ resource: 'things', after: start, limit: 1 })
    expect([first.events.length, first.reached]).toEqual([1, start + 1])
    const rest = store.changes({ resource: 'things', after: first.reached, limit: 5 })
    expect([rest.events.length, rest.reached]).toEqual([1, store.revision])
    expect(store.changes({ resource: 'nothing', after: start, limit: 5 })).toEqual({
      events: [],
      reached: store.revision,
    })
  })

  it('walks a long log of other things in several steps', async () => {
    const start = store.revision
    await put(store, a1)
    await Promise.all(Array.from({ length: 6000 }, () => put(store, { ...a1, resource: 'others' })))
    await put(store, a1)
    const revisions: number[] = []
    for (let after = start; after < store.revision;) {
      const page = store.changes({ resource: 'things', after, limit: 10 })
      revisions.push(...page.events.map(({ document }) => document.revision))
      expect(page.reached).toBeGreaterThan(after)
      after = page.reached
    }
    expect(revisions).toEqual([start + 1, start + 6002])
  })

  it('publishes durable changes in order, before their writers are answered', async () => {
    const heard: StoreEvent[] = []
    const stop = store.subscribe((events) => heard.push(...events))
    const answered = put(store, a1).then((revision) => {
      expect(heard.some(({ document }) => document.revision === revision)).toBe(true)
    })
    await Promise.all([answered, put(store, a2), put(store, a1)])
    const revisions = heard.map(({ document }) => document.revision)
    expect(revisions).toEqual(revisions.toSorted((x, y) => x - y))
    expect(heard).toHaveLength(3)
    stop()
    await put(store, a1)
    expect(heard).toHaveLength(3)
  })

  it('has nothing to wait for once a write was answered', async () => {
    const revision = await put(store, a1)
    expect(store.whenDurable(revision)).toBe(undefined)
  })

  it('forgets replaced states when compacting, and says so when asked for them', async () => {
    const created = await put(store, a1, { v: 1 })
    await put(store, a1, { v: 2 })
    await put(store, b1, { v: 3 })
    const last = (await remove(store, b1)) ?? 0
    clock.advance(1000)
    await store.compact({ olderThanMs: 500, keep: 0 })
    expect(store.compactedRevision).toBe(last)
    expect(() => store.scan({ resource: 'things', limit: 1, at: created })).toThrow(RangeError)
    expect(() => store.count({ resource: 'things', at: created })).toThrow(RangeError)
    expect(() => store.changes({ resource: 'things', after: created, limit: 1 })).toThrow(RangeError)
    expect(specs(last)).toEqual([{ v: 2 }])
    expect(await put(store, a1, { v: 4 })).toBe(last + 1)
    expect(store.changes({ resource: 'things', after: last, limit: 5 }).events[0]?.previous?.object.spec).toEqual({
      v: 2,
    })
    expect(specs(last)).toEqual([{ v: 2 }])
  })

  it('keeps young states and the newest revisions when compacting', async () => {
    await put(store, a1)
    clock.advance(1000)
    await put(store, a1)
    await store.compact({ olderThanMs: 2000, keep: 0 })
    expect(store.compactedRevision).toBe(0)
    await store.compact({ olderThanMs: 0, keep: 1000 })
    expect(store.compactedRevision).toBe(0)
    await store.compact({ olderThanMs: 1000, keep: 0 })
    expect(store.compactedRevision).toBe(store.revision - 1)
  })

  it('compacts in many steps what is too much for one', async () => {
    await Promise.all(Array.from({ length: 2500 }, (_each, n) => put(store, a1, { n })))
    clock.advance(1000)
    await store.compact({ olderThanMs: 500, keep: 10 })
    expect(store.compactedRevision).toBe(store.revision - 10)
    expect(store.changes({ resource: 'things', after: store.compactedRevision, limit: 100 }).events).toHaveLength(10)
    expect(specs(store.compactedRevision)).toEqual([{ n: 2489 }])
  })

  it('knows who owns whom at every moment', async () => {
    const edge = { ownerUid: 'boss', blocking: true, controller: true }
    await put(store, a1, { uid: 'boss' })
    await put(store, a2, { uid: 'helper', owners: [edge, { ownerUid: 'ghost', blocking: false, controller: false }] })
    expect(store.owners.dependentsOf('boss', 10)).toEqual([{ ...a2, ...edge, uid: 'helper' }])
    expect(store.owners.countBlocking('boss')).toBe(1)
    expect(store.owners.countBlocking('ghost')).toBe(0)
    expect(store.owners.danglingOwners(10)).toEqual(['ghost'])
    expect(store.owners.danglingOwners(10, 'ghost')).toEqual([])
    expect(store.owners.addressOf('boss')).toEqual(a1)
    await remove(store, a1)
    expect(store.owners.addressOf('boss')).toBe(undefined)
    expect(store.owners.danglingOwners(10)).toEqual(['boss', 'ghost'])
    await put(store, a2, { owners: [] })
    expect(store.owners.danglingOwners(10)).toEqual([])
  })

  it('keeps edges when a change does not name owners', async () => {
    await put(store, a2, { uid: 'x', owners: [{ ownerUid: 'boss', blocking: false, controller: false }] })
    await put(store, a2, { v: 2 })
    expect(store.owners.dependentsOf('boss', 10)).toHaveLength(1)
    await remove(store, a2)
    expect(store.owners.dependentsOf('boss', 10)).toHaveLength(0)
  })

  it('sees inside a decision what is there and what is owned', async () => {
    await put(store, a1, { uid: 'x', owners: [{ ownerUid: 'boss', blocking: true, controller: false }] })
    const seen = await store.write((view) => ({
      answer: [view.countBlocking('boss'), view.dependentsOf('boss', 1).length, view.addressOf('x')?.name],
      changes: [],
    }))
    expect(seen).toEqual([1, 1, 'one'])
  })

  it('refuses writes once closed', async () => {
    await store.close()
    await expect(put(store, a1)).rejects.toThrow('closed')
  })
})
