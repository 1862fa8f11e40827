import http from 'node:http'
import http2 from 'node:http2'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../runtime/time/clock.ts'
import { Proxy } from './planes/proxy.ts'
import { cell, tookBucketsMs } from './routing/counters.ts'
import type { OwnAnswers } from './routing/journal.ts'
import type { RouteConfig } from './routing/route.ts'
import {
  aRoute,
  askHttp2,
  eventually,
  rawClient,
  roundTrip,
  startBackend,
  startEcho,
} from '../../../../test/activator/proxy.ts'

const get = (path = '/', host = 'app.test') => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

/** A proxy with one route that tells what it answered itself and keeps an access log. */
async function startTelling(route: Partial<RouteConfig> = {}) {
  const answers: OwnAnswers[] = []
  const lines: Record<string, unknown>[] = []
  const proxy = new Proxy({
    clock: systemClock,
    wake: () => {},
    random: () => 0.5,
    report: (told) => void answers.push(...told),
    accessLog: (text) =>
      void lines.push(
        ...text
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line) as Record<string, unknown>),
      ),
  })
  proxy.setRoute(aRoute(route))
  const port = await proxy.listen({ host: '127.0.0.1', port: 0 })
  return {
    proxy,
    port,
    answers,
    lines,
    cells: proxy.counters[0].slot(0),
    /** Waits for the first line of the access log that is about this path. */
    async line(path: string) {
      await eventually(() => lines.some((line) => line['path'] === path))
      return lines.find((line) => line['path'] === path)!
    },
    async told(because: string) {
      await eventually(() => answers.some((each) => each.because === because))
      return answers.filter((each) => each.because === because)
    },
    [Symbol.asyncDispose]: () => proxy.close(),
  }
}

const endpoint = ({ host, port }: { readonly host: string; readonly port: number }) => `${host}:${port}`

describe('an answer of the proxy itself', () => {
  it('is told with its reason, and a broken pod with what it did', async () => {
    await using pod = await startBackend((_, socket) => void socket.end('nonsense\r\n\r\n'))
    await using it = await startTelling()
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address] })
    expect(await roundTrip(it.port, get())).toContain('502')
    expect(await it.told('upstream-failed')).toEqual([
      {
        because: 'upstream-failed',
        status: 502,
        route: 'r',
        detail: `${endpoint(pod.address)} sent no valid HTTP answer`,
        count: 1,
      },
    ])
  })

  it.each([
    ['unknown-host', get('/', 'other.test')],
    ['malformed-request', 'GET / HTTP/1.1\r\nHost : app.test\r\n\r\n'],
    ['bad-host', 'GET / HTTP/1.1\r\n\r\n'],
  ])('is counted where no route was found: %s', async (because, request) => {
    await using it = await startTelling()
    await roundTrip(it.port, request)
    expect(await it.told(because)).toEqual([{ because, status: expect.any(Number) as number, count: 1 }])
  })

  it('is told once for all requests of a moment', async () => {
    await using it = await startTelling({ maxWaiting: 0 })
    await Promise.all(Array.from({ length: 20 }, () => roundTrip(it.port, get())))
    await eventually(() => it.answers.reduce((sum, { count }) => sum + count, 0) === 20)
    expect(it.answers.length).toBeLessThan(20)
    expect(it.answers[0]).toMatchObject({ because: 'queue-full', status: 503, route: 'r' })
  })

  it('is told for HTTP/2, too', async () => {
    await using it = await startTelling({ maxWaiting: 0 })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    await askHttp2(session, { ':path': '/x' })
    await askHttp2(session, { ':path': '/y', ':authority': 'other.test' })
    session.destroy()
    expect(await it.told('queue-full')).toMatchObject([{ status: 503, route: 'r' }])
    expect(await it.told('unknown-host')).toEqual([{ because: 'unknown-host', status: 404, count: 1 }])
  })
})

describe('an answer that the pod breaks off', () => {
  it('is no client that left', async () => {
    await using pod = await startBackend(
      (_, socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'),
    )
    await using it = await startTelling()
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address] })
    using client = rawClient(it.port)
    client.send(get('/cut'))
    await client.closed()
    const detail = `${endpoint(pod.address)} broke off its answer`
    expect(await it.told('upstream-truncated')).toMatchObject([{ status: 200, route: 'r', detail }])
    expect([it.cells[cell.truncated], it.cells[cell.clientLeft]]).toEqual([1, 0])
    expect(await it.line('/cut')).toMatchObject({ status: 200, because: 'upstream-truncated' })
  })

  it('is none over HTTP/2 either', async () => {
    await using pod = await startBackend(
      (_, socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf'),
    )
    await using it = await startTelling()
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address] })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const stream = session.request({ ':authority': 'app.test', ':path': '/cut' })
    stream.on('error', () => {}).resume()
    await it.told('upstream-truncated')
    session.destroy()
    expect([it.cells[cell.truncated], it.cells[cell.clientLeft]]).toEqual([1, 0])
  })

  it('is told apart from a client that leaves, by both protocols', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startTelling()
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address] })
    const client = rawClient(it.port)
    client.send(get('/left'))
    await eventually(() => pod.received.length === 1)
    client.socket.destroy()
    expect(await it.line('/left')).toMatchObject({ clientLeft: true, status: 0 })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const stream = session.request({ ':authority': 'app.test', ':path': '/left2' })
    stream.on('error', () => {})
    await eventually(() => it.proxy.loadOf('t').busy === 1)
    stream.close(http2.constants.NGHTTP2_CANCEL)
    expect(await it.line('/left2')).toMatchObject({ clientLeft: true, protocol: 'HTTP/2' })
    session.destroy()
    expect([it.cells[cell.truncated], it.cells[cell.clientLeft]]).toEqual([0, 2])
  })
})

describe('the access log', () => {
  it('has a line for each request, and no query or fragment', async () => {
    await using pod = await startEcho()
    await using it = await startTelling()
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address] })
    await roundTrip(it.port, get('/a?token=hidden'))
    expect(await it.line('/a')).toMatchObject({
      level: 'info',
      message: 'request',
      client: '127.0.0.1',
      protocol: 'HTTP/1.1',
      method: 'GET',
      host: 'app.test',
      route: 'r',
      status: 200,
    })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    await askHttp2(session, { ':path': '/b?token=hidden' })
    session.destroy()
    expect(await it.line('/b')).toMatchObject({ protocol: 'HTTP/2', host: 'app.test', status: 200, bytes: 28 })
    await roundTrip(it.port, get('/c#token=hidden'))
    await it.line('/c')
    await roundTrip(it.port, get('/', 'other.test'))
    await eventually(() => it.lines.some(({ because }) => because === 'unknown-host'))
    expect(JSON.stringify(it.lines)).not.toContain('hidden')
    for (const line of it.lines) expect(Date.parse(line['time'] as string)).toBeGreaterThan(0)
  })

  it('tells the whole time of a tunnel, and of its start in the metric', async () => {
    const pod = http.createServer()
    pod.on('upgrade', (_request, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
      socket.on('data', () => socket.end())
    })
    await new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve))
    await using it = await startTelling()
    const { port } = pod.address() as { port: number }
    it.proxy.setTarget('t', { is: 'warm', endpoints: [{ host: '127.0.0.1', port }] })
    using client = rawClient(it.port)
    client.send('GET /ws HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n')
    await client.until((text) => text.includes('101'))
    client.send('bye')
    client.socket.end()
    await client.closed()
    const line = await it.line('/ws')
    expect(line).toMatchObject({ status: 101 })
    expect(line).not.toHaveProperty('clientLeft')
    expect(it.cells.slice(cell.tookBuckets, cell.tookBuckets + tookBucketsMs.length + 1).reduce((a, b) => a + b)).toBe(
      1,
    )
    pod.close()
  })
})
