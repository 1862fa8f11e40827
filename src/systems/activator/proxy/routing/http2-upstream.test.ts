import { randomBytes } from 'node:crypto'
import http2, { type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { expect, it } from 'vitest'
import { eventually, roundTrip, startProxy, type TestProxy } from '../../../../../test/activator/proxy.ts'
import { inFlightOf } from './counters.ts'

/** A pod that speaks HTTP/2 only. */
async function startPod(answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, body: Buffer) => void) {
  const server = http2.createServer()
  server.on('stream', (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    const pieces: Buffer[] = []
    stream.on('error', () => {})
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    stream.on('end', () => answer(stream, headers, Buffer.concat(pieces)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const sessions = new Set<http2.ServerHttp2Session>()
  server.on('session', (session) => sessions.add(session))
  return {
    address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    [Symbol.dispose]: () => {
      for (const session of sessions) session.destroy()
      server.close()
    },
  }
}

const echo = () =>
  startPod((stream, { ':method': method, ':path': path, ':authority': authority, via }, body) => {
    stream.respond({ ':status': 200 }, { waitForTrailers: true })
    stream.on('wantTrailers', () => stream.sendTrailers({ 'x-sum': '7' }))
    stream.end(`${method} ${path} ${authority} ${via} ${body.toString('latin1')}`)
  })

const lead = (it: TestProxy, { address }: { readonly address: { host: string; port: number } }) =>
  it.proxy.setTarget('t', { is: 'warm', endpoints: [address], protocol: 'h2c' })

it.each([
  ['no body', 'GET /a HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n', 'GET /a app.test 1.1 sojourn '],
  [
    'a length',
    'POST /a HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello',
    'POST /a app.test 1.1 sojourn hello',
  ],
  [
    'chunks',
    'POST /a HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n',
    'POST /a app.test 1.1 sojourn hello',
  ],
])(
  'takes a request of HTTP/1 with %s to a pod that speaks HTTP/2, and its answer back in chunks',
  async (_, request, got) => {
    using pod = await echo()
    await using it = await startProxy()
    lead(it, pod)
    const answer = await roundTrip(it.port, request)
    const [head, ...body] = answer.split('\r\n\r\n')
    expect(head).toMatch(/^HTTP\/1\.1 200 [^]*transfer-encoding: chunked/i)
    expect(body.join('\r\n\r\n')).toBe(`${got.length.toString(16)}\r\n${got}\r\n0\r\nx-sum: 7\r\n\r\n`)
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0 && it.proxy.loadOf('t').busy === 0)
  },
)

it('ends an answer without a body, so that the connection can go on', async () => {
  using pod = await startPod((stream, { ':path': path }) =>
    stream.respond({ ':status': 200, 'x-path': path }, { endStream: true }),
  )
  await using it = await startProxy()
  lead(it, pod)
  const ask = (path: string, fields = '') => `GET ${path} HTTP/1.1\r\nHost: app.test\r\n${fields}\r\n`
  const answers = await roundTrip(it.port, `${ask('/1')}${ask('/2', 'Connection: close\r\n')}`)
  expect(answers).toMatch(/x-path: \/1\r\n[^]*content-length: 0[^]*x-path: \/2/i)
})

it('gives a client of HTTP/1.0 the content alone', async () => {
  using pod = await echo()
  await using it = await startProxy()
  lead(it, pod)
  const answer = await roundTrip(it.port, 'GET /a HTTP/1.0\r\nHost: app.test\r\n\r\n')
  expect(answer).toMatch(/\r\n\r\nGET \/a app\.test 1\.0 sojourn $/)
})

it('sends again what a pod refuses to look at, though it is no GET', async () => {
  let times = 0
  using pod = await startPod((stream, _, body) => {
    if (++times === 1) return stream.close(http2.constants.NGHTTP2_REFUSED_STREAM)
    stream.respond({ ':status': 200 })
    stream.end(body)
  })
  await using it = await startProxy()
  lead(it, pod)
  const request = 'POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello'
  expect(await roundTrip(it.port, request)).toMatch(/200 [^]*hello/)
  expect(times).toBe(2)
})

it('carries large bodies both ways unchanged, at the pace of the slower side', async () => {
  const sent = randomBytes(3_000_000)
  using pod = await startPod((stream, _, body) => {
    stream.respond({ ':status': 200 })
    stream.end(body)
  })
  await using it = await startProxy()
  lead(it, pod)
  const session = http2.connect(`http://127.0.0.1:${it.port}`)
  const stream = session.request({ ':authority': 'app.test', ':path': '/', ':method': 'POST' })
  stream.end(sent)
  const pieces: Buffer[] = []
  for await (const piece of stream) {
    pieces.push(piece as Buffer)
    stream.pause()
    setImmediate(() => stream.resume())
  }
  expect(Buffer.concat(pieces).equals(sent)).toBe(true)
  session.destroy()
})
