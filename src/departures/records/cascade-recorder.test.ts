import { configMaps, namespaces } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { Client } from '../../client/client.ts'
import type { StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { ApiRequest } from '../../kube/transport.ts'
import { CascadeRecorder, type CascadeRoot } from './cascade-recorder.ts'
import { readPages } from './pages.ts'
import { departureRecord } from './record.ts'
import { restore } from '../restore/restore.ts'

let world: World
let root: CascadeRoot
/** Runs just before each request of a recorder goes out; may throw in its place. */
let meddle: (request: ApiRequest) => Promise<void> | void

beforeEach(async () => {
  meddle = () => {}
  world = await startWorld()
  root = { object: await create('root'), by: { system: 'user' }, isGone: false, mayHaveFollowed: false }
})
afterEach(() => world[Symbol.asyncDispose]())

const create = (name: string) =>
  world.create<StoredObject>({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team' } })

const recorder = () =>
  new CascadeRecorder({
    client: new Client(async (request) => {
      await meddle(request)
      return world.server.transport(request)
    }),
    clock: world.clock,
    read: (_, object) => Promise.resolve(object),
  })

const follower = (object: StoredObject) => ({ type: configMaps, object, isOwner: false })
const write = async (by: CascadeRecorder, name: string) => counted(by, await create(name))
const counted = async (by: CascadeRecorder, object: StoredObject) => (await by.record([follower(object)], root)).counted

/** Of all records but pages: how many pages and lines they speak of, and which names those hold. */
async function recorded(): Promise<readonly unknown[]> {
  const { items } = await world.client.list<Departure>(departure.type, { labelSelector: '!sojourn.dev/page' })
  return Promise.all(
    items.map(async (record) => {
      const lines = await Array.fromAsync(readPages(world.client, record))
      const names = lines.map(({ manifest }) => manifest.metadata.name ?? '').toSorted()
      return { pages: record.spec.pages, takes: record.spec.takes, names }
    }),
  )
}

const isOf = (method: string, request: ApiRequest) => request.method === method && request.path.includes('/departures')
const isPage = ({ method, path }: ApiRequest) => method === 'POST' && path.includes('/departurepages')

const isCounting = (request: ApiRequest) =>
  isOf('PATCH', request) && (request.body as Partial<Departure>).spec?.pages !== undefined

describe('the record of a cascade', () => {
  it('holds what two recorders write at once, on a page each', async () => {
    const [first, second] = [recorder(), recorder()]
    await write(first, 'a')
    await write(second, 'b')
    await write(first, 'c')
    await write(second, 'd')
    expect(await recorded()).toEqual([{ pages: 4, takes: 4, names: ['a', 'b', 'c', 'd'] }])
  })

  it('is begun once by two recorders that both find none', async () => {
    let isMet = false
    meddle = async (request) => {
      if (isMet || !isOf('POST', request)) return
      isMet = true
      await write(recorder(), 'b')
    }
    await write(recorder(), 'a')
    expect(await recorded()).toEqual([{ pages: 2, takes: 2, names: ['a', 'b'] }])
  })

  it.each([
    ['itself', (request: ApiRequest) => isOf('POST', request) && !isPage(request)],
    ['a page of it', isPage],
  ])('lets nothing go on while %s is forbidden, and goes on when it is not', async (_, isForbidden) => {
    meddle = (request) => {
      if (isForbidden(request)) throw new StatusError('Forbidden', 'exceeded quota')
    }
    const here = recorder()
    const child = await create('a')
    await expect(here.record([follower(child)], root)).rejects.toThrow('exceeded quota')
    meddle = () => {}
    await counted(here, child)
    expect(await recorded()).toEqual([{ pages: 1, takes: 1, names: ['a'] }])
  })

  it('holds each page before what is on it may go, though it speaks of them later', async () => {
    const tell = Promise.withResolvers<void>()
    meddle = async (request) => {
      if (isCounting(request)) await tell.promise
    }
    const here = recorder()
    const first = await here.record([follower(await create('a'))], root)
    const second = await here.record([follower(await create('b'))], root)
    expect(await recorded()).toEqual([{ names: ['a', 'b'] }])
    tell.resolve()
    await Promise.all([first.counted, second.counted])
    expect(await recorded()).toEqual([{ pages: 2, takes: 2, names: ['a', 'b'] }])
  })

  it('reads again how far it has got when it could not be told', async () => {
    meddle = (request) => {
      if (isCounting(request)) throw new StatusError('InternalError', 'no')
    }
    const here = recorder()
    await expect(write(here, 'a')).rejects.toThrow('no')
    meddle = () => {}
    await write(here, 'b')
    expect(await recorded()).toEqual([{ pages: 2, takes: 1, names: ['a', 'b'] }])
  })

  it('is done without where its namespace goes, too', async () => {
    await world.create({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x', namespace: 'team', finalizers: ['x.dev/y'] },
    })
    const child = follower(await create('a'))
    await world.client.deleteObject(namespaces, { name: 'team' })
    await recorder().record([child], root)
    expect(await recorded()).toEqual([])
  })

  it('is found in our own namespace, where the door writes it when there is no other place', async () => {
    const { spec, ...rest } = departureRecord({
      cluster: '',
      object: root.object,
      because: 'expired',
      by: { system: 'cleaner' },
      now: 0,
    })
    await world.create({ ...rest, metadata: { ...rest.metadata, namespace: sojournNamespace }, spec })
    await write(recorder(), 'a')
    expect(await recorded()).toEqual([{ pages: 1, takes: 1, names: ['a'] }])
  })

  it('says where its root was never known, and brings back the rest, with a note', async () => {
    const blind = new CascadeRecorder({
      client: world.client,
      clock: world.clock,
      read: (_, object) => Promise.resolve(object),
    })
    root = { ...root, isGone: true }
    await write(blind, 'a')
    for (const name of ['root', 'a']) await world.client.deleteObject(configMaps, { namespace: 'team', name })
    const { items } = await world.client.list<Departure>(departure.type, { labelSelector: '!sojourn.dev/page' })
    const [record] = items
    expect(record?.status?.message).toContain('its own manifest is not recorded')
    const { objects, notes } = await restore(world.client, record as Departure, { now: world.clock.now() })
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['a'])
    expect(notes).toEqual([expect.stringContaining('ConfigMap/team/root itself was not restored')])
  })
})
