import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Document } from './document.ts'
import { openSqliteStore } from './sqlite-store.ts'
import { put, remove, SetClock, temporaryFolder } from '../../../test/apiserver/test-stores.ts'

const one = { resource: 'things', namespace: 'a', name: 'one' }
const two = { resource: 'things', namespace: 'a', name: 'two' }

describe('SqliteStore', () => {
  let folder: ReturnType<typeof temporaryFolder>
  const clock = new SetClock()
  const open = (durable = true) => openSqliteStore({ path: join(folder.path, 'store.db'), clock, durable })
  beforeEach(() => {
    folder = temporaryFolder()
  })
  afterEach(() => folder[Symbol.dispose]())

  it('has everything again after a restart, the past and the owners included', async () => {
    const first = open()
    const created = await put(first, one, {
      v: 1,
      uid: 'u1',
      owners: [{ ownerUid: 'o', blocking: true, controller: false }],
    })
    await put(first, one, { v: 2 })
    await put(first, two, { v: 3 })
    await first.close()
    await using second = open()
    expect(second.revision).toBe(created + 2)
    expect(second.get(one)?.document.object.spec).toEqual({ v: 2 })
    expect(second.scan({ resource: 'things', limit: 5, at: created })).toHaveLength(1)
    expect(second.changes({ resource: 'things', after: created, limit: 5 }).events).toHaveLength(2)
    expect(second.owners.countBlocking('o')).toBe(1)
  })

  it('never reuses revisions, even when the newest one was compacted away', async () => {
    const first = open()
    await put(first, one)
    const last = (await remove(first, one)) ?? 0
    await first.compact({ olderThanMs: 0, keep: 0 })
    await first.close()
    await using second = open()
    expect(second.revision).toBe(last)
    expect(await put(second, one)).toBe(last + 1)
  })

  it('skips ahead when relaxed durability may have lost revisions', async () => {
    const first = open(false)
    const before = await put(first, one)
    // A process that ends without closing leaves the flag down: do so by hand, in a copy.
    const crashed = join(folder.path, 'crashed.db')
    await first.close()
    const database = new DatabaseSync(join(folder.path, 'store.db'))
    database.exec(`UPDATE meta SET value = 0 WHERE key = 'clean'; VACUUM INTO '${crashed}'`)
    database.close()
    await using second = openSqliteStore({ path: crashed, clock, durable: false })
    expect(second.revision).toBe(before + 10_000)
    const third = openSqliteStore({ path: join(folder.path, 'store.db'), clock, durable: true })
    expect(third.revision).toBe(before)
    await third.close()
  })

  it('is open in one process only', async () => {
    await using _first = open()
    expect(() => open()).toThrow('locked')
  })

  it('refuses a file that a newer program has written', async () => {
    await open().close()
    const database = new DatabaseSync(join(folder.path, 'store.db'))
    database.exec('PRAGMA user_version = 99')
    database.close()
    expect(() => open()).toThrow('schema version 99')
  })

  it('rolls the whole batch back when a change cannot be written, and continues', async () => {
    await using store = open()
    await put(store, one, { v: 1 })
    const { revision } = store
    const wrong = store.write((view) => ({
      answer: undefined,
      changes: [{ ...two, type: 'create', uid: 'x', document: new Document(view.nextRevision + 7, '{}') }],
    }))
    await expect(wrong).rejects.toThrow('says')
    expect(store.get(two)).toBe(undefined)
    expect(await put(store, two)).toBe(revision + 1)
  })

  it('shows what is decided, and says when it is durable', async () => {
    await using store = open()
    const writing = put(store, one)
    while (!store.get(one)) await clock.breathe()
    const record = store.get(one)
    const waiting = store.whenDurable(record?.document.revision ?? 0)
    await waiting
    expect(store.revision).toBe(record?.document.revision)
    await writing
  })
})
