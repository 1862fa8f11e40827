import { configMaps } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { Client } from '../../client/client.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import type { Transport } from '../../kube/transport.ts'
import { Informers } from '../../runtime/cache/informers.ts'
import { doorStateOf, writeDoorState } from './door-state.ts'
import { Door, type DepartRequest } from './door.ts'
import { removeOwn } from '../subjects/own-machinery.ts'
import { recordsOnly } from '../records/record.ts'
import { restore } from '../restore/restore.ts'
import { nextStep } from '../records/settle-controller.ts'
import { kubeSubject } from '../subjects/subject.ts'

let world: World
beforeEach(async () => {
  world = await startWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

const create = (name: string, rest: Partial<KubeObject> = {}) =>
  world.create<StoredObject>({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team' }, ...rest })
const find = (name: string) => world.get({ apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name })
const patch = (name: string, body: object) =>
  world.client.patch<StoredObject>(configMaps, { namespace: 'team', name }, { type: 'merge', body })
const records = async () => (await world.client.list<Departure>(departure.type, { namespace: 'team' })).items

function wish({ metadata }: StoredObject, given: Partial<DepartRequest> = {}): DepartRequest {
  const ref = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'team', name: metadata.name }
  const subject = kubeSubject(world.client, configMaps, ref)
  return { subject, uid: metadata.uid, because: 'test', by: { system: 'cleaner' }, ...given }
}

/** A request whose object another client changes just before it is deleted. */
function overtaken(request: DepartRequest, meanwhile: () => Promise<unknown>): DepartRequest {
  const { subject } = request
  return {
    ...request,
    subject: { ...subject, remove: async (removal) => (await meanwhile(), subject.remove(removal)) },
  }
}

describe('a careful door', () => {
  it('keeps what was marked to be kept after it was judged', async () => {
    const judged = await create('a')
    await patch('a', { metadata: { labels: { 'sojourn.dev/keep': 'true' } } })
    expect(await world.door.depart(wish(judged))).toMatchObject({ result: 'refused', because: 'keep-mark' })
    expect(await find('a')).toBeDefined()
  })

  it('keeps an object that is recreated just before its deletion', async () => {
    const judged = await create('a')
    const request = overtaken(wish(judged), async () => {
      await world.client.deleteObject(configMaps, { namespace: 'team', name: 'a' })
      await create('a')
    })
    expect(await world.door.depart(request)).toEqual({ result: 'stale' })
    expect((await find('a'))?.metadata.uid).not.toBe(judged.metadata.uid)
  })

  it('deletes an object that was kept before, on the same record, as it is then', async () => {
    const judged = await create('a')
    await world.door.depart(overtaken(wish(judged), () => patch('a', { data: { now: 'this' } })))
    expect((await records()).map(({ status }) => status?.phase)).toEqual(['Abandoned'])
    expect(await world.door.depart(wish(judged))).toEqual({ result: 'gone' })
    expect((await records()).map(({ status, spec }) => [status?.phase, spec.manifest])).toEqual([
      ['Gone', expect.objectContaining({ data: { now: 'this' } })],
    ])
  })

  it('records an object as it is when it is deleted, though a try that was killed had recorded it before', async () => {
    const judged = await create('a')
    const killed = wish(judged)
    const dying = { ...killed, subject: { ...killed.subject, remove: () => Promise.reject(new Error('killed')) } }
    await expect(world.door.depart(dying)).rejects.toThrow('killed')
    await patch('a', { data: { now: 'this' } })
    expect(await world.door.depart(wish(judged))).toEqual({ result: 'gone' })
    expect((await records()).map(({ status, spec }) => [status?.phase, spec.manifest])).toEqual([
      ['Gone', expect.objectContaining({ data: { now: 'this' } })],
    ])
  })

  it('deletes no more than the budget allows, however many requests come at once', async () => {
    await world[Symbol.asyncDispose]()
    world = await startWorld({ door: { limits: { freeOfPercent: 3, maxPercentOfKind: 20 } } })
    const objects = await Promise.all(Array.from({ length: 20 }, (_, index) => create(`a${index}`)))
    const results = await Promise.all(objects.map((object) => world.door.depart(wish(object))))
    // With the cluster's own there are 26: a fifth.
    expect(results.filter(({ result }) => result === 'gone')).toHaveLength(5)
  })

  it('deletes nothing where dry run is configured', async () => {
    await world[Symbol.asyncDispose]()
    world = await startWorld({ door: { dryRun: true } })
    const object = await create('a')
    expect(await world.door.depart(wish(object))).toEqual({
      result: 'held',
      because: 'dry-run',
      detail: 'Sojourn runs with --dry-run',
    })
    expect(world.door.reasonToKeep(object)).toBe('dry-run')
    expect([await records(), await find('a')]).toEqual([[], expect.anything()])
  })

  it('keeps dependents while paused, in a dry run, with an open breaker, or without its caches', async () => {
    const object = await create('a')
    expect(world.door.reasonToKeep(object)).toBeUndefined()
    for (const [name, because, value] of [
      ['paused', 'paused', 'true'],
      ['dryRun', 'dry-run', 'true'],
      ['breaker', 'breaker-open', 'open'],
    ] as const) {
      await writeDoorState(world.client, { [name]: value })
      await world.clock.settle()
      expect(world.door.reasonToKeep(object)).toBe(because)
      await writeDoorState(world.client, { [name]: null })
      await world.clock.settle()
    }
    const { clock, events, metrics, ports } = world
    for (const unread of ['/cleanupoptouts', '/bonds', '/configmaps']) {
      const transport: Transport = (request) =>
        request.path.endsWith(unread) ? Promise.reject(new Error('no')) : world.server.transport(request)
      using informers = new Informers({ clock, log: ports.log })
      const blind = new Door({
        client: new Client(transport),
        informers,
        clock,
        events,
        metrics,
        log: ports.log,
        provesRecords: () => Promise.resolve(true),
      })
      await world.clock.settle()
      expect(blind.reasonToKeep(object)).toBe('protections-unknown')
    }
  })

  it('knows when only marks can keep an object, so that a preview checks nothing else', async () => {
    const spares = async () => (await world.clock.settle(), world.door.hasOnlyOwnMarks)
    expect(await spares()).toBe(true)
    for (const name of ['paused', 'dryRun', 'breaker']) {
      await writeDoorState(world.client, { [name]: 'true' })
      expect(await spares()).toBe(false)
      await writeDoorState(world.client, { [name]: null })
    }
    const { clock, events, metrics, ports } = world
    for (const unread of ['/cleanupoptouts', '/bonds', '/configmaps', '']) {
      const transport: Transport = (request) =>
        unread && request.path.endsWith(unread) ? Promise.reject(new Error('no')) : world.server.transport(request)
      using informers = new Informers({ clock, log: ports.log })
      const door = new Door({
        client: new Client(transport),
        informers,
        clock,
        events,
        metrics,
        log: ports.log,
        provesRecords: () => Promise.resolve(true),
      })
      await world.clock.settle()
      expect(door.hasOnlyOwnMarks, unread).toBe(unread === '')
    }
    const end = { apiVersion: 'v1', kind: 'ConfigMap', name: 'a' }
    const metadata = { name: 'x', namespace: 'team' }
    const spec = { dependent: end, dependency: { ...end, name: 'b' }, onDelete: 'Deny' }
    const others = [
      { apiVersion: 'sojourn.dev/v1alpha1', kind: 'Bond', metadata, spec },
      { apiVersion: 'sojourn.dev/v1alpha1', kind: 'CleanupOptOut', metadata: { name: 'x' }, spec: { resource: end } },
    ]
    for (const other of others) {
      const made = await world.create<StoredObject>(other)
      expect(await spares(), other.kind).toBe(false)
      const type = await world.client.discovery.typeOf(other)
      await world.client.deleteObject(type!, { name: 'x', ...(made.metadata.namespace ? { namespace: 'team' } : {}) })
      expect(await spares(), other.kind).toBe(true)
    }
  })

  it('reads a switch with an unknown value as its safe side', () => {
    const data = { breaker: 'ajar', paused: 'perhaps', dryRun: '' }
    const state = doorStateOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: {}, data })
    expect(state).toMatchObject({ breaker: 'open', paused: true, dryRun: true })
    expect(doorStateOf(undefined)).toEqual({ breaker: 'closed', paused: false, dryRun: false, circuits: {} })
  })
})

describe('what we remove of our own', () => {
  it('refuses to delete what is not our own', async () => {
    await expect(removeOwn(world.client, configMaps, await create('a'))).rejects.toThrow('delete it with Door.depart')
    expect(await find('a')).toBeDefined()
  })

  it('keeps what was recreated under the name of our own', async () => {
    const metadata = { name: 'a', namespace: 'team', labels: { 'app.kubernetes.io/part-of': 'sojourn' } }
    const ours = await create('a', { metadata })
    await world.client.deleteObject(configMaps, { namespace: 'team', name: 'a' })
    await create('a', { metadata })
    await removeOwn(world.client, configMaps, ours)
    expect(await find('a')).toBeDefined()
  })
})

describe('records', () => {
  it('keeps a record that is still open, however old', () => {
    const spec = { recordedAt: '2026-01-01T00:00:00Z' } as Departure['spec']
    const now = Date.parse('2027-01-01T00:00:00Z')
    expect(nextStep({ spec, status: { phase: 'Leaving' } }, { now, keepMs: 1000 })).toEqual({ do: 'look' })
    expect(nextStep({ spec, status: { phase: 'Gone' } }, { now, keepMs: 1000 })).toEqual({ do: 'prune' })
  })

  it('are kept in memory without their manifests and pages, once for all who look at them', async () => {
    const request = wish(await create('a', { data: { much: 'text' } }))
    const companion = await create('b')
    const subject = { ...request.subject, contents: () => ReadableStream.from([companion]) }
    await world.door.depart({ ...request, subject })
    using watched = world.informers.open<Departure>(world.client, departure.type, recordsOnly)
    await world.clock.settle()
    expect(watched.list().map(({ spec, status }) => [spec.object.name, spec.manifest, status?.phase])).toEqual([
      ['a', undefined, 'Gone'],
    ])
    using again = world.informers.open<Departure>(world.client, departure.type, recordsOnly)
    expect(again.list()[0]).toBe(watched.list()[0])
    using whole = world.informers.open<Departure>(world.client, departure.type)
    await whole.whenSynced()
    expect(whole.list().map(({ spec }) => Boolean(spec.manifest))).toEqual([true])
  })

  it.each([
    ['a page', { page: { of: 'root', number: 1, manifests: '' } }, 'it is a page of root: restore that one'],
    [
      'what left another cluster',
      { object: { cluster: 'far' } },
      'it left cluster "far": say by --into-context which of yours that is',
    ],
    ['nothing', { manifest: undefined }, 'the record holds no manifest'],
  ])('refuses a page, a record of another cluster and one without manifests: %s', async (_, change, message) => {
    await world.door.depart(wish(await create('a')))
    const [record] = (await records()) as [Departure]
    const object = { ...record.spec.object, ...('object' in change ? change.object : {}) }
    const spec = { ...record.spec, ...change, object } as Departure['spec']
    const attempt = restore(world.client, { ...record, spec }, { now: 0 })
    await expect(attempt).rejects.toThrow(message.replace(/^it is/, `${record.metadata.name} is`))
    expect(await find('a')).toBeUndefined()
  })
})
