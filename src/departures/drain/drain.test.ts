import { configMaps } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { bondFinalizer, holdFinalizer, inUseAnnotation, inUseLabel, seedFinalizer } from '../../apis/bond.ts'
import { Client } from '../../client/client.ts'
import type { ObjectMeta, StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { Transport } from '../../kube/transport.ts'
import { isOurFinalizer, releaseAll, runningSystems, surveyHeld } from './drain.ts'

let world: World
beforeEach(async () => void (world = await startWorld()))
afterEach(() => world[Symbol.asyncDispose]())

const create = (name: string, metadata: ObjectMeta) =>
  world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team', ...metadata } })
const read = (name: string) => world.client.get<StoredObject>(configMaps, { namespace: 'team', name })

/** The server, with something happening just before the first request of a method. */
function interrupted(method: string, by: () => Promise<unknown>): Client {
  let isDone = false
  const transport: Transport = async (request) => {
    if (request.method === method && !isDone) {
      isDone = true
      await by()
    }
    return world.server.transport(request)
  }
  return new Client(transport)
}

describe('a drain', () => {
  it.each([
    holdFinalizer,
    seedFinalizer,
    bondFinalizer,
    'sojourn.dev/opt-out-mirror',
    'sojourn.dev/promotions',
    'cleaner.vtex.dev/target-finalizer',
    'cleaner.vtex.io/event-finalizer',
  ])('knows %s for ours', (name) => expect(isOurFinalizer(name)).toBe(true))

  it.each(['foregroundDeletion', 'orphan', 'kubernetes.io/pvc-protection', 'x.dev/sojourn.dev', 'my-sojourn.dev/x'])(
    'leaves %s alone',
    (name) => expect(isOurFinalizer(name)).toBe(false),
  )

  it('takes off what is ours and nothing that another client put on the object meanwhile', async () => {
    await create('a', {
      finalizers: ['x.dev/one', holdFinalizer],
      labels: { [inUseLabel]: 'true', app: 'a' },
      annotations: { [inUseAnnotation]: 'team/b' },
    })
    const { held } = await surveyHeld(world.client)
    const client = interrupted('PATCH', () =>
      world.client.patch(
        configMaps,
        { namespace: 'team', name: 'a' },
        { type: 'merge', body: { metadata: { finalizers: ['x.dev/one', holdFinalizer, 'x.dev/two'] } } },
      ),
    )
    expect([...(await releaseAll(client, held))]).toEqual([])
    const { metadata } = await read('a')
    expect(metadata.finalizers).toEqual(['x.dev/one', 'x.dev/two'])
    expect([metadata.labels, metadata.annotations]).toEqual([{ app: 'a' }, undefined])
  })

  it('keeps what was recreated under the same name', async () => {
    await create('a', { finalizers: [holdFinalizer] })
    const { held } = await surveyHeld(world.client)
    const client = interrupted('PATCH', async () => {
      await world.client.patch(
        configMaps,
        { namespace: 'team', name: 'a' },
        { type: 'merge', body: { metadata: { finalizers: null } } },
      )
      await world.client.deleteObject(configMaps, { namespace: 'team', name: 'a' })
      await create('a', { finalizers: [holdFinalizer] })
    })
    expect([...(await releaseAll(client, held))]).toEqual([])
    expect((await read('a')).metadata.finalizers).toEqual([holdFinalizer])
  })

  it('says what it could not look at, and what it could not let go', async () => {
    await create('a', { finalizers: [holdFinalizer] })
    const refusing = (test: (method: string, path: string) => boolean) =>
      new Client(async (request) => {
        if (test(request.method, request.path)) throw new StatusError('Forbidden', 'not yours')
        return world.server.transport(request)
      })
    const { unread, held } = await surveyHeld(refusing((_, path) => path.endsWith('/secrets')))
    expect(unread).toEqual(['secrets: not yours'])
    const failed = await releaseAll(
      refusing((method) => method === 'PATCH'),
      held,
    )
    expect([...failed].map(([{ kind, metadata }, why]) => [kind, metadata.name, why])).toEqual([
      ['ConfigMap', 'a', 'not yours'],
    ])
  })

  it('tells what is deleted the moment it is released', async () => {
    await create('ours', { finalizers: [holdFinalizer] })
    await create('shared', { finalizers: [holdFinalizer, 'x.dev/one'] })
    await create('stays', { finalizers: [holdFinalizer] })
    for (const name of ['ours', 'shared']) await world.client.deleteObject(configMaps, { namespace: 'team', name })
    const { held } = await surveyHeld(world.client)
    expect(held.map(({ object, goes }) => [object.metadata.name, goes])).toEqual([
      ['ours', true],
      ['shared', false],
      ['stays', false],
    ])
  })

  it('knows who of us runs by the Leases they hold', async () => {
    const lease = (name: string, holderIdentity: string, ageMs: number) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'sojourn-system', name },
      spec: {
        holderIdentity,
        leaseDurationSeconds: 15,
        renewTime: `${new Date(world.clock.now() - ageMs).toISOString().slice(0, -1)}000Z`,
      },
    })
    await world.create(lease('sojourn-collector', 'pod-1', 5000))
    await world.create(lease('sojourn-cleaner', 'pod-2', 16_000))
    await world.create(lease('sojourn-janitor', '', 1000))
    expect(await runningSystems(world.client, world.clock.now())).toEqual(['sojourn-collector (pod-1)'])
  })

  it('does not treat unreadable Leases as absent', async () => {
    const client = new Client(async (request) => {
      if (request.path.endsWith('/leases')) throw new StatusError('Forbidden', 'not yours')
      return world.server.transport(request)
    })
    await expect(runningSystems(client, world.clock.now())).rejects.toThrow('not yours')
  })
})
