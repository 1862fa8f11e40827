import { customResourceDefinitions, endpointSlices, services, statefulSets } from '../../kube/core-types.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { Client } from '../../client/client.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { restoreWorkload, findLeftovers } from './takeover/leftovers.ts'
import { fastClock, startReplica } from '../../../test/activator/cluster.ts'
import { roundTrip, startEcho, type Backend } from '../../../test/activator/proxy.ts'

const namespace = 'default'
const engines: ResourceType = { group: 'acme.io', version: 'v1', kind: 'Engine', plural: 'engines', namespaced: true }

let server: TestServer
let client: Client
let clock: ReturnType<typeof fastClock>
let pod: Backend

beforeEach(async () => {
  clock = fastClock(20)
  server = await startTestServer({ clock: clock as never })
  client = new Client(server.transport)
  pod = await startEcho()
})
afterEach(async () => {
  await pod[Symbol.asyncDispose]()
  await server.close()
})

const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}

/** A Service on demand whose pod is there as long as its workload asks for any. */
async function addService(target: string): Promise<void> {
  await client.create(endpointSlices, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { name: 'web-1', namespace, labels: { 'kubernetes.io/service-name': 'web' } },
    addressType: 'IPv4',
    endpoints: [],
    ports: [{ name: '', port: pod.address.port, protocol: 'TCP' }],
  })
  await client.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'web',
      namespace,
      annotations: { 'sojourn.dev/target': target, 'proxless/domains': 'web.test', 'proxless/ttl-seconds': '5' },
    },
    spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
  })
}

/** Plays the operator of a workload: as many pods as it asks for. */
function operate(type: ResourceType, sizeOf: (object: StoredObject) => number): { readonly sizes: number[] } {
  const sizes: number[] = []
  const follow = async () => {
    for await (const { object } of client.watch(type, { namespace })) {
      const size = sizeOf(object)
      if (sizes.at(-1) === size) continue
      sizes.push(size)
      const endpoints = size > 0 ? [{ addresses: ['127.0.0.1'], conditions: { ready: true } }] : []
      await client.patch(endpointSlices, { namespace, name: 'web-1' }, { type: 'merge', body: { endpoints } })
    }
  }
  void follow().catch(() => {})
  return { sizes }
}

const ask = (port: number) => roundTrip(port, 'GET / HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n\r\n')

it('wakes and puts to sleep a custom kind, wherever it keeps its replicas', async () => {
  await client.create(customResourceDefinitions, {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'engines.acme.io' },
    spec: {
      group: 'acme.io',
      scope: 'Namespaced',
      names: { plural: 'engines', singular: 'engine', kind: 'Engine' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.fleet.size', statusReplicasPath: '.status.size' },
          },
        },
      ],
    },
  })
  await until(async () => (await client.discovery.typeOf({ apiVersion: 'acme.io/v1', kind: 'Engine' })) !== undefined)
  await addService('acme.io/v1/Engine/web')
  await client.create(engines, {
    apiVersion: 'acme.io/v1',
    kind: 'Engine',
    metadata: { name: 'web', namespace },
    // Its own word "replicas" means something else.
    spec: { fleet: { size: 3 }, replicas: 7 },
  })
  const { sizes } = operate(engines, ({ spec }) => (spec as { fleet: { size: number } }).fleet.size)
  await using replica = await startReplica(server.transport, { clock })
  await until(async () => sizes.at(-1) === 0)
  await until(async () => (await ask(replica.port)).includes('200 OK'))
  await until(async () => sizes.length === 4)
  expect(sizes).toEqual([3, 0, 3, 0])
  const engine = await client.get(engines, { namespace, name: 'web' })
  expect(engine.spec).toEqual({ fleet: { size: 0 }, replicas: 7 })
  expect(engine.metadata.labels).toMatchObject({ proxless: 'true' })

  // With no activator left to wake it, it gets its replicas back.
  await replica.stop()
  const { workloads } = await findLeftovers(client)
  expect(workloads).toEqual([expect.objectContaining({ replicas: 0, wakesTo: 3 })])
  for (const workload of workloads) await restoreWorkload(client, workload, { record: () => {} })
  const given = await client.get(engines, { namespace, name: 'web' })
  expect(given.spec).toEqual({ fleet: { size: 3 }, replicas: 7 })
  expect([given.metadata.labels, given.metadata.annotations]).toEqual([undefined, undefined])
})

it('wakes and puts to sleep a StatefulSet', async () => {
  await addService('StatefulSet/web')
  await client.create(statefulSets, {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name: 'web', namespace },
    spec: {
      replicas: 2,
      serviceName: 'web',
      selector: { matchLabels: { app: 'web' } },
      template: { metadata: { labels: { app: 'web' } }, spec: { containers: [{ name: 'web', image: 'web' }] } },
    },
  })
  const { sizes } = operate(statefulSets, ({ spec }) => (spec as { replicas: number }).replicas)
  await using replica = await startReplica(server.transport, { clock })
  await until(async () => sizes.at(-1) === 0)
  await until(async () => (await ask(replica.port)).includes('200 OK'))
  await until(async () => sizes.length === 4)
  expect(sizes).toEqual([2, 0, 2, 0])
})
