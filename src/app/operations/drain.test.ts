import { configMaps, deployments, endpointSlices, events, leases, namespaces, services } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { Client } from '../../client/client.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../kube/object.ts'
import { StatusError } from '../../kube/status-error.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'
import { singleReplica } from '../../systems/activator/replicas/peers.ts'
import { drain, type Drained } from './drain.ts'

const namespace = 'default'

let server: TestServer
let client: Client
let clock: ReturnType<typeof fastClock>
let cluster: FakeCluster

beforeEach(async () => {
  clock = fastClock(40)
  server = await startTestServer({ clock: clock as never })
  client = new Client(server.transport)
  cluster = await startFakeCluster(server.transport)
})
afterEach(async () => {
  await cluster[Symbol.asyncDispose]()
  await server.close()
})

const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}
const replicas = async (name: string) => ((await cluster.deployment(name)).spec as { replicas: number }).replicas
const names = async (type: ResourceType) =>
  (await client.list(type, { namespace })).items.map(({ metadata }) => metadata.name)
const rows = ({ items }: Drained) =>
  items.map(({ object, becomes, replicas: to, outcome }) =>
    [`${object.kind} ${object.metadata.name}`, becomes, ...(to === undefined ? [] : [to]), outcome].join(' '),
  )
const conditions = (object: StoredObject) => (object.status as { conditions?: unknown[] }).conditions ?? []
const written = async () =>
  Promise.all(
    [services, deployments, endpointSlices].map(async (type) =>
      (await client.list(type, { namespace })).items.map(({ metadata }) => metadata.resourceVersion),
    ),
  )

/** Has an activator run until all that is to sleep does, and stops it. */
async function activatorWasHere(isDone: () => Promise<boolean>): Promise<void> {
  const peers = singleReplica(['10.9.0.1'])
  await using replica = await startReplica(server.transport, { clock, peers, companionPort: 7080 })
  await until(isDone)
  await replica.stop()
}

/** One of three that sleeps, one that is awake, and one that was never more than nothing. */
async function threeApps(): Promise<void> {
  await cluster.addApp('shop', { 'proxless/ttl-seconds': '5' }, 3)
  await cluster.addApp('web', { 'sojourn.dev/sleep': 'never' }, 2)
  await cluster.addApp('new', {}, 0)
  await activatorWasHere(async () => {
    const objects = await Promise.all(['shop', 'web', 'new'].map((name) => cluster.deployment(name)))
    const isMarked = objects.every(({ metadata }) => metadata.labels?.['proxless'] === 'true')
    const told = await Promise.all(['shop', 'web', 'new'].map((name) => cluster.service(name)))
    return (
      isMarked &&
      (await replicas('shop')) === 0 &&
      told.every((service) => conditions(service).length > 0) &&
      (await names(endpointSlices)).filter((name) => name.endsWith('-proxless')).length === 3
    )
  })
}

const everything = [
  'EndpointSlice new-proxless goes',
  'EndpointSlice shop-proxless goes',
  'EndpointSlice web-proxless goes',
  'Service new-proxless goes',
  'Service shop-proxless goes',
  'Service web-proxless goes',
  'Deployment new stays-asleep',
  'Deployment shop wakes 3',
  'Deployment web stays',
  'Service new stays',
  'Service shop stays',
  'Service web stays',
]

describe('draining a cluster in which an activator was', () => {
  it('gives replicas back, removes companions and takes every mark off', async () => {
    await threeApps()
    const before = await written()
    expect(rows(await drain(client, { dryRun: true, clock }))).toEqual(everything.map((row) => `${row} planned`))
    expect(await written()).toEqual(before)

    const drained = await drain(client, { dryRun: false, clock })
    expect(drained.problems).toEqual([])
    expect(rows(drained)).toEqual(everything.map((row) => `${row} done`))
    expect([await replicas('shop'), await replicas('web'), await replicas('new')]).toEqual([3, 2, 0])
    expect((await names(services)).filter((name) => name !== 'kubernetes')).toEqual(['new', 'shop', 'web'])
    expect(await names(endpointSlices)).toEqual(['new-1', 'shop-1', 'web-1'])
    for (const name of ['new', 'shop', 'web']) {
      const { metadata } = await cluster.deployment(name)
      expect([metadata.labels, metadata.annotations]).toEqual([undefined, undefined])
      expect(conditions(await cluster.service(name))).toEqual([])
    }
    const recorded = (await client.list(events, { namespace })).items as unknown as Record<string, unknown>[]
    expect(recorded).toEqual([
      expect.objectContaining({
        reason: 'Woken',
        involvedObject: expect.objectContaining({ kind: 'Deployment', name: 'shop' }),
        message: 'Scaled to 3, as before it slept: no activator will wake it any more.',
      }),
    ])
    expect(rows(await drain(client, { dryRun: false, clock }))).toEqual([])
  })

  it('leaves what sleeps, with all it takes to wake it later, when told to', async () => {
    await threeApps()
    const drained = await drain(client, { dryRun: false, keepAsleep: true, clock })
    expect(drained.problems).toEqual([])
    expect(rows(drained)).toContain('Deployment shop stays-asleep done')
    expect(await replicas('shop')).toBe(0)
    const later = await drain(client, { dryRun: false, clock })
    expect(rows(later)).toEqual(['Deployment shop wakes 3 done'])
    expect(await replicas('shop')).toBe(3)
  })

  it('gives back what slept down to a minimum, and keeps the replicas of a workload that was scaled since', async () => {
    await cluster.addApp('shop', { 'proxless/ttl-seconds': '5', 'sojourn.dev/min-replicas': '1' }, 3)
    await cluster.addApp('web', { 'proxless/ttl-seconds': '5' }, 3)
    await activatorWasHere(async () => (await replicas('shop')) === 1 && (await replicas('web')) === 0)
    const body = { spec: { replicas: 2 } }
    await client.patch(deployments, { namespace, name: 'web' }, { type: 'merge', body })
    await drain(client, { dryRun: false, clock })
    expect([await replicas('shop'), await replicas('web')]).toEqual([3, 2])
  })

  it('says which could not be, does all others, and leaves what only looks like ours', async () => {
    await threeApps()
    const own = { metadata: { name: 'their-proxless', namespace }, spec: { ports: [{ port: 80 }] } }
    await client.create(services, { apiVersion: 'v1', kind: 'Service', ...own } as KubeObject)
    const refusing = new Client(async (request) => {
      if (request.method === 'PATCH' && request.path.endsWith('/deployments/shop'))
        throw new StatusError('Forbidden', 'not yours')
      return server.transport(request)
    })
    const drained = await drain(refusing, { dryRun: false, clock })
    expect(drained.problems).toEqual(['could not be released: Deployment/default/shop: not yours'])
    expect(rows(drained)).toEqual(
      everything.map((row) => `${row} ${row.startsWith('Deployment shop') ? 'failed' : 'done'}`),
    )
    expect(await replicas('shop')).toBe(0)
    expect(await names(services)).toContain('their-proxless')
  })

  it('leaves marks of others alone and changes nothing while an activator leads, when only for the activator', async () => {
    await threeApps()
    const finalizers = ['sojourn.dev/cascade-deletion']
    await client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'held', namespace, finalizers },
    })
    await client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'sojourn-system' } })
    const lease = (name: string, holderIdentity: string, ageMs: number) => ({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace: 'sojourn-system', name },
      spec: { holderIdentity, leaseDurationSeconds: 15, renewTime: new Date(clock.now() - ageMs).toISOString() },
    })
    const only = { dryRun: false, clock, activator: {} } as const
    // A leader does not renew its own Lease, but the one of its seat. A proxy that has a seat may go on.
    await client.create(leases, lease('activator-slot-0', 'pod-1', 3_600_000))
    await client.create(leases, lease('activator-member-0', 'pod-1', 0))
    await client.create(leases, lease('activator-member-1', 'proxy-1', -3_600_000))
    const before = await written()
    expect((await drain(client, only)).running).toEqual(['activator-member-0 (pod-1)'])
    expect(await written()).toEqual(before)
    const released = { type: 'merge', body: { spec: { holderIdentity: '' } } } as const
    await client.patch(leases, { namespace: 'sojourn-system', name: 'activator-slot-0' }, released)
    const drained = await drain(client, only)
    expect([drained.running, drained.problems]).toEqual([[], []])
    expect(rows(drained)).toEqual(everything.map((row) => `${row} done`))
    expect(await replicas('shop')).toBe(3)
    expect((await client.get<StoredObject>(configMaps, { namespace, name: 'held' })).metadata.finalizers).toEqual(
      finalizers,
    )
  })

  it('finds out that an activator without a Lease still runs', async () => {
    await cluster.addApp('web', {}, 1)
    await using replica = await startReplica(server.transport, { clock })
    await until(async () => (await cluster.deployment('web')).metadata.labels?.['proxless'] === 'true')
    const { problems } = await drain(client, { dryRun: false, clock })
    expect(problems).toEqual([expect.stringMatching(/^held again: Deployment\/default\/web.*Sojourn is still running/)])
    await replica.stop()
  })
})
