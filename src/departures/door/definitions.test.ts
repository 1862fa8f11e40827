import { customResourceDefinitions } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { Client } from '../../client/client.ts'
import type { ObjectMeta, StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { DepartRequest } from './door.ts'
import { kubeSubject } from '../subjects/subject.ts'

let world: World
let definition: StoredObject
beforeEach(async () => {
  world = await startWorld()
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
  definition = await world.create<StoredObject>({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'guests.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { kind: 'Guest', plural: 'guests' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  })
  await world.clock.settle()
})
afterEach(() => world[Symbol.asyncDispose]())

function wish(client = world.client): DepartRequest {
  const ref = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', name: 'guests.example.com' }
  const subject = kubeSubject(client, customResourceDefinitions, ref)
  return { subject, uid: definition.metadata.uid, because: 'test', by: { system: 'cleaner' } }
}

const create = (name: string, metadata: ObjectMeta = {}) =>
  world.create({ apiVersion: 'example.com/v1', kind: 'Guest', metadata: { name, namespace: 'team', ...metadata } })
const isThere = async () =>
  (await world.client.list(customResourceDefinitions)).items.some(
    ({ metadata }) => metadata.name === 'guests.example.com',
  )

describe('a definition at the door', () => {
  it('stays while an object of its kind is marked to be kept, and leaves with the others', async () => {
    await create('plain')
    await create('precious', { annotations: { 'sojourn.dev/keep': 'true' } })
    expect(await world.door.depart(wish())).toEqual({
      result: 'held',
      because: 'takes-protected',
      detail: 'Guest/team/precious: it is marked sojourn.dev/keep',
    })
    expect(await isThere()).toBe(true)
    const type = await world.client.discovery.typeOf({ apiVersion: 'example.com/v1', kind: 'Guest' })
    await world.client.deleteObject(type!, { namespace: 'team', name: 'precious' })
    await world.door.depart(wish())
    await world.clock.settle()
    expect(await isThere()).toBe(false)
  })

  it('stays while its instances cannot be listed', async () => {
    const blind = new Client((request) =>
      request.path.endsWith('/guests')
        ? Promise.reject(new StatusError('Forbidden', 'not allowed'))
        : world.server.transport(request),
    )
    expect(await world.door.depart(wish(blind))).toMatchObject({ result: 'held', because: 'protections-unknown' })
    expect(await isThere()).toBe(true)
  })
})
