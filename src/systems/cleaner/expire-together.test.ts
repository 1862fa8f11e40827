import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  cleanerOf,
  configMap,
  hour,
  isWrite,
  left,
  seeing,
  startCleaner,
  target,
  type CleanerProcess,
} from '../../../test/cleaners.ts'
import { startWorld, type World } from '../../../test/world.ts'
import { cleaner, type Cleaner } from '../../apis/cleaner.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { transactOn } from '../../app/core/in-process-deleter.ts'
import type { Transact } from '../../departures/door/depart-together.ts'
import { writeDoorState } from '../../departures/door/door-state.ts'
import { transactOverApi } from '../../departures/door/transact-over-api.ts'
import { readPages } from '../../departures/records/pages.ts'
import { findRecord } from '../../departures/restore/find-record.ts'
import { restore } from '../../departures/restore/restore.ts'
import { configMaps, secrets } from '../../kube/core-types.ts'
import type { ObjectMeta, StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { ApiRequest } from '../../kube/transport.ts'
import { readModel } from './decision/read-model.ts'
import { planTogether } from './expire-together.ts'

let world: World
let running: CleanerProcess | undefined
beforeEach(async () => {
  world = await startWorld()
})
afterEach(async () => {
  await running?.kill()
  running = undefined
  await world[Symbol.asyncDispose]()
})

const names = Array.from({ length: 30 }, (_, index) => `preview-${index}`)

/** Cleaners that expire in the same second, each with one ConfigMap that it evaluates and deletes. */
async function fill(given: Readonly<Record<string, ObjectMeta>> = {}, spec: object = {}): Promise<void> {
  for (const name of names) {
    await world.create(configMap(name, given[name], { go: 'yes' }))
    const reference = { version: 'v1', kind: 'configmap', name }
    const conditions = ['it.data.go == "yes"']
    await world.create(
      cleanerOf(
        { ttl: '1h', retry: { period: '1h' }, targets: [target('it', { reference })], conditions, ...spec },
        { name },
      ),
    )
  }
}

async function start(transact: Transact = transactOn(world.server), seen?: (request: ApiRequest) => void) {
  running = await startCleaner(world, { ...(seen ? seeing(seen) : {}), transact })
  await world.pass(hour + 30_000)
}

const cleaners = () => world.names(cleaner.type)
const records = async () =>
  (await world.client.list<Departure>(departure.type, { labelSelector: '!sojourn.dev/page' })).items
const patch = (name: string, body: object) =>
  world.client.patch(configMaps, { namespace: 'team', name }, { type: 'merge', body })

/** A transaction before which something else happens, once. */
function after(meddle: () => Promise<unknown>): Transact {
  const transact = transactOn(world.server)
  let isDone = false
  return {
    ...transact,
    async run(work, reads) {
      if (!isDone) {
        isDone = true
        await meddle()
      }
      return transact.run(work, reads)
    },
  }
}

describe('many Cleaners that expire together on the embedded server', () => {
  it.each([
    ['together, and come back with their data', { a: btoa('0123456789abcdef0123456789abcdef') }],
    ['not while records must keep their data and there is no key', undefined],
  ])('delete Secrets %s', async (_, data) => {
    await world[Symbol.asyncDispose]()
    world = await startWorld({ recordSecrets: true })
    const metadata = { namespace: 'sojourn-system', name: 'sojourn-record-keys' }
    if (data) await world.create({ apiVersion: 'v1', kind: 'Secret', metadata, data })
    const word = btoa('open sesame')
    for (const name of names) {
      await world.create({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace: 'team', name }, data: { word } })
      const it = target('it', { reference: { version: 'v1', kind: 'secret', name } })
      await world.create(cleanerOf({ ttl: '1h', targets: [it] }, { name }))
    }
    await start()
    const there = async () =>
      (await world.client.list<StoredObject>(secrets, { namespace: 'team' })).items.flatMap((secret) =>
        secret.data ? [(secret.data as { word: string }).word] : [],
      )
    if (!data) {
      expect(await there()).toHaveLength(30)
      return
    }
    expect(await there()).toEqual([])
    await running?.kill()
    running = undefined
    const [record, ...others] = await records()
    expect(others).toEqual([])
    await restore(world.client, record!, { now: world.clock.now() })
    expect(await there()).toEqual(names.map(() => word))
  })

  it('are deleted with their targets in one transaction, with one record that restores them', async () => {
    await fill()
    const writes: string[] = []
    await start(undefined, (request) => void (isWrite(request) && writes.push(`${request.method} ${request.path}`)))
    expect([await left(world), await cleaners()]).toEqual([[], []])
    const [record, ...others] = await records()
    expect([record?.status?.phase, record?.spec.takes, others]).toEqual(['Gone', 59, []])
    // Before they expired, each wrote its status once.
    expect(writes.filter((write) => !write.endsWith('/status'))).toEqual([])
    await running?.kill()
    running = undefined
    await restore(
      world.client,
      await world.client.get(departure.type, { namespace: 'team', name: record!.metadata.name }),
      {
        now: world.clock.now(),
      },
    )
    expect(await left(world)).toHaveLength(30)
    const { items } = await world.client.list<Cleaner>(cleaner.type)
    expect(items.map(({ spec }) => spec.suspend)).toEqual(names.map(() => true))
  })

  it.each([
    ['Cleaner', 'preview-7'],
    ['ConfigMap', 'preview-7'],
    ['Cleaner', 'preview-0'],
    ['ConfigMap', 'preview-0'],
  ])('are restored one by one: %s %s brings back the decision about it', async (kind, name) => {
    await fill()
    await start()
    await running?.kill()
    running = undefined
    const { record, decidedBy } = await findRecord(world.client, { kind, namespace: 'team', name })
    const { notes } = await restore(world.client, record, { now: world.clock.now(), decidedBy })
    expect([await left(world), await cleaners()]).toEqual([[name], [name]])
    expect(notes).toEqual([expect.stringContaining(`Cleaner/team/${name} was restored suspended`)])
    const next = await findRecord(world.client, { kind, namespace: 'team', name: 'preview-9' })
    await restore(world.client, next.record, { now: world.clock.now(), decidedBy: next.decidedBy })
    expect(await left(world)).toEqual([name, 'preview-9'])
  })

  it('keep a target that is marked to be kept, and delete the others', async () => {
    await fill({ 'preview-7': { annotations: { 'sojourn.dev/keep': 'true' } } })
    await start()
    expect(await left(world)).toEqual(['preview-7'])
  })

  it('keep a target that is marked in the very moment', async () => {
    await fill()
    await start(after(() => patch('preview-7', { metadata: { annotations: { 'sojourn.dev/keep': 'true' } } })))
    expect(await left(world)).toEqual(['preview-7'])
  })

  it('keep a target whose condition has become false in the very moment, and its Cleaner', async () => {
    await fill()
    await start(after(() => patch('preview-7', { data: { go: 'no' } })))
    expect([await left(world), await cleaners()]).toEqual([['preview-7'], ['preview-7']])
  })

  it('keep everything of a Cleaner that a user has suspended in the very moment', async () => {
    await fill()
    const place = { namespace: 'team', name: 'preview-7' }
    const body = { spec: { suspend: true } }
    await start(after(() => world.client.patch(cleaner.type, place, { type: 'merge', body })))
    expect([await left(world), await cleaners()]).toEqual([['preview-7'], ['preview-7']])
  })

  it.each(['paused', 'dryRun', 'breaker'])('delete nothing while deletions are held: %s', async (name) => {
    await writeDoorState(world.client, { [name]: 'true' })
    await fill()
    await start()
    expect([(await left(world)).length, (await cleaners()).length]).toEqual([30, 30])
  })

  it('give a target with dependents a record of its own', async () => {
    await fill()
    const owner = await world.client.get(configMaps, { namespace: 'team', name: 'preview-7' })
    const { name, uid } = owner.metadata
    await world.create(
      configMap('dependent', { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name, uid }] }),
    )
    await start()
    expect(await left(world)).toEqual(['dependent'])
    expect((await records()).map(({ spec }) => `${spec.object.kind}/${spec.object.name}`)).toEqual(
      expect.arrayContaining(['Cleaner/preview-7', 'ConfigMap/preview-7']),
    )
  })

  it('wait for a target that a finalizer holds, stage by stage', async () => {
    await fill({ 'preview-7': { finalizers: ['example.com/wait'] } })
    await start()
    expect(await left(world)).toEqual(['preview-7'])
    expect(
      (await records()).find(({ spec }) => spec.object.name === 'preview-7' && spec.object.kind === 'ConfigMap')?.status
        ?.phase,
    ).toBe('Leaving')
  })

  it.each([0, 1, 2, 3])('come to the same end when the process is killed at transaction %i', async (killedAt) => {
    await fill()
    for (const name of names) await world.create(cleanerOf({ ttl: '1h', targets: [] }, { name: `alone-${name}` }))
    const transact = transactOn(world.server)
    let count = 0
    // Even: lost on the way there; odd: committed, but the process never learns of it.
    await start({
      ...transact,
      async run(work, reads) {
        if (count++ < killedAt / 2) return transact.run(work, reads)
        if (killedAt % 2 === 1) await transact.run(work, reads)
        throw new Error('this process is dead')
      },
    })
    await running?.kill()
    await start()
    expect([await left(world), await cleaners()]).toEqual([[], []])
    const recorded = (await records()).reduce((sum, { spec }) => sum + 1 + (spec.takes ?? 0), 0)
    expect(recorded).toBe(90)
  })

  it('are not deleted together where the identity behind the Cleaner may not delete the target', async () => {
    const made = await world.create<StoredObject>(cleanerOf({ ttl: '1h', targets: [target('a')] }))
    const reading = readModel(made)
    if (!('model' in reading)) throw new Error('the spec is valid')
    const plan = (refusesDelete: boolean) => {
      const refusal = { reason: 'CreatorForbidden', message: 'no' } as const
      const refusalOf = ({ verb }: { readonly verb: string }) =>
        Promise.resolve(refusesDelete && verb === 'delete' ? refusal : undefined)
      const actor = { client: world.client, refusalOf }
      const expired = { self: made, model: reading.model, actor, isAtomic: true }
      return planTogether({ ...world, type: cleaner.type } as never, expired)
    }
    expect([await plan(false), await plan(true)]).toEqual([expect.anything(), undefined])
  })
})

describe('many Cleaners that expire together over the API', () => {
  /** Cleaners whose target they need not see to decide. */
  const unconditional = { conditions: [], retry: undefined }
  const blind = (name: string) =>
    target('it', { includeWhenEvaluating: false, reference: { version: 'v1', kind: 'configmap', name } })

  async function fillBlind(given: Readonly<Record<string, ObjectMeta>> = {}): Promise<void> {
    for (const name of names) {
      await world.create(configMap(name, given[name], { go: 'yes' }))
      await world.create(cleanerOf({ ttl: '1h', targets: [blind(name)], ...unconditional }, { name }))
    }
  }

  /** Runs a cleaner until all are due and time enough has passed; `seen` is called before each request from then on. */
  async function expire(seen: (request: ApiRequest) => void | Promise<void> = () => {}): Promise<void> {
    let isDue = false
    running = await startCleaner(
      world,
      seeing((request) => (isDue ? seen(request) : undefined)),
    )
    await world.pass(hour - 60_000)
    isDue = true
    await world.pass(150_000)
  }

  const recordedOf = async () => (await records()).filter(({ status }) => status?.phase !== 'Abandoned')

  it('take three requests for each and its target, one record, and come back', async () => {
    await fillBlind()
    const requests: string[] = []
    await expire(({ method, path }) => void requests.push(`${method} ${path}`))
    expect([await left(world), await cleaners()]).toEqual([[], []])
    // Record, page, status and Event of the slice, and what the caches ask.
    expect(requests.length).toBeLessThan(3 * names.length + 12)
    const [record, ...others] = await records()
    expect([record?.status?.phase, record?.spec.takes, others]).toEqual(['Gone', 59, []])
    await running?.kill()
    running = undefined
    await restore(world.client, record!, { now: world.clock.now() })
    expect(await left(world)).toHaveLength(30)
  })

  it('keep a target that is marked after it was judged, and its Cleaner', async () => {
    await fillBlind()
    await expire(async (request) => {
      if (request.method === 'POST' && request.path.endsWith('/departurepages'))
        await patch('preview-7', { metadata: { annotations: { 'sojourn.dev/keep': 'true' } } })
    })
    expect(await left(world)).toEqual(['preview-7'])
  })

  it('keep a Cleaner that is suspended after it was judged', async () => {
    await fillBlind()
    const place = { namespace: 'team', name: 'preview-7' }
    await expire(async (request) => {
      if (request.method === 'POST' && request.path.endsWith('/departurepages'))
        await world.client.patch(cleaner.type, place, { type: 'merge', body: { spec: { suspend: true } } })
    })
    expect(await cleaners()).toEqual(['preview-7'])
  })

  it('delete nothing together when the first of them has changed, and each on its own', async () => {
    await fillBlind()
    let isTouched = false
    await expire(async (request) => {
      if (request.method !== 'POST' || !request.path.endsWith('/departurepages') || isTouched) return
      isTouched = true
      const { of } = (request.body as { spec: { of: string } }).spec
      const name = /preview-[0-9]+/.exec(of)?.[0] ?? ''
      await patch(name, { data: { go: 'later' } })
    })
    expect([await left(world), await cleaners()]).toEqual([[], []])
    const together = (await records()).filter(({ metadata }) => metadata.name.endsWith('-together'))
    expect(together[0]?.status).toMatchObject({ phase: 'Abandoned' })
  })

  it('delete a target with a finalizer on its own', async () => {
    await fillBlind({ 'preview-7': { finalizers: ['example.com/wait'] } })
    await expire()
    expect(await left(world)).toEqual(['preview-7'])
    expect(
      (await records()).some(({ spec }) => spec.object.name === 'preview-7' && spec.object.kind === 'ConfigMap'),
    ).toBe(true)
  })

  it('delete nothing while the record is refused', async () => {
    await fillBlind()
    await expire(({ method, path }) => {
      if (method === 'POST' && path.endsWith('/departures')) throw new StatusError('Forbidden', 'exceeded quota')
    })
    expect((await left(world)).length).toBe(30)
  })

  it('are deleted stage by stage where a condition needs the target', async () => {
    await fill()
    await start(transactOverApi(world.client))
    expect([await left(world), await cleaners()]).toEqual([[], []])
    expect((await records()).length).toBe(60)
  })

  it.each([
    '/departures',
    '/departurepages',
    'the first target',
    'the first Cleaner',
    'a later target',
    'a later Cleaner',
  ])('come to the same end when the process is killed at %s, all recorded', async (where) => {
    await fillBlind()
    let isDead = false
    let first: string | undefined
    await expire((request) => {
      const { method, path } = request
      const name = method === 'DELETE' ? path.split('/').at(-1) : undefined
      first ??= name
      const isTarget = path.includes('/configmaps/')
      const hits = where.startsWith('/')
        ? method === 'POST' && path.endsWith(where)
        : name !== undefined && (name === first) === where.includes('first') && isTarget === where.endsWith('target')
      isDead ||= hits
      if (isDead) throw new Error('this process is dead')
    })
    await running?.kill()
    running = await startCleaner(world)
    await world.pass(150_000)
    expect([await left(world), await cleaners()]).toEqual([[], []])
    const recorded = new Set<string>()
    for (const record of await recordedOf()) {
      recorded.add(record.spec.object.uid)
      for await (const line of readPages(world.client, record)) recorded.add(line.uid)
    }
    expect(recorded.size).toBe(60)
  })
})
