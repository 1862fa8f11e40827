import { describe, expect, it } from 'vitest'
import {
  aRoute,
  eventually,
  rawClient,
  roundTrip,
  startBackend,
  startEcho,
  startProxy,
} from '../../../../../test/activator/proxy.ts'
import { cell, inFlightOf } from '../routing/counters.ts'

const get = 'GET / HTTP/1.1\r\nHost: app.test\r\n'
const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'
const bodyOf = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4)

describe('forwarding', () => {
  it('passes a request and its answer (C3)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    const text = await roundTrip(it.port, `GET /a?b HTTP/1.1\r\nHost: APP.test:80\r\nConnection: close\r\n\r\n`)
    expect(text).toMatch(/^HTTP\/1.1 200 OK\r\n/)
    expect(bodyOf(text)).toBe('GET /a?b HTTP/1.1')
    expect(pod.received[0]).toContain('\r\nHost: APP.test:80\r\n')
    expect(pod.received[0]).toContain(
      'X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: APP.test:80\r\nX-Forwarded-Proto: http\r\n',
    )
  })

  it('answers 404 for a host without a route, and keeps the connection (C2)', async () => {
    await using it = await startProxy()
    using client = rawClient(it.port)
    client.send(
      'GET / HTTP/1.1\r\nHost: other.test\r\n\r\nGET / HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n',
    )
    const text = await client.closed()
    expect(text.match(/HTTP\/1.1 404/g)).toHaveLength(2)
    expect(it.woken).toEqual([])
  })

  it('73: drops the forwarding fields of clients that are no trusted proxies', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({}, { trustedProxies: ['10.0.0.0/8'] })
    it.warm(pod.address)
    const passed =
      'X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Port: 444\r\nForwarded: host=evil\r\n'
    await roundTrip(it.port, `${get}${passed}Connection: close\r\n\r\n`)
    expect(pod.received[0]).toContain(
      'X-Forwarded-For: 127.0.0.1\r\nX-Forwarded-Host: app.test\r\nX-Forwarded-Proto: http\r\n',
    )
    expect(pod.received[0]).not.toMatch(/evil|1\.1\.1\.1|444/)
  })

  it('extends the forwarding fields of a trusted proxy (C46)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({}, { trustedProxies: ['127.0.0.0/8'] })
    it.warm(pod.address)
    const passed =
      'X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-For: 2.2.2.2\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: outer\r\nForwarded: for=1.1.1.1\r\n'
    await roundTrip(it.port, `${get}${passed}Connection: close\r\n\r\n`)
    expect(pod.received[0]).toContain(
      'X-Forwarded-For: 1.1.1.1, 2.2.2.2, 127.0.0.1\r\nX-Forwarded-Host: outer\r\nX-Forwarded-Proto: https\r\n',
    )
    expect(pod.received[0]).toContain('Forwarded: for=1.1.1.1')
  })

  it('drops fields of the hop both ways (C79)', async () => {
    await using pod = await startBackend((_, socket) =>
      socket.write(
        'HTTP/1.1 200 OK\r\nX-Inner: 1\r\nKeep-Alive: timeout=5\r\nConnection: X-Inner\r\nX-TakeoverResult: 2\r\nContent-Length: 0\r\n\r\n',
      ),
    )
    await using it = await startProxy()
    it.warm(pod.address)
    const text = await roundTrip(
      it.port,
      `${get}X-Secret: s\r\nTE: trailers\r\nX-Open: o\r\nConnection: X-Secret, close\r\n\r\n`,
    )
    expect(text).not.toMatch(/X-Inner|Keep-Alive/)
    expect(text).toContain('X-TakeoverResult: 2')
    expect(pod.received[0]).not.toMatch(/X-Secret|TE:|Connection/)
    expect(pod.received[0]).toContain('X-Open: o')
  })

  it.each(['Content-Length', 'Host', 'Transfer-Encoding'])('refuses to drop %s for a client (C79)', async (name) => {
    await using it = await startProxy()
    expect(await roundTrip(it.port, `${get}Connection: ${name}\r\n\r\n`)).toMatch(/^HTTP\/1.1 400/)
  })

  it('answers pipelined requests in order, over one connection to the pod (C80)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    const requests = Array.from(
      { length: 20 },
      (_, i) => `GET /${i} HTTP/1.1\r\nHost: app.test\r\n${i === 19 ? 'Connection: close\r\n' : ''}\r\n`,
    )
    const text = await roundTrip(it.port, requests.join(''))
    expect(text.match(/GET \/\d+/g)).toEqual(requests.map((_, i) => `GET /${i}`))
    expect(pod.sockets).toHaveLength(1)
  })

  it('never sends pipelined requests for two workloads over one connection (C80)', async () => {
    await using first = await startEcho()
    await using second = await startEcho()
    await using it = await startProxy()
    it.warm(first.address)
    it.proxy.setRoute(aRoute({ id: 'other', target: 'u', slot: 1, hosts: ['other.test'] }))
    it.proxy.setTarget('u', { is: 'warm', endpoints: [second.address] })
    const hosts = ['app.test', 'other.test', 'app.test', 'other.test']
    const requests = hosts.map(
      (host, i) => `GET /${i} HTTP/1.1\r\nHost: ${host}\r\n${i === 3 ? 'Connection: close\r\n' : ''}\r\n`,
    )
    const text = await roundTrip(it.port, requests.join(''))
    expect(text.match(/GET \/\d/g)).toEqual(['GET /0', 'GET /1', 'GET /2', 'GET /3'])
    expect(first.received.join('').match(/\nHost: \S+/g)).toEqual(['\nHost: app.test', '\nHost: app.test'])
    expect(second.received.join('').match(/\nHost: \S+/g)).toEqual(['\nHost: other.test', '\nHost: other.test'])
  })

  it('passes a redirect on, and does not follow it (C43)', async () => {
    await using pod = await startBackend((_, socket) =>
      socket.write('HTTP/1.1 302 Found\r\nLocation: http://app.test/next\r\nContent-Length: 0\r\n\r\n'),
    )
    await using it = await startProxy()
    it.warm(pod.address)
    const text = await roundTrip(it.port, `${get}Connection: close\r\n\r\n`)
    expect(text).toMatch(/^HTTP\/1.1 302 Found\r\nLocation: http:\/\/app.test\/next\r\n/)
    expect(pod.received.join('').match(/GET/g)).toHaveLength(1)
  })

  it('understands a head that arrives byte by byte', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    for (const byte of `${get}Connection: close\r\n\r\n`) {
      client.send(byte)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(await client.closed()).toContain('200 OK')
  })

  it('lets the target decide when it names the host (C71)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    const text = await roundTrip(
      it.port,
      'GET http://app.test/x HTTP/1.1\r\nHost: other.test\r\nConnection: close\r\n\r\n',
    )
    expect(bodyOf(text)).toBe('GET /x HTTP/1.1')
    expect(pod.received[0]).toContain('Host: app.test\r\n')
    expect(pod.received[0]).not.toContain('other.test')
  })

  it('serves HTTP/1.0: closes unless asked to stay (C72)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    const once = await roundTrip(it.port, 'GET / HTTP/1.0\r\nHost: app.test\r\n\r\n')
    expect(once).toContain('Connection: close')
    using client = rawClient(it.port)
    client.send('GET /1 HTTP/1.0\r\nHost: app.test\r\nConnection: keep-alive\r\n\r\n')
    expect(await client.until((text) => text.includes('GET /1'))).toContain('Connection: keep-alive')
    client.send('GET /2 HTTP/1.0\r\nHost: app.test\r\n\r\n')
    expect(await client.closed()).toContain('GET /2 HTTP/1.1')
    expect(await roundTrip(it.port, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 404/)
  })

  it('unwraps chunks for a client that cannot read them', async () => {
    await using pod = await startBackend((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n')
      socket.write('6\r\n world\r\n0\r\n\r\n')
    })
    await using it = await startProxy()
    it.warm(pod.address)
    const text = await roundTrip(it.port, 'GET / HTTP/1.0\r\nHost: app.test\r\n\r\n')
    expect(text).not.toContain('Transfer-Encoding')
    expect(bodyOf(text)).toBe('hello world')
  })

  it('keeps chunked framing for any method (C74)', async () => {
    await using pod = await startBackend((text, socket) => text.endsWith('0\r\n\r\n') && socket.write(ok))
    await using it = await startProxy()
    it.warm(pod.address)
    for (const method of ['DELETE', 'OPTIONS', 'POST', 'GET']) {
      const request = `${method} / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n`
      expect(await roundTrip(it.port, request)).toContain('200 OK')
    }
    for (const text of pod.received)
      expect(text).toMatch(/Transfer-Encoding: chunked[^]*\r\n\r\n3\r\nabc\r\n0\r\n\r\n$/)
  })

  it('passes interim answers and the final one', async () => {
    await using pod = await startBackend((text, socket) => {
      if (text.includes('body!')) socket.write(ok)
      else socket.write('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n')
    })
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(
      'POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n',
    )
    await client.until((text) => text.includes('103 Early Hints'))
    client.send('body!')
    expect(await client.closed()).toMatch(/100 Continue[^]*103 Early Hints[^]*200 OK/)
  })

  it.each([
    ['HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n', 'HEAD / HTTP/1.1\r\nHost: app.test\r\n\r\n'],
    ['204', 'HTTP/1.1 204 No Content\r\nContent-Length: 100\r\n\r\n', `${get}\r\n`],
    ['304', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n', `${get}\r\n`],
  ])('expects no body with %s, and does not misread the next answer (C77)', async (_, answer, request) => {
    let count = 0
    await using pod = await startBackend((text, socket) => {
      if (text.split('\r\n\r\n').length - 1 > count) socket.write(count++ === 0 ? answer : ok)
    })
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(request)
    await client.until((text) => text.includes('\r\n\r\n'))
    client.send(`${get}Connection: close\r\n\r\n`)
    expect(await client.closed()).toMatch(/200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok$/)
    expect(pod.sockets).toHaveLength(1)
  })

  it('streams an answer without length until the pod closes', async () => {
    await using pod = await startBackend((_, socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nall of it'))
    await using it = await startProxy()
    it.warm(pod.address)
    const text = await roundTrip(it.port, `${get}\r\n`)
    expect(text).toContain('Connection: close')
    expect(bodyOf(text)).toBe('all of it')
  })

  it('never reuses a connection on which more came than was asked (C76)', async () => {
    await using pod = await startBackend((_, socket) =>
      socket.write(`${ok}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil`),
    )
    await using it = await startProxy()
    it.warm(pod.address)
    for (let i = 0; i < 2; i++) expect(bodyOf(await roundTrip(it.port, `${get}Connection: close\r\n\r\n`))).toBe('ok')
    expect(pod.sockets).toHaveLength(2)
  })

  it('moves large bodies both ways without harm', async () => {
    const size = 3_000_000
    const body = 'x'.repeat(size)
    await using pod = await startBackend((text, socket) => {
      const start = text.indexOf('\r\n\r\n') + 4
      if (text.length - start === size)
        socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${size}\r\n\r\n${text.slice(start)}`)
    })
    await using it = await startProxy()
    it.warm(pod.address)
    const text = await roundTrip(
      it.port,
      `POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: ${size}\r\nConnection: close\r\n\r\n${body}`,
    )
    expect(bodyOf(text).length).toBe(size)
  })

  it('carries bytes of every value', async () => {
    const every = Buffer.from(Array.from({ length: 256 }, (_, i) => i)).toString('latin1')
    await using pod = await startBackend((text, socket) => {
      const body = bodyOf(text)
      if (body.length === 256) socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 256\r\n\r\n${body}`, 'latin1')
    })
    await using it = await startProxy()
    it.warm(pod.address)
    const text = await roundTrip(
      it.port,
      `POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 256\r\nConnection: close\r\n\r\n${every}`,
    )
    expect(bodyOf(text)).toBe(every)
  })

  it('counts what it does, and ends at zero in flight (C44)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    for (let i = 0; i < 3; i++) await roundTrip(it.port, `${get}Connection: close\r\n\r\n`)
    const cells = it.proxy.counters[0].slot(0)
    expect([cells[cell.started], cells[cell.success], inFlightOf(cells)]).toEqual([3, 3, 0])
  })
})

describe('a pod that fails', () => {
  it.each([
    [
      'gives two lengths',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n',
    ],
    ['repeats its length', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok'],
    ['speaks no HTTP', 'SSH-2.0-OpenSSH\r\n'],
    ['switches protocols unasked', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n'],
  ])('is answered for with 502 when it %s (C4, C76)', async (_, answer) => {
    await using pod = await startBackend((_text, socket) => socket.end(answer))
    await using it = await startProxy()
    it.warm(pod.address)
    expect(
      await roundTrip(it.port, `POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`),
    ).toMatch(/^HTTP\/1.1 502/)
  })

  it('makes a truncated answer visible (C76)', async () => {
    await using pod = await startBackend((_, socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'))
    await using it = await startProxy()
    it.warm(pod.address)
    const text = await roundTrip(it.port, `${get}\r\n`)
    expect(bodyOf(text)).toBe('half')
  })

  it('is asked again when a kept connection closed under an idempotent request (C94)', async () => {
    await using pod = await startBackend((text, socket, connection) => {
      if (connection > 0 || text.split('\r\n\r\n').length === 2) socket.write(ok)
      else socket.destroy()
    })
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(`${get}\r\n`)
    await client.until((text) => text.endsWith('ok'))
    client.send(`${get}Connection: close\r\n\r\n`)
    expect((await client.closed()).match(/200 OK/g)).toHaveLength(2)
    expect(it.proxy.counters[0].slot(0)[cell.retries]).toBe(1)
  })

  it('is not asked again for what may not be repeated (C94)', async () => {
    await using pod = await startBackend((text, socket) => {
      if (text.startsWith('GET') && !text.includes('POST')) socket.write(ok)
      else socket.destroy()
    })
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(`${get}\r\n`)
    await client.until((text) => text.endsWith('ok'))
    client.send('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi')
    expect(await client.closed()).toMatch(/502 Bad Gateway/)
    expect(pod.received.join('').match(/POST/g)).toHaveLength(1)
  })

  it('that refuses a body unread costs only that client its connection (C47)', async () => {
    await using pod = await startBackend((text, socket) => {
      if (text.startsWith('POST')) socket.end('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n')
      else socket.write(ok)
    })
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 1000000\r\n\r\nonly a part')
    expect(await client.closed()).toContain('413')
    expect(await roundTrip(it.port, `${get}Connection: close\r\n\r\n`)).toContain('200 OK')
    expect(it.proxy.loadOf('t').busy).toBe(0)
  })

  it('has 504 said for it when it takes too long (C43)', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy({ responseTimeoutMs: 1 })
    it.warm(pod.address)
    expect(await roundTrip(it.port, `${get}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 504/)
  })

  it('is given up at the deadline when it never takes a connection (C42)', async () => {
    const gone = await startEcho()
    await gone[Symbol.asyncDispose]()
    await using it = await startProxy({ readinessTimeoutMs: 1 })
    it.warm(gone.address)
    expect(await roundTrip(it.port, `${get}Connection: close\r\n\r\n`)).toMatch(/^HTTP\/1.1 504/)
    expect(it.proxy.loadOf('t')).toEqual({ busy: 0, waiting: 0 })
  })

  it('holds requests like a cold start while it restarts (C42, C95)', async () => {
    await using it = await startProxy()
    const first = await startEcho()
    it.warm(first.address)
    await first[Symbol.asyncDispose]()
    using client = rawClient(it.port)
    client.send(`${get}Connection: close\r\n\r\n`)
    await eventually(() => it.woken.length > 0)
    await using second = await startEcho()
    it.warm(second.address)
    expect(await client.closed()).toContain('200 OK')
  })
})

describe('limits', () => {
  it('closes a connection that never finishes its head, and wakes nothing (C83)', async () => {
    await using it = await startProxy({}, { headTimeoutMs: 1 })
    using client = rawClient(it.port)
    client.send('GET / HTTP/1.1\r\nHost: app.test\r\nX-')
    expect(await client.closed()).toMatch(/^HTTP\/1.1 408/)
    expect(it.woken).toEqual([])
  })

  it('counts the time of a later head from its first byte, however often it drips (C83)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({}, { headTimeoutMs: 300 })
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(`${get}\r\n`)
    await client.until((text) => text.includes('200 OK'))
    client.send('GET / HTTP/1.1\r\n')
    const drip = setInterval(() => client.send('X: y\r\n'), 50)
    expect(await client.closed()).toContain('408')
    clearInterval(drip)
  })

  it('gives a body time as long as no pod reads it', async () => {
    await using it = await startProxy({ readinessTimeoutMs: 700 }, { bodyTimeoutMs: 1 })
    using client = rawClient(it.port)
    client.send('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n')
    expect(await client.closed()).toMatch(/^HTTP\/1.1 504/)
  })

  it('ends a body that stalls while a pod takes it', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy({}, { bodyTimeoutMs: 1 })
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send('POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\n\r\nhal')
    await client.closed()
    await eventually(() => pod.sockets[0]!.destroyed || pod.sockets[0]!.readableEnded)
  })

  it('closes an idle connection without a word', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({}, { keepAliveMs: 1 })
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(`${get}\r\n`)
    expect((await client.closed()).match(/HTTP\/1.1/g)).toHaveLength(2)
  })

  it('spreads requests over connections no further than it may', async () => {
    const held: (() => void)[] = []
    await using pod = await startBackend((_, socket) => held.push(() => socket.write(ok)))
    await using it = await startProxy({}, { maxConnectionsPerPod: 2 })
    it.warm(pod.address)
    const answers = Array.from({ length: 6 }, () => roundTrip(it.port, `${get}Connection: close\r\n\r\n`))
    let released = 0
    await eventually(() => {
      while (held.length > released) held[released++]!()
      return released === 6
    })
    for (const answer of await Promise.all(answers)) expect(answer).toContain('200 OK')
    expect(pod.sockets.length).toBeLessThanOrEqual(2)
    expect(it.proxy.counters[0].slot(0)[cell.coldStarts]).toBe(0)
  })
})

describe('routes', () => {
  it('can be changed and removed without touching others (C9, C14)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.proxy.setRoute(aRoute({ id: 'other', target: 'u', slot: 1, hosts: ['other.test'] }))
    it.proxy.setTarget('u', { is: 'warm', endpoints: [pod.address] })
    const ask = (host: string) => roundTrip(it.port, `GET / HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
    expect(await ask('other.test')).toContain('200 OK')
    it.proxy.setRoute(aRoute({ id: 'other', target: 'u', slot: 1, hosts: ['new.test'] }))
    expect(await ask('other.test')).toContain('404')
    expect(await ask('new.test')).toContain('200 OK')
    for (let i = 0; i < 2; i++) it.proxy.removeRoute('other')
    expect(await ask('new.test')).toContain('404')
    it.warm(pod.address)
    expect(await ask('app.test')).toContain('200 OK')
  })

  it('lead two hosts to one workload', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.proxy.setRoute(aRoute({ id: 'second', slot: 1, hosts: ['second.test'] }))
    it.warm(pod.address)
    expect(await roundTrip(it.port, 'GET / HTTP/1.1\r\nHost: second.test\r\nConnection: close\r\n\r\n')).toContain(
      '200 OK',
    )
  })
})
