import { deployments, endpointSlices, endpoints, services } from '../../../kube/core-types.ts'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../../test/apiserver/test-server.ts'
import { Client } from '../../../client/client.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import { singleReplica } from '../replicas/peers.ts'
import { roundTrip } from '../../../../test/activator/proxy.ts'
import { remarksOf } from '../views/service-state.ts'
import { fastClock, startReplica, type Replica } from '../../../../test/activator/cluster.ts'

const namespace = 'default'
const takeover = { host: '127.0.0.1', ports: { from: 22_000, to: 22_999 } }
const kube = 'endpointslice-controller.k8s.io'

let server: TestServer
let client: Client
let clock: ReturnType<typeof fastClock>
let replica: Replica | undefined
let pod: http.Server
/** What the pod says at /open, and how often it served anything else. */
let said: { open: string; served: number }

beforeEach(async () => {
  clock = fastClock(20)
  server = await startTestServer({ clock: clock as never })
  client = new Client(server.transport)
  said = { open: '0', served: 0 }
  pod = http.createServer((request, response) => {
    if (request.url === '/open') return void response.writeHead(said.open === '' ? 404 : 200).end(said.open)
    said.served++
    response.end('hello')
  })
  await new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve))
})

afterEach(async () => {
  await replica?.stop()
  replica = undefined
  pod.closeAllConnections()
  pod.close()
  await server.close()
})

const start = async (options: Partial<Parameters<typeof startReplica>[1]> = {}) => {
  replica = await startReplica(server.transport, { clock, peers: singleReplica(['127.0.0.1']), takeover, ...options })
}

async function addShop(annotations: Readonly<Record<string, string>> = {}, spec: object = {}): Promise<void> {
  await client.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: {
      name: 'shop',
      namespace,
      annotations: { 'proxless/deployment': 'shop', 'sojourn.dev/takeover': 'true', ...annotations },
    },
    spec: { selector: { app: 'shop' }, ports: [{ name: 'http', port: 80 }], ...spec },
  })
  await client.create(deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'shop', namespace },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'shop' } },
      template: { metadata: { labels: { app: 'shop' } }, spec: { containers: [{ name: 'a', image: 'a' }] } },
    },
  })
}

/** Plays the controllers that list what selectors select: for every Service that has one, and no other. */
async function ensurePodsService(): Promise<void> {
  const replicas = ((await client.get(deployments, { namespace, name: 'shop' })).spec as { replicas: number }).replicas
  const ready = { addresses: ['127.0.0.1'], conditions: { ready: true } }
  const body = {
    endpoints: replicas > 0 ? [ready] : [],
    ports: [{ name: 'http', port: (pod.address() as AddressInfo).port, protocol: 'TCP' }],
  }
  for (const { metadata, spec } of (await client.list(services, { namespace })).items) {
    if (!(spec as { selector?: object }).selector) continue
    await writeSlice(`${metadata.name}-kube`, { service: metadata.name, manager: kube, body })
  }
}

async function writeSlice(
  name: string,
  { service, manager, body }: { service: string; manager: string; body: object },
) {
  const found = await client
    .patch(endpointSlices, { namespace, name }, { type: 'merge', body })
    .catch(ignoring('NotFound'))
  const labels = { 'kubernetes.io/service-name': service, 'endpointslice.kubernetes.io/managed-by': manager }
  if (!found)
    await client.create(endpointSlices, {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { name, namespace, labels },
      addressType: 'IPv4',
      ...body,
    })
}

/** Looks until it holds, while Kubernetes goes on listing pods. */
async function until(look: () => Promise<boolean>): Promise<void> {
  while (!(await look())) {
    await ensurePodsService()
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

const shop = () => client.get(services, { namespace, name: 'shop' })
const selector = async () => ((await shop()).spec as { selector?: object }).selector
const condition = async (type: string) =>
  (
    ((await shop()).status ?? {}) as {
      conditions?: { type: string; status: string; reason: string; message: string }[]
    }
  ).conditions?.find((each) => each.type === `sojourn.dev/${type}`)
const isTaken = async () => (await condition('TakenOver'))?.status === 'True' && !(await selector())
const slicesOfShop = async () =>
  (await client.list<EndpointSlice>(endpointSlices, { namespace })).items.filter(
    ({ metadata }) => metadata.labels?.['kubernetes.io/service-name'] === 'shop',
  )
/** The ports that callers of the Service are led to. */
const ledTo = async () =>
  (await slicesOfShop()).flatMap(({ endpoints: listed, ports }) =>
    (listed ?? []).length > 0 ? [ports![0]!.port!] : [],
  )
const leadsToProxy = async () => {
  const ports = await ledTo()
  return ports.length === 1 && ports[0]! >= 22_000 && ports[0]! < 23_000
}
const leadsToPod = async () => JSON.stringify(await ledTo()) === JSON.stringify([(pod.address() as AddressInfo).port])
const call = async () => {
  const [port = 0] = await ledTo()
  return roundTrip(port, 'GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n')
}
const replicas = async () =>
  ((await client.get(deployments, { namespace, name: 'shop' })).spec as { replicas: number }).replicas
const passes = async (ms: number) => {
  const from = clock.now()
  await until(async () => clock.now() > from + ms)
}

describe('a Service that asks to be taken over', () => {
  it('keeps its callers through every step, sleeps, and wakes for them', async () => {
    await addShop({ 'proxless/ttl-seconds': '20' })
    await ensurePodsService()
    await start()
    await until(isTaken)
    await until(leadsToProxy)
    expect(await call()).toContain('hello')
    await until(async () => (await replicas()) === 0)
    const answer = call()
    await until(async () => (await replicas()) === 1)
    await ensurePodsService()
    expect(await answer).toContain('hello')
  })

  it('is given back as it was when it no longer asks, or no longer is on demand', async () => {
    await addShop()
    await start()
    for (const gone of ['sojourn.dev/takeover', 'proxless/deployment']) {
      const annotations = { 'proxless/deployment': 'shop', 'sojourn.dev/takeover': 'true' }
      const place = { namespace, name: 'shop' }
      await client.patch(services, place, { type: 'merge', body: { metadata: { annotations } } })
      await until(isTaken)
      await client.patch(services, place, { type: 'merge', body: { metadata: { annotations: { [gone]: null } } } })
      await until(async () => (await selector()) !== undefined && (await leadsToPod()))
      const pods = () => client.get(services, { namespace, name: 'shop-sojourn-pods' }).catch(ignoring('NotFound'))
      await until(async () => (await pods()) === undefined)
      expect((await shop()).metadata.annotations).not.toHaveProperty('sojourn.dev/selector')
    }
  })

  it.each([
    ['headless', {}, { clusterIP: 'None' }, 'headless'],
    ['not set up', {}, {}, 'not set up'],
    ['of another Service', { 'proxless/service': 'other' }, {}, 'annotate "other" itself'],
  ])('is told why not when it is %s, and left alone', async (_, annotations, spec, why) => {
    await addShop(annotations, spec)
    await start(why === 'not set up' ? { takeover: { host: '127.0.0.1' } } : {})
    await until(async () => (await condition('OnDemand'))?.message.includes(why) ?? false)
    expect((await condition('OnDemand'))!.message).toContain('sojourn.dev/takeover')
    expect(await selector()).toEqual({ app: 'shop' })
  })

  it('is left as it is by a dry run, taken or not', async () => {
    await addShop()
    await start()
    await until(isTaken)
    await replica!.stop()
    await start({ dryRun: true })
    await passes(20_000)
    expect(await selector()).toBeUndefined()
  })

  it('is not put to sleep while someone else lists endpoints for it', async () => {
    await addShop({ 'proxless/ttl-seconds': '1' })
    const body = { endpoints: [{ addresses: ['10.1.1.1'] }], ports: [{ name: 'http', port: 1, protocol: 'TCP' }] }
    await writeSlice('theirs', { service: 'shop', manager: 'someone', body })
    await start()
    await until(async () => (await condition('TakenOver'))?.reason === 'EndpointsOfOthers')
    await passes(20_000)
    expect(await replicas()).toBe(1)
  })

  it('has what Kubernetes mirrors from old Endpoints emptied, and keeps Endpoints that someone made', async () => {
    await addShop({ 'proxless/ttl-seconds': '1000' })
    const subsets = [{ addresses: [{ ip: '10.1.1.1' }], ports: [{ name: 'http', port: 1 }] }]
    const metadata = { name: 'shop', namespace }
    await client.create(endpoints, { apiVersion: 'v1', kind: 'Endpoints', metadata, subsets })
    const body = { endpoints: [{ addresses: ['10.1.1.1'] }], ports: [{ name: 'http', port: 1, protocol: 'TCP' }] }
    const mirrored = { service: 'shop', manager: 'endpointslicemirroring-controller.k8s.io', body }
    await start()
    await until(isTaken)
    // From when there is no selector, Kubernetes mirrors whatever the Endpoints say.
    await writeSlice('mirrored', mirrored)
    await passes(10_000)
    const left = async () => (await client.get(endpoints, metadata))['subsets']
    expect(await left()).toMatchObject(subsets)
    const annotations = { 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' }
    await client.patch(endpoints, metadata, { type: 'merge', body: { metadata: { annotations } } })
    await until(async () => ((await left()) as unknown[] | undefined)?.length !== 1)
  })

  it('goes by a selector that was changed, and says who changed it', async () => {
    await addShop()
    await start()
    await until(isTaken)
    const other = new Client(server.transport, { fieldManager: 'a-gitops-tool' })
    const body = { spec: { selector: { app: 'shop', track: 'new' } } }
    await other.patch(services, { namespace, name: 'shop' }, { type: 'merge', body })
    await until(async () => (await condition('TakenOver'))?.reason === 'SelectorReapplied')
    expect((await condition('TakenOver'))!.message).toContain('a-gitops-tool')
    await until(isTaken)
    expect((await shop()).metadata.annotations?.['sojourn.dev/selector']).toBe('app=shop,track=new')
    const pods = await client.get(services, { namespace, name: 'shop-sojourn-pods' })
    expect((pods.spec as { selector: object }).selector).toEqual({ app: 'shop', track: 'new' })
  })
})

describe('a warm Service whose callers may go straight to its pods', () => {
  const wish = {
    'proxless/ttl-seconds': '20',
    'sojourn.dev/bypass-after-seconds': '10',
    'sojourn.dev/activity-probe': '/open',
  }
  const untilBypassed = () =>
    until(async () => {
      await call().catch(() => '')
      return leadsToPod()
    })

  it('goes past the proxy while it is busy, back through it when idle, and only then sleeps', async () => {
    await addShop(wish)
    await start()
    await until(isTaken)
    said.open = '1'
    await untilBypassed()
    await until(async () => (await condition('TakenOver'))?.reason === 'Bypassed')
    expect(remarksOf(await shop())).toEqual(['Its callers go straight to its pods.'])
    const inFlight = replica!.activator.rows()[0]!.lastUsedAt
    // Busy beyond its time to live, by the pod's own word alone.
    await passes(60_000)
    expect(await leadsToPod()).toBe(true)
    expect(await replicas()).toBe(1)
    expect(replica!.activator.rows()[0]!.lastUsedAt).toBeGreaterThan(inFlight)
    said.open = '0'
    await until(leadsToProxy)
    expect(await replicas()).toBe(1)
    await until(async () => (await replicas()) === 0)
    expect(remarksOf(await shop())).toEqual(['Its callers come through the proxy.'])
    expect(await leadsToProxy()).toBe(true)
  })

  it('stays awake while a pod has a connection that was made past the proxy, though none is made any more', async () => {
    await addShop(wish)
    await start()
    await until(isTaken)
    said.open = '1'
    await untilBypassed()
    said.open = '0'
    await until(leadsToProxy)
    said.open = '2'
    await passes(60_000)
    expect(await replicas()).toBe(1)
  })

  it('stays awake while pods do not say, and tells so', async () => {
    await addShop(wish)
    await start()
    await until(isTaken)
    said.open = ''
    await until(async () => replica!.events.some(({ reason }) => reason === 'ActivityUnknown'))
    await passes(60_000)
    expect(await replicas()).toBe(1)
    expect(replica!.events.find(({ reason }) => reason === 'ActivityUnknown')!.message).toContain('404')
  })

  it('is back at the proxy at once when its pods are gone, so that callers are held', async () => {
    await addShop(wish)
    await start()
    await until(isTaken)
    said.open = '1'
    await untilBypassed()
    await client.patch(deployments, { namespace, name: 'shop' }, { type: 'merge', body: { spec: { replicas: 0 } } })
    await until(leadsToProxy)
    const answer = call()
    await until(async () => (await replicas()) === 1)
    await ensurePodsService()
    expect(await answer).toContain('hello')
  })
})
