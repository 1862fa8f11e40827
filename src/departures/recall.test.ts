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

describe('recall', () => {
  it('finds what was deleted, whoever had its name before and after', async () => {
    await create('first')
    await drop()
    const second = await create('second')
    await drop()
    await create('third')
    expect(await recall(world.client, configMaps, second)).toMatchObject({
      metadata: { uid: second.metadata.uid },
      data: { word: 'second' },
    })
  })

  it('asks nothing of the server about what only its dependents name', async () => {
    const { metadata, ...rest } = await create('first')
    await drop()
    const named = { ...rest, metadata: { ...metadata, resourceVersion: '' } }
    const silent = new Client(() => Promise.reject(new Error('asked')))
    expect(await recall(silent, configMaps, named)).toBeUndefined()
  })

  it('finds nothing that the server has forgotten, that is still there, or that may not be watched', async () => {
    const forgotten = await create('first')
    await drop()
    await world.server.store.compact({ olderThanMs: -1, keep: 0 })
    const there = await create('second')
    const searched = Promise.all([forgotten, there].map((one) => recall(world.client, configMaps, one)))
    await world.pass(5000)
    expect(await searched).toEqual([undefined, undefined])
    const forbidden = new Client(() => Promise.reject(new StatusError('Forbidden', 'no')))
    expect(await recall(forbidden, configMaps, forgotten)).toBeUndefined()
  })
})
