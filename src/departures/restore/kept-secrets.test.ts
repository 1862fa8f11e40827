import { randomBytes } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { departurePage } from '../../apis/departure-page.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { Client } from '../../client/client.ts'
import { configMaps, namespaces, secrets } from '../../kube/core-types.ts'
import { refOf, type KubeObject, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { DepartRequest } from '../door/door.ts'
import { RecordWriter } from '../records/record-writer.ts'
import { RecordKeys } from '../records/record-keys.ts'
import { kubeSubject } from '../subjects/subject.ts'
import { restore } from './restore.ts'

let world: World
beforeEach(async () => {
  world = await startWorld({ recordSecrets: true })
})
afterEach(() => world[Symbol.asyncDispose]())

const value = btoa('open sesame')
const keysPlace = { namespace: sojournNamespace, name: 'sojourn-record-keys' }

/** Gives records a key, beside those they have. */
async function addKey(name: string): Promise<void> {
  const data = { [name]: btoa(randomBytes(32).toString('base64')) }
  await world.client
    .patch(secrets, keysPlace, { type: 'merge', body: { data } })
    .catch(() => world.create({ apiVersion: 'v1', kind: 'Secret', metadata: keysPlace, data }))
}

const createSecret = (name: string, more: object = {}, namespace = 'team') =>
  world.create<StoredObject>({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace },
    data: { word: value },
    ...more,
  })
const find = (name: string, namespace = 'team') =>
  world.get<StoredObject>({ apiVersion: 'v1', kind: 'Secret', namespace, name })

function wish(object: StoredObject, type: ResourceType): DepartRequest {
  const subject = kubeSubject(world.client, type, refOf(object))
  return { subject, uid: object.metadata.uid, because: 'expired', by: { system: 'cleaner' } }
}

async function recordOf(object: StoredObject): Promise<Departure> {
  const { items } = await world.client.list<Departure>(departure.type)
  const found = items.find(({ spec }) => spec.object.uid === object.metadata.uid)
  if (!found) throw new Error(`no record of ${object.metadata.name}`)
  return found
}

const restored = async (object: StoredObject, client = world.client) =>
  restore(client, await recordOf(object), { now: world.clock.now() })

/** All that records and pages say, pages unzipped. */
async function everything(): Promise<string> {
  const lists = await Promise.all([departure, departurePage].map(({ type }) => world.client.list(type)))
  return JSON.stringify(lists)
}

describe('a Secret of which records keep the data', () => {
  it('comes back with it, immutable as before, and is nowhere readable in between', async () => {
    await addKey('a')
    const secret = await createSecret('password', { immutable: true })
    expect(await world.door.depart(wish(secret, secrets))).toEqual({ result: 'gone' })
    expect(await everything()).not.toContain(value)
    const { notes } = await restored(secret)
    expect(await find('password')).toMatchObject({ data: { word: value }, immutable: true })
    expect(notes).toEqual([])
  })

  it('comes back with its namespace', async () => {
    await addKey('a')
    const guest = await world.create<StoredObject>({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'guest' } })
    await createSecret('password', {}, 'guest')
    await createSecret('token', { data: undefined, type: 'Opaque' }, 'guest')
    await world.door.depart(wish(guest, namespaces))
    await world.pass(60_000)
    await expect.poll(() => world.get({ apiVersion: 'v1', kind: 'Namespace', name: 'guest' })).toBeUndefined()
    const { notes } = await restored(guest)
    expect(await find('password', 'guest')).toMatchObject({ data: { word: value } })
    expect(notes).toEqual([expect.stringContaining('Secret/guest/token was restored without its data')])
  })

  it('and a Service come back with their namespace, and the new address is told', async () => {
    await addKey('a')
    const guest = await world.create<StoredObject>({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'guest' } })
    const metadata = { name: 'web', namespace: 'guest' }
    const service = await world.create<StoredObject>({
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { ports: [{ port: 80 }] },
    })
    const { clusterIP } = service.spec as { clusterIP: string }
    await world.door.depart(wish(guest, namespaces))
    await world.pass(60_000)
    await expect.poll(() => world.get({ apiVersion: 'v1', kind: 'Namespace', name: 'guest' })).toBeUndefined()
    const spec = { ports: [{ port: 80 }], clusterIP }
    await world.create({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'other', namespace: 'team' }, spec })
    const { notes } = await restored(guest)
    expect(notes.join()).toContain(`Service/guest/web has clusterIP`)
    expect(notes.join()).toContain(`it was ${clusterIP}`)
  })

  it('is held while there is no key, with nothing recorded, and deleted once there is', async () => {
    const secret = await createSecret('password')
    const request = wish(secret, secrets)
    expect(await world.door.depart(request)).toMatchObject({
      result: 'held',
      because: 'no-record-key',
      detail: expect.stringContaining('Secret sojourn-system/sojourn-record-keys does not exist'),
    })
    expect(await world.door.recordAhead(request)).toMatchObject({ because: 'no-record-key' })
    expect((await world.client.list(departure.type)).items).toEqual([])
    expect(await find('password')).toBeDefined()
    await addKey('a')
    expect(await world.door.depart(request)).toEqual({ result: 'gone' })
  })

  it('comes back after the key was replaced, and without data, with a note, once the old key is gone', async () => {
    await addKey('2026-01')
    const [one, other] = [await createSecret('one'), await createSecret('other')]
    for (const each of [one, other]) await world.door.depart(wish(each, secrets))
    await addKey('2026-02')
    await restored(one)
    expect(await find('one')).toMatchObject({ data: { word: value } })
    await world.client.patch(secrets, keysPlace, { type: 'merge', body: { data: { '2026-01': null } } })
    const { notes } = await restored(other)
    expect(await find('other')).toMatchObject({ data: { word: '' } })
    expect(notes.join()).toContain('no longer has the key "2026-01"')
  })

  it('comes back without its data, with a note, for a user who may not read the keys', async () => {
    await addKey('a')
    const secret = await createSecret('password')
    await world.door.depart(wish(secret, secrets))
    const asUser = new Client((request) => {
      if (request.path.endsWith(keysPlace.name)) throw new StatusError('Forbidden', 'secrets is forbidden')
      return world.server.transport(request)
    })
    const { notes } = await restored(secret, asUser)
    expect(await find('password')).toMatchObject({ data: { word: '' } })
    expect(notes.join()).toContain('may not be read: secrets is forbidden: set it again')
  })

  it('gives its data to no other record', async () => {
    await addKey('a')
    const secret = await createSecret('password')
    await world.door.depart(wish(secret, secrets))
    const { spec } = await recordOf(secret)
    const planted = { ...(spec.manifest as unknown as KubeObject), metadata: { name: 'mine', namespace: 'team' } }
    const object = { ...spec.object, name: 'mine' }
    const record = await world.create<Departure>({
      apiVersion: departure.apiVersion,
      kind: departure.kind,
      metadata: { name: 'planted', namespace: 'team' },
      spec: { ...spec, object, manifest: planted },
    })
    const { notes } = await restore(world.client, record, { now: world.clock.now() })
    expect(await find('mine')).toMatchObject({ data: { word: '' } })
    expect(notes.join()).toContain('belongs to another Secret')
  })

  it('gives its data to no object of another kind, which more users may read', async () => {
    await addKey('a')
    const secret = await createSecret('password')
    await world.door.depart(wish(secret, secrets))
    const { spec } = await recordOf(secret)
    const { type: _, ...manifest } = spec.manifest as unknown as KubeObject
    const record = await world.create<Departure>({
      apiVersion: departure.apiVersion,
      kind: departure.kind,
      metadata: { name: 'planted', namespace: 'team' },
      spec: { ...spec, object: { ...spec.object, kind: 'ConfigMap' }, manifest: { ...manifest, kind: 'ConfigMap' } },
    })
    await restore(world.client, record, { now: world.clock.now() })
    const { data } = await world.client.get<KubeObject>(configMaps, { namespace: 'team', name: 'password' })
    expect(data).toEqual({ word: '' })
  })

  it('comes back as it was last, although its record was written earlier', async () => {
    await addKey('a')
    const guest = await world.create<StoredObject>({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'guest' } })
    await createSecret('password', {}, 'guest')
    await createSecret('same', {}, 'guest')
    const writer = new RecordWriter({ client: world.client, keys: () => RecordKeys.read(world.client) })
    await writer.recordWithContents(guest, world.clock.now())
    const body = { data: { word: btoa('changed') } }
    await world.client.patch(secrets, { namespace: 'guest', name: 'password' }, { type: 'merge', body })
    await writer.recordWithContents(guest, world.clock.now())
    expect((await recordOf(guest)).spec).toMatchObject({ takes: 2, pages: 2 })
    await world.client.deleteObject(namespaces, { name: 'guest' })
    await expect
      .poll(async () => {
        await world.pass(1000)
        return world.get({ apiVersion: 'v1', kind: 'Namespace', name: 'guest' })
      })
      .toBeUndefined()
    await restored(guest)
    expect(await find('password', 'guest')).toMatchObject(body)
    expect(await find('same', 'guest')).toMatchObject({ data: { word: value } })
  })

  it('is in the record that a killed process wrote before its delete', async () => {
    await addKey('a')
    const secret = await createSecret('password')
    const request = wish(secret, secrets)
    const killed = { ...request.subject, remove: () => Promise.reject(new Error('killed')) }
    await expect(world.door.depart({ ...request, subject: killed })).rejects.toThrow('killed')
    expect(await world.door.depart(request)).toEqual({ result: 'gone' })
    await restored(secret)
    expect(await find('password')).toMatchObject({ data: { word: value } })
  })

  it('comes back after a user deleted it, which had dependents', async () => {
    await addKey('a')
    const secret = await createSecret('password')
    const owner = { apiVersion: 'v1', kind: 'Secret', name: 'password', uid: secret.metadata.uid }
    const metadata = { name: 'child', namespace: 'team', ownerReferences: [owner] }
    await world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
    await world.client.deleteObject(secrets, { namespace: 'team', name: 'password' })
    expect(await everything()).not.toContain(value)
    await restored(secret)
    expect(await find('password')).toMatchObject({ data: { word: value } })
  })

  it('is deleted by a user although there is no key; the record then has no data', async () => {
    const secret = await createSecret('password')
    const owner = { apiVersion: 'v1', kind: 'Secret', name: 'password', uid: secret.metadata.uid }
    const metadata = { name: 'child', namespace: 'team', ownerReferences: [owner] }
    await world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
    await world.client.deleteObject(secrets, { namespace: 'team', name: 'password' })
    expect((await recordOf(secret)).spec.sealed).toBeUndefined()
  })
})

it('writes what hardly compresses on as many pages as it needs', async () => {
  await addKey('a')
  const noise = () => randomBytes(900_000).toString('base64')
  const root = await world.create<StoredObject>({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'root', namespace: 'team' },
  })
  const contents = [
    await createSecret('one', { data: { word: noise() } }),
    await createSecret('two', { data: { word: noise() } }),
    await world.create<StoredObject>({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'three', namespace: 'team' },
      binaryData: { word: noise() },
    }),
  ]
  const request = wish(root, configMaps)
  await world.door.depart({
    ...request,
    subject: { ...request.subject, contents: () => ReadableStream.from(contents) },
  })
  expect((await recordOf(root)).spec).toMatchObject({ takes: 3, pages: 3 })
})
