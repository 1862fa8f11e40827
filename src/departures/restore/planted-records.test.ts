import { configMaps } from '../../kube/core-types.ts'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startWorld, type World } from '../../../test/world.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { type KubeObject, type ObjectMeta, type StoredObject, placeOf } from '../../kube/object.ts'
import { recordName } from '../records/record.ts'
import { restore } from './restore.ts'

let world: World
beforeEach(async () => {
  world = await startWorld()
  await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'stranger' } })
})
afterEach(() => world[Symbol.asyncDispose]())

const map = (name: string, namespace = 'team'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
})
/** What who writes it may not make themselves. */
const binding: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRoleBinding',
  metadata: { name: 'planted' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'stranger' }],
}

/** A record that a user writes. */
function plant(
  metadata: ObjectMeta,
  manifest: KubeObject,
  { uid = 'u', ...spec }: Record<string, unknown> = {},
): Promise<Departure> {
  const { name = '', namespace } = manifest.metadata
  const place = placeOf({ name, namespace })
  const object = { apiVersion: manifest.apiVersion, kind: manifest.kind, ...place, uid, resourceVersion: '1' }
  const told = { because: 'test', by: { system: 'user' }, recordedAt: '2026-01-05T08:00:00Z' }
  const { apiVersion, kind } = departure
  return world.create({ apiVersion, kind, metadata, spec: { object, ...told, manifest, ...spec } })
}

const bringBack = (record: Departure) => restore(world.client, record, { now: world.clock.now() })
const planted = () => world.get({ ...binding, name: 'planted' })

describe('a record in a namespace', () => {
  it.each([
    ['of what has no namespace', binding, {}],
    ['of another one', map('a', 'team'), {}],
    ['of another cluster', map('a', 'stranger'), { cluster: 'leaf' }],
  ])('brings back nothing %s', async (_, manifest, where) => {
    const { apiVersion, kind, metadata } = manifest
    const object = { apiVersion, kind, name: metadata.name, uid: 'u', resourceVersion: '1', ...where }
    const record = await plant({ name: 'x', namespace: 'stranger' }, manifest, { object })
    const into = 'cluster' in where ? world.client : undefined
    await expect(restore(world.client, record, { now: 0, into })).rejects.toThrow('may not restore')
    expect([await planted(), await world.get({ ...map('a'), name: 'a', namespace: 'team' })]).toEqual([
      undefined,
      undefined,
    ])
  })

  it('restores nothing of another one by a page that a user added', async () => {
    const record = await plant({ name: 'x', namespace: 'stranger' }, map('a', 'stranger'))
    const manifests = gzipSync(JSON.stringify({ uid: 'v', manifest: binding })).toString('base64')
    await plant({ name: 'x-p1', namespace: 'stranger' }, map('a', 'stranger'), {
      page: { of: 'x', number: 1, manifests },
    })
    await expect(bringBack(record)).rejects.toThrow('may not restore ClusterRoleBinding/planted')
    expect(await planted()).toBeUndefined()
  })

  it('adds nothing of another one to a restore that it claims to have followed', async () => {
    const record = await plant({ name: 'x', namespace: 'team' }, map('a'))
    const labels = { 'sojourn.dev/follows': 'u' }
    await plant({ name: 'y', namespace: 'stranger', labels }, binding)
    await plant({ name: 'z', namespace: 'stranger', labels }, map('b', 'stranger'), { uid: 'v' })
    // Nor does it come in the place of something else.
    await plant({ name: 'zz', namespace: 'stranger', labels }, map('c', 'stranger'))
    const { objects } = await bringBack(record)
    expect(objects.map(({ metadata }) => metadata.name)).toEqual(['a', 'b'])
    expect(await planted()).toBeUndefined()
  })

  it('does not stand for what left another one, nor hide the record of that', async () => {
    const root = await plant({ name: 'x', namespace: 'team' }, map('a'))
    const owned: StoredObject = {
      ...map('b'),
      metadata: { name: 'b', namespace: 'team', uid: 'v', resourceVersion: '1', creationTimestamp: '' },
    }
    const manifests = gzipSync(JSON.stringify({ uid: 'v', manifest: map('b') })).toString('base64')
    await plant({ name: 'x-p1', namespace: 'team' }, map('a'), { page: { of: 'x', number: 1, manifests } })
    // What b took along is on a record of its own; another namespace has one by that name, too.
    const name = recordName('', owned)
    await plant({ name, namespace: 'team' }, map('b'), { uid: 'v', pages: 1 })
    const lines = [map('c')].map((manifest) => JSON.stringify({ uid: 'w', manifest })).join('\n')
    const page = { of: name, number: 1, manifests: gzipSync(lines).toString('base64') }
    await plant({ name: `${name}-p1`, namespace: 'team' }, map('b'), { page })
    await world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'zoo' } })
    await plant({ name, namespace: 'zoo' }, map('d', 'zoo'), { uid: 'x' })
    await bringBack(root)
    expect(await world.names(configMaps)).toEqual(expect.arrayContaining(['a', 'b', 'c']))
    expect(await world.names(configMaps)).not.toContain('d')
  })
})

it('a record in our own namespace may be of anything', async () => {
  await bringBack(await plant({ name: 'x', namespace: sojournNamespace }, binding))
  expect(await planted()).toBeDefined()
})
