import { clusterRoleBindings, configMaps, namespaces } from '../../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../../test/world.ts'
import type { Bond } from '../../../apis/bond.ts'
import { bond } from '../../../apis/bond.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { grantAnnotation } from '../../../apis/bond.ts'
import { bondController } from './bond-controller.ts'

let world: World

beforeEach(async () => {
  world = await startWorld()
  await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform' } })
  world.run(bondController({ ...world }))
})
afterEach(() => world[Symbol.asyncDispose]())

const create = (name: string, namespace: string) =>
  world.create<StoredObject>({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels: { app: name } },
  })

function bind(onDelete: 'Cascade' | 'Orphan' | 'Hold' | 'Deny', given: object = {}): Promise<Bond> {
  const end = { apiVersion: 'v1', kind: 'ConfigMap' }
  return world.create<Bond>({
    apiVersion: bond.apiVersion,
    kind: 'Bond',
    metadata: { name: 'b', namespace: 'team' },
    spec: {
      dependent: { ...end, name: 'app' },
      dependency: { ...end, namespace: 'platform', name: 'database' },
      onDelete,
      ...given,
    },
  })
}

const grant = () =>
  world.client.patch(
    namespaces,
    { name: 'platform' },
    { type: 'merge', body: { metadata: { annotations: { [grantAnnotation]: 'team' } } } },
  )
const find = (namespace: string, name: string) =>
  world.get<StoredObject>({ apiVersion: 'v1', kind: 'ConfigMap', namespace, name })
const theBond = () => world.get<Bond>({ apiVersion: bond.apiVersion, kind: 'Bond', namespace: 'team', name: 'b' })

async function remove(name: string, namespace: string): Promise<void> {
  await world.client.deleteObject(configMaps, { namespace, name })
  await world.pass(20_000)
}

describe('a Bond', () => {
  it('deletes no dependent that the user who wrote it may no longer delete', async () => {
    await grant()
    await create('database', 'platform')
    await create('app', 'team')
    await bind('Cascade', {})
    const annotations = { 'sojourn.dev/creator': 'jo', 'sojourn.dev/creator-groups': '' }
    const creator = { metadata: { annotations } }
    await world.client.patch(bond.type, { namespace: 'team', name: 'b' }, { type: 'merge', body: creator })
    await world.pass(1000)
    await remove('database', 'platform')
    expect(await find('team', 'app')).toBeDefined()
    expect(await find('platform', 'database')).toBeDefined()
    await world.client.create(clusterRoleBindings, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'jo' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jo' }],
    })
    await world.pass(70_000)
    expect(await find('team', 'app')).toBeUndefined()
    expect(await find('platform', 'database')).toBeUndefined()
  })

  it('takes its dependent along when what it needs goes, dependents first', async () => {
    await grant()
    await create('database', 'platform')
    await create('app', 'team')
    await bind('Cascade')
    await world.pass(5000)
    expect((await theBond())?.status).toMatchObject({ phase: 'Active', dependents: 1 })
    expect((await find('platform', 'database'))?.metadata.finalizers).toEqual(['sojourn.dev/cascade-deletion'])
    await remove('database', 'platform')
    expect([await find('team', 'app'), await find('platform', 'database')]).toEqual([undefined, undefined])
  })

  it('gains no power over another namespace without its leave, but still follows', async () => {
    await create('database', 'platform')
    await create('app', 'team')
    await bind('Cascade')
    await world.pass(5000)
    expect((await find('platform', 'database'))?.metadata.finalizers).toBeUndefined()
    await remove('database', 'platform')
    expect(await find('team', 'app')).toBeUndefined()
  })

  it('holds nothing without permission', async () => {
    await create('database', 'platform')
    await create('app', 'team')
    await bind('Hold')
    await world.pass(5000)
    expect((await theBond())?.status?.conditions?.[0]).toMatchObject({ status: 'False', reason: 'NotGranted' })
    await remove('database', 'platform')
    expect(await find('platform', 'database')).toBeUndefined()
    expect(await find('team', 'app')).toBeDefined()
  })

  it('makes what is needed wait for those who need it', async () => {
    await grant()
    await create('database', 'platform')
    await create('app', 'team')
    await bind('Hold')
    await world.pass(5000)
    await remove('database', 'platform')
    expect((await find('platform', 'database'))?.metadata.deletionTimestamp).toBeDefined()
    expect(await find('team', 'app')).toBeDefined()
    await remove('app', 'team')
    expect(await find('platform', 'database')).toBeUndefined()
  })

  it('keeps every system of ours from deleting what it denies', async () => {
    await grant()
    const database = await create('database', 'platform')
    await create('app', 'team')
    await bind('Deny', { reason: 'the app writes to it' })
    await world.pass(5000)
    expect(world.door.reasonToKeep({ ...database, apiVersion: 'v1', kind: 'ConfigMap' })).toBe('bond-denies')
  })

  it('leaves its dependent alone with Orphan', async () => {
    await grant()
    await create('database', 'platform')
    await create('app', 'team')
    await bind('Orphan')
    await world.pass(5000)
    await remove('database', 'platform')
    expect(await find('platform', 'database')).toBeUndefined()
    expect(await find('team', 'app')).toBeDefined()
  })

  it('waits for what has never been seen, and follows only the very one it was bound to', async () => {
    await create('app', 'team')
    await bind('Cascade')
    await world.pass(5000)
    expect((await theBond())?.status).toMatchObject({ phase: 'Pending' })
    expect(await find('team', 'app')).toBeDefined()
    await create('database', 'platform')
    await world.pass(5000)
    expect((await theBond())?.status?.phase).toBe('Active')
    await world.client.deleteObject(configMaps, { namespace: 'platform', name: 'database' })
    await create('database', 'platform')
    await world.pass(20_000)
    expect(await find('team', 'app')).toBeUndefined()
  })

  it.each([
    [
      'a kind that is not served',
      { dependency: { apiVersion: 'example.com/v1', kind: 'Thing', name: 'x' } },
      'KindNotFound',
    ],
    [
      'a cluster that is not there',
      { dependency: { cluster: 'far', apiVersion: 'v1', kind: 'ConfigMap', name: 'x' } },
      'ClusterUnreachable',
    ],
    ['neither name nor selector', { dependent: { apiVersion: 'v1', kind: 'ConfigMap' } }, 'InvalidSpec'],
  ])('says so and does nothing when it speaks of %s', async (_, spec, reason) => {
    await create('app', 'team')
    await bind('Cascade', spec)
    await world.pass(60_000)
    expect((await theBond())?.status?.conditions?.[0]).toMatchObject({ status: 'False', reason })
    expect(await find('team', 'app')).toBeDefined()
  })
})
