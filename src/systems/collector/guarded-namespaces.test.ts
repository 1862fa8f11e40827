import { namespaces } from '../../kube/core-types.ts'
import { afterEach, describe, expect, it } from 'vitest'
import { Cascades, type CascadeOptions } from '../../../test/cascades.ts'
import { bond, inUseAnnotation, inUseLabel, type BondSpec } from '../../apis/bond.ts'
import type { StoredObject } from '../../kube/object.ts'

let here: Cascades
afterEach(() => here[Symbol.asyncDispose]())

async function start(options: CascadeOptions = {}): Promise<void> {
  here = await Cascades.start(options)
  for (const name of ['user', 'a', 'b']) await here.create(name)
}

/** A Bond by which ConfigMap `user` of namespace `team` needs something that is no ConfigMap. */
function bindTo(dependency: BondSpec['dependency'], onDelete: BondSpec['onDelete']): Promise<unknown> {
  return here.world.create({
    apiVersion: bond.apiVersion,
    kind: 'Bond',
    metadata: { name: 'b', namespace: 'team' },
    spec: { dependent: { apiVersion: 'v1', kind: 'ConfigMap', name: 'user' }, dependency, onDelete },
  })
}

const grant = { 'sojourn.dev/allow-bonds-from': 'team' }
const leave = (name: string) => here.world.client.deleteObject(namespaces, { name })
const marksOf = async (name: string) => {
  const { labels, annotations } = (await here.world.client.get<StoredObject>(namespaces, { name })).metadata
  return [labels?.[inUseLabel], annotations?.[inUseAnnotation]]
}

describe('a namespace that Bonds keep', () => {
  it.each(['Deny', 'Hold'] as const)('cannot be deleted while it is itself what a Bond needs: %s', async (onDelete) => {
    await start()
    await here.world.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'platform', annotations: grant } })
    await bindTo({ apiVersion: 'v1', kind: 'Namespace', name: 'platform' }, onDelete)
    await here.world.pass(5000)
    await expect(leave('platform')).rejects.toThrow('namespaces "platform" is in use by Bond team/b')
    await here.remove('user')
    await leave('platform')
  })

  it('is not that of the Bond, where what it needs has no namespace', async () => {
    await start()
    const reader = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'reader' }
    await here.world.create({ ...reader, metadata: { name: 'reader', annotations: grant }, rules: [] })
    await bindTo(reader, 'Deny')
    await here.world.pass(5000)
    expect((await here.bond('b'))?.status).toMatchObject({ phase: 'Active', dependents: 1 })
    await leave('team')
  })

  it('is marked for the admission policy by what is denied and what is held in it, until the last of them', async () => {
    await start({ needsLabels: true })
    await here.bind('user', 'a', 'Deny')
    await here.bind('user', 'b', 'Hold')
    await here.world.pass(5000)
    expect(await marksOf('team')).toEqual(['true', 'team/user-a, team/user-b'])
    await here.world.client.deleteObject(bond.type, { namespace: 'team', name: 'user-a' })
    await here.world.pass(5000)
    expect(await marksOf('team')).toEqual(['true', 'team/user-b'])
    await here.remove('user')
    expect(await marksOf('team')).toEqual([undefined, undefined])
  })
})
