import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startTestServer, type TestServer } from '../../../test/apiserver/test-server.ts'
import { fastClock, startFakeCluster, startReplica, type FakeCluster } from '../../../test/activator/cluster.ts'
import { eventually, roundTrip } from '../../../test/activator/proxy.ts'

let server: TestServer
let clock: ReturnType<typeof fastClock>
let cluster: FakeCluster
let isReady = true

beforeEach(async () => {
  isReady = true
  clock = fastClock(20)
  server = await startTestServer({ clock: clock as never })
  cluster = await startFakeCluster(server.transport, {
    ready: () => isReady,
    answer: (request, response) => (request.url === '/bad' ? response.socket!.end('?\r\n\r\n') : response.end('ok')),
  })
})

afterEach(async () => {
  await cluster[Symbol.asyncDispose]()
  await server.close()
})

const get = (path: string, host = 'web.test', accept = '*/*') =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: ${accept}\r\nConnection: close\r\n\r\n`

describe('what the proxy answers itself', () => {
  it('is in the log with route, reason and pod, and in the metrics by reason', async () => {
    await using it = await startReplica(server.transport, { clock })
    await cluster.addApp('web', {}, 1)
    await eventually(() => it.activator.ready && it.activator.rows().length === 1)
    expect(await roundTrip(it.port, get('/'))).toContain('200 OK')
    expect(await roundTrip(it.port, get('/bad'))).toContain('502')
    await roundTrip(it.port, get('/', 'other.test'))
    await roundTrip(it.port, 'GET\r\n\r\n')
    const reasons = () =>
      [...it.metrics.render().matchAll(/own_answers_total\{because="([^"]*)"\} 1/g)].map(([, because]) => because)
    await eventually(() => reasons().length === 3)
    expect(new Set(reasons())).toEqual(new Set(['malformed-request', 'unknown-host', 'upstream-failed']))
    const lines = it.log.map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(lines.filter(({ because }) => because === 'upstream-failed')).toMatchObject([
      {
        level: 'error',
        message: 'answered in place of the workload',
        route: 'default/web',
        status: 502,
        requests: 1,
        detail: expect.stringMatching(/^127\.0\.0\.1:\d+ sent no valid HTTP answer$/) as string,
      },
    ])
    // Clients' own faults are counted, and fill no log.
    expect(lines.filter(({ because }) => because === 'unknown-host')).toEqual([])
  })
})

describe('how long requests and wakes take', () => {
  it('is in histograms, and a new process tells browsers how long the last wake took', async () => {
    await cluster.addApp('web', { 'proxless/ttl-seconds': '60', 'sojourn.dev/waiting-page': 'true' }, 0)
    {
      await using it = await startReplica(server.transport, { clock })
      await eventually(() => it.activator.ready && it.activator.rows().length === 1)
      expect(await roundTrip(it.port, get('/'))).toContain('200 OK')
      await eventually(() => /wake_duration_seconds_count\{route="default\/web"\} 1\n/.test(it.metrics.render()))
      const text = it.metrics.render()
      expect(text).toMatch(/request_duration_seconds_count\{route="default\/web"\} 1\n/)
      expect(text).toMatch(/request_duration_seconds_sum\{route="default\/web"\} (?!0\n)/)
      await eventually(() => cluster.history.get('web')?.at(-1) === 0)
    }
    const { annotations = {} } = (await cluster.deployment('web')).metadata
    expect(annotations['sojourn.dev/wake-seconds']).toMatch(/^\d+\.\d$/)
    await using next = await startReplica(server.transport, { clock })
    await eventually(() => next.activator.ready && next.activator.rows().length === 1)
    isReady = false
    // The thread that answers learns of the duration a moment after the route.
    const page = () => roundTrip(next.port, get('/', 'web.test', 'text/html'))
    await expect.poll(page, { timeout: 20_000 }).toMatch(/Waking up[^]*It usually takes about \d+ second/)
  })
})
