import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bond, holdFinalizer, seedFinalizer } from '../../../src/apis/bond.ts'
import { sojournNamespace } from '../../../src/apis/group.ts'
import type { StoredObject } from '../../../src/kube/object.ts'
import { ownedBy } from '../../cascades.ts'
import { lanes, LiveCascades } from './live-cascades.ts'

const rbac = 'rbac.authorization.k8s.io'

describe.each(lanes)("Krake's cases, %s", (_, options) => {
  let here: LiveCascades
  beforeAll(async () => {
    here = await LiveCascades.start(options)
  })
  afterAll(() => here[Symbol.asyncDispose]())

  it('3: a circle that closes with the last of three is told of, loses nothing, and goes with any of them', async () => {
    await here.begin()
    const up = await here.configMap('up')
    const cluster = await here.configMap('cluster', { ownerReferences: [ownedBy(up)] })
    const app = await here.configMap('app', { ownerReferences: [ownedBy(cluster)] })
    await here.configMap('bystander', { ownerReferences: [ownedBy(app)] })
    await here.change(up, { ownerReferences: [ownedBy(app)] })
    await here.rest()
    expect(await here.left()).toEqual(['app', 'bystander', 'cluster', 'up'])
    const { graph } = here.collector.world
    const owners = [up, cluster, app].map(({ metadata }) => graph.owners(graph.find(metadata.uid) ?? -1).length)
    expect(owners).toEqual([1, 1, 1])
    await here.remove(cluster)
    expect(await here.left()).toEqual([])
  })

  it('10: a dependent of two that goes by itself costs neither of them anything', async () => {
    await here.begin()
    const [one, two] = [await here.configMap('one'), await here.configMap('two')]
    const child = await here.configMap('child', { ownerReferences: [ownedBy(one), ownedBy(two)] })
    await here.rest()
    here.requests.length = 0
    await here.remove(child)
    expect([await here.left(), here.requests]).toEqual([['one', 'two'], []])
    expect(here.collector.world.graph.find(child.metadata.uid)).toBeUndefined()
  })

  it('13: what has no namespace goes as 12 says: dependents with cleanup of their own first, then what they needed', async () => {
    await here.begin()
    const role = await here.make(`${rbac}/v1`, 'ClusterRole', here.namespace)
    const bindings: StoredObject[] = []
    for (const name of [1, 2, 3].map((index) => `${here.namespace}-${index}`)) {
      const roleRef = { apiGroup: rbac, kind: 'ClusterRole', name: here.namespace }
      const metadata = { finalizers: ['x.dev/cleanup'] }
      bindings.push(await here.make(`${rbac}/v1`, 'ClusterRoleBinding', name, { metadata, roleRef } as never))
      const end = { apiVersion: `${rbac}/v1` }
      await here.make(bond.apiVersion, bond.kind, name, {
        metadata: { namespace: sojournNamespace },
        spec: {
          dependent: { ...end, kind: 'ClusterRoleBinding', name },
          dependency: { ...end, kind: 'ClusterRole', name: here.namespace },
          onDelete: 'Cascade',
        },
      })
    }
    // Across namespaces the one who is needed has to agree.
    await here.change(role, { annotations: { 'sojourn.dev/allow-bonds-from': sojournNamespace } })
    await expect
      .poll(async () => (await here.now(role))?.metadata.finalizers, { timeout: 20_000 })
      .toEqual([holdFinalizer])
    await here.rest()
    await here.ask(role)
    for (const binding of bindings) {
      await expect
        .poll(async () => (await here.now(binding))?.metadata.deletionTimestamp, { timeout: 20_000 })
        .toBeDefined()
      expect((await here.now(role))?.metadata.finalizers).toContain(seedFinalizer)
      await here.change(binding, { finalizers: null })
    }
    await expect.poll(() => here.now(role), { timeout: 20_000 }).toBeUndefined()
    expect(await Promise.all(bindings.map((binding) => here.now(binding)))).toEqual([undefined, undefined, undefined])
  }, 60_000)

  it('30: a Bond that outlives its own foreground owner’s mark keeps all its references, only that none blocks', async () => {
    await here.begin()
    const owner = await here.configMap('owner')
    const other = await here.configMap('other')
    const user = await here.configMap('user', { finalizers: ['x.dev/held'] })
    await here.configMap('used')
    const made = await here.bind('user', 'used', 'Deny')
    await here.rest()
    await here.change(made, { ownerReferences: [ownedBy(owner, { blockOwnerDeletion: true }), ownedBy(other)] })
    await here.rest()
    await here.ask(user)
    await here.ask(made)
    await expect
      .poll(async () => (await here.now(made))?.metadata.ownerReferences, { timeout: 10_000 })
      .toEqual([ownedBy(owner, { blockOwnerDeletion: false }), ownedBy(other)])
  })
})
