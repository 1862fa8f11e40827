import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openMemoryStore } from '../../apiserver/store/sqlite-store.ts'
import { startWorld, type World } from '../../../test/world.ts'
import type { StoredObject } from '../../kube/object.ts'
import { VirtualClock } from '../../runtime/time/virtual-clock.ts'
import { noCollectorWarning } from './no-collector-warning.ts'

const now = Date.parse('2026-01-05T08:00:00Z')
const renewedAt = (ms: number) => new Date(now + ms).toISOString().replace('Z', '000Z')

let world: World
beforeEach(async () => {
  const clock = new VirtualClock(now)
  const store = openMemoryStore(clock)
  world = await startWorld({ server: { store, admission: [noCollectorWarning(store, clock)] } })
  const owner = await create('owner')
  await create('owned', owner)
  await create('lone')
})
afterEach(() => world[Symbol.asyncDispose]())

function create(name: string, owner?: StoredObject): Promise<StoredObject> {
  const { uid = '' } = owner?.metadata ?? {}
  const ownerReferences = owner ? [{ apiVersion: 'v1', kind: 'ConfigMap', name: owner.metadata.name, uid }] : []
  return world.create({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'team', ownerReferences } })
}

const hold = (namespace: string, name: string, renewTime: string) =>
  world.create({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace, name },
    spec: { holderIdentity: 'another', leaseDurationSeconds: 15, renewTime },
  })

/** The Warning headers that kubectl would show. */
async function warned(name: string, propagationPolicy: string): Promise<string | undefined> {
  const path = `/api/v1/namespaces/team/configmaps/${name}`
  const { headers } = await world.client.request({
    method: 'DELETE',
    path,
    query: { propagationPolicy, dryRun: 'All' },
  })
  return headers['warning']
}

describe('a deletion while no collector runs', () => {
  it.each([
    ['of an owner', 'owner', 'Background', 'its dependents are not deleted until you start one'],
    ['of an owner in the foreground', 'owner', 'Foreground', 'is not deleted until you start one'],
    ['of an object without dependents in the foreground', 'lone', 'Foreground', 'is not deleted until you start one'],
    [
      'of an owner with the policy Orphan',
      'owner',
      'Orphan',
      'its dependents keep their owner reference until you start one',
    ],
  ])('%s is answered with a warning', async (_, name, policy, text) => {
    expect(await warned(name, policy)).toContain('no collector is running: ')
    expect(await warned(name, policy)).toContain(text)
  })

  it('of an object without dependents causes no warning', async () =>
    expect(await warned('lone', 'Background')).toBeUndefined())

  it.each([
    ['sojourn-system', 'sojourn-collector', 0, false],
    ['sojourn-system', 'sojourn-cleaner-collector', 0, false],
    ['sojourn-system', 'sojourn', 0, false],
    ['kube-system', 'kube-controller-manager', 0, false],
    ['sojourn-system', 'sojourn-cleaner', 0, true],
    ['sojourn-system', 'sojourn-collector', -20_000, true],
    ['team', 'sojourn-collector', 0, true],
  ])('with the Lease %s/%s renewed %i ms from now: warned %s', async (namespace, name, ms, isWarned) => {
    await hold(namespace, name, renewedAt(ms))
    expect((await warned('owner', 'Foreground')) !== undefined).toBe(isWarned)
  })
})
