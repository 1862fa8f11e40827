import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../kube/object.ts'
import { SetClock, storeKinds } from '../../../../test/apiserver/test-stores.ts'
import type { DeletionRecordOf, Removal } from '../contract/deletion-record.ts'
import { openTestObjects, type TestObjects } from '../../../../test/apiserver/test-objects.ts'

const maps = 'v1/configmaps'
const notes = 'v1/secrets'
const annotation = 'example.dev/cascade-record'

describe.each(storeKinds)('what is stored together with a removal, in a %s', (_, open) => {
  let world: TestObjects
  /** What the application was asked about. */
  let asked: Removal[]
  let answer: DeletionRecordOf
  beforeEach(async () => {
    asked = []
    answer = ({ object }) => ({ record: noteOf(object), short: noteOf(object) })
    const recordOf: DeletionRecordOf = (removal, view) => {
      asked.push(removal)
      return answer(removal, view)
    }
    world = await openTestObjects({ store: open(new SetClock()), deletionRecords: { recordOf, annotation } })
  })
  afterEach(() => world.close())

  const noteOf = ({ metadata }: KubeObject, data: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `note-of-${metadata.name}`, namespace: 'default' },
    data,
  })
  const create = (name: string, metadata: object = {}) => world.create(maps, { metadata: { name, ...metadata } })
  const noted = async () => (await world.list(notes)).names
  const release = (name: string, options: object = {}) =>
    world.objects.patch({
      ...world.at(maps, name),
      patchType: 'merge',
      body: { metadata: { finalizers: null } },
      ...options,
    })

  it('is stored before the object is gone, with no other write in between, however many are deleted at once', async () => {
    const names = Array.from({ length: 20 }, (_each, index) => `m${index}`)
    for (const name of names) await create(name)
    const revisions = new Map<string, number>()
    world.store.subscribe((events) => {
      for (const { type, name, document } of events) revisions.set(`${type} ${name}`, document.revision)
    })
    await Promise.all(names.map((name) => world.delete(maps, name)))
    for (const name of names)
      expect(revisions.get(`delete ${name}`)).toBe((revisions.get(`create note-of-${name}`) ?? 0) + 1)
    const [note] = (await world.list(notes)).items
    expect(note?.metadata).toMatchObject({ uid: expect.any(String), creationTimestamp: '2023-11-14T22:13:20Z' })
  })

  it('is stored when the last finalizer is taken off, with the object as it was before', async () => {
    await create('held', { finalizers: ['x.dev/held'] })
    await world.delete(maps, 'held')
    expect(await noted()).toEqual([])
    await world.merge(maps, 'held', { metadata: { labels: { touched: 'yes' } } })
    const before = await world.get(maps, 'held')
    await release('held')
    expect(await noted()).toEqual(['note-of-held'])
    expect(asked).toEqual([{ object: before, cascadeRecord: undefined }])
  })

  it('is stored for each of a collection', async () => {
    await create('a')
    await create('b')
    await world.objects.deleteCollection({
      type: world.type(maps),
      namespace: 'default',
      user: world.at(maps, '').user,
    })
    expect(await noted()).toEqual(['note-of-a', 'note-of-b'])
  })

  it('is nothing in a dry run, nor when dependents are set free instead', async () => {
    const owner = await create('owner')
    await create('child', {
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid }],
    })
    await world.delete(maps, 'owner', { query: { dryRun: ['All'] } })
    await world.delete(maps, 'owner', { query: { propagationPolicy: 'Orphan' } })
    await release('owner', { dryRun: ['All'] })
    await release('owner')
    expect([(await world.list(maps)).names, asked]).toEqual([['child'], []])
  })

  it('replaces what is there under its name', async () => {
    const old = await world.create(notes, { metadata: { name: 'note-of-a' }, data: { old: 'eA==' } })
    await create('a')
    answer = ({ object }) => ({ record: noteOf(object, { fresh: 'eA==' }), short: noteOf(object) })
    await world.delete(maps, 'a')
    const { data, metadata } = await world.get(notes, 'note-of-a')
    expect([data, metadata.uid]).toEqual([{ fresh: 'eA==' }, old.metadata.uid])
  })

  it('is the short one where the whole is too large, and no reason to refuse', async () => {
    await create('a')
    answer = ({ object }) => ({ record: noteOf(object, { x: 'x'.repeat(1_600_000) }), short: noteOf(object) })
    await world.delete(maps, 'a')
    expect((await world.get(notes, 'note-of-a')).data).toEqual({})
    expect((await world.list(maps)).names).toEqual([])
  })

  it('is nothing where its kind is not served', async () => {
    await create('a')
    answer = ({ object }) => {
      const record = { ...noteOf(object), apiVersion: 'x.dev/v1', kind: 'Note' }
      return { record, short: record }
    }
    await world.delete(maps, 'a')
    expect([(await world.list(maps)).names, await noted()]).toEqual([[], []])
  })

  describe('of a cascade', () => {
    const inCascade = { query: { cascadeRecord: 'default/of-the-root' } }

    it('is known by who deletes, whether its options are in the query or in a body', async () => {
      await create('a')
      await create('b')
      await world.delete(maps, 'a', inCascade)
      await world.delete(maps, 'b', { ...inCascade, body: { propagationPolicy: 'Background' } })
      expect(asked.map(({ cascadeRecord }) => cascadeRecord)).toEqual(['default/of-the-root', 'default/of-the-root'])
    })

    it('is remembered for as long as finalizers hold an object', async () => {
      const { metadata } = await create('held', { finalizers: ['x.dev/held'] })
      await create('child', {
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'held', uid: metadata.uid }],
      })
      await world.delete(maps, 'held', inCascade)
      await world.delete(maps, 'held')
      await release('held')
      expect(asked.map(({ cascadeRecord }) => cascadeRecord)).toEqual(['default/of-the-root'])
    })

    it('is nothing that a client may set beforehand, as a copy of another does', async () => {
      const annotations = { [annotation]: 'default/of-the-root' }
      await create('a', { annotations })
      await create('held', { annotations: { ...annotations, mine: 'yes' }, finalizers: ['x.dev/held'] })
      await world.delete(maps, 'a')
      await world.delete(maps, 'held')
      expect((await world.get(maps, 'held')).metadata.annotations).toEqual({ mine: 'yes' })
      await release('held')
      expect(asked.map(({ cascadeRecord }) => cascadeRecord)).toEqual([undefined, undefined])
    })

    it('is nothing that a client may set or remove while the object waits', async () => {
      for (const name of ['told', 'untold']) {
        const { metadata } = await create(name, { finalizers: ['x.dev/held'] })
        const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid: metadata.uid }]
        await create(`of-${name}`, { ownerReferences })
      }
      await world.delete(maps, 'told', inCascade)
      await world.delete(maps, 'untold')
      for (const [name, claim] of Object.entries({ told: null, untold: 'default/of-the-root' }))
        await world.merge(maps, name, { metadata: { annotations: { [annotation]: claim, mine: 'yes' } } })
      expect((await world.get(maps, 'untold')).metadata.annotations).toEqual({ mine: 'yes' })
      await release('told')
      await release('untold')
      expect(asked.map(({ cascadeRecord }) => cascadeRecord)).toEqual(['default/of-the-root', undefined])
    })
  })
})
