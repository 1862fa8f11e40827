import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  cleanerOf,
  configMap,
  hour,
  left,
  minute,
  readyOf,
  releaseHolder,
  selected,
  self,
  startCleaner,
  target,
  type CleanerProcess,
} from '../../../test/cleaners.ts'
import { startWorld, type World } from '../../../test/world.ts'
import type { Cleaner } from '../../apis/cleaner.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { writeDoorState } from '../../departures/door/door-state.ts'
import { events } from '../../kube/core-types.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { formatTime } from '../../kube/time.ts'

let world: World
let running: CleanerProcess

beforeEach(async () => {
  world = await startWorld()
  running = await startCleaner(world)
})
afterEach(async () => {
  await running.kill()
  await world[Symbol.asyncDispose]()
})

const next = async () => (await world.get<Cleaner>(self))?.status?.nextScheduledEvaluation
const at = (ms: number) => formatTime(world.clock.now() + ms)

it('works under Sojourn’s own name as under the inherited ones', async () => {
  await world.create(configMap('a'))
  const own = { ...self, apiVersion: 'sojourn.dev/v1alpha1' }
  const { spec, metadata } = cleanerOf({ ttl: '1h', targets: [target('a')] })
  await world.create({ apiVersion: own.apiVersion, kind: own.kind, metadata, spec } as KubeObject)
  await world.pass(minute)
  expect(await readyOf(world, own)).toMatchObject({ status: 'True', reason: 'NotExpired' })
  await world.pass(hour)
  expect(await world.get(own)).toBeUndefined()
  expect(await left(world)).toEqual([])
})

describe('the next evaluation', () => {
  it.each([
    ['a time that cannot be found', { period: '90s', monotonic: true }, 'string(time) == a.metadata.name'],
    ['nothing that time can change', { period: '90s' }, 'a.metadata.name == "b"'],
    ['nothing that time can change, which is said to be monotonic', { period: '90s', monotonic: true }, 'false'],
  ])('is there while a Cleaner waits for %s, and is honoured', async (_, retry, condition) => {
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '0s', retry, targets: [target('a')], conditions: [condition] }))
    await world.pass(1000)
    const first = await next()
    expect(Date.parse(first ?? '') - world.clock.now()).toBeLessThanOrEqual(90_000)
    await world.pass(2 * minute)
    expect(Date.parse((await next()) ?? '')).toBeGreaterThan(Date.parse(first ?? ''))
    expect(Date.parse((await next()) ?? '')).toBeGreaterThan(world.clock.now())
  })

  it('is there while the safeguards hold it, and a change that does not help writes nothing', async () => {
    await writeDoorState(world.client, { paused: 'true' })
    await world.create(configMap('a'))
    await world.create(cleanerOf({ ttl: '0s', targets: [target('a')] }))
    await world.pass(2000)
    expect(await readyOf(world)).toMatchObject({ status: 'True', reason: 'Held' })
    const before = await world.get<StoredObject>(self)
    expect(await next()).toBeDefined()
    await writeDoorState(world.client, { paused: 'true', note: 'again' } as never)
    await world.pass(minute)
    expect((await world.get<StoredObject>(self))?.metadata.resourceVersion).toBe(before?.metadata.resourceVersion)
    await world.pass(2 * hour)
    expect(Date.parse((await next()) ?? '')).toBeGreaterThan(world.clock.now())
  })

  it('is that of the seed when a time can be found', async () => {
    await world.create(cleanerOf({ ttl: '1h' }))
    await world.pass(1000)
    expect(await next()).toBe(at(hour - 1000))
  })
})

describe('at the end, what was not found', () => {
  const widget = { name: 'w', delete: true, reference: { apiVersion: 'example.org/v1', kind: 'Widget', name: 'a' } }

  it.each([
    ['a mistyped kind', { targets: [widget] }, 'target w: the cluster serves no Widget in example.org/v1'],
    [
      'a mistyped name',
      { targets: [target('shpo', { includeWhenEvaluating: false })] },
      'target shpo: no configmap named shpo',
    ],
    [
      'a selector without objects',
      { targets: [selected('some', { app: 'x' })] },
      'target some: no configmap is selected',
    ],
    ['an absent release', { helm: { release: 'web', delete: true } }, 'release web: it is not installed'],
  ])('is named by record and Event: %s', async (_, spec, expected) => {
    await world.create(configMap('a'))
    const here = target('a', { includeWhenEvaluating: false })
    await world.create(
      cleanerOf({ ttl: '0s', ...spec, targets: [here, ...((spec as { targets?: [] }).targets ?? [])] }),
    )
    await world.pass(minute)
    expect(await left(world)).toEqual([])
    const { items } = await world.client.list<Departure>(departure.type, { namespace: 'team' })
    const record = items.find((each) => each.spec.object.kind === 'Cleaner')
    expect(record?.spec.note).toBe(`found 1 object and 0 releases to delete; not found: ${expected}`)
    const { items: told } = await world.client.list<StoredObject & { reason: string; message: string }>(events)
    expect(told.find(({ reason }) => reason === 'TargetNotFound')?.message).toContain(expected)
  })

  it('is nothing when all was found', async () => {
    await world.create(configMap('a'))
    await world.create(releaseHolder({ name: 'web', objects: [configMap('b')] }))
    await world.create(cleanerOf({ ttl: '0s', targets: [target('a')], helm: { release: 'web', delete: true } }))
    await world.pass(minute)
    const { items } = await world.client.list<Departure>(departure.type, { namespace: 'team' })
    expect(items.find((each) => each.spec.object.kind === 'Cleaner')?.spec.note).toBe(
      'found 1 object and 1 release to delete',
    )
  })

  it('is refused in advance where it can be: helm.delete without a release', async () => {
    await world.create(cleanerOf({ ttl: '0s', helm: { delete: true } }))
    await world.pass(1000)
    expect(await readyOf(world)).toMatchObject({
      reason: 'InvalidSpec',
      message: expect.stringContaining('spec.helm.release'),
    })
  })
})

describe('a condition', () => {
  it.each([
    ['is false', 'true && some.items.all(x, x.metadata.name == "a")', 'spec.conditions[0] is false at 1:27, item 1'],
    ['fails', 'some.items.all(x, x.data.k == "v")', 'spec.conditions[0]: at 1:19, item 0: no such key: data'],
  ])('that %s says where and for which item', async (_, condition, message) => {
    await world.create(configMap('a', { labels: { app: 'x' } }))
    await world.create(configMap('b', { labels: { app: 'x' } }))
    await world.create(cleanerOf({ ttl: '0s', targets: [selected('some', { app: 'x' })], conditions: [condition] }))
    await world.pass(1000)
    expect((await readyOf(world))?.message).toContain(message)
  })

  it('that reads a hidden target is told which field is missing', async () => {
    const hidden = target('a', { includeWhenEvaluating: false })
    await world.create(cleanerOf({ ttl: '0s', targets: [hidden], conditions: ['a.data.x == "y"'] }))
    await world.pass(1000)
    expect((await readyOf(world))?.message).toContain('set its includeWhenEvaluating to true')
  })
})
