import { configMaps, namespaces } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ownedBy } from '../../../test/cascades.ts'
import { startWorld, type World } from '../../../test/world.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { DeleteOptions } from '../../client/client.ts'
import { recordName } from '../../departures/records/record.ts'
import { restore } from '../../departures/restore/restore.ts'
import { kubeSubject } from '../../departures/subjects/subject.ts'
import { type KubeObject, type StoredObject, placeOf } from '../../kube/object.ts'

let world: World
beforeEach(async () => {
  world = await startWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

type Given = Omit<Partial<KubeObject>, 'metadata'> & { readonly metadata?: KubeObject['metadata'] }

const make = (apiVersion: string, kind: string, name: string, { metadata, ...rest }: Given = {}) =>
  world.create<StoredObject>({ apiVersion, kind, metadata: { name, namespace: 'team', ...metadata }, ...rest })
const map = (name: string, given: Given = {}) => make('v1', 'ConfigMap', name, given)
const owned = (...owners: readonly StoredObject[]): Given => ({
  metadata: { ownerReferences: owners.map((owner) => ownedBy(owner)) },
})
const controlled = (owner: StoredObject): Given => ({
  metadata: { ownerReferences: [ownedBy(owner, { controller: true })] },
})

async function remove({ apiVersion, kind, metadata }: StoredObject, options: DeleteOptions = {}): Promise<void> {
  const type = await world.client.discovery.typeOf({ apiVersion, kind })
  if (!type) throw new Error(`${kind} is not served`)
  const { name, namespace } = metadata
  await world.client.deleteObject(type, placeOf({ name, namespace }), options)
}

async function records(namespace = 'team'): Promise<readonly Departure[]> {
  return (await world.client.list<Departure>(departure.type, { namespace })).items
}

const told = async () => (await records()).map(({ spec, status }) => [spec.object.name, spec.by.system, status?.phase])

/** Writes a record of an object as the Door does before a deletion, with this phase. */
async function recordByDoor(object: StoredObject, phase: string, namespace = 'team'): Promise<void> {
  const { apiVersion, kind } = object
  const { name, uid, resourceVersion } = object.metadata
  const place = { namespace, name: recordName('', object) }
  await world.create({
    apiVersion: departure.apiVersion,
    kind: departure.kind,
    metadata: place,
    spec: {
      object: { apiVersion, kind, namespace: 'team', name, uid, resourceVersion },
      because: 'expired',
      by: { system: 'cleaner' },
      recordedAt: '2026-01-05T08:00:00Z',
      takes: 3,
      pages: 1,
    },
  })
  const status = { phase, message: 'from before' }
  await world.client.patch(departure.type, place, { type: 'merge', body: { status } }, { subresource: 'status' })
}

const change = (name: string, body: object) =>
  world.client.patch<StoredObject>(configMaps, { namespace: 'team', name }, { type: 'merge', body })

describe('an object with dependents that a user deletes', () => {
  it('is recorded as it was, as deleted by the user and gone', async () => {
    const owner = await map('owner', { data: { colour: 'blue' }, metadata: { labels: { app: 'shop' } } })
    await map('child', owned(owner))
    await remove(owner)
    const [record, ...others] = await records()
    expect(others).toEqual([])
    expect(record).toMatchObject({
      metadata: { name: recordName('', owner), generation: 1 },
      spec: {
        object: { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.metadata.uid },
        because: 'deleted',
        manifest: { metadata: { name: 'owner', labels: { app: 'shop' } }, data: { colour: 'blue' } },
      },
      status: { phase: 'Gone', goneAt: '2026-01-05T08:00:00Z' },
    })
    const { objects } = await restore(world.client, record as Departure, { now: world.clock.now() })
    expect(objects.map(({ metadata, data }) => [metadata.name, data])).toEqual([['owner', { colour: 'blue' }]])
  })

  it('is recorded in sojourn-system if it is cluster-scoped', async () => {
    const owner = await make('rbac.authorization.k8s.io/v1', 'ClusterRole', 'owner', { metadata: { namespace: '' } })
    await map('child', owned(owner))
    await remove(owner)
    expect((await records(sojournNamespace)).map(({ spec }) => spec.object.name)).toEqual(['owner'])
  })

  it('is recorded without data if it is a Secret', async () => {
    const owner = await make('v1', 'Secret', 'owner', { data: { password: 'aHVudGVyMg==' } })
    await map('child', owned(owner))
    await remove(owner)
    const [record] = await records()
    expect(record?.spec.manifest).toMatchObject({ data: { password: '' } })
  })

  it('is recorded without a manifest if that is too large; the record and a restore say so', async () => {
    const owner = await map('owner', { data: { text: 'x'.repeat(1_572_250) } })
    await map('child', owned(owner))
    await remove(owner)
    const [record] = await records()
    expect(Object.keys(record?.spec ?? {})).not.toContain('manifest')
    expect(record?.status).toMatchObject({ phase: 'Gone', message: expect.stringContaining('too large') })
    await expect(restore(world.client, record as Departure, { now: 0 })).rejects.toThrow('the record holds no manifest')
  })

  it('is recorded when its last finalizer is removed', async () => {
    const owner = await map('owner', { metadata: { finalizers: ['x.dev/held'] } })
    await map('child', owned(owner))
    await remove(owner)
    expect(await told()).toEqual([])
    await change('owner', { metadata: { finalizers: null } })
    expect(await told()).toEqual([['owner', 'user', 'Gone']])
  })

  it('is recorded as part of a deleted collection, once', async () => {
    const owner = await map('owner', { metadata: { labels: { app: 'shop' } } })
    await map('leaf', { metadata: { labels: { app: 'shop' } } })
    await map('child', owned(owner))
    const path = '/api/v1/namespaces/team/configmaps'
    await world.client.request({ method: 'DELETE', path, query: { labelSelector: 'app=shop' } })
    expect(await told()).toEqual([['owner', 'user', 'Gone']])
  })
})

describe('no record is written for', () => {
  it('an object on which nothing depends', async () => {
    await remove(await map('leaf'))
    expect(await told()).toEqual([])
  })

  it('an object with only controller-recreated dependents at any depth, unless a restorable one is below them', async () => {
    const spec = { selector: { matchLabels: { a: 'b' } }, template: { metadata: { labels: { a: 'b' } }, spec: {} } }
    const containers = [{ name: 'c', image: 'i' }]
    const shop = async (name: string) => {
      const deployment = await make('apps/v1', 'Deployment', name, {
        spec: { ...spec, template: { ...spec.template, spec: { containers } } },
      })
      const set = await make('apps/v1', 'ReplicaSet', name, {
        ...controlled(deployment),
        spec: { ...spec, template: { ...spec.template, spec: { containers } } },
      })
      return { deployment, pod: await make('v1', 'Pod', name, { ...controlled(set), spec: { containers } }) }
    }
    const plain = await shop('plain')
    const used = await shop('used')
    await map('of-a-pod', owned(used.pod))
    await remove(plain.deployment)
    await remove(used.deployment)
    expect(await told()).toEqual([['used', 'user', 'Gone']])
  })

  it('no object whose dependents take too long to search: it is recorded', async () => {
    const owner = await map('owner')
    for (let index = 0; index < 1000; index++) await map(`child-${index}`, controlled(owner))
    const other = await map('other')
    for (let index = 0; index < 1001; index++) await map(`other-${index}`, controlled(other))
    await remove(owner)
    await remove(other)
    expect(await told()).toEqual([['other', 'user', 'Gone']])
  })

  it('an object that owns only itself', async () => {
    const owner = await map('owner')
    await change('owner', { metadata: { ownerReferences: [ownedBy(owner)] } })
    await remove(owner)
    expect(await told()).toEqual([])
  })

  it('an object deleted with the policy Orphan', async () => {
    const owner = await map('owner')
    await map('child', owned(owner))
    await remove(owner, { propagationPolicy: 'Orphan' })
    await change('owner', { metadata: { finalizers: null } })
    expect(await told()).toEqual([])
  })

  it('a dry run', async () => {
    const owner = await map('owner')
    await map('child', owned(owner))
    await remove(owner, { dryRun: true })
    expect(await told()).toEqual([])
  })

  it('an object deleted with its namespace', async () => {
    const owner = await map('owner', { metadata: { finalizers: ['x.dev/held'] } })
    await map('child', { metadata: { ...owned(owner).metadata, finalizers: ['x.dev/held'] } })
    // No record may be written, not even one that is deleted at once with the rest.
    const written: string[] = []
    world.server.store.subscribe((events) => written.push(...events.map(({ resource }) => resource)))
    await world.client.deleteObject(namespaces, { name: 'team' })
    await world.clock.settle()
    await change('owner', { metadata: { finalizers: null } })
    await world.clock.settle()
    expect(written).toContain('configmaps')
    expect(written).not.toContain('departures.sojourn.dev')
  })

  it('an object on a server without records', async () => {
    const owner = await map('owner')
    await map('child', owned(owner))
    const definitions = await world.client.discovery.typeOf({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
    })
    if (definitions) await world.client.deleteObject(definitions, { name: 'departures.sojourn.dev' })
    await world.clock.settle()
    await remove(owner)
    expect(await world.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name: 'owner' })).toBeUndefined()
  })

  it('an object of a cascade that has a record, if a record of that name exists', async () => {
    const owner = await map('owner')
    await map('child', owned(owner))
    await recordByDoor({ ...owner, metadata: { ...owner.metadata, name: 'root', uid: 'u0' } }, 'Gone')
    const other = await map('other')
    await map('of-other', owned(other))
    const [root] = await records()
    await remove(owner, { cascadeRecord: `team/${root?.metadata.name}` })
    await remove(other, { cascadeRecord: 'team/no-such-record' })
    expect((await told()).map(([name]) => name)).toEqual(expect.arrayContaining(['other', 'root']))
    expect(await told()).toHaveLength(2)
  })
})

describe('an existing record', () => {
  it('is kept when the Door wrote it for this deletion', async () => {
    const owner = await map('owner')
    await map('child', owned(owner))
    const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name: 'owner' }
    const subject = kubeSubject(world.client, configMaps, ref)
    const phases: unknown[] = []
    const watched: typeof subject = {
      ...subject,
      async remove(removal) {
        const result = await subject.remove(removal)
        phases.push(...(await told()))
        return result
      },
    }
    await world.door.depart({
      subject: watched,
      uid: owner.metadata.uid,
      because: 'expired',
      by: { system: 'cleaner' },
    })
    expect([phases, await told()]).toEqual([[['owner', 'cleaner', undefined]], [['owner', 'cleaner', 'Gone']]])
  })

  it.each(['Recorded', 'Leaving'])('is kept in sojourn-system, too, in phase %s', async (phase) => {
    const owner = await map('owner')
    await map('child', owned(owner))
    await recordByDoor(owner, phase, sojournNamespace)
    await remove(owner)
    expect([await told(), (await records(sojournNamespace)).map(({ status }) => status?.phase)]).toEqual([[], [phase]])
  })

  it('is kept while its object is deleted in the foreground', async () => {
    const owner = await map('owner')
    await map('child', owned(owner))
    await recordByDoor(owner, 'Leaving')
    await remove(owner, { propagationPolicy: 'Foreground' })
    await change('owner', { metadata: { finalizers: null } })
    expect(await told()).toEqual([['owner', 'cleaner', 'Leaving']])
  })

  it.each([
    ['was given up', 'Abandoned', false],
    ['is of a state that the object has left behind', 'Recorded', true],
  ])('is replaced if it %s, and keeps its pages', async (_, phase, isChanged) => {
    const owner = await map('owner', { data: { version: '1' } })
    await map('child', owned(owner))
    await recordByDoor(owner, phase)
    const [before] = await records()
    if (isChanged) await change('owner', { data: { version: '2' } })
    await remove(owner)
    const [record, ...others] = await records()
    expect(others).toEqual([])
    expect(record?.metadata).toMatchObject({ uid: before?.metadata.uid, generation: 2 })
    expect(record).toMatchObject({
      spec: { by: { system: 'user' }, pages: 1, takes: 3, manifest: { data: { version: isChanged ? '2' : '1' } } },
      status: { phase: 'Gone' },
    })
    expect(record?.status).not.toHaveProperty('message')
  })
})
