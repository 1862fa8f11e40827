import { customResourceDefinitions } from '../../kube/core-types.ts'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { Cascades, ownedBy } from '../../../test/cascades.ts'
import { Client } from '../../client/client.ts'
import { RecordWriter } from '../../departures/records/record-writer.ts'
import { restore } from '../../departures/restore/restore.ts'
import type { StoredObject } from '../../kube/object.ts'

const name = 'guests.example.com'

let here: Cascades
beforeEach(async () => {
  const beforeEmptying = (leaving: StoredObject) => {
    const { server, clock } = here.world
    return new RecordWriter({ client: new Client(server.transport) }).recordWithContents(leaving, clock.now())
  }
  here = await Cascades.start({ server: { beforeEmptying } })
})
afterEach(() => here[Symbol.asyncDispose]())

it('a definition comes back with its objects and what those owned, by one restore', async () => {
  const { world } = here
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  const spec = {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Guest', plural: 'guests' },
    versions: [{ name: 'v1', served: true, storage: true, schema }],
  }
  await world.create({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: customResourceDefinitions.kind,
    metadata: { name },
    spec,
  })
  await world.pass(5000)
  const guest = { apiVersion: 'example.com/v1', kind: 'Guest', name: 'ann', namespace: 'team' }
  const { apiVersion, kind, ...metadata } = guest
  const ann = await world.create<StoredObject>({ apiVersion, kind, metadata })
  const luggage = await here.create('luggage', [ownedBy(ann)])
  await here.create('tag', [ownedBy(luggage)])
  await world.pass(5000)
  await world.client.deleteObject(customResourceDefinitions, { name })
  await vi.waitFor(
    async () => {
      await world.pass(5000)
      expect(await here.left()).toEqual([])
      expect((await world.names(customResourceDefinitions)).includes(name)).toBe(false)
    },
    { timeout: 20_000, interval: 10 },
  )

  const record = (await here.records()).find(({ spec: { object } }) => object.name === name)
  const { notes } = await restore(world.client, record!, { now: world.clock.now() })
  await world.pass(60_000)
  expect(notes).toEqual([])
  expect(await here.left()).toEqual(['luggage', 'tag'])
  const uid = (await world.get(guest))?.metadata.uid
  expect((await here.get('luggage'))?.metadata.ownerReferences).toMatchObject([{ name: 'ann', uid }])
  expect((await here.records()).map(({ status }) => status?.phase)).toEqual(['Restored', 'Restored'])
})
