import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { StoredObject } from '../../../kube/object.ts'
import { SetClock, storeKinds } from '../../../../test/apiserver/test-stores.ts'
import { openTestObjects, type TestObjects } from '../../../../test/apiserver/test-objects.ts'

const maps = 'v1/configmaps'
const orphaning = { body: { propagationPolicy: 'Orphan' } }
const ownedBy = ({ apiVersion, kind, metadata: { name, uid } }: StoredObject) => ({ apiVersion, kind, name, uid })

describe.each(storeKinds)('letting go an owner whose dependents are to stay, in a %s', (_, open) => {
  let world: TestObjects
  let owner: StoredObject
  beforeEach(async () => {
    world = await openTestObjects({ store: open(new SetClock()) })
    owner = await world.create(maps, { metadata: { name: 'owner', finalizers: ['x.dev/held'] } })
  })
  afterEach(() => world.close())

  const own = (name: string, ...owners: readonly StoredObject[]) =>
    world.create(maps, { metadata: { name, ownerReferences: owners.map(ownedBy) } })
  const release = (...finalizers: readonly string[]) => world.merge(maps, 'owner', { metadata: { finalizers } })
  const ownersOf = async (name: string) =>
    ((await world.get(maps, name)).metadata.ownerReferences ?? []).map((each) => each.name)

  it('27: orphans dependents that the collector did not know of in the same transaction, before the owner is removed', async () => {
    const other = await world.create(maps, { metadata: { name: 'other' } })
    await world.delete(maps, 'owner', orphaning)
    await own('late', owner)
    const { metadata } = await own('of-two', owner, other)
    const watch = world.watch(maps, { resourceVersion: metadata.resourceVersion })
    await release()
    await world.settle()
    expect(watch.story).toEqual(['MODIFIED late', 'MODIFIED of-two', 'DELETED owner'])
    expect(await Promise.all(['late', 'of-two'].map(ownersOf))).toEqual([[], ['other']])
    expect(world.store.owners.dependentsOf(owner.metadata.uid, 10)).toEqual([])
    expect((await world.get(maps, 'late')).metadata.resourceVersion).toBe(String(world.store.revision - 2))
  })

  it('orphans them when the orphan finalizer is removed, not before, although another finalizer holds the owner', async () => {
    await own('child', owner)
    await world.delete(maps, 'owner', orphaning)
    await world.merge(maps, 'owner', { metadata: { labels: { touched: 'yes' } } })
    expect(await ownersOf('child')).toEqual(['owner'])
    await release('x.dev/held')
    expect(await ownersOf('child')).toEqual([])
    expect((await world.get(maps, 'owner')).metadata.finalizers).toEqual(['x.dev/held'])
  })

  it('orphans no dependents of a cascading deletion, nor in a dry run', async () => {
    await own('child', owner)
    await world.delete(maps, 'owner', orphaning)
    await world.objects.patch({
      ...world.at(maps, 'owner'),
      patchType: 'merge',
      body: { metadata: { finalizers: null } },
      dryRun: ['All'],
    })
    expect(await ownersOf('child')).toEqual(['owner'])
    await world.delete(maps, 'owner', { body: { propagationPolicy: 'Background' } })
    await release()
    expect(await ownersOf('child')).toEqual(['owner'])
  })

  it('refuses to free more at once than a transaction should hold, and says what to do', async () => {
    for (let index = 0; index < 1001; index++) await own(`child-${index}`, owner)
    await world.delete(maps, 'owner', orphaning)
    await expect(release()).rejects.toMatchObject({
      code: 409,
      message: expect.stringContaining('remove it from their ownerReferences first'),
    })
    await world.merge(maps, 'child-0', { metadata: { ownerReferences: null } })
    await release()
    expect(world.store.owners.dependentsOf(owner.metadata.uid, 10)).toEqual([])
  })
})
