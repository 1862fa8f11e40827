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
import { restore } from '../../departures/restore/restore.ts'
import { configMaps } from '../../kube/core-types.ts'
import type { ObjectMeta, StoredObject } from '../../kube/object.ts'
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
  return async (work) => {
    if (!isDone) {
      isDone = true
      await meddle()
    }
    return transact(work)
  }
}

describe('many Cleaners that expire together on the embedded server', () => {
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
    await start(async (work) => {
      if (count++ < killedAt / 2) return transact(work)
      if (killedAt % 2 === 1) await transact(work)
      throw new Error('this process is dead')
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
      return planTogether({ ...world, type: cleaner.type } as never, { self: made, model: reading.model, actor })
    }
    expect([await plan(false), await plan(true)]).toEqual([expect.anything(), undefined])
  })
})
