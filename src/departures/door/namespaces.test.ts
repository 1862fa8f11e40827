import { namespaces } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { cleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { Client } from '../../client/client.ts'
import { refOf, type KubeObject, type StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import type { DepartRequest } from './door.ts'
import { restore } from '../restore/restore.ts'
import { kubeSubject } from '../subjects/subject.ts'

let world: World
let guest: StoredObject
beforeEach(async () => {
  world = await startWorld()
  guest = await world.create<StoredObject>({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'guest' } })
})
afterEach(() => world[Symbol.asyncDispose]())

function wish(client = world.client): DepartRequest {
  const ref = { apiVersion: 'v1', kind: 'Namespace', name: 'guest' }
  const subject = kubeSubject(client, namespaces, ref)
  return { subject, uid: guest.metadata.uid, because: 'test', by: { system: 'cleaner' } }
}

function create(name: string, rest: Partial<KubeObject> = {}): Promise<StoredObject> {
  const { metadata, ...body } = rest
  return world.create({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    ...body,
    metadata: { ...metadata, name, namespace: 'guest' },
  })
}

const find = (kind: string, name: string) => world.get({ apiVersion: 'v1', kind, namespace: 'guest', name })

describe('a Namespace at the door', () => {
  it.each([
    ['a keep mark', { annotations: { 'sojourn.dev/keep': 'true' } }, 'it is marked sojourn.dev/keep'],
    ['a life without end', { labels: { expiration_time: 'never' } }, 'it is marked expiration_time: never'],
  ])('stays while something in it has %s', async (_, metadata, why) => {
    await create('plain')
    await create('precious', { metadata })
    expect(await world.door.peek(wish())).toMatchObject({ result: 'held', because: 'takes-protected' })
    expect(await world.door.depart(wish())).toEqual({
      result: 'held',
      because: 'takes-protected',
      detail: `ConfigMap/guest/precious: ${why}`,
    })
    expect(await find('ConfigMap', 'precious')).toBeDefined()
  })

  it('stays while something in it is opted out', async () => {
    await create('precious')
    await world.create({
      apiVersion: cleanupOptOut.apiVersion,
      kind: cleanupOptOut.kind,
      metadata: { name: 'spare-it' },
      spec: { resource: { kind: 'ConfigMap', namespace: 'guest', name: 'precious' }, by: 'owner' },
    })
    await world.clock.settle()
    expect(await world.door.depart(wish())).toMatchObject({ because: 'takes-protected' })
  })

  it('stays while it cannot be known what is in it', async () => {
    const secretive: Transport = async (request: ApiRequest) => {
      if (request.path.endsWith('/secrets')) throw new StatusError('Forbidden', 'secrets may not be listed')
      return world.client.request(request)
    }
    expect(await world.door.depart(wish(new Client(secretive)))).toEqual({
      result: 'held',
      because: 'protections-unknown',
      detail: 'secrets may not be listed',
    })
    expect(await world.get({ apiVersion: 'v1', kind: 'Namespace', name: 'guest' })).toBeDefined()
  })

  it('comes back with all that was in it, owners first, without the values of its Secrets', async () => {
    const owner = await create('zebra', { data: { a: 'b' } })
    await create('ant', {
      metadata: {
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'zebra', uid: owner.metadata.uid }],
      },
    })
    await create('password', { kind: 'Secret', stringData: { word: 'open sesame' } })
    expect((await world.door.depart(wish())).result).toMatch(/gone|leaving/)
    await world.clock.settle()
    expect(await find('ConfigMap', 'zebra')).toBeUndefined()

    const { items } = await world.client.list<Departure>(departure.type, { namespace: sojournNamespace })
    const record = items.find(({ spec }) => !spec.page) as Departure
    expect(record.spec.takes).toBe(3)
    expect(JSON.stringify(items)).not.toContain(Buffer.from('open sesame').toString('base64'))
    const { notes } = await restore(world.client, record, { now: world.clock.now() })
    expect(await find('ConfigMap', 'zebra')).toMatchObject({ data: { a: 'b' } })
    const uid = (await find('ConfigMap', 'zebra'))?.metadata.uid
    expect(await find('ConfigMap', 'ant')).toMatchObject({ metadata: { ownerReferences: [{ uid }] } })
    expect(notes).toEqual([expect.stringContaining('Secret/guest/password was restored without its data')])
  })

  it('comes back without the rule that took it, which would take it again', async () => {
    await create('settings')
    const rule = await create('rule')
    const request = { ...wish(), by: { system: 'cleaner' as const, object: refOf(rule) } }
    await world.door.depart(request)
    await world.clock.settle()
    const { items } = await world.client.list<Departure>(departure.type, { namespace: sojournNamespace })
    const record = items.find(({ spec }) => !spec.page) as Departure
    const { notes } = await restore(world.client, record, { now: world.clock.now() })
    expect(await find('ConfigMap', 'settings')).toBeDefined()
    expect(await find('ConfigMap', 'rule')).toBeUndefined()
    expect(notes).toEqual([expect.stringContaining('ConfigMap/guest/rule, which deleted it, was not restored')])
  })
})
