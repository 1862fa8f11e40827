import { configMaps } from '../../kube/core-types.ts'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cascades, ownedBy, type CascadeOptions } from '../../../test/cascades.ts'
import { openMemoryStore } from '../../apiserver/store/sqlite-store.ts'
import { openSqliteStore } from '../../apiserver/store/sqlite-store.ts'
import type { Store } from '../../apiserver/store/store.ts'
import { temporaryFolder } from '../../../test/apiserver/test-stores.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { readPages } from '../../departures/records/pages.ts'
import { recordName } from '../../departures/records/record.ts'
import { restore } from '../../departures/restore/restore.ts'
import { systemClock } from '../../runtime/time/clock.ts'

const lanes: readonly (readonly [string, CascadeOptions])[] = [
  ['over the API', { isInServer: false }],
  ['in the server', { isInServer: true }],
]

/** A store, how it is opened again, and how it is disposed of. */
interface Kept extends Disposable {
  open(): Store
}

const kept: readonly (readonly [string, () => Kept])[] = [
  ['memory', () => ({ open: () => openMemoryStore(systemClock), [Symbol.dispose]() {} })],
  [
    'a file',
    () => {
      const folder = temporaryFolder()
      const path = join(folder.path, 'store.db')
      return {
        open: () => openSqliteStore({ path, clock: systemClock, durable: false }),
        [Symbol.dispose]: () => folder[Symbol.dispose](),
      }
    },
  ],
]

/** What is on the pages of a record, each once. */
async function pagesOf(cascades: Cascades, record: Departure | undefined): Promise<readonly string[]> {
  if (!record) return []
  const lines = await Array.fromAsync(readPages(cascades.world.client, record))
  return [...new Set(lines.map(({ manifest }) => manifest.metadata.name ?? ''))].toSorted()
}

/** A root that owns a branch that owns a leaf. */
async function plant(cascades: Cascades): Promise<void> {
  const root = await cascades.create('root', [], { labels: { colour: 'blue' } })
  const branch = await cascades.create('branch', [ownedBy(root)])
  await cascades.create('leaf', [ownedBy(branch)])
}

describe.each(lanes)('a root that was deleted while no collector ran, by one that comes later, %s', (_, lane) => {
  it.each(kept)('is brought back with all it owned by one restore, from %s', async (name, keep) => {
    using store = keep()
    let cascades = await Cascades.start({ ...lane, isRunning: false, store: store.open() })
    await plant(cascades)
    await cascades.world.client.deleteObject(configMaps, { namespace: 'team', name: 'root' })
    await cascades.world.pass(12 * 3_600_000)
    // No process remembers what was deleted then.
    await cascades.world.server.store.compact({ olderThanMs: -1e15, keep: 0 })
    if (name === 'a file') {
      await cascades[Symbol.asyncDispose]()
      cascades = await Cascades.start({ ...lane, isRunning: false, store: store.open() })
    }
    await using reopened = cascades
    expect(await reopened.left()).toEqual(['branch', 'leaf'])
    await reopened.startCollector()
    await reopened.world.pass(60_000)

    expect(await reopened.left()).toEqual([])
    const [record, ...others] = await reopened.records()
    expect(others).toEqual([])
    const { objects, notes } = await restore(reopened.world.client, record as Departure, { now: 0 })
    expect([objects.map(({ metadata }) => metadata.name), notes]).toEqual([['root', 'branch', 'leaf'], []])
    expect(objects[0]?.metadata.labels).toEqual({ colour: 'blue' })
  })
})

describe.each(lanes)('owners that go in a cascade, %s', (_, lane) => {
  let cascades: Cascades
  beforeEach(async () => {
    cascades = await Cascades.start(lane)
  })
  afterEach(() => cascades[Symbol.asyncDispose]())

  const recorded = async () => {
    const records = await cascades.records()
    return Promise.all(
      records.map(async (record) => [record.spec.object.name, ...(await pagesOf(cascades, record))] as const),
    )
  }

  it.each(['Background', 'Foreground'] as const)('have no record of their own, by %s', async (policy) => {
    await plant(cascades)
    await cascades.remove('root', policy)
    expect([await cascades.left(), await recorded()]).toEqual([[], [['root', 'branch', 'leaf']]])
  })

  it('have none after they waited for a finalizer either', async () => {
    const root = await cascades.create('root')
    const branch = await cascades.create('branch', [ownedBy(root)], { finalizers: ['x.dev/held'] })
    await cascades.create('leaf', [ownedBy(branch)])
    await cascades.remove('root')
    expect(await cascades.left()).toEqual(['branch', 'leaf'])
    await cascades.finalize('branch')
    expect([await cascades.left(), await recorded()]).toEqual([[], [['root', 'branch', 'leaf']]])
  })

  it('have none when they leave something behind that is kept, in the foreground', async () => {
    const root = await cascades.create('root')
    const branch = await cascades.create('branch', [ownedBy(root, { blockOwnerDeletion: true })])
    await cascades.create('kept', [ownedBy(branch)], { labels: { 'sojourn.dev/keep': 'true' } })
    await cascades.remove('root', 'Foreground')
    expect([await cascades.left(), await recorded()]).toEqual([['kept'], [['root', 'branch']]])
  })

  it('have none when the cluster recreates them, and what lives by them is on the record of their root', async () => {
    const root = await cascades.create('root')
    const remade = await cascades.create('remade', [ownedBy(root, { controller: true })])
    await cascades.create('leaf', [ownedBy(remade)])
    await cascades.remove('root')
    expect([await cascades.left(), await recorded()]).toEqual([[], [['root', 'leaf']]])
  })

  it('have one when a user deletes them while their owner stays', async () => {
    await plant(cascades)
    await cascades.remove('branch')
    expect([await cascades.left(), await recorded()]).toEqual([['root'], [['branch', 'leaf']]])
  })

  it('are on a record that was given up before, which is then written anew', async () => {
    const root = await cascades.create('root')
    await cascades.create('leaf', [ownedBy(root, { blockOwnerDeletion: true })])
    const place = { namespace: 'team', name: recordName('', root) }
    const { uid, name, resourceVersion } = root.metadata
    const spec = {
      object: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name, uid, resourceVersion },
      because: 'expired',
      by: { system: 'cleaner' },
      recordedAt: '2026-01-05T08:00:00Z',
    }
    const { apiVersion, kind } = departure
    await cascades.world.create({ apiVersion, kind, metadata: place, spec })
    const status = { phase: 'Abandoned', message: 'it changed' }
    await cascades.world.client.patch(
      departure.type,
      place,
      { type: 'merge', body: { status } },
      { subresource: 'status' },
    )
    await cascades.remove('root', 'Foreground')
    const [record, ...others] = await cascades.records()
    expect(others).toEqual([])
    expect(record).toMatchObject({ spec: { by: { system: 'user' }, manifest: { metadata: { name: 'root' } } } })
    expect([record?.status?.phase, record?.status?.message]).toEqual(['Leaving', undefined])
    expect(await pagesOf(cascades, record)).toEqual(['leaf'])
  })
})
