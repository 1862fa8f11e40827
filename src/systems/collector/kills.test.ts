import { configMaps } from '../../kube/core-types.ts'
import { describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { inProcessDeleter } from '../../app/core/in-process-deleter.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { Client } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import { readPages } from '../../departures/records/pages.ts'
import { restore } from '../../departures/restore/restore.ts'
import type { StoredObject } from '../../kube/object.ts'
import type { Transport } from '../../kube/transport.ts'
import { Informers } from '../../runtime/cache/informers.ts'
import { quietClock } from '../../runtime/time/quiet-clock.ts'
import type { InProcessDeleter } from './owners/dependent-deleter.ts'
import { Collector } from './controller.ts'

/** What a process may still do before it is killed, and what was seen of its deletes. */
class Life {
  readonly #world: World
  #left: number
  /** The names of what it deleted. */
  readonly deleted: string[] = []
  /** The names of what it deleted that was on no page at that moment. */
  readonly unrecorded: string[] = []

  constructor(world: World, steps: number) {
    this.#world = world
    this.#left = steps
  }

  get isOver(): boolean {
    return this.#left <= 0
  }

  readonly transport: Transport = (request) => {
    if (request.method === 'GET' || request.path.includes('/events')) {
      if (this.isOver) return Promise.reject(new TransportError('this process is dead'))
      return this.#world.server.transport(request)
    }
    const step = () => this.#world.server.transport(request)
    if (request.method !== 'DELETE') return this.#step(step)
    return this.#delete(decodeURIComponent(request.path.split('/').at(-1) ?? ''), step)
  }

  deleter(): InProcessDeleter {
    const actual = inProcessDeleter(this.#world.server)
    return {
      read: (type, object) => actual.read(type, object),
      remove: (type, object, manner) => this.#delete(object.metadata.name, () => actual.remove(type, object, manner)),
      endForeground: (type, object, others) => this.#step(() => actual.endForeground(type, object, others)),
    }
  }

  async #delete<T>(name: string, step: () => Promise<T>): Promise<T> {
    const isRecorded = (await recorded(this.#world)).has(name)
    return this.#step(() => {
      this.deleted.push(name)
      if (!isRecorded) this.unrecorded.push(name)
      return step()
    })
  }

  /** The last step is done, and its answer not heard. */
  async #step<T>(step: () => Promise<T>): Promise<T> {
    if (this.isOver) throw new TransportError('this process is dead')
    this.#left--
    const answer = await step()
    if (this.isOver) throw new TransportError('killed')
    return answer
  }
}

/** A collector as a process of its own, until it is buried. */
function run(world: World, life: Life, isInServer: boolean): () => Promise<void> {
  const { clock, ports, door, events } = world
  const client = new Client(life.transport)
  const informers = new Informers({ clock: quietClock(clock), log: ports.log })
  const collector = new Collector({
    client,
    informers,
    door,
    events,
    ports,
    ownsReferences: true,
    exists: (uid) => world.server.store.owners.addressOf(uid) !== undefined,
    batchSize: 3,
    ...(isInServer ? { inProcessDeleter: life.deleter() } : {}),
  })
  const stop = new AbortController()
  const running = collector.start(stop.signal)
  return async () => {
    stop.abort()
    await Promise.allSettled([running])
    informers.close()
  }
}

/** A root with three dependents that have two each, and their names; finalizers hold the last of the three, if they are given. */
async function plant(world: World, finalizers: readonly string[] = []): Promise<readonly string[]> {
  const names: string[] = []
  const create = async (name: string, owner?: StoredObject) => {
    const reference = owner && {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: owner.metadata.name,
      uid: owner.metadata.uid,
    }
    if (owner) names.push(name)
    const held = name === 'c' ? { finalizers } : {}
    const metadata = { name, namespace: 'team', ...held, ...(reference ? { ownerReferences: [reference] } : {}) }
    return world.create<StoredObject>({ apiVersion: 'v1', kind: 'ConfigMap', metadata })
  }
  const root = await create('root')
  for (const branch of ['a', 'b', 'c']) {
    const owner = await create(branch, root)
    for (const leaf of ['1', '2']) await create(`${branch}${leaf}`, owner)
  }
  return names.toSorted()
}

async function records(world: World): Promise<readonly Departure[]> {
  const selection = { namespace: 'team', labelSelector: '!sojourn.dev/page' }
  return (await world.client.list<Departure>(departure.type, selection)).items
}

/** The names of all that records tell of. */
async function recorded(world: World): Promise<ReadonlySet<string>> {
  const names = new Set<string>()
  for (const record of await records(world))
    for await (const { manifest } of readPages(world.client, record)) names.add(manifest.metadata.name ?? '')
  return names
}

async function left(world: World): Promise<readonly string[]> {
  return (await world.names(configMaps)).filter((name) => name !== 'kube-root-ca.crt')
}

describe.each([
  ['over the API', false],
  ['in the server', true],
])('a collector that is killed, %s', (_, isInServer) => {
  it('102: is followed by one that comes to the same end, whatever step was its last, deleting once and nothing unrecorded', async () => {
    let isWhole = false
    let steps = 0
    while (!isWhole) {
      steps++
      await using world = await startWorld()
      const names = await plant(world)
      const first = new Life(world, steps)
      const bury = run(world, first, isInServer)
      await world.clock.settle()
      await world.client.deleteObject(configMaps, { namespace: 'team', name: 'root' })
      await world.pass(1000)
      await bury()
      isWhole = !first.isOver

      const second = new Life(world, Infinity)
      const stop = run(world, second, isInServer)
      await world.pass(60_000)
      await stop()
      expect(await left(world), `killed after step ${steps}`).toEqual([])
      expect([...first.unrecorded, ...second.unrecorded]).toEqual([])
      expect([...first.deleted, ...second.deleted].toSorted()).toEqual(names)
      expect([...(await recorded(world))].toSorted()).toEqual(names)

      const [record, ...others] = await records(world)
      expect(others, `killed after step ${steps}`).toEqual([])
      if (record) await restore(world.client, record, { now: world.clock.now() })
      expect(await left(world)).toEqual([...names, 'root'])
    }
    // Nine deletes, and at least three pages and their mention on the record that the server made.
    expect(steps).toBeGreaterThan(9 + 3 * 2)
  }, 60_000)

  it('is followed by one that writes on in the one record, though an owner in between waited for its finalizer meanwhile', async () => {
    await using world = await startWorld()
    const names = await plant(world, ['x.dev/held'])
    const bury = run(world, new Life(world, Infinity), isInServer)
    await world.clock.settle()
    await world.client.deleteObject(configMaps, { namespace: 'team', name: 'root' })
    await world.pass(1000)
    await bury()
    expect(await left(world)).toEqual(['c', 'c1', 'c2'])
    const body = { metadata: { finalizers: null } }
    await world.client.patch(configMaps, { namespace: 'team', name: 'c' }, { type: 'merge', body })
    const stop = run(world, new Life(world, Infinity), isInServer)
    await world.pass(60_000)
    await stop()

    expect(await left(world)).toEqual([])
    const [record, ...others] = await records(world)
    expect([record?.spec.object.name, others]).toEqual(['root', []])
    expect([...(await recorded(world))].toSorted()).toEqual(names)
  })
})
