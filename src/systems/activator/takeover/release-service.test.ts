import { endpointSlices, services } from '../../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../../test/apiserver/test-server.ts'
import { Client } from '../../../client/client.ts'
import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import type { EventNote, EventSubject } from '../../../runtime/observability/event-recorder.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import { releaseServices } from './release-service.ts'
import { findLeftovers } from './leftovers.ts'
import { fastClock } from '../../../../test/activator/cluster.ts'

const namespace = 'default'
const own = { 'app.kubernetes.io/part-of': 'sojourn' }
const clock = fastClock(50)

let server: TestServer
let client: Client

beforeEach(async () => {
  told.length = 0
  server = await startTestServer({ clock: clock as never })
  client = new Client(server.transport)
})
afterEach(() => server.close())

const addService = (name: string, metadata: KubeObject['metadata'] = {}, selector?: object) =>
  client.create<StoredObject>(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, ...metadata },
    spec: { ports: [{ name: 'http', port: 80 }], ...(selector ? { selector } : {}) },
  })
const addSlice = (name: string, service: string, manager: string) =>
  client.create(endpointSlices, {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name,
      namespace,
      labels: {
        ...(manager === 'sojourn' ? own : {}),
        'kubernetes.io/service-name': service,
        'endpointslice.kubernetes.io/managed-by': manager,
      },
    },
    addressType: 'IPv4',
    endpoints: [{ addresses: [manager === 'sojourn' ? '10.9.0.1' : '10.1.2.3'], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
  })
const told: string[] = []
const events = {
  record: (about: EventSubject, { reason }: EventNote) =>
    void told.push(`${reason} ${'metadata' in about ? about.metadata.name : about.name}`),
}
const taken = async () => (await findLeftovers(client)).taken.map(({ metadata }) => metadata.name)
const giveBack = async () => {
  const failed = await releaseServices(client, (await findLeftovers(client)).taken, { clock, events })
  return [...failed].map(([{ metadata }, why]) => `${metadata.name}: ${why}`)
}
const selectorOf = async (name: string) =>
  ((await client.get(services, { namespace, name })).spec as { selector?: object }).selector

describe('giving Services back without a proxy', () => {
  it('leaves alone what was never taken over: others, companions, and slices that others made', async () => {
    await addService('plain', {}, { app: 'plain' })
    await addSlice('plain-x', 'plain', 'endpointslice-controller.k8s.io')
    await addService('by-hand')
    await addSlice('by-hand-x', 'by-hand', 'someone')
    await addService('shop-proxless', { labels: own })
    await addSlice('shop-proxless', 'shop-proxless', 'sojourn')
    // Of the name that ours would have, and not ours.
    await addService('plain-sojourn-pods', {}, { app: 'plain' })
    expect(await taken()).toEqual([])
  })

  it('finds what is half taken over, at whichever step it was cut off', async () => {
    await addService('listed', {}, { app: 'listed' })
    await addService('listed-sojourn-pods', { labels: own }, { app: 'listed' })
    await addService('led', {}, { app: 'led' })
    await addSlice('led-sojourn', 'led', 'sojourn')
    await addService('moved', { annotations: { 'sojourn.dev/selector': 'app=moved' } })
    expect(await taken()).toEqual(['led', 'listed', 'moved'])
    expect(await giveBack()).toEqual([])
    expect(await taken()).toEqual([])
    // Of the others the selector was never away.
    expect(told).toEqual(['GivenBack moved'])
    for (const name of ['listed', 'led', 'moved']) expect(await selectorOf(name)).toEqual({ app: name })
  })

  it('leads to the pods and says so where Kubernetes does not list them again', async () => {
    await addService('shop', { annotations: { 'sojourn.dev/selector': 'app=shop' } })
    await addService('shop-sojourn-pods', { labels: own }, { app: 'shop' })
    await addSlice('shop-sojourn-pods-x', 'shop-sojourn-pods', 'endpointslice-controller.k8s.io')
    await addSlice('shop-sojourn', 'shop', 'sojourn')
    await addService('idle', { annotations: { 'sojourn.dev/selector': 'app=idle' } })
    expect(await giveBack()).toEqual([
      expect.stringMatching(/^shop: its selector is restored.* Kubernetes has not listed its pods/),
    ])
    expect(await selectorOf('shop')).toEqual({ app: 'shop' })
    const labelSelector = 'kubernetes.io/service-name=shop'
    const { items } = await client.list<EndpointSlice>(endpointSlices, { namespace, labelSelector })
    expect(items.flatMap(({ endpoints }) => endpoints?.flatMap(({ addresses }) => addresses))).toEqual(['10.1.2.3'])
    // One that waits holds no other up.
    expect(await selectorOf('idle')).toEqual({ app: 'idle' })
  })

  it('names a Service whose selector is lost, and what to do', async () => {
    await addService('shop')
    await addSlice('shop-sojourn', 'shop', 'sojourn')
    expect(await giveBack()).toEqual([expect.stringMatching(/^shop: .*set its spec.selector/)])
  })
})
