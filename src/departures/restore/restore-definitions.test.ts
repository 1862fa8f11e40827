import { customResourceDefinitions, namespaces } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { Client } from '../../client/client.ts'
import type { KubeObject, ObjectMeta, ResourceType, StoredObject } from '../../kube/object.ts'
import { ignoring, StatusError } from '../../kube/status-error.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import { RecordWriter } from '../records/record-writer.ts'
import { restore, type Restored } from './restore.ts'
import { kubeSubject } from '../subjects/subject.ts'

const guests: ResourceType = { group: 'example.com', version: 'v1', kind: 'Guest', plural: 'guests', namespaced: true }
const name = 'guests.example.com'

let world: World
/** Throws what shall go wrong with a request of the one who records. */
let obstruct: (request: ApiRequest) => void
beforeEach(async () => {
  obstruct = () => {}
  const recording = new Client(async (request) => {
    obstruct(request)
    return world.server.transport(request)
  })
  world = await startWorld({
    server: {
      beforeEmptying: (object) => new RecordWriter({ client: recording }).recordWithContents(object, world.clock.now()),
    },
  })
})
afterEach(() => world[Symbol.asyncDispose]())

const loose = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }

async function define(scope = 'Namespaced'): Promise<StoredObject> {
  const made = await world.create<StoredObject>({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name },
    spec: {
      group: 'example.com',
      scope,
      names: { kind: 'Guest', plural: 'guests' },
      versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: loose } }],
    },
  })
  await world.clock.settle()
  return made
}

function create(guest: string, metadata: ObjectMeta = {}, rest: Partial<KubeObject> = {}): Promise<StoredObject> {
  const given = { name: guest, namespace: 'team', ...metadata }
  return world.create({ ...rest, apiVersion: 'example.com/v1', kind: 'Guest', metadata: given })
}

const ownedBy = ({ metadata }: StoredObject) => [
  { apiVersion: 'example.com/v1', kind: 'Guest', name: metadata.name, uid: metadata.uid },
]
const definition = () => world.client.get<StoredObject>(customResourceDefinitions, { name }).catch(ignoring('NotFound'))
const guestNames = () => world.names(guests)
const find = (guest: string) => world.client.get<StoredObject>(guests, { namespace: 'team', name: guest })

async function records(): Promise<readonly Departure[]> {
  const where = { namespace: sojournNamespace, labelSelector: '!sojourn.dev/page' }
  return (await world.client.list<Departure>(departure.type, where)).items
}

/** Lets time pass until it is so: manifests are compressed beside the clock's own time. */
const until = (claim: () => Promise<void>) =>
  vi.waitFor(
    async () => {
      await world.pass(1000)
      await claim()
    },
    { timeout: 20_000, interval: 10 },
  )

/** kubectl delete crd. */
async function deleteByHand(): Promise<void> {
  await world.client.deleteObject(customResourceDefinitions, { name })
}
const untilGone = () => until(async () => expect(await definition()).toBeUndefined())

async function bringBack(client = world.client): Promise<Restored> {
  return restore(client, (await records()).at(-1) as Departure, { now: world.clock.now() })
}

describe('a definition that leaves', () => {
  it('by the door is recorded with all of its kind', async () => {
    const { metadata } = await define()
    await create('ann')
    await create('bob')
    const ref = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', name }
    const subject = kubeSubject(world.client, customResourceDefinitions, ref)
    const late = {
      ...subject,
      async remove(removal: Parameters<typeof subject.remove>[0]) {
        await create('carol')
        return subject.remove(removal)
      },
    }
    await world.door.depart({ subject: late, uid: metadata.uid, because: 'test', by: { system: 'cleaner' } })
    await untilGone()
    expect((await records()).map(({ spec }) => [spec.by.system, spec.takes])).toEqual([['cleaner', 3]])
    await bringBack()
    expect(await guestNames()).toEqual(['ann', 'bob', 'carol'])
  })

  it('by hand is recorded before any of its kind goes, and comes back first, then they, each to its owner', async () => {
    await define()
    const ann = await create('ann', {}, { spec: { room: 7 } })
    await create('aaron', { ownerReferences: ownedBy(ann) })
    await deleteByHand()
    await untilGone()
    const [record, ...others] = await records()
    expect(others).toEqual([])
    expect(record?.spec).toMatchObject({ because: 'deleted', by: { system: 'user' }, takes: 2, pages: 1 })

    const { objects, notes } = await bringBack()
    expect(objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      `CustomResourceDefinition ${name}`,
      'Guest ann',
      'Guest aaron',
    ])
    expect(notes).toEqual([])
    expect(await find('ann')).toMatchObject({ spec: { room: 7 } })
    const { uid } = (await find('ann')).metadata
    expect(await find('aaron')).toMatchObject({ metadata: { ownerReferences: [{ uid }] } })
    expect((await definition())?.metadata.finalizers).toBeUndefined()
  })

  it('comes back with what has no namespace, too', async () => {
    await define('Cluster')
    await world.create({ apiVersion: 'example.com/v1', kind: 'Guest', metadata: { name: 'ann' } })
    await deleteByHand()
    await untilGone()
    await bringBack()
    expect(await guestNames()).toEqual(['ann'])
  })

  it('keeps all of its kind until it is recorded, says why, and goes on by itself', async () => {
    await define()
    await create('ann')
    obstruct = ({ method, path }) => {
      if (method === 'POST' && path.endsWith('/departures')) throw new StatusError('InternalError', 'the disk is full')
    }
    await deleteByHand()
    const reason = 'InstanceDeletionFailed'
    const message = 'its instances are not deleted yet: the disk is full'
    await until(async () =>
      expect(await definition()).toMatchObject({
        status: {
          conditions: expect.arrayContaining([
            expect.objectContaining({ type: 'Terminating', status: 'True', reason, message }),
          ]) as unknown,
        },
      }),
    )
    expect(await guestNames()).toEqual(['ann'])
    obstruct = () => {}
    await untilGone()
    expect(await records()).toHaveLength(1)
  })

  it('waits while its instances cannot be read, until the kind is served again', async () => {
    await define()
    await create('ann')
    const serve = (served: boolean) => {
      const body = [{ op: 'replace', path: '/spec/versions/0/served', value: served }]
      return world.client.patch(customResourceDefinitions, { name }, { type: 'json', body })
    }
    await serve(false)
    await deleteByHand()
    await until(async () =>
      expect(JSON.stringify(await definition())).toContain(`its instances are not deleted yet: ${name} is not served`),
    )
    await serve(true)
    await untilGone()
    await bringBack()
    expect(await guestNames()).toEqual(['ann'])
  })

  it('goes without a record when there is nothing of its kind, or when it is the kind of records', async () => {
    await define()
    await deleteByHand()
    await untilGone()
    expect(await records()).toEqual([])
    await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'guest' } })
    const ref = { apiVersion: departure.apiVersion, kind: departure.kind, namespace: 'team', name: 'one' }
    const object = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', uid: 'a', resourceVersion: '1' }
    const spec = { object, because: 'test', by: { system: 'user' }, recordedAt: '2026-01-05T08:00:00Z' }
    await world.create({ ...ref, metadata: { name: 'one', namespace: 'team' }, spec })
    const place = { name: `departures.${departure.group}` }
    await world.client.deleteObject(customResourceDefinitions, place)
    await until(async () =>
      expect(await world.client.get(customResourceDefinitions, place).catch(ignoring('NotFound'))).toBeUndefined(),
    )
  })
})

describe('a restore of a definition', () => {
  async function left(...names: readonly string[]): Promise<void> {
    await define()
    for (const guest of names) await create(guest)
    await deleteByHand()
    await untilGone()
  }

  it('changes nothing when a namespace of those of its kind is gone', async () => {
    await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'guest' } })
    await define()
    await create('ann', { namespace: 'guest' })
    await deleteByHand()
    await untilGone()
    await world.client.deleteObject(namespaces, { name: 'guest' })
    await until(async () =>
      expect(await world.client.get(namespaces, { name: 'guest' }).catch(ignoring('NotFound'))).toBeUndefined(),
    )
    const record = (await records()).find(({ spec }) => spec.object.name === name) as Departure
    await expect(restore(world.client, record, { now: 0 })).rejects.toThrow(
      'nothing was restored: Guest/guest/ann: namespaces "guest" not found',
    )
    expect(await definition()).toBeUndefined()
  })

  it('restores its instances to a definition that a user has installed again', async () => {
    await left('ann')
    const { metadata } = await define()
    const { objects, already } = await bringBack()
    expect(objects.map((object) => object.metadata.name)).toEqual(['ann'])
    expect(already.map((object) => object.metadata.uid)).toEqual([metadata.uid])
  })

  it('changes nothing when the one that was installed again does not serve them', async () => {
    await left('ann')
    const [record] = await records()
    const { spec } = record!.spec.manifest as unknown as KubeObject & { spec: Record<string, unknown> }
    const versions = [{ name: 'v2', served: true, storage: true, schema: { openAPIV3Schema: loose } }]
    await world.create({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name },
      spec: { ...spec, versions },
    })
    await expect(bringBack()).rejects.toThrow(`nothing was restored: CustomResourceDefinition/${name} exists`)
  })

  it('says what could not be tried before it was there and is not taken now; asked again, it changes nothing', async () => {
    await define()
    await create('ann', {}, { spec: { room: 'seven' } })
    await create('bob', {}, { spec: { room: 7 } })
    const room = { type: 'object', properties: { room: { type: 'integer' } } }
    const strict = { type: 'object', properties: { spec: room } }
    const body = [{ op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: strict }]
    await world.client.patch(customResourceDefinitions, { name }, { type: 'json', body })
    await deleteByHand()
    await untilGone()
    const refused = /Guest.* "ann" is invalid/
    await expect(bringBack()).rejects.toThrow(
      new RegExp(`^only CustomResourceDefinition/${name} \\(uid .*\\) was restored: ${refused.source}`),
    )
    await expect(bringBack()).rejects.toThrow(new RegExp(`^nothing was restored: ${refused.source}`))
    expect(await guestNames()).toEqual([])
  })

  it('waits until its kind is served', async () => {
    await left('ann')
    let looks = 0
    const slow: Transport = async (request) => {
      const isDiscovery = request.path === '/apis/example.com/v1'
      if (isDiscovery && (await definition()) && looks++ < 3) throw new StatusError('NotFound', 'not yet')
      if (request.query?.['watch'] === undefined) return world.server.transport(request)
      // Nothing is heard, and a second has passed.
      return { status: 200, headers: {}, body: undefined, stream: (async function* () {})() }
    }
    await bringBack(new Client(slow))
    expect(looks).toBeGreaterThan(3)
    expect(await guestNames()).toEqual(['ann'])
  })

  it('goes on where it was killed, from every request, and makes nothing twice', async () => {
    await left('ann', 'bob')
    const [record] = await records()
    for (let steps = 0, isWhole = false; !isWhole; steps++) {
      const made: string[] = []
      let budget = steps
      const seen: Transport = async (request) => {
        const answer = await world.server.transport(request)
        if (request.method === 'POST' && answer.status === 201 && request.query?.['dryRun'] === undefined)
          made.push((answer.body as StoredObject).metadata.name)
        return answer
      }
      const dying: Transport = async (request) => {
        if (budget-- <= 0) throw new Error('killed')
        return seen(request)
      }
      const now = world.clock.now()
      isWhole = await restore(new Client(dying), record as Departure, { now }).then(
        () => true,
        () => false,
      )
      const place = { namespace: sojournNamespace, name: record?.metadata.name ?? '' }
      const again = await world.client.get<Departure>(departure.type, place)
      await restore(new Client(seen), again, { now }).catch(ignoring('AlreadyExists'))
      expect(made).toEqual([name, 'ann', 'bob'])
      await deleteByHand()
      await untilGone()
    }
  })
})
