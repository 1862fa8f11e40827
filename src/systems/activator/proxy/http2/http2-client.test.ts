import http from 'node:http'
import http2, { type ClientHttp2Session } from 'node:http2'
import net, { type AddressInfo, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../../runtime/time/virtual-clock.ts'
import { inFlightOf } from '../routing/counters.ts'
import { Proxy } from '../planes/proxy.ts'
import {
  aRoute,
  askHttp2 as ask,
  eventually,
  startBackend,
  startEcho,
  startProxy,
  type TestProxy,
} from '../../../../../test/activator/proxy.ts'

const inner = 'GET /smuggled HTTP/1.1\r\nHost: app.test\r\n\r\n'

/** A client whose connection may break without a word. */
function connect({ port }: Pick<TestProxy, 'port'>): ClientHttp2Session & Disposable {
  const session = http2.connect(`http://127.0.0.1:${port}`)
  session.on('error', () => {})
  return Object.assign(session, { [Symbol.dispose]: () => session.destroy() })
}

const [data, headers, reset, settings] = [0, 1, 3, 4]
const [endStream, endHeaders] = [1, 4]
const prefaceLength = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length

function frame(type: number, flags: number, stream: number, payload: string): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head.writeUIntBE(typeAndFlags(type, flags), 3, 2)
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, Buffer.from(payload, 'latin1')])
}

function typeAndFlags(type: number, flags: number): number {
  return (type << 8) | flags
}

/** Type and flags of each whole frame. */
function framesIn(text: string): number[] {
  const bytes = Buffer.from(text, 'latin1')
  const found: number[] = []
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) found.push(bytes.readUIntBE(at + 3, 2))
  return found
}

/** A client made of bare frames: Node's own one ends a stream properly before it resets it. */
function frameClient({ port }: Pick<TestProxy, 'port'>): Disposable & { post(body: string): void; cancel(): void } {
  const socket = net.connect({ host: '127.0.0.1', port })
  socket.on('error', () => {})
  socket.resume()
  const field = (name: string, value: string) =>
    `\0${String.fromCharCode(name.length)}${name}${String.fromCharCode(value.length)}${value}`
  const fields = { ':method': 'POST', ':scheme': 'http', ':path': '/', ':authority': 'app.test' }
  const block = Object.entries(fields).map(([name, value]) => field(name, value))
  return {
    post: (body) => {
      socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')
      socket.write(frame(settings, 0, 0, ''))
      socket.write(frame(headers, endHeaders, 1, block.join('')))
      socket.write(frame(data, 0, 1, body))
    },
    cancel: () => void socket.write(frame(reset, 0, 1, '\0\0\0\x08')),
    [Symbol.dispose]: () => socket.destroy(),
  }
}

/** A pod that answers once a condition holds of what a connection has received so far. */
function startPod(isWhole: (text: string) => boolean, answer = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok') {
  return startBackend((text, socket) => void (isWhole(text) && socket.write(answer)))
}

describe('a request over HTTP/2 to a pod that speaks HTTP/1', () => {
  it.each(['GET', 'HEAD', 'DELETE', 'OPTIONS', 'TRACE', 'POST', 'PUT', 'PATCH', 'REPORT'])(
    'with %s and a body of no told length hides no second request in it (C73, C74)',
    async (method) => {
      const seen: string[] = []
      const pod = http.createServer((request, response) => {
        let body = ''
        request.on('data', (data: Buffer) => (body += data.toString('latin1')))
        request.on('end', () => {
          seen.push(`${request.method} ${request.url} ${body}`)
          response.end()
        })
      })
      await new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve))
      await using it = await startProxy()
      it.warm({ host: '127.0.0.1', port: (pod.address() as AddressInfo).port })
      using session = connect(it)
      await ask(session, { ':method': method, ':path': '/first' }, inner)
      await ask(session, { ':path': '/last' })
      expect(seen).toEqual([`${method} /first ${inner}`, 'GET /last '])
      pod.closeAllConnections()
      pod.close()
    },
  )

  it('keeps the length it tells of its body, and says so when there is none', async () => {
    await using pod = await startPod(() => true)
    await using it = await startProxy()
    it.warm(pod.address)
    using session = connect(it)
    await ask(session, { ':method': 'POST', 'content-length': '5' }, 'hello')
    await ask(session, { ':method': 'POST' })
    const [first, second] = pod.received.join('').split(/(?=POST)/)
    expect(first).toMatch(/content-length: 5\r\n[^]*\r\n\r\nhello$/)
    expect(second).toMatch(/content-length: 0\r\n[^]*\r\n\r\n$/)
    expect(first! + second!).not.toMatch(/transfer-encoding/i)
  })

  it.each([
    ['a whole address under another scheme', 'http://other.test/x'],
    ['no path at all', 'x'],
    ['the whole server', '*'],
    ['bytes beyond ASCII', '/\u00e9'],
  ])('for %s is refused, and nothing gets through (C71)', async (_, path) => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    using session = connect(it)
    const answer = await ask(session, { ':path': path, ':scheme': 'other' })
    expect([answer.headers[':status'], answer.headers['x-sojourn-because']]).toEqual([400, 'malformed-request'])
    expect(pod.received).toEqual([])
  })

  it('to connect to another host is refused as a method', async () => {
    await using it = await startProxy()
    using session = connect(it)
    const stream = session.request({ ':method': 'CONNECT', ':authority': 'app.test:80' })
    const head = await new Promise<http2.IncomingHttpHeaders>((resolve) => stream.on('response', resolve))
    expect([head[':status'], head['x-sojourn-because']]).toEqual([405, 'unsupported-method'])
  })

  it('is sent again when a kept connection closes as it is written, unless it may have had an effect (C94)', async () => {
    let asked = 0
    await using pod = await startBackend((text, socket) => {
      // The first connection answers once; whatever comes on it then finds it closed.
      if (text.split('\r\n\r\n').length > 2) socket.destroy()
      else socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${++asked}`)
    })
    await using it = await startProxy()
    it.warm(pod.address)
    using session = connect(it)
    expect((await ask(session, {})).body).toBe('1')
    expect((await ask(session, {})).body).toBe('2')
    expect((await ask(session, { ':method': 'POST' })).headers[':status']).toBe(502)
  })

  it('has its answer refused when two could read it differently (C76)', async () => {
    await using pod = await startPod(
      () => true,
      'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    )
    await using it = await startProxy()
    it.warm(pod.address)
    using session = connect(it)
    expect((await ask(session, {})).headers[':status']).toBe(502)
  })

  it.each([
    ['a status that HTTP/2 does not have', 'HTTP/1.1 999 Denied\r\nContent-Length: 2\r\n\r\nok', 502],
    ['a length and no body', 'HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n', 204],
    ['a body where there is none', 'HTTP/1.1 205 Reset Content\r\nContent-Length: 2\r\n\r\nok', 205],
    ['settings of HTTP/2', 'HTTP/1.1 200 OK\r\nHTTP2-Settings: x\r\nContent-Length: 2\r\n\r\nok', 200],
  ])('is answered though its pod answers with %s', async (_, given, expected) => {
    await using pod = await startPod(() => true, given)
    await using it = await startProxy()
    it.warm(pod.address)
    using session = connect(it)
    expect((await ask(session, {})).headers[':status']).toBe(expected)
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
  })

  it.each(['http1', 'h2c', 'nowhere'] as const)(
    'is no longer in flight once it is answered, though its client sends on: %s',
    async (protocol) => {
      await using pod = await startPod(() => true)
      const other = http2.createServer()
      other.on('stream', (stream: http2.ServerHttp2Stream) => {
        stream.on('error', () => {})
        stream.respond({ ':status': 200 })
        stream.end('ok')
      })
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
      await using it = await startProxy({ readinessTimeoutMs: 1 })
      const { port } = other.address() as AddressInfo
      if (protocol === 'http1') it.warm(pod.address)
      if (protocol === 'h2c')
        it.proxy.setTarget('t', { is: 'warm', endpoints: [{ host: '127.0.0.1', port }], protocol })
      using session = connect(it)
      const stream = session.request({ ':authority': 'app.test', ':path': '/', ':method': 'POST' })
      stream.write('some')
      const answered = new Promise((resolve) => stream.on('end', resolve))
      stream.resume()
      await answered
      await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0 && it.proxy.loadOf('t').busy === 0)
      expect(stream.writable).toBe(true)
      other.close()
    },
  )

  it('gets interim answers, cookies and trailers, and none of the fields of the hop (C79)', async () => {
    await using pod = await startPod(
      () => true,
      'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nVary: x\r\nVary: y\r\n' +
        'Connection: X-Secret\r\nX-Secret: 1\r\nKeep-Alive: timeout=5\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Sum: 7\r\n\r\n',
    )
    await using it = await startProxy()
    it.warm(pod.address)
    using session = connect(it)
    const hints: unknown[] = []
    const answer = await new Promise<http2.IncomingHttpHeaders>((resolve) => {
      const stream = session.request({ ':authority': 'app.test', ':path': '/' })
      let head: http2.IncomingHttpHeaders = {}
      stream.on('headers', ({ ':status': status, link }) => hints.push(status, link))
      stream.on('response', (value) => (head = value))
      stream.on('trailers', ({ 'x-sum': sum }) => resolve({ ...head, sum: String(sum) }))
      stream.resume()
    })
    expect(hints).toEqual([103, '</a>'])
    expect(answer).toMatchObject({ ':status': 200, 'set-cookie': ['a=1', 'b=2'], vary: 'x, y', sum: '7' })
    expect(Object.keys(answer)).not.toContain('x-secret')
    expect(Object.keys(answer)).not.toContain('keep-alive')
  })

  it('may take longer to arrive than its answer may', async () => {
    const clock = new VirtualClock()
    await using pod = await startPod((text) => text.endsWith('\r\n\r\n123456789'))
    const proxy = new Proxy({ clock, wake: () => {}, random: () => 0.5 })
    proxy.setRoute(aRoute({ responseTimeoutMs: 10_000 }))
    proxy.setTarget('t', { is: 'warm', endpoints: [pod.address] })
    const port = await proxy.listen({ host: '127.0.0.1', port: 0 })
    using session = connect({ port })
    const stream = session.request({ ':authority': 'app.test', ':path': '/', ':method': 'PUT', 'content-length': '9' })
    const status = new Promise((resolve) => stream.on('response', (headers) => resolve(headers[':status'])))
    for (const piece of '123456789') {
      stream.write(piece)
      await eventually(() => pod.received[0]?.endsWith(piece) === true)
      await clock.runFor(9000)
    }
    stream.end()
    expect(await status).toBe(200)
    session.destroy()
    await Promise.all([proxy.close(), clock.runFor(1000)])
  })
})

describe('trailers of a request over HTTP/2', () => {
  it('reach a pod that speaks HTTP/1, but none that would change the message', async () => {
    await using pod = await startBackend((text, socket) => {
      if (/\r\n0\r\n[^]*\r\n\r\n$/.test(text)) socket.write('HTTP/1.1 204 No Content\r\n\r\n')
    })
    await using it = await startProxy()
    it.warm(pod.address)
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const stream = session.request(
      { ':authority': 'app.test', ':path': '/', ':method': 'POST', trailer: 'checksum' },
      { waitForTrailers: true },
    )
    stream.on('wantTrailers', () => stream.sendTrailers({ checksum: 'abc', 'content-type': 'text/evil' }))
    const status = new Promise((resolve) => stream.on('response', (headers) => resolve(headers[':status'])))
    stream.end('body')
    expect(await status).toBe(204)
    expect(pod.received[0]).toMatch(/\r\n\r\n4\r\nbody\r\n0\r\nchecksum: abc\r\n\r\n$/)
    session.destroy()
  })
})

describe('a client over HTTP/2 that gives up', () => {
  it('leaves its pod a body without an end', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy()
    it.warm(pod.address)
    using client = frameClient(it)
    client.post('half')
    await eventually(() => pod.received[0]?.includes('half') === true)
    const closed = new Promise((resolve) => pod.sockets[0]!.on('close', resolve))
    client.cancel()
    await closed
    expect(pod.received[0]).toMatch(/\r\n\r\n4\r\nhalf\r\n$/)
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
  })

  it('leaves a pod that speaks HTTP/2 a stream without an end, too', async () => {
    const frames = new Set<number>()
    await using pod = await startBackend((text, socket) => {
      if (frames.size === 0) socket.write(frame(settings, 0, 0, ''))
      for (const each of framesIn(text.slice(prefaceLength))) frames.add(each)
    })
    await using it = await startProxy()
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address], protocol: 'h2c' })
    using client = frameClient(it)
    client.post('half')
    await eventually(() => frames.has(typeAndFlags(data, 0)))
    client.cancel()
    await eventually(() => [...frames].some((each) => each >> 8 === reset))
    expect(frames).not.toContain(typeAndFlags(data, endStream))
  })

  it.each([
    ['waits', false],
    ['is being served', true],
  ])('by closing its connection is noticed while its request %s', async (_, isWarm) => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy()
    if (isWarm) it.warm(pod.address)
    using session = connect(it)
    const stream = session.request({ ':authority': 'app.test', ':path': '/', ':method': 'POST' })
    stream.on('error', () => {})
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 1 && (!isWarm || pod.sockets.length === 1))
    ;(session.socket as Socket).destroy()
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
    await eventually(() => it.proxy.connections === 0 && it.proxy.loadOf('t').busy === 0)
    expect(it.proxy.loadOf('t').waiting).toBe(0)
  })
})

describe('a pod that speaks HTTP/2 and breaks off', () => {
  it('in the middle of an answer breaks that answer, and the next request is served', async () => {
    const sockets = new Set<Socket>()
    const pod = http2.createServer()
    pod.on('connection', (socket: Socket) => sockets.add(socket))
    pod.on('stream', (stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders) => {
      stream.on('error', () => {})
      stream.respond({ ':status': 200 })
      if (headers[':path'] === '/long') stream.write('beginning')
      else stream.end('whole')
    })
    pod.on('sessionError', () => {})
    await new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve))
    await using it = await startProxy()
    const { port } = pod.address() as AddressInfo
    it.proxy.setTarget('t', { is: 'warm', endpoints: [{ host: '127.0.0.1', port }], protocol: 'h2c' })
    using session = connect(it)
    const stream = session.request({ ':authority': 'app.test', ':path': '/long' })
    const broken = new Promise((resolve) => stream.on('error', resolve))
    await new Promise((resolve) => stream.once('data', resolve))
    for (const socket of sockets) socket.resetAndDestroy()
    expect(await broken).toBeInstanceOf(Error)
    expect((await ask(session, {})).body).toBe('whole')
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
    expect(it.proxy.loadOf('t')).toEqual({ busy: 0, waiting: 0 })
    pod.close()
  })
})
