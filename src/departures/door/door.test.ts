import { configMaps } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { cleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import { departurePage, type DeparturePage } from '../../apis/departure-page.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { Client } from '../../client/client.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { ignoring, StatusError } from '../../kube/status-error.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { Informers } from '../../runtime/cache/informers.ts'
import { silentLogger } from '../../runtime/observability/log.ts'
import { Metrics } from '../../runtime/observability/metrics.ts'
import { closeBreaker, doorStateOf, writeDoorState } from './door-state.ts'
import { RecordWriter } from '../records/record-writer.ts'
import { Door, type DepartRequest } from './door.ts'
import { restore } from '../restore/restore.ts'
import { settleController } from '../records/settle-controller.ts'
import { kubeSubject } from '../subjects/subject.ts'

let world: World
beforeEach(async () => {
  world = await startWorld({ door: { limits: { maxPerMinute: 5 } } })
})
afterEach(() => world[Symbol.asyncDispose]())

function create(name: string, rest: Partial<KubeObject> = {}): Promise<StoredObject> {
  return world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team' }, ...rest })
}

function wish(object: StoredObject, given: Partial<DepartRequest> = {}, client = world.client): DepartRequest {
  const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name: object.metadata.name }
  return {
    subject: kubeSubject(client, configMaps, ref),
    uid: object.metadata.uid,
    because: 'test',
    by: { system: 'cleaner' },
    ...given,
  }
}

const exists = async (name: string) =>
  (await world.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name })) !== undefined
const records = async () => (await world.client.list<Departure>(departure.type, { namespace: 'team' })).items

describe('Door', () => {
  it('lets an object leave and records it first', async () => {
    const object = await create('a', { data: { x: '1' } })
    expect(await world.door.depart(wish(object))).toEqual({ result: 'gone' })
    expect(await exists('a')).toBe(false)
    expect((await records()).map(({ status, spec }) => [status?.phase, spec.manifest])).toEqual([
      ['Gone', expect.objectContaining({ data: { x: '1' } })],
    ])
  })

  it('spares an object that changed between the decision and the deletion', async () => {
    const object = await create('a')
    await world.client.patch(
      configMaps,
      { namespace: 'team', name: 'a' },
      { type: 'merge', body: { data: { changed: 'yes' } } },
    )
    expect(await world.door.depart(wish(object, { resourceVersion: object.metadata.resourceVersion }))).toEqual({
      result: 'stale',
    })
    expect(await exists('a')).toBe(true)
    expect(await records()).toEqual([])
  })

  it('keeps an object that changes just before its deletion', async () => {
    const object = await create('a')
    const racing = wish(object)
    const subject: typeof racing.subject = {
      ...racing.subject,
      async remove(removal) {
        await world.client.patch(
          configMaps,
          { namespace: 'team', name: 'a' },
          { type: 'merge', body: { data: { changed: 'yes' } } },
        )
        return racing.subject.remove(removal)
      },
    }
    expect(await world.door.depart({ ...racing, subject })).toEqual({ result: 'stale' })
    expect(await exists('a')).toBe(true)
    expect((await records()).map(({ status }) => status?.phase)).toEqual(['Abandoned'])
  })

  it('leaves the records of other systems to them', async () => {
    world.run(settleController({ ...world, systems: ['janitor'] }))
    const finalizers = ['example.com/hold']
    const metadata = { name: 'a', namespace: 'team', finalizers }
    const object = await world.create<StoredObject>({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
    expect(await world.door.depart(wish(object))).toEqual({ result: 'leaving' })
    await world.client.patch(configMaps, metadata, { type: 'merge', body: { metadata: { finalizers: [] } } })
    await world.pass(120_000)
    expect((await records())[0]?.status?.phase).toBe('Leaving')
  })

  it('looks ever more seldom at what a finalizer holds for days', async () => {
    let looks = 0
    const counting: Transport = (request) => {
      if (request.method === 'GET' && request.path.endsWith('/configmaps/a')) looks++
      return world.server.transport(request)
    }
    world.run(settleController({ ...world, client: new Client(counting) }))
    const metadata = { name: 'a', namespace: 'team', finalizers: ['example.com/hold'] }
    const object = await world.create<StoredObject>({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
    expect(await world.door.depart(wish(object))).toEqual({ result: 'leaving' })
    await world.pass(7 * 86_400_000)
    expect(looks).toBeGreaterThan(24)
    expect(looks).toBeLessThan(7 * 24 + 100)
  })

  it('says that an object is still leaving while a finalizer holds it, and when it is gone', async () => {
    world.run(settleController({ ...world }))
    const object = await world.create<StoredObject>({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'team', finalizers: ['example.com/hold'] },
    })
    expect(await world.door.depart(wish(object))).toEqual({ result: 'leaving' })
    await world.pass(120_000)
    expect((await records())[0]?.status).toMatchObject({ phase: 'Leaving', waitingFor: ['example.com/hold'] })
    await world.client.patch(
      configMaps,
      { namespace: 'team', name: 'a' },
      { type: 'merge', body: { metadata: { finalizers: [] } } },
    )
    await world.pass(120_000)
    expect((await records())[0]?.status?.phase).toBe('Gone')
  })

  it('keeps what an opt-out names from the moment it exists until it ends', async () => {
    const object = await create('a')
    const spec = { resource: { kind: 'ConfigMap', namespace: 'team', name: 'a' } }
    await world.create({ apiVersion: cleanupOptOut.apiVersion, kind: 'CleanupOptOut', metadata: { name: 'o' }, spec })
    await world.clock.settle()
    expect(await world.door.depart(wish(object))).toMatchObject({ result: 'refused', because: 'opted-out' })
    await world.client.patch(
      cleanupOptOut.type,
      { name: 'o' },
      { type: 'merge', body: { spec: { expiresAt: '1970-01-01T00:00:00Z' } } },
    )
    await world.clock.settle()
    expect(await world.door.depart(wish(object))).toEqual({ result: 'gone' })
  })

  it('opens the breaker when too much is deleted, holds everything, and lets go when a human has closed it', async () => {
    const objects = await Promise.all(Array.from({ length: 8 }, (_, index) => create(`a${index}`)))
    const results: string[] = []
    for (const object of objects) {
      results.push((await world.door.depart(wish(object))).result)
      await world.clock.settle()
    }
    expect(results).toEqual(['gone', 'gone', 'gone', 'gone', 'gone', 'held', 'held', 'held'])
    expect(world.metrics.render()).toContain('sojourn_departures_breaker_open 1')
    await world.pass(2 * 3_600_000)
    const [, , , , , sixth = objects[0]] = objects
    expect(await world.door.depart(wish(sixth as StoredObject))).toMatchObject({
      result: 'held',
      because: 'breaker-open',
    })
    await writeDoorState(world.client, closeBreaker(doorStateOf(undefined), world.clock.now()))
    await world.clock.settle()
    expect(await world.door.depart(wish(sixth as StoredObject))).toEqual({ result: 'gone' })
  })

  it('writes nothing in a dry run', async () => {
    const object = await create('a')
    expect(await world.door.depart(wish(object, { dryRun: true }))).toMatchObject({
      result: 'held',
      because: 'dry-run',
    })
    expect(await records()).toEqual([])
    expect(await exists('a')).toBe(true)
  })

  it('holds while it cannot read what protects objects', async () => {
    const object = await create('a')
    const blind = doorOver((request) =>
      request.path.includes('cleanupoptouts')
        ? Promise.reject(new Error('no network'))
        : world.server.transport(request),
    )
    await world.clock.settle()
    expect(await blind.depart(wish(object))).toMatchObject({
      because: 'protections-unknown',
      detail: 'cleanupoptouts: no network',
    })
    expect(await exists('a')).toBe(true)
    blind.close()
  })

  it('prunes records when their time is up', async () => {
    world.run(settleController({ ...world, keepMs: 3_600_000 }))
    await world.door.depart(wish(await create('a')))
    await world.pass(3_000_000)
    expect(await records()).toHaveLength(1)
    await world.pass(1_200_000)
    expect(await records()).toHaveLength(0)
  })

  it('prunes pages after their record, and keeps those of one that is still open', async () => {
    world.run(settleController({ ...world, keepMs: 3_600_000 }))
    const departing = async (name: string, finalizers: readonly string[]) => {
      const request = wish(await create(name, { metadata: { name, namespace: 'team', finalizers: [...finalizers] } }))
      const companion = await create(`${name}-companion`)
      await world.door.depart({
        ...request,
        subject: { ...request.subject, contents: () => ReadableStream.from([companion]) },
      })
    }
    await departing('gone', [])
    await departing('stuck', ['x.dev/hold'])
    await asVersion010((await records()).find(({ spec }) => spec.object.name === 'gone') as Departure)
    const left = async () => {
      const { items } = await world.client.list<DeparturePage>(departurePage.type)
      const pages = items.map(({ spec }) => `${spec.of.split('-')[1]} page`)
      const rows = (await records()).map(({ spec }) => `${spec.object.name}${spec.page ? ' page' : ''}`)
      return [...rows, ...pages].toSorted()
    }
    expect(await left()).toEqual(['gone', 'gone page', 'stuck', 'stuck page'])
    await world.pass(12 * 3_600_000)
    expect(await left()).toEqual(['stuck', 'stuck page'])
    await world.client.patch(
      configMaps,
      { namespace: 'team', name: 'stuck' },
      { type: 'merge', body: { metadata: { finalizers: null } } },
    )
    await world.pass(12 * 3_600_000)
    expect(await left()).toEqual([])
  })
})

/** Turns the pages of a record into what version 0.1.0 wrote: Departures with a label. */
async function asVersion010({ metadata: { namespace = '', name }, spec }: Departure): Promise<void> {
  const { manifest: _, ...rest } = spec
  for (let number = 1; number <= (spec.pages ?? 0); number++) {
    const place = { namespace, name: `${name}-p${number}` }
    const page = await world.client.get<DeparturePage>(departurePage.type, place)
    await world.client.deleteObject(departurePage.type, place)
    await world.create({
      apiVersion: departure.apiVersion,
      kind: departure.kind,
      metadata: { ...place, labels: { ...page.metadata.labels } },
      spec: { ...rest, page: page.spec },
    })
  }
}

/** A door of a process of its own, whose requests go another way. */
function doorOver(transport: Transport): Door {
  const client = new Client(transport)
  const { clock } = world
  const informers = new Informers({ clock, log: silentLogger })
  return new Door({
    client,
    informers,
    clock,
    events: new EventRecorder('test', { client, clock, log: silentLogger }),
    log: silentLogger,
    metrics: new Metrics(),
    provesRecords: () => Promise.resolve(true),
  })
}

describe('a door whose process is killed', () => {
  it('comes to the same end from every step, deleting once and never without a record', async () => {
    for (let steps = 0; steps < 8; steps++) {
      const object = await create(`victim-${steps}`)
      const deletes: boolean[] = []
      const seen = async (request: ApiRequest) => {
        if (request.method === 'DELETE')
          deletes.push((await records()).some(({ spec }) => spec.object.uid === object.metadata.uid))
        return world.server.transport(request)
      }
      let left = Infinity
      const dying: Transport = (request) =>
        request.path.includes('events')
          ? world.server.transport(request)
          : left-- > 0
            ? seen(request)
            : Promise.reject(new Error('killed'))
      const first = doorOver(dying)
      await world.clock.settle()
      left = steps
      await first.depart(wish(object, {}, new Client(dying))).catch(() => {})
      first.close()

      const second = doorOver(seen)
      await world.clock.settle()
      const result = await second.depart(wish(object, {}, new Client(seen)))
      second.close()
      expect(result).toEqual({ result: 'gone' })
      expect(await exists(`victim-${steps}`)).toBe(false)
      expect(deletes.filter(Boolean)).toHaveLength(deletes.length)
      expect(deletes.length).toBe(1)
      expect((await records()).filter(({ spec }) => spec.object.uid === object.metadata.uid)).toHaveLength(1)
    }
  })
})

describe('restore', () => {
  async function departWith(dependents: readonly StoredObject[], root: StoredObject): Promise<Departure> {
    const request = wish(root)
    const subject = { ...request.subject, contents: () => ReadableStream.from(dependents) }
    await world.door.depart({ ...request, subject })
    for (const dependent of dependents)
      await world.client.deleteObject(configMaps, { namespace: 'team', name: dependent.metadata.name })
    const all = await records()
    return all.find(({ spec }) => !spec.page && spec.object.uid === root.metadata.uid) as Departure
  }

  it('brings back a whole cascade, owners first, with their new uids', async () => {
    const root = await create('root')
    const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'root', uid: root.metadata.uid }
    const child = await world.create<StoredObject>({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'child', namespace: 'team', ownerReferences: [owner] },
      data: { a: 'b' },
    })
    const record = await departWith([child], root)
    expect(record.spec).toMatchObject({ takes: 1, pages: 1 })
    const { objects } = await restore(world.client, record, { now: world.clock.now() })
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['root', 'child'])
    expect(objects[1]?.metadata.ownerReferences?.[0]?.uid).toBe(objects[0]?.metadata.uid)
    expect(objects[1]?.data).toEqual({ a: 'b' })
    expect(objects[0]?.metadata.uid).not.toBe(root.metadata.uid)
  })

  it('goes on where it was killed, from every request, and makes nothing twice', async () => {
    const tree = async (name: string) => {
      const root = await create(name)
      const owner = { apiVersion: 'v1', kind: 'ConfigMap', name, uid: root.metadata.uid }
      const place = { namespace: 'team', ownerReferences: [owner] }
      const first = await create(`${name}-1`, { metadata: { ...place, name: `${name}-1` } })
      const second = await create(`${name}-2`, { metadata: { ...place, name: `${name}-2` } })
      return departWith([first, second], root)
    }
    let isWhole = false
    for (let steps = 0; !isWhole; steps++) {
      for (const isHeard of [true, false]) {
        const name = `tree-${steps}-${isHeard ? 'heard' : 'unheard'}`
        const record = await tree(name)
        const made: string[] = []
        const seen: Transport = async (request) => {
          const answer = await world.server.transport(request)
          if (request.method === 'POST' && answer.status === 201 && request.query?.['dryRun'] === undefined)
            made.push((answer.body as StoredObject).metadata.name)
          return answer
        }
        let left = steps
        const dying: Transport = async (request) => {
          if (left-- > 0) return seen(request)
          // Killed before the request goes out, or before its answer is back.
          if (left === -1 && !isHeard) await seen(request)
          throw new Error('killed')
        }
        const now = world.clock.now()
        isWhole = await restore(new Client(dying), record, { now }).then(
          () => true,
          () => false,
        )
        const again = await world.client.get<Departure>(departure.type, { namespace: 'team', ...record.metadata })
        const isDone = again.status?.phase === 'Restored'
        const rest = await restore(new Client(seen), again, { now }).catch(ignoring('AlreadyExists'))
        expect(rest === undefined).toBe(isDone)
        const names = [name, `${name}-1`, `${name}-2`]
        const objects = await Promise.all(
          names.map((each) => world.client.get<StoredObject>(configMaps, { namespace: 'team', name: each })),
        )
        if (rest) {
          const told = [...rest.already, ...rest.objects].map(({ metadata }) => metadata.name)
          expect(told.toSorted()).toEqual(names)
        }
        expect(made).toEqual([name, `${name}-1`, `${name}-2`])
        const [root, ...children] = objects
        for (const { metadata } of children)
          expect(metadata.ownerReferences?.map(({ uid }) => uid)).toEqual([root?.metadata.uid])
        const end = await world.client.get<Departure>(departure.type, { namespace: 'team', ...record.metadata })
        expect(end.status?.phase).toBe('Restored')
        await world.pass(120_000)
      }
    }
  })

  it('says how much is back when the server refuses in the middle what it would have taken before', async () => {
    const record = await departWith([await create('child')], await create('root'))
    const now = world.clock.now()
    const full = new Client(async (request) => {
      const { kind, metadata } = (request.body ?? {}) as Partial<StoredObject>
      if (kind === 'ConfigMap' && metadata?.name === 'child' && request.query?.['dryRun'] === undefined)
        throw new StatusError('Forbidden', 'exceeded quota')
      return world.server.transport(request)
    })
    await expect(restore(full, record, { now })).rejects.toThrow(
      'exceeded quota; 1 of 2 objects were restored: run the restore again to continue',
    )
    const { objects } = await restore(world.client, record, { now })
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['child'])
  })

  it('says what was restored before, and as what, and brings back what has gone again', async () => {
    const record = await departWith([await create('child')], await create('root'))
    const { objects, already } = await restore(world.client, record, { now: world.clock.now() })
    expect([objects.length, already.length]).toEqual([2, 0])
    const [root, child] = objects
    const again = () => world.client.get<Departure>(departure.type, { namespace: 'team', ...record.metadata })
    const attempt = restore(world.client, await again(), { now: world.clock.now() })
    await expect(attempt).rejects.toMatchObject({ reason: 'AlreadyExists', code: 409 })
    await expect(attempt).rejects.toThrow(
      `was restored before at ${(await again()).status?.restoredAt}, and its objects still exist: ` +
        `ConfigMap/team/root (uid ${root?.metadata.uid}); ConfigMap/team/child (uid ${child?.metadata.uid})`,
    )
    await world.client.deleteObject(configMaps, { namespace: 'team', name: 'child' })
    const rest = await restore(world.client, await again(), { now: world.clock.now() })
    expect(rest.objects.map(({ metadata }) => metadata.name)).toEqual(['child'])
    expect(rest.already.map(({ metadata }) => metadata.uid)).toEqual([root?.metadata.uid])
  })

  it('comes out whole when two ask for it at once', async () => {
    const children = await Promise.all(['a', 'b', 'c'].map((name) => create(name)))
    const record = await departWith(children, await create('root'))
    const ask = (client: Client) => restore(client, record, { now: world.clock.now() })
    // The second restore runs between the rehearsal of the first and its first object.
    let second: ReturnType<typeof ask> | undefined
    const first = new Client(async (request) => {
      if (request.method === 'POST' && request.path.endsWith('/configmaps') && !request.query?.['dryRun'])
        await (second ??= ask(world.client))
      return world.server.transport(request)
    })
    const results = [await ask(first), await second!]
    const back = results.map(({ objects, already }) => [...objects, ...already])
    for (const objects of back)
      expect(objects.map(({ metadata }) => metadata.name).toSorted()).toEqual(['a', 'b', 'c', 'root'])
    const uids = back.map((objects) => objects.map(({ metadata }) => metadata.uid).toSorted())
    expect(uids[0]).toEqual(uids[1])
  })

  it('says what still waits to leave', async () => {
    const root = await create('root', { metadata: { name: 'root', namespace: 'team', finalizers: ['x.dev/hold'] } })
    const record = await departWith([], root)
    await expect(restore(world.client, record, { now: 0 })).rejects.toThrow(
      `nothing was restored: ConfigMap/team/root is still being deleted (uid ${root.metadata.uid}, held by x.dev/hold)`,
    )
  })

  it('refuses what was brought back for another object of that name', async () => {
    const record = await departWith([], await create('root'))
    const annotations = { 'sojourn.dev/restored-from': `${record.metadata.name}/another-uid` }
    await create('root', { metadata: { name: 'root', namespace: 'team', annotations } })
    await expect(restore(world.client, record, { now: 0 })).rejects.toThrow('ConfigMap/team/root exists')
  })

  it('changes nothing when a part of it exists again', async () => {
    const root = await create('root')
    const child = await create('child')
    const record = await departWith([child], root)
    await create('child')
    await expect(restore(world.client, record, { now: 0 })).rejects.toThrow(
      'nothing was restored: ConfigMap/team/child exists',
    )
    expect(await exists('root')).toBe(false)
  })

  it('brings back what version 0.1.0 recorded, whose pages were Departures, and what was added since', async () => {
    const record = await departWith([await create('child')], await create('root'))
    await asVersion010(record)
    expect((await world.client.list(departurePage.type)).items).toEqual([])
    const late = await create('late')
    const page = await new RecordWriter({ client: world.client }).addPage(record, 2, { objects: [late] })
    await world.client.deleteObject(configMaps, { namespace: 'team', name: 'late' })
    expect(page).toBe(2)
    const { objects } = await restore(world.client, record, { now: world.clock.now() })
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['root', 'child', 'late'])
  })

  it('changes nothing when a page of it is missing', async () => {
    const record = await departWith([await create('child')], await create('root'))
    await world.client.deleteObject(departurePage.type, { namespace: 'team', name: `${record.metadata.name}-p1` })
    await expect(restore(world.client, record, { now: 0 })).rejects.toThrow(`"${record.metadata.name}-p1" not found`)
    expect(await exists('root')).toBe(false)
  })

  it('changes nothing when its namespace is gone', async () => {
    const record = await departWith([], await create('root'))
    const elsewhere = {
      ...record,
      metadata: { ...record.metadata, namespace: sojournNamespace },
      spec: {
        ...record.spec,
        manifest: { ...(record.spec.manifest as object), metadata: { name: 'root', namespace: 'nowhere' } },
      },
    } as unknown as Departure
    await expect(restore(world.client, elsewhere, { now: 0 })).rejects.toThrow(
      /nothing was restored: namespaces "nowhere" not found/,
    )
  })
})
