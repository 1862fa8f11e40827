import { configMaps, namespaces } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { Client } from '../../client/client.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { Door } from '../door/door.ts'
import { RecordWriter } from './record-writer.ts'
import { restore } from '../restore/restore.ts'
import { kubeSubject } from '../subjects/subject.ts'

let world: World
/** Throws what shall go wrong with a request of the one who records. */
let obstruct: (request: ApiRequest) => void
beforeEach(async () => {
  obstruct = () => {}
  const recording = new Client((request) => {
    obstruct(request)
    return world.server.transport(request)
  })
  world = await startWorld({
    server: {
      beforeEmptying: (object) => new RecordWriter({ client: recording }).recordWithContents(object, world.clock.now()),
    },
  })
  await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'guest' } })
})
afterEach(() => world[Symbol.asyncDispose]())

function create(name: string, { metadata, ...rest }: Partial<KubeObject> = {}): Promise<StoredObject> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', ...rest }
  return world.create({ ...object, metadata: { ...metadata, name, namespace: 'guest' } })
}

const find = (kind: string, name: string) => world.get({ apiVersion: 'v1', kind, namespace: 'guest', name })
const guest = () => world.get({ apiVersion: 'v1', kind: 'Namespace', name: 'guest' })

/** kubectl delete namespace. */
async function deleteByHand(name = 'guest'): Promise<void> {
  await world.client.deleteObject(namespaces, { name })
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
const untilGone = (name = 'guest') =>
  until(async () => expect(await world.get({ apiVersion: 'v1', kind: 'Namespace', name })).toBeUndefined())

async function records(): Promise<readonly Departure[]> {
  const where = { namespace: sojournNamespace, labelSelector: '!sojourn.dev/page' }
  return (await world.client.list<Departure>(departure.type, where)).items
}

const isRecord = ({ method, path, query }: ApiRequest) =>
  method === 'POST' && path.endsWith('/departures') && query?.['dryRun'] === undefined

describe('a Namespace that a user deletes', () => {
  it('is recorded with all that is in it before anything goes, and comes back whole', async () => {
    const owner = await create('zebra', { data: { a: 'b' } })
    const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'zebra', uid: owner.metadata.uid }
    await create('ant', { metadata: { ownerReferences: [reference] } })
    await create('password', { kind: 'Secret', stringData: { word: 'open sesame' } })
    await deleteByHand()
    await untilGone()
    expect(await find('ConfigMap', 'zebra')).toBeUndefined()

    const [record, ...others] = await records()
    expect(others).toEqual([])
    expect(record?.spec).toMatchObject({ because: 'deleted', by: { system: 'user' }, takes: 3, pages: 1 })
    const { notes } = await restore(world.client, record as Departure, { now: world.clock.now() })
    const uid = (await find('ConfigMap', 'zebra'))?.metadata.uid
    expect(await find('ConfigMap', 'ant')).toMatchObject({ metadata: { ownerReferences: [{ uid }] } })
    expect(notes).toEqual([expect.stringContaining('Secret/guest/password was restored without its data')])
  })

  it('keeps everything until it is recorded, says why, and goes on by itself', async () => {
    await create('settings')
    obstruct = (request) => {
      if (isRecord(request)) throw new StatusError('InternalError', 'the disk is full')
    }
    await deleteByHand()
    const message = 'nothing in it is deleted yet: the disk is full'
    await until(async () =>
      expect(await guest()).toMatchObject({
        status: {
          conditions: expect.arrayContaining([
            expect.objectContaining({ type: 'NamespaceDeletionContentFailure', message }),
          ]),
        },
      }),
    )
    expect(await find('ConfigMap', 'settings')).toBeDefined()
    obstruct = () => {}
    await untilGone()
    expect(await records()).toHaveLength(1)
  })

  it.each([
    ['NotFound', 'the server could not find the requested resource'],
    ['Forbidden', 'secrets may not be listed'],
  ] as const)('keeps everything while it cannot be known what is in it: %s', async (reason, message) => {
    await create('settings')
    obstruct = ({ path }) => {
      if (path.endsWith('/secrets')) throw new StatusError(reason, message)
    }
    await deleteByHand()
    await until(async () =>
      expect(await guest()).toMatchObject({
        status: {
          conditions: expect.arrayContaining([
            expect.objectContaining({ message: `nothing in it is deleted yet: ${message}` }),
          ]),
        },
      }),
    )
    expect(await find('ConfigMap', 'settings')).toBeDefined()
    obstruct = () => {}
    await untilGone()
    expect((await records()).map(({ spec }) => spec.takes)).toEqual([1])
  })

  it('keeps everything while its record is forbidden', async () => {
    await create('settings')
    obstruct = ({ method, path }) => {
      if (method === 'POST' && path.endsWith('/departures')) throw new StatusError('Forbidden', 'exceeded quota')
    }
    await deleteByHand()
    await until(async () =>
      expect(await guest()).toMatchObject({
        status: {
          conditions: expect.arrayContaining([
            expect.objectContaining({ message: 'nothing in it is deleted yet: exceeded quota' }),
          ]),
        },
      }),
    )
    expect(await find('ConfigMap', 'settings')).toBeDefined()
  })

  it('that was kept before is recorded as it is now', async () => {
    const { metadata } = (await guest()) as StoredObject
    const subject = kubeSubject(world.client, namespaces, { apiVersion: 'v1', kind: 'Namespace', name: 'guest' })
    const touched = { ...subject, remove: () => Promise.resolve('changed' as const) }
    await world.door.depart({ subject: touched, uid: metadata.uid, because: 'expired', by: { system: 'cleaner' } })
    expect((await records()).map(({ status }) => status?.phase)).toEqual(['Abandoned'])
    await create('settings')
    await deleteByHand()
    await untilGone()
    expect((await records()).map(({ spec }) => [spec.by.system, spec.takes])).toEqual([['user', 1]])
  })

  it('is recorded as it was when it was emptied, however often that was begun', async () => {
    await create('settings', { data: { version: '1' } })
    let tries = 0
    let isChanged = false
    let isReadAnew = false
    obstruct = (request) => {
      isReadAnew ||= isChanged && request.path.endsWith('/configmaps')
      if (isReadAnew || !isRecord(request)) return
      tries++
      throw new StatusError('InternalError', 'killed')
    }
    await deleteByHand()
    await until(() => Promise.resolve(expect(tries).toBeGreaterThan(0)))
    const body = { data: { version: '2' } }
    await world.client.patch(configMaps, { namespace: 'guest', name: 'settings' }, { type: 'merge', body })
    isChanged = true
    await untilGone()
    const [record] = await records()
    await restore(world.client, record as Departure, { now: world.clock.now() })
    expect(await find('ConfigMap', 'settings')).toMatchObject({ data: { version: '2' } })
  })

  /** Lets it leave by the door; something happens after the door has read what is in it. */
  async function leaveByDoor(meanwhile: () => Promise<unknown>): Promise<void> {
    const { metadata } = (await guest()) as StoredObject
    const subject = kubeSubject(world.client, namespaces, { apiVersion: 'v1', kind: 'Namespace', name: 'guest' })
    const disturbed: typeof subject = {
      ...subject,
      async remove(removal) {
        await meanwhile()
        return subject.remove(removal)
      },
    }
    const by = { system: 'cleaner' } as const
    await world.door.depart({ subject: disturbed, uid: metadata.uid, because: 'expired', by })
  }

  const change = (name: string, body: object) =>
    world.client.patch(configMaps, { namespace: 'guest', name }, { type: 'merge', body })

  it('has what came or changed after the door had read it added to its record, each once', async () => {
    await create('settings', { data: { version: '1' } })
    await create('plain')
    let isKilled = false
    obstruct = ({ method, path }) => {
      // Killed once the page is there and before the record speaks of it.
      if (method !== 'PATCH' || !path.includes('/departures/') || path.endsWith('/status') || isKilled) return
      isKilled = true
      throw new StatusError('InternalError', 'killed')
    }
    await leaveByDoor(async () => {
      await create('late')
      await change('settings', { data: { version: '2' } })
      await change('plain', { metadata: { annotations: {} } })
    })
    await untilGone()
    expect(isKilled).toBe(true)
    const [record, ...others] = await records()
    expect(others).toEqual([])
    expect(record?.spec).toMatchObject({ because: 'expired', takes: 3, pages: 2 })
    await restore(world.client, record as Departure, { now: world.clock.now() })
    expect(await find('ConfigMap', 'late')).toBeDefined()
    expect(await find('ConfigMap', 'settings')).toMatchObject({ data: { version: '2' } })
  })

  it('keeps everything while what came late cannot be recorded', async () => {
    obstruct = ({ method, path }) => {
      if (method === 'POST' && path.endsWith('/departurepages')) throw new StatusError('Forbidden', 'exceeded quota')
    }
    await leaveByDoor(() => create('late'))
    await until(async () =>
      expect(await guest()).toMatchObject({
        status: {
          conditions: expect.arrayContaining([
            expect.objectContaining({ message: 'nothing in it is deleted yet: exceeded quota' }),
          ]),
        },
      }),
    )
    expect(await find('ConfigMap', 'late')).toBeDefined()
  })

  it('is recorded as it was before its deletion, although it is read again while finalizers hold it', async () => {
    await create('slow', { metadata: { finalizers: ['x.dev/first', 'x.dev/second'] } })
    await deleteByHand()
    await until(async () => expect((await find('ConfigMap', 'slow'))?.metadata.deletionTimestamp).toBeDefined())
    await change('slow', { metadata: { finalizers: ['x.dev/second'] } })
    await new RecordWriter({ client: world.client }).recordWithContents(
      (await guest()) as StoredObject,
      world.clock.now(),
    )
    expect((await records()).map(({ spec }) => [spec.takes, spec.pages])).toEqual([[1, 1]])
    await change('slow', { metadata: { finalizers: null } })
    await untilGone()
  })

  it('comes back without what was on pages of a try that was given up', async () => {
    await create('gone-before')
    let isKilled = true
    const dying: Transport = (request) => {
      if (isKilled && isRecord(request)) throw new StatusError('InternalError', 'killed')
      return world.server.transport(request)
    }
    const { client, informers, clock, events, metrics } = world
    const door = new Door({
      client: new Client(dying),
      informers,
      clock,
      events,
      metrics,
      log: silentLogger,
      provesRecords: () => Promise.resolve(true),
    })
    await world.clock.settle()
    await door.ready()
    const { metadata } = (await guest()) as StoredObject
    const subject = kubeSubject(client, namespaces, { apiVersion: 'v1', kind: 'Namespace', name: 'guest' })
    const wish = { subject, uid: metadata.uid, because: 'expired', by: { system: 'cleaner' as const } }
    await expect(door.depart(wish)).rejects.toThrow('killed')
    await client.deleteObject(configMaps, { namespace: 'guest', name: 'gone-before' })
    isKilled = false
    await door.depart(wish)
    await untilGone()
    const [record] = await records()
    expect(record?.spec.takes).toBeUndefined()
    await restore(client, record as Departure, { now: clock.now() })
    expect(await find('ConfigMap', 'gone-before')).toBeUndefined()
    door.close()
  })

  it('has the one record of the system that deletes it, where one did', async () => {
    await create('settings')
    const { metadata } = (await guest()) as StoredObject
    const subject = kubeSubject(world.client, namespaces, { apiVersion: 'v1', kind: 'Namespace', name: 'guest' })
    await world.door.depart({ subject, uid: metadata.uid, because: 'expired', by: { system: 'cleaner' } })
    await untilGone()
    expect((await records()).map(({ spec }) => [spec.because, spec.by.system])).toEqual([['expired', 'cleaner']])
  })

  it('goes without a record when it is where records are kept', async () => {
    await deleteByHand(sojournNamespace)
    await untilGone(sojournNamespace)
    await create('settings')
    await deleteByHand()
    await untilGone()
  })
})
