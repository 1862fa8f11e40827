import { deployments } from '../../kube/core-types.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import { eventually, roundTrip } from '../../../test/activator/proxy.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'

const place = { namespace: 'default', name: 'web' }
let server: TestServer
let clock: ReturnType<typeof fastClock>
let cluster: FakeCluster

beforeEach(async () => {
  clock = fastClock(40)
  server = await startTestServer({ clock: clock as never })
  cluster = await startFakeCluster(server.transport)
})
afterEach(async () => {
  await cluster[Symbol.asyncDispose]()
  await server.close()
})

const ask = (port: number) => roundTrip(port, 'GET / HTTP/1.1\r\nHost: web.test\r\nConnection: close\r\n\r\n')
const until = async (condition: () => Promise<boolean>) => {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 5))
}
const replicas = async () => ((await cluster.deployment('web')).spec as { replicas: number }).replicas
const annotationsOf = (body: unknown) =>
  (body as { metadata?: { annotations?: Record<string, string> } }).metadata?.annotations ?? {}
const lastUsed = (body: unknown) => parseTime(annotationsOf(body)['proxless/last-used'])

it('is written down once in a while, however many come, and nothing else but the last day is written for them', async () => {
  const writes: ApiRequest[] = []
  const recording: Transport = (request) => {
    if (request.method !== 'GET') writes.push(request)
    return server.transport(request)
  }
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'sojourn-system' } }
  await server.transport({ method: 'POST', path: '/api/v1/namespaces', body: namespace })
  await using it = await startReplica(recording, { clock })
  await cluster.addApp('web', { 'proxless/ttl-seconds': '100' })
  await until(async () => (await ask(it.port)).includes('200 OK'))
  await until(async () => (await cluster.deployment('web')).metadata.labels?.['proxless'] === 'true')
  await until(async () => (await cluster.service('web')).status !== undefined)
  // The claim of its domain is stored once, soon after the Service appears.
  await until(() => Promise.resolve(writes.some(({ path }) => path.includes('/configmaps'))))
  const [before, end] = [writes.length, clock.now() + 150_000]
  let served = 0
  while (clock.now() < end) if ((await ask(it.port)).includes('200 OK')) served++
  const isDay = ({ body }: ApiRequest) => Object.keys(annotationsOf(body)).join() === 'sojourn.dev/last-day'
  const { days = [], uses = [] } = Object.groupBy(writes.slice(before), (write) => (isDay(write) ? 'days' : 'uses'))
  // The chart of its last day is written every five minutes.
  expect(days.length).toBeLessThanOrEqual(1)
  const times = uses.map(({ body }) => lastUsed(body))
  expect(times).not.toContain(undefined)
  expect(times.length).toBeGreaterThan(1)
  expect(served).toBeGreaterThan(10 * times.length)
  const steps = times.slice(1).map((time, index) => time! - times[index]!)
  // Written in whole seconds.
  expect(Math.min(...steps)).toBeGreaterThanOrEqual(29_000)
})

it('keeps awake what another replica writes it of, and no longer', async () => {
  await using it = await startReplica(server.transport, { clock })
  await cluster.addApp('web', { 'proxless/ttl-seconds': '60' }, 1)
  await eventually(() => it.activator.rows().length === 1)
  const end = clock.now() + 150_000
  while (clock.now() < end) {
    const annotations = { 'proxless/last-used': formatTime(clock.now()) }
    await cluster.client.patch(deployments, place, { type: 'merge', body: { metadata: { annotations } } })
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  expect(cluster.history.get('web')).toEqual([1])
  await until(async () => (await replicas()) === 0)
})
