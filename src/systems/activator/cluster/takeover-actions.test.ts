import { endpointSlices, endpoints, services } from '../../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../../test/apiserver/test-server.ts'
import { Client } from '../../../client/client.ts'
import { ownLabel } from '../../../departures/subjects/own-machinery.ts'
import { StatusError } from '../../../kube/status-error.ts'
import type { ApiRequest } from '../../../kube/transport.ts'
import { systemClock } from '../../../runtime/time/clock.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import { TakeoverActions } from './takeover-actions.ts'

const namespace = 'default'
let server: TestServer
let client: Client
let actions: TakeoverActions
/** Runs before each request of the actions; may throw in its place. */
let meddle: (request: ApiRequest) => Promise<void> | void

beforeEach(async () => {
  meddle = () => {}
  server = await startTestServer({ clock: systemClock as never })
  client = new Client(server.transport)
  actions = new TakeoverActions(
    new Client(async (request) => {
      await meddle(request)
      return server.transport(request)
    }),
  )
})
afterEach(() => server.close())

const slice = (name: string) => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name, namespace, labels: { ...ownLabel } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.1'] }],
  ports: [{ port: 80 }],
})
const slices = async () => (await client.list(endpointSlices, { namespace })).items.map(({ metadata }) => metadata.name)
const at = { namespace, name: 'shop' }
const shop = () => {
  const spec = { selector: { app: 'shop' }, ports: [{ port: 80 }] }
  return client.create(services, { apiVersion: 'v1', kind: 'Service', metadata: at, spec })
}
/** To `new`, away from `old`. */
const lead = async (old: EndpointSlice) =>
  actions.carryOut({ do: 'write-slices', to: 'proxies', write: [slice('new')], remove: [old] }, await shop(), undefined)

describe('leading callers elsewhere', () => {
  it('writes the new way before it takes the old one away', async () => {
    const old = await client.create<EndpointSlice>(endpointSlices, slice('old'))
    const seen: (readonly string[])[] = []
    meddle = async ({ method }) => {
      if (method === 'DELETE') seen.push(await slices())
    }
    await lead(old)
    expect([seen, await slices()]).toEqual([[['new', 'old']], ['new']])
  })

  it('keeps the old way when the new one cannot be written', async () => {
    const old = await client.create<EndpointSlice>(endpointSlices, slice('old'))
    meddle = ({ method }) => {
      if (method === 'POST') throw new StatusError('Forbidden', 'exceeded quota')
    }
    await expect(lead(old)).rejects.toThrow('exceeded quota')
    expect(await slices()).toEqual(['old'])
  })

  it('moves no selector that was changed since it was judged', async () => {
    const judged = await shop()
    await client.patch(services, at, { type: 'merge', body: { spec: { selector: { app: 'other' } } } })
    await expect(
      actions.carryOut({ do: 'move-selector', selector: { app: 'shop' } }, judged, undefined),
    ).rejects.toMatchObject({ reason: 'Conflict' })
    expect((await client.get(services, at)).spec).toMatchObject({ selector: { app: 'other' } })
  })
})

describe('giving a Service back', () => {
  it('puts back no selector on a Service that was changed since it was judged', async () => {
    const judged = await shop()
    await client.patch(services, at, { type: 'merge', body: { spec: { selector: { app: 'other' } } } })
    await expect(
      actions.carryOut({ do: 'restore-selector', selector: { app: 'shop' } }, judged, undefined),
    ).rejects.toMatchObject({ reason: 'Conflict' })
    expect((await client.get(services, at)).spec).toMatchObject({ selector: { app: 'other' } })
  })
})

describe('emptying what is left behind', () => {
  const addresses = async (name: string) =>
    ((await client.get<EndpointSlice>(endpointSlices, { namespace, name }))['endpoints'] as
      | readonly unknown[]
      | null) ?? []
  const empty = async (...left: readonly EndpointSlice[]) =>
    actions.carryOut({ do: 'clear-foreign-slices', slices: left }, await shop(), undefined)
  const mirrored = {
    ...slice('mirrored'),
    metadata: {
      name: 'mirrored',
      namespace,
      labels: { 'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io' },
    },
  }

  it('empties what it judged, and no slice that was changed since', async () => {
    const judged = await client.create<EndpointSlice>(endpointSlices, slice('judged'))
    const changed = await client.create<EndpointSlice>(endpointSlices, slice('changed'))
    const body = { endpoints: [{ addresses: ['10.0.0.2'] }] }
    await client.patch(endpointSlices, { namespace, name: 'changed' }, { type: 'merge', body })
    await empty(judged, changed)
    expect(await addresses('judged')).toHaveLength(0)
    expect(await addresses('changed')).toMatchObject([{ addresses: ['10.0.0.2'] }])
  })

  it.each([
    ['that Kubernetes made', { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }, undefined],
    ['that someone made', {}, [{ addresses: [{ ip: '10.0.0.9' }] }]],
  ])('empties of what is mirrored the Endpoints themselves, if they are of those %s', async (_, labels, subsets) => {
    const found = await client.create<EndpointSlice>(endpointSlices, mirrored)
    const made = { apiVersion: 'v1', kind: 'Endpoints', metadata: { ...at, labels } }
    await client.create(endpoints, { ...made, subsets: [{ addresses: [{ ip: '10.0.0.9' }] }] })
    await empty(found)
    expect((await client.get(endpoints, at))['subsets'] ?? undefined).toEqual(subsets)
    expect(await addresses('mirrored')).toHaveLength(1)
  })

  it('empties no Endpoints that are written anew in that moment', async () => {
    const found = await client.create<EndpointSlice>(endpointSlices, mirrored)
    const labels = { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' }
    await client.create(endpoints, { apiVersion: 'v1', kind: 'Endpoints', metadata: { ...at, labels } })
    const subsets = [{ addresses: [{ ip: '10.0.0.9' }] }]
    meddle = async ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/endpoints/'))
        await client.patch(endpoints, at, { type: 'merge', body: { subsets } })
    }
    await empty(found)
    expect((await client.get(endpoints, at))['subsets']).toEqual(subsets)
  })
})
