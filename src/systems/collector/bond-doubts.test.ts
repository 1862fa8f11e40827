import { configMaps, namespaces } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Cascades } from '../../../test/cascades.ts'
import { database, TwoClusters } from '../../../test/two-clusters.ts'
import { bond, bondFinalizer, grantAnnotation, holdFinalizer } from '../../apis/bond.ts'
import { Client } from '../../client/client.ts'
import type { StoredObject } from '../../kube/object.ts'
import { bondController } from './bonds/bond-controller.ts'

let both: TwoClusters
beforeEach(async () => {
  both = await TwoClusters.start()
  both.run()
})
afterEach(() => both[Symbol.asyncDispose]())

describe('dependents stay', () => {
  it('when another cluster answers under the name of the one where it was', async () => {
    await both.bind('Cascade')
    await using other = await Cascades.start({ isRunning: false })
    const way = both.way
    both.way = other.world.client
    await both.pass(600_000)
    expect(await both.condition()).toMatchObject({ status: 'Unknown', reason: 'ClusterChanged' })
    expect(await both.near.left()).toEqual(['app'])
    both.way = way
    await both.pass()
    expect(await both.condition()).toMatchObject({ status: 'True', reason: 'Bound' })
  })

  it('when another cluster no longer serves the version by which it was found', async () => {
    const versions = (served: boolean) =>
      ['v1', 'v1beta1'].map((name) => ({
        name,
        served: name === 'v1' || served,
        storage: name === 'v1',
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      }))
    const names = { kind: 'Thing', plural: 'things', singular: 'thing', listKind: 'ThingList' }
    const { world } = both.far
    await world.create({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'things.x.dev' },
      spec: { group: 'x.dev', scope: 'Namespaced', names, versions: versions(true) },
    })
    await world.create({ apiVersion: 'x.dev/v1', kind: 'Thing', metadata: { name: 'thing', namespace: 'team' } })
    await both.bind('Cascade', { ...database, apiVersion: 'x.dev/v1beta1', kind: 'Thing', name: 'thing' })
    expect(await both.condition()).toMatchObject({ reason: 'Bound' })
    const definitions = (await world.client.discovery.find('customresourcedefinitions'))!
    const body = { spec: { versions: versions(false) } }
    await world.client.patch(definitions, { name: 'things.x.dev' }, { type: 'merge', body })
    await both.pass(300_000)
    expect(await both.condition()).toMatchObject({ status: 'Unknown', reason: 'KindNotFound' })
    expect(await both.near.left()).toEqual(['app'])
  })
})

describe('another cluster', () => {
  it('that does not answer keeps no other Bond waiting, and is said once not to', async () => {
    const { way } = both
    const { transport } = both.far.world.server
    both.way = new Client(
      (request) => (request.path.includes('configmaps') ? new Promise(() => {}) : transport(request)),
      { cluster: 'far' },
    )
    for (let index = 0; index < 20; index++) await both.bind('Hold', database, { name: `b-${index}` })
    await both.near.create('near')
    await both.near.bind('app', 'near', 'Hold')
    await both.pass(15_000)
    expect((await both.near.get('near'))?.metadata.finalizers).toEqual([holdFinalizer])
    expect(await both.condition('b-0')).toMatchObject({
      reason: 'ClusterUnreachable',
      message: 'cluster "far" cannot be reached: the server was silent for 10s',
    })
    const { resourceVersion } = (await both.near.bond('b-0'))?.metadata ?? {}
    await both.pass(600_000)
    expect((await both.near.bond('b-0'))?.metadata.resourceVersion).toBe(resourceVersion)
    both.way = way
    await both.pass(60_000)
    expect(await both.condition('b-0')).toMatchObject({ reason: 'Bound' })
  })

  it.each(['Cascade', 'Orphan', 'Hold', 'Deny'] as const)(
    'is asked little and told nothing while all is as it should be: %s',
    async (onDelete) => {
      await both.bind('Hold', database, { name: 'second' })
      await both.bind(onDelete)
      await both.pass(60_000)
      both.asked.length = 0
      const before = await both.near.bond('app-database')
      await both.pass(600_000)
      expect(await both.near.bond('app-database')).toEqual(before)
      expect(both.asked.filter(({ method }) => method !== 'GET')).toEqual([])
      expect(both.asked.length / 10).toBeLessThanOrEqual(10)
    },
  )

  it('with two names has one mark on its namespace, for both', async () => {
    await both.bind('Hold', { ...database, cluster: 'again' }, { name: 'second' })
    await both.bind('Hold')
    const { spaceGuard } = await both.marks()
    expect(spaceGuard).toBe(`team/app-database of cluster ${both.id}, team/second of cluster ${both.id}`)
    const { resourceVersion } = (await both.space()).metadata
    await both.pass(600_000)
    expect((await both.space()).metadata.resourceVersion).toBe(resourceVersion)
  })
})

describe('a circle of Holds over two clusters', () => {
  it('waits, and opens when one of them withdraws its leave', async () => {
    await using ring = await TwoClusters.start({ isRunning: false })
    const { near, far } = ring
    ring.run()
    const id = (await far.world.client.get<StoredObject>(namespaces, { name: 'kube-system' })).metadata.uid
    const body = { metadata: { annotations: { [grantAnnotation]: `${id}/team` } } }
    await near.world.client.patch(namespaces, { name: 'team' }, { type: 'merge', body })
    far.world.run(bondController({ ...far.world, clusterClient: () => near.world.client }))
    await ring.bind('Hold')
    const end = { apiVersion: 'v1', kind: 'ConfigMap' }
    await far.world.create({
      apiVersion: bond.apiVersion,
      kind: 'Bond',
      metadata: { name: 'back', namespace: 'team' },
      spec: {
        dependent: { ...end, name: 'database' },
        dependency: { ...end, cluster: 'near', namespace: 'team', name: 'app' },
        onDelete: 'Hold',
      },
    })
    await ring.pass()
    await near.remove('app')
    await far.remove('database')
    await ring.pass(600_000)
    expect([await near.left(), await far.left()]).toEqual([['app'], ['database']])
    expect((await ring.condition())?.message).toBe(
      `1 dependents must be deleted first: ConfigMap app (waits for sojourn.dev/held-from-${id})`,
    )
    await ring.give(null)
    await ring.pass()
    await ring.pass()
    expect([await near.left(), await far.left()]).toEqual([[], []])
  })
})

describe('a Bond', () => {
  const leave = async () => {
    const place = { namespace: 'team', name: 'database' }
    const body = { metadata: { finalizers: ['x.dev/stuck'] } }
    await both.far.world.client.patch(configMaps, place, { type: 'merge', body })
    await both.far.world.client.deleteObject(configMaps, place)
  }

  it.each(['Hold', 'Deny'] as const)('that came too late does not claim to hold anything: %s', async (onDelete) => {
    await leave()
    await both.bind(onDelete)
    expect(await both.condition()).toMatchObject({ status: 'False', reason: 'NotHeld' })
  })

  it.each(['Hold', 'Deny'] as const)('without leave says so while it goes, too: %s', async (onDelete) => {
    await both.give(null)
    await leave()
    await both.bind(onDelete)
    expect(await both.condition()).toMatchObject({ reason: 'BoundHere' })
  })

  it('that cannot go says until when, and what to do', async () => {
    await both.bind('Hold')
    await both.edit({ dependent: { kind: 'Nothing' } })
    await both.unbind()
    expect((await both.condition())?.message).toBe(
      `spec.dependent: no Nothing in v1 is served: the Bond stays until its marks can be removed, or until you remove its finalizer ${bondFinalizer}`,
    )
    expect((await both.near.bond('app-database'))?.metadata.finalizers).toEqual([bondFinalizer])
    const place = { namespace: 'team', name: 'app-database' }
    const body = { spec: { dependent: { kind: 'ConfigMap' } } }
    await both.near.world.client.patch(bond.type, place, { type: 'merge', body })
    await both.pass()
    expect(await both.near.bond('app-database')).toBeUndefined()
  })
})
