import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../test/world.ts'
import { Client } from '../client/client.ts'
import type { StoredObject } from '../kube/object.ts'
import { StatusError } from '../kube/status-error.ts'
import { configMaps } from './door-state.ts'
import { recall } from './recall.ts'

let world: World
beforeEach(async () => {
  world = await startWorld()
})
afterEach(() => world[Symbol.asyncDispose]())

const place = { namespace: 'team', name: 'a' }
const create = (word: string) =>
  world.create<StoredObject>({ apiVersion: 'v1', kind: 'ConfigMap', metadata: place, data: { word } })
const drop = () => world.client.deleteObject(configMaps, place)

/** What is heard of an owner that only its dependents still name. */
const heardOf = ({ metadata, ...rest }: StoredObject) => ({ ...rest, metadata: { ...metadata, resourceVersion: '' } })

describe('recall', () => {
  it.each([
    ['in the version it had', (object: StoredObject) => object],
    ['in no version', heardOf],
  ])('finds what was deleted, %s, whoever had its name before and after', async (_, known) => {
    await create('first')
    await drop()
    const second = await create('second')
    await drop()
    await create('third')
    expect(await recall(world.client, configMaps, known(second))).toMatchObject({
      metadata: { uid: second.metadata.uid },
      data: { word: 'second' },
    })
  })

  it('finds what the server still remembers, though it has forgotten what was before', async () => {
    await create('first')
    await drop()
    await world.server.store.compact({ olderThanMs: -1, keep: 0 })
    const second = await create('second')
    await drop()
    expect(await recall(world.client, configMaps, heardOf(second))).toMatchObject({ data: { word: 'second' } })
  })

  it('finds nothing that the server has forgotten, that is still there, or that may not be watched', async () => {
    const forgotten = await create('first')
    await drop()
    await world.server.store.compact({ olderThanMs: -1, keep: 0 })
    const there = await create('second')
    const searched = Promise.all(
      [forgotten, heardOf(forgotten), there].map((one) => recall(world.client, configMaps, one)),
    )
    await world.pass(5000)
    expect(await searched).toEqual([undefined, undefined, undefined])
    const forbidden = new Client(() => Promise.reject(new StatusError('Forbidden', 'no')))
    expect(await recall(forbidden, configMaps, forgotten)).toBeUndefined()
  })
})
