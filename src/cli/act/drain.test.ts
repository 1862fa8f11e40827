import { configMaps, endpointSlices, events, leases, services } from '../../kube/core-types.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { runCommand } from '../../../test/command.ts'
import { bond, bondFinalizer, holdFinalizer, seedFinalizer } from '../../apis/bond.ts'
import { readConfig } from '../../app/config/config.ts'
import { drain as drainCluster } from '../../app/operations/drain.ts'
import { startUp, type Up } from '../../app/embedded/up.ts'
import { Client } from '../../client/client.ts'
import { loadKubeconfig } from '../../client/kubeconfig.ts'
import { networkTransport } from '../../client/network-transport.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { systemClock, type Clock } from '../../runtime/time/clock.ts'
import { silentLogger } from '../../runtime/observability/log.ts'

const wait = { timeout: 10_000, interval: 20 }

let directory: string
let up: Up
let client: Client
let closeNetwork: () => void

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'drain-'))
  await start('api,collector')
})
afterEach(async () => {
  await stop()
  rmSync(directory, { recursive: true })
})

async function start(only: string): Promise<void> {
  const flags = { data: join(directory, 'data'), port: '0', only, durable: false }
  up = await startUp(readConfig({ flags, env: {} }), silentLogger)
  const network = networkTransport(loadKubeconfig([up.kubeconfig], { now: () => Date.now(), env: {} }), {})
  client = new Client(network.transport)
  closeNetwork = () => network.close()
}

async function stop(): Promise<void> {
  closeNetwork()
  await up.stop()
}

const sojourn = (...words: readonly string[]) => runCommand(up.kubeconfig, ...words)

function create(name: string, metadata: KubeObject['metadata'] = {}): Promise<StoredObject> {
  const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', ...metadata } }
  return client.create(configMaps, object)
}

function bind(dependent: string, dependency: string, onDelete: string): Promise<unknown> {
  const end = { apiVersion: 'v1', kind: 'ConfigMap' }
  return client.create(bond.type, {
    apiVersion: bond.apiVersion,
    kind: 'Bond',
    metadata: { name: `${dependent}-${dependency}`, namespace: 'default' },
    spec: { dependent: { ...end, name: dependent }, dependency: { ...end, name: dependency }, onDelete },
  })
}

/** Every finalizer in the namespace. */
async function finalizers(): Promise<readonly string[]> {
  const lists = await Promise.all([configMaps, bond.type].map((type) => client.list(type, { namespace: 'default' })))
  return lists.flatMap(({ items }) => items.flatMap(({ metadata }) => metadata.finalizers ?? []))
}

const names = async () =>
  (await client.list(configMaps, { namespace: 'default' })).items
    .map(({ metadata }) => metadata.name)
    .filter((name) => name !== 'kube-root-ca.crt')

/** A cascade that cannot end: a foreign finalizer keeps the dependent, and so Sojourn's finalizer keeps its dependency. */
async function cascadeInFlight(): Promise<void> {
  await create('app', { finalizers: ['x.dev/busy'] })
  await create('database')
  await create('quiet')
  await create('idle')
  await bind('app', 'database', 'Cascade')
  await bind('quiet', 'idle', 'Hold')
  await vi.waitFor(
    async () => expect((await finalizers()).filter((one) => one === holdFinalizer)).toHaveLength(2),
    wait,
  )
  await client.deleteObject(configMaps, { namespace: 'default', name: 'database' })
  await vi.waitFor(async () => {
    const app = await client.get<StoredObject>(configMaps, { namespace: 'default', name: 'app' })
    expect(app.metadata.deletionTimestamp).toBeDefined()
  }, wait)
  expect(new Set(await finalizers())).toEqual(new Set(['x.dev/busy', holdFinalizer, seedFinalizer, bondFinalizer]))
}

/** A Service as a takeover leaves it when all proxies are killed, with or without a pod behind it. */
async function takenOver(name: string, pod?: string): Promise<void> {
  const selector = { app: name }
  const { metadata } = await client.create<StoredObject>(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name,
      namespace: 'default',
      annotations: { 'sojourn.dev/takeover': 'true', 'sojourn.dev/selector': `app=${name}` },
    },
    spec: { ports: [{ name: 'http', port: 80 }] },
  })
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Service', name, uid: metadata.uid }]
  const labels = { 'app.kubernetes.io/part-of': 'sojourn' }
  await client.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: `${name}-sojourn-pods`, namespace: 'default', labels, ownerReferences },
    spec: { clusterIP: 'None', selector, ports: [{ name: 'http', port: 80 }] },
  })
  await writeSlice(`${name}-sojourn`, name, { manager: 'sojourn', address: '10.9.0.1', labels, ownerReferences })
  if (pod) await writeSlice(`${name}-sojourn-pods-x`, `${name}-sojourn-pods`, { manager: kube, address: pod })
  const type = 'sojourn.dev/TakenOver'
  const status = { conditions: [{ type, status: 'True', reason: 'InFront', message: 'Its callers come through.' }] }
  await client.patch(
    services,
    { namespace: 'default', name },
    { type: 'merge', body: { status } },
    { subresource: 'status' },
  )
}

const kube = 'endpointslice-controller.k8s.io'

async function writeSlice(
  name: string,
  service: string,
  { manager, address, labels, ...metadata }: KubeObject['metadata'] & { manager: string; address: string },
): Promise<void> {
  const own = { 'kubernetes.io/service-name': service, 'endpointslice.kubernetes.io/managed-by': manager }
  await client.create(endpointSlices, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name, namespace: 'default', labels: { ...labels, ...own }, ...metadata },
    addressType: 'IPv4',
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  })
}

/** Every Service and EndpointSlice, in the version it has. */
async function network(): Promise<readonly string[]> {
  const lists = await Promise.all([services, endpointSlices].map((type) => client.list(type, { namespace: 'default' })))
  return lists.flatMap(({ items }) =>
    items
      .filter(({ metadata }) => metadata.name !== 'kubernetes')
      .map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`),
  )
}
const conditionTypes = (status: unknown) =>
  ((status as { conditions?: { type: string }[] }).conditions ?? []).map(({ type }) => type)
const eventsOf = async (name: string) =>
  (
    (await client.list(events, { namespace: 'default' })).items as unknown as {
      involvedObject: { name: string }
      reason: string
      message: string
    }[]
  ).filter(({ involvedObject }) => involvedObject.name === name)
const networkNames = async () => (await network()).map((each) => each.split(' ')[0])

describe('sojourn drain', () => {
  it('123: removes every finalizer of Sojourn, with cascades in flight, and no other finalizer', async () => {
    await cascadeInFlight()
    await stop()
    await start('api')
    expect(await sojourn('drain', '--yes')).toMatchObject({ code: 0, out: expect.stringContaining('Held: 4') })
    expect(await finalizers()).toEqual(['x.dev/busy'])
    // Objects whose deletion waited for Sojourn are deleted; those that wait for other finalizers still wait.
    expect(await names()).toEqual(['app', 'idle', 'quiet'])
    expect(await sojourn('drain', '--yes')).toMatchObject({
      code: 0,
      out: 'Nothing to drain: Sojourn holds no objects.\n',
    })
  })

  it('shows what it would do, and does it only with --yes', async () => {
    await cascadeInFlight()
    await stop()
    await start('api')
    const before = await finalizers()
    const looked = await sojourn('drain', '--dry-run')
    expect(looked.code).toBe(0)
    expect(looked.out).toMatch(/ConfigMap\/default\/database +\S*cascade\S*, cascade_deletion +will be deleted/)
    expect(looked.out).toMatch(/ConfigMap\/default\/idle +sojourn.dev\/cascade-deletion +kept, released/)
    expect(await sojourn('drain')).toMatchObject({ code: 2, err: expect.stringContaining('add --yes') })
    expect(await sojourn('drain', '--yes', '--dry-run')).toMatchObject({ code: 2 })
    expect(await finalizers()).toEqual(before)
    const data = JSON.parse((await sojourn('drain', '--dry-run', '-o', 'json')).out) as { items: unknown[] }
    expect(data.items).toContainEqual({
      kind: 'ConfigMap',
      namespace: 'default',
      name: 'database',
      heldBy: [holdFinalizer, seedFinalizer],
      becomes: 'goes',
      outcome: 'planned',
    })
  })

  it('reports when a running Sojourn holds objects again', async () => {
    await create('quiet')
    await create('idle')
    await bind('quiet', 'idle', 'Hold')
    await vi.waitFor(async () => expect(await finalizers()).toContain(holdFinalizer), wait)
    expect(await sojourn('drain', '--yes')).toMatchObject({
      code: 1,
      err: expect.stringContaining('Sojourn is still running somewhere: stop it and drain again'),
    })
  })

  it('releases taken-over Services, only with --yes', async () => {
    await takenOver('asleep')
    await takenOver('shop', '10.1.2.3')
    const { status: atFirst } = await client.get(services, { namespace: 'default', name: 'shop' })
    expect(conditionTypes(atFirst)).toEqual(['sojourn.dev/TakenOver'])
    const before = await network()
    const looked = await sojourn('drain', '--dry-run')
    expect(looked.code).toBe(0)
    expect(looked.out).toMatch(/Service\/default\/asleep +takeover +will be released/)
    expect(looked.out).toMatch(/Service\/default\/shop +takeover +will be released/)
    expect(looked.out).toContain('released: 2')
    expect(await sojourn('drain')).toMatchObject({ code: 2, err: expect.stringContaining('add --yes') })
    const data = JSON.parse((await sojourn('drain', '--dry-run', '-o', 'json')).out) as { items: unknown[] }
    const given = { heldBy: ['takeover'], becomes: 'given-back', outcome: 'planned' }
    expect(data.items).toContainEqual({ kind: 'Service', namespace: 'default', name: 'shop', ...given })
    expect(await network()).toEqual(before)

    const drained = sojourn('drain', '--yes')
    const shop = { namespace: 'default', name: 'shop' }
    await vi.waitFor(
      async () => expect((await client.get(services, shop)).spec).toMatchObject({ selector: { app: 'shop' } }),
      wait,
    )
    // Until Kubernetes lists its pods again, callers are led to them all the same.
    expect(await networkNames()).toContain('shop-sojourn-to-x')
    expect(await networkNames()).not.toContain('shop-sojourn')
    await writeSlice('shop-kube', 'shop', { manager: kube, address: '10.1.2.3' })
    expect(await drained).toMatchObject({ code: 0, out: expect.stringMatching(/default\/shop +takeover +released/) })
    // The slice of the Service that listed the pods is for Kubernetes to remove.
    expect(await networkNames()).toEqual(['asleep', 'shop', 'shop-kube', 'shop-sojourn-pods-x'])
    for (const name of ['asleep', 'shop']) {
      const { metadata, spec, status } = await client.get<StoredObject>(services, { namespace: 'default', name })
      expect(spec).toMatchObject({ selector: { app: name } })
      expect(metadata.annotations).toEqual({ 'sojourn.dev/takeover': 'true' })
      expect(conditionTypes(status)).toEqual([])
    }
    expect((await eventsOf('shop')).map(({ reason }) => reason)).toEqual(['GivenBack'])
    expect(await sojourn('drain', '--yes')).toMatchObject({
      code: 0,
      out: 'Nothing to drain: Sojourn holds no objects.\n',
    })
  }, 30_000)

  it('releases nothing while a Lease says that a proxy runs', async () => {
    await takenOver('shop', '10.1.2.3')
    await client.create(leases, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'sojourn-activator-1', namespace: 'sojourn-system' },
      spec: {
        holderIdentity: 'proxy-1',
        leaseDurationSeconds: 60,
        renewTime: new Date().toISOString().replace('Z', '000Z'),
      },
    })
    const before = await network()
    expect(await sojourn('drain', '--yes')).toMatchObject({
      code: 1,
      // It prints the plan, not failures.
      out: expect.stringMatching(/default\/shop +takeover +will be released/),
      err: expect.stringContaining('Sojourn is still running: sojourn-activator-1 (proxy-1)'),
    })
    expect(await network()).toEqual(before)
  })

  it('reports when a proxy without a Lease takes a Service over again', async () => {
    await takenOver('asleep')
    const labels = { 'app.kubernetes.io/part-of': 'sojourn' }
    const takeAgain = () => writeSlice('asleep-sojourn', 'asleep', { manager: 'sojourn', address: '10.9.0.1', labels })
    // All changes are made by the time it waits for the second survey.
    const clock: Clock = {
      ...systemClock,
      after: (_, callback) => {
        void takeAgain().then(callback)
        return () => {}
      },
    }
    const { problems } = await drainCluster(client, { dryRun: false, clock })
    expect(problems).toEqual([expect.stringMatching(/^held again: Service\/default\/asleep; Sojourn is still running/)])
  })
})
