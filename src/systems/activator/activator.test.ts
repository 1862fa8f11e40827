import { deployments, endpointSlices, horizontalPodAutoscalers, services } from '../../kube/core-types.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { formatTime } from '../../kube/time.ts'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'
import { eventually, rawClient, roundTrip, startEcho } from '../../../test/activator/proxy.ts'

const namespace = 'default'
let server: TestServer
let clock: ReturnType<typeof fastClock>
let cluster: FakeCluster

beforeEach(async () => {
  clock = fastClock(20)
  server = await startTestServer({ clock: clock as never })
  cluster = await startFakeCluster(server.transport)
})

afterEach(async () => {
  await cluster[Symbol.asyncDispose]()
  await server.close()
})

const ask = (port: number, host: string) =>
  roundTrip(port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
const replicasOf = async (name: string) => ((await cluster.deployment(name)).spec as { replicas: number }).replicas
const known = (host: string, port: number) => async () => !(await ask(port, host)).includes('404')
const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}

describe('the activator', () => {
  it('wakes a workload for a request and puts it to sleep when no more come (C17)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '5' })
    await until(known('web.test', it.port))
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    await until(async () => (await replicasOf('web')) === 0)
    expect(cluster.history.get('web')).toEqual([0, 1, 0])
    expect(it.events.map(({ reason }) => reason)).toEqual(['Woken', 'Slept'])
    const { labels, annotations } = (await cluster.deployment('web')).metadata
    expect(labels).toMatchObject({ proxless: 'true' })
    expect(annotations).toMatchObject({
      'sojourn.dev/former-replicas': '1',
      'proxless/last-used': expect.stringMatching(/^20/) as string,
    })
    expect(await ask(it.port, 'web.test')).toMatch(/200 OK[^]*X-Cold-Start/)
  })

  it('notes the request that woke a workload as its last use, with the wake itself', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '3' }, 1)
    await until(async () => (await replicasOf('web')) === 0)
    const asleepAt = clock.now()
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    const { annotations } = (await cluster.deployment('web')).metadata
    expect(Date.parse(annotations?.['proxless/last-used'] ?? '')).toBeGreaterThanOrEqual(asleepAt - 1000)
  })

  it('wakes once however many come at once', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web')
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    const answers = await Promise.all(Array.from({ length: 200 }, () => ask(it.port, 'web.test')))
    for (const answer of answers) expect(answer).toContain('200 OK')
    expect(cluster.history.get('web')).toEqual([0, 1])
  })

  it('restores the former count (C86)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' }, 3)
    await until(async () => (await replicasOf('web')) === 0)
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    expect(cluster.history.get('web')).toEqual([3, 0, 3])
  })

  it('restores the former count of what slept down to a minimum, too, once it is used', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2', 'sojourn.dev/min-replicas': '1' }, 3)
    await until(async () => (await replicasOf('web')) === 1)
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    await until(async () => (await replicasOf('web')) === 3)
    await until(async () => (await replicasOf('web')) === 1)
    expect(cluster.history.get('web')).toEqual([3, 1, 3, 1])
  })

  it('keeps awake what has a request in flight (C82)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster[Symbol.asyncDispose]()
    let finish = () => {}
    cluster = await startFakeCluster(server.transport, {
      answer: (_, response) => {
        response.write('begun')
        finish = () => response.end('done')
      },
    })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' })
    await eventually(() => it.activator.rows().length === 1)
    using client = rawClient(it.port)
    client.send('GET / HTTP/1.1\r\nHost: web.test\r\n\r\n')
    await client.until((text) => text.includes('begun'))
    const startedAt = clock.now()
    await eventually(() => clock.now() > startedAt + 10_000)
    expect(await replicasOf('web')).toBe(1)
    finish()
    await client.until((text) => text.includes('done'))
    await until(async () => (await replicasOf('web')) === 0)
  })

  it('keeps awake what has a silent tunnel, for many times its time, and starts counting when it closes (C81)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' })
    await eventually(() => it.activator.rows().length === 1)
    using client = rawClient(it.port)
    client.send('GET / HTTP/1.1\r\nHost: web.test\r\nConnection: Upgrade\r\nUpgrade: raw\r\n\r\n')
    await client.until((text) => text.includes('101'))
    const openedAt = clock.now()
    await eventually(() => clock.now() > openedAt + 20_000)
    expect(await replicasOf('web')).toBe(1)
    const closedAt = clock.now()
    client.socket.destroy()
    await until(async () => (await replicasOf('web')) === 0)
    expect(clock.now() - closedAt).toBeGreaterThanOrEqual(2000)
  })

  it('sends nothing to pods that are on their way out when their workload is woken again (C85)', async () => {
    await using pod = await startEcho()
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web')
    const listed = {
      endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true, terminating: true } }],
      ports: [{ name: 'http', port: pod.address.port }],
    }
    await cluster.client.patch(endpointSlices, { namespace, name: 'web-1' }, { type: 'merge', body: listed })
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    expect(await ask(it.port, 'web.test')).toContain('hello')
    expect(pod.received).toEqual([])
  })

  it('wakes nothing while pods that its sleep ends are still listed as ready, and for five seconds at most', async () => {
    await using pod = await startEcho()
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web')
    const list = (endpoints: readonly object[]) =>
      cluster.client.merge(
        endpointSlices,
        { namespace, name: 'web-1' },
        { endpoints, ports: [{ name: 'http', port: pod.address.port }] },
      )
    const ending = [{ addresses: ['127.0.0.1'], conditions: { ready: true } }]
    const sleepNow = () =>
      cluster.client.merge(
        deployments,
        { namespace, name: 'web' },
        { metadata: { annotations: { 'sojourn.dev/asleep-since': formatTime(clock.now()) } }, spec: { replicas: 0 } },
      )
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    await list(ending)
    const sleptAt = clock.now()
    await sleepNow()
    const answer = ask(it.port, 'web.test')
    await eventually(() => clock.now() > sleptAt + 2000)
    expect(await replicasOf('web')).toBe(0)
    await list([])
    expect(await answer).toContain('hello')
    expect(pod.received).toEqual([])
    await sleepNow()
    await until(async () => (await replicasOf('web')) === 0)
    await list(ending)
    const askedAt = clock.now()
    const other = ask(it.port, 'web.test')
    await until(async () => (await replicasOf('web')) > 0)
    expect(clock.now() - askedAt).toBeGreaterThan(2000)
    await other
  })

  it('leaves alone what someone scaled by hand, for its time (C86)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '3' })
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    const scaledAt = clock.now()
    await cluster.client.patch(
      deployments,
      { namespace, name: 'web' },
      { type: 'merge', body: { spec: { replicas: 5 } } },
    )
    await until(async () => (await replicasOf('web')) === 0)
    expect(clock.now() - scaledAt).toBeGreaterThanOrEqual(3000)
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    expect(cluster.history.get('web')).toEqual([0, 5, 0, 5])
    await cluster.client.patch(
      deployments,
      { namespace, name: 'web' },
      { type: 'merge', body: { spec: { replicas: 0 } } },
    )
    await until(async () => (await ask(it.port, 'web.test')).includes('X-Cold-Start'))
    expect(await replicasOf('web')).toBe(5)
  })

  it('never sleeps what has a minimum, and raises it there', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '1', 'sojourn.dev/min-replicas': '2' })
    await until(async () => (await replicasOf('web')) === 2)
    const at = clock.now()
    await eventually(() => clock.now() > at + 5000)
    expect(await replicasOf('web')).toBe(2)
    expect(it.events.map(({ reason }) => reason)).toEqual(['Woken'])
  })

  it('wakes together what belongs together', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('db', { 'proxless/deployment': 'db' })
    await cluster.addApp('web', { 'sojourn.dev/wake-with': 'Deployment/db' })
    await eventually(() => it.activator.rows().length === 2)
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    await until(async () => (await replicasOf('db')) === 1)
  })

  it('takes two Services for one workload as one: idle is idle on both (C11, C68)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '3' })
    const { spec } = await cluster.service('web')
    await cluster.client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        name: 'front',
        namespace,
        annotations: {
          'proxless/deployment': 'web',
          'proxless/domains': 'front.test',
          'proxless/service': 'web',
          'proxless/ttl-seconds': '3',
        },
      },
      spec: { ports: (spec as { ports: unknown }).ports },
    })
    await eventually(() => it.activator.rows().length === 2)
    const [one, two] = await Promise.all([ask(it.port, 'web.test'), ask(it.port, 'front.test')])
    expect([one, two].every((answer) => answer.includes('200 OK'))).toBe(true)
    expect(cluster.history.get('web')).toEqual([0, 1])
    const at = clock.now()
    while (clock.now() < at + 9000) await ask(it.port, 'front.test')
    expect(cluster.history.get('web')).toEqual([0, 1])
    await until(async () => (await replicasOf('web')) === 0)
  })

  it('leaves the count to an autoscaler: wakes to its least (C86)', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' }, 5)
    await cluster.client.create(horizontalPodAutoscalers, {
      apiVersion: 'autoscaling/v2',
      kind: 'HorizontalPodAutoscaler',
      metadata: { name: 'web', namespace },
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
        minReplicas: 2,
        maxReplicas: 9,
      },
    })
    await until(async () => (await replicasOf('web')) === 0)
    expect(await ask(it.port, 'web.test')).toContain('200 OK')
    expect(await replicasOf('web')).toBe(2)
  })

  it('counts what it did', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2' })
    await until(known('web.test', it.port))
    await ask(it.port, 'web.test')
    await until(async () => (await replicasOf('web')) === 0)
    const at = clock.now()
    await eventually(() => clock.now() > at + 2500)
    const text = it.metrics.render()
    expect(text).toMatch(/sojourn_activator_requests_total\{route="default\/web",code="2xx"\} [1-9]/)
    expect(text).toMatch(/sojourn_activator_cold_starts_total\{route="default\/web"\} [1-9]/)
    expect(text).toMatch(/sojourn_activator_wait_seconds_count\{route="default\/web"\} [1-9]/)
    const lastDay = async () => (await cluster.deployment('web')).metadata.annotations?.['sojourn.dev/last-day']
    await until(async () => /^\d+:[1-9]\d*\/1\/[1-9]\d*/.test((await lastDay()) ?? ''))
    expect(text).toMatch(/decision="sleep",because="idle"/)
  })
})
