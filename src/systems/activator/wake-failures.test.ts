import net from 'node:net'
import { deployments, endpointSlices, pods } from '../../kube/core-types.ts'
import type { KubeObject } from '../../kube/object.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'
import { eventually, rawClient, roundTrip, startBackend, startProxy } from '../../../test/activator/proxy.ts'

const namespace = 'default'
let server: TestServer
let clock: ReturnType<typeof fastClock>
let cluster: FakeCluster
let isReady = true

beforeEach(async () => {
  isReady = true
  clock = fastClock(20)
  server = await startTestServer({ clock: clock as never })
  cluster = await startFakeCluster(server.transport, { ready: () => isReady })
})

afterEach(async () => {
  await cluster[Symbol.asyncDispose]()
  await server.close()
})

const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}
const request = 'GET / HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n\r\n'
const wakeable = async () => {
  const { status } = await cluster.service('web')
  const { conditions = [] } = status as {
    conditions?: { type: string; status: string; reason: string; message: string }[]
  }
  return conditions.find(({ type }) => type === 'sojourn.dev/Wakeable')
}
const list = (port: number | undefined) =>
  cluster.client.patch(
    endpointSlices,
    { namespace, name: 'web-1' },
    {
      type: 'merge',
      body: {
        endpoints: port === undefined ? [] : [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
        ports: [{ name: 'http', port, protocol: 'TCP' }],
      },
    },
  )

/** A port that nothing listens on. */
async function closedPort(): Promise<number> {
  const probe = net.createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as net.AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

describe('a wake that fails', () => {
  it('names the port at which a ready pod refuses connections, while requests still wait', async () => {
    isReady = false
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', {}, 1)
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    const port = await closedPort()
    await list(port)
    using client = rawClient(it.port)
    client.send(request)
    await until(async () => (await wakeable())?.reason === 'ConnectionRefused')
    expect(await wakeable()).toMatchObject({
      status: 'False',
      message: expect.stringContaining(`127.0.0.1:${port}`) as string,
    })
    expect(it.events).toContainEqual(expect.objectContaining({ reason: 'ConnectionRefused', about: 'web' }))
    expect(it.events.find(({ reason }) => reason === 'ConnectionRefused')?.message).toContain('targetPort')
  })

  it('with a refused port is remembered when the callers have left, until a request is answered', async () => {
    isReady = false
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', {}, 1)
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    await list(await closedPort())
    const client = rawClient(it.port)
    client.send(request)
    await until(async () => (await wakeable())?.reason === 'ConnectionRefused')
    client.socket.resetAndDestroy()
    await eventually(() => it.activator.rows()[0]?.waiting === 0)
    await cluster.client.patch(
      deployments,
      { namespace, name: 'web' },
      { type: 'merge', body: { spec: { replicas: 2 } } },
    )
    const leftAt = clock.now()
    await eventually(() => clock.now() > leftAt + 20_000)
    expect(await wakeable()).toMatchObject({ status: 'False', reason: 'ConnectionRefused' })
    await using backend = await startBackend((_, socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
    await list(backend.address.port)
    await until(async () => (await roundTrip(it.port, request)).includes('200 OK'))
    await until(async () => (await wakeable())?.status === 'True')
  })

  it('is told at once where a container has no command and is only simulated', async () => {
    isReady = false
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', {}, 1)
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    const mark = { metadata: { labels: { 'sojourn.dev/simulated': 'true' } } }
    await cluster.client.patch(endpointSlices, { namespace, name: 'web-1' }, { type: 'merge', body: mark })
    const port = await closedPort()
    await list(port)
    await eventually(() => it.activator.rows()[0]?.decision !== undefined)
    const answer = await roundTrip(it.port, request)
    expect(answer).toMatch(/^HTTP\/1\.1 504 [^]*container has no command[^]*simulates it/)
    await until(async () => (await wakeable())?.reason === 'ConnectionRefused')
    expect((await wakeable())?.message).toContain('simulates it')
    expect(it.events.find(({ reason }) => reason === 'ConnectionRefused')?.message).toContain('simulates it')
  })

  it('is remembered with what its pods say until a wake succeeds', async () => {
    isReady = false
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/readiness-timeout-seconds': '3' })
    await cluster.client.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web-1', namespace, labels: { app: 'web' } },
      spec: { containers: [{ name: 'app', image: 'app' }] },
    } as KubeObject)
    const waiting = { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container' }
    const containerStatuses = [
      { name: 'app', ready: false, restartCount: 3, image: 'app', imageID: '', state: { waiting } },
    ]
    await cluster.client.patch(
      pods,
      { namespace, name: 'web-1' },
      { type: 'merge', body: { status: { phase: 'Running', containerStatuses } } },
      { subresource: 'status' },
    )
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    expect(await roundTrip(it.port, request)).toContain('504')
    await until(async () => (await wakeable())?.status === 'False')
    expect(await wakeable()).toMatchObject({
      reason: 'CrashLoopBackOff',
      message: expect.stringContaining('container app') as string,
    })
    const metric = 'sojourn_activator_wake_failed{route="default/web",reason="CrashLoopBackOff"} 1'
    await eventually(() => it.metrics.render().includes(metric))
    // A container that ends without a readiness probe is ready for a moment each time it is started again.
    for (let start = 0; start < 3; start++) {
      await list(await closedPort())
      const startedAt = clock.now()
      await eventually(() => clock.now() > startedAt + 3000)
      await list(undefined)
      await eventually(() => clock.now() > startedAt + 6000)
    }
    expect(await wakeable()).toMatchObject({ status: 'False', reason: 'CrashLoopBackOff' })
    const { address, [Symbol.asyncDispose]: close } = await startBackend((_, socket) =>
      socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
    )
    await list(address.port)
    await until(async () => (await wakeable())?.status === 'True')
    await eventually(() => !it.metrics.render().includes('sojourn_activator_wake_failed{'))
    await close()
  })

  it('ends the waiting page at the readiness timeout', async () => {
    isReady = false
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'sojourn.dev/waiting-page': 'true', 'proxless/readiness-timeout-seconds': '6' })
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    const visit = () =>
      roundTrip(it.port, 'GET / HTTP/1.1\r\nHost: web.test\r\nAccept: text/html\r\nConnection: close\r\n\r\n')
    let answer = await visit()
    const visitedAt = clock.now()
    expect(answer).toContain('Waking up')
    // As the page reloads itself.
    while (answer.includes('Waking up')) {
      const reloadAt = clock.now() + 2000
      await eventually(() => clock.now() > reloadAt)
      answer = await visit()
    }
    expect(answer).toMatch(/50[34][^]*X-Sojourn-Because: (?:backoff|not-ready-in-time)/)
    expect(clock.now() - visitedAt).toBeGreaterThan(4000)
  })

  it('is not put back to sleep by a visitor who left before it was ready', async () => {
    isReady = false
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', { 'proxless/ttl-seconds': '2', 'proxless/readiness-timeout-seconds': '60' })
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    const client = rawClient(it.port)
    client.send(request)
    await until(async () => ((await cluster.deployment('web')).spec as { replicas: number }).replicas === 1)
    client.socket.destroy()
    const leftAt = clock.now()
    await eventually(() => clock.now() > leftAt + 20_000)
    expect(cluster.history.get('web')).toEqual([0, 1])
  })
})

describe('the answer of a pod', () => {
  const chunked = (body: string) => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${body}`
  const askApp = (port: number) => roundTrip(port, 'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n')

  it('may have chunk extensions', async () => {
    await using pod = await startBackend((_, socket) => socket.end(chunked('5;a=b\r\nhello\r\n0\r\n\r\n')))
    await using it = await startProxy()
    it.warm(pod.address)
    expect(await askApp(it.port)).toMatch(/200 OK[^]*hello/)
  })

  it('is a 502 when its body is malformed from the start', async () => {
    await using pod = await startBackend((_, socket) => socket.end(chunked('x\r\nhello\r\n0\r\n\r\n')))
    await using it = await startProxy()
    it.warm(pod.address)
    expect(await askApp(it.port)).toContain('502 Bad Gateway')
  })
})
