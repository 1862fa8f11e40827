import http from 'node:http'
import http2, { type IncomingHttpHeaders } from 'node:http2'
import net, { type AddressInfo } from 'node:net'
import tls from 'node:tls'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../runtime/time/clock.ts'
import { inFlightOf } from './routing/counters.ts'
import { Proxy } from './planes/proxy.ts'
import {
  askHttp2 as ask,
  certificateFor,
  eventually,
  rawClient,
  roundTrip,
  startEcho,
  startProxy,
} from '../../../../test/activator/proxy.ts'

/** A pod that speaks HTTP/2 only: answers each request with its path and body, and a gRPC status in the trailers. */
async function startHttp2Pod() {
  const server = http2.createServer()
  server.on('stream', (stream: http2.ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    let body = ''
    stream.on('data', (data: Buffer) => (body += data.toString('latin1')))
    stream.on('end', () => {
      stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true })
      stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }))
      stream.end(`${headers[':path']} ${String(headers['te'])} ${body}`)
    })
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

describe('HTTP/2 in clear text', () => {
  it('reaches a pod that speaks HTTP/2, trailers included', async () => {
    using pod = await startHttp2Pod()
    await using it = await startProxy()
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address], protocol: 'h2c' })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const answer = await ask(
      session,
      { ':method': 'POST', ':path': '/svc/Call', 'content-type': 'application/grpc', te: 'trailers' },
      'ping',
    )
    expect(answer.body).toBe('/svc/Call trailers ping')
    expect(answer.trailers['grpc-status']).toBe('0')
    session.destroy()
  })

  it('is known by its first words, in however many pieces they come', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    const relay = net.createServer((from) => {
      const to = net.connect({ host: '127.0.0.1', port: it.port, noDelay: true })
      to.pipe(from)
      from.once('data', (data: Buffer) => {
        from.pause()
        to.write(data.subarray(0, 16))
        systemClock.after(20, () => {
          to.write(data.subarray(16))
          from.pipe(to)
        })
      })
      for (const socket of [from, to]) socket.on('error', () => socket.destroy())
    })
    await new Promise<void>((resolve) => relay.listen(0, '127.0.0.1', resolve))
    const session = http2.connect(`http://127.0.0.1:${(relay.address() as AddressInfo).port}`)
    expect((await ask(session, { ':path': '/x' })).body).toBe('GET /x HTTP/1.1')
    session.destroy()
    relay.close()
  })

  it('reaches a pod that speaks HTTP/1', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const answer = await ask(session, { ':path': '/x' })
    expect([answer.headers[':status'], answer.body]).toEqual([200, 'GET /x HTTP/1.1'])
    session.destroy()
  })

  it('holds every stream of a cold workload by itself, with one wake (C105)', async () => {
    using pod = await startHttp2Pod()
    await using it = await startProxy()
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const answers = Array.from({ length: 50 }, (_, i) => ask(session, { ':method': 'POST', ':path': `/${i}` }, 'x'))
    const left = session.request({ ':authority': 'app.test', ':path': '/left' })
    left.on('error', () => {})
    await eventually(() => it.proxy.loadOf('t').waiting === 51)
    left.close(http2.constants.NGHTTP2_CANCEL)
    await eventually(() => it.proxy.loadOf('t').waiting === 50)
    expect(it.woken).toEqual(['t'])
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address], protocol: 'h2c' })
    for (const [i, answer] of (await Promise.all(answers)).entries()) {
      expect(answer.body).toContain(`/${i} `)
      expect(answer.headers['x-cold-start']).toMatch(/^\d+$/)
    }
    session.destroy()
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
  })

  it('is told to go elsewhere when the proxy closes, and streams under way end (C105)', async () => {
    using pod = await startHttp2Pod()
    const it = await startProxy()
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const goaway = new Promise((resolve) => session.on('goaway', resolve))
    const answer = ask(session, { ':method': 'POST', ':path': '/held' }, 'x')
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    const closed = it.proxy.close(60_000)
    expect(await goaway).toBe(http2.constants.NGHTTP2_NO_ERROR)
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address], protocol: 'h2c' })
    expect((await answer).body).toContain('/held')
    await closed
  })

  it('tells gRPC clients by gRPC status that no route leads there', async () => {
    await using it = await startProxy({ readinessTimeoutMs: 1 })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const answer = await ask(session, { ':method': 'POST', 'content-type': 'application/grpc' }, '')
    expect([answer.headers[':status'], answer.headers['grpc-status']]).toEqual([200, '14'])
    const unknown = await ask(session, { ':authority': 'other.test' })
    expect(unknown.headers[':status']).toBe(404)
    session.destroy()
  })

  it('goes to the fallback when its workload is not ready in time, and is told so when that is not there (C35)', async () => {
    const spare = await startEcho()
    await using it = await startProxy({ readinessTimeoutMs: 1, fallback: spare.address }, { dialTimeoutMs: 1 })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    expect((await ask(session, { ':path': '/spare' })).body).toBe('GET /spare HTTP/1.1')
    await spare[Symbol.asyncDispose]()
    expect((await ask(session, {})).headers[':status']).toBe(504)
    session.destroy()
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
  })

  it('waits for a pod that cannot be reached yet (C42)', async () => {
    const gone = await startHttp2Pod()
    const address = gone.address
    gone[Symbol.dispose]()
    await using it = await startProxy()
    it.proxy.setTarget('t', { is: 'warm', endpoints: [address], protocol: 'h2c' })
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    const answer = ask(session, { ':method': 'POST' }, 'kept')
    await eventually(() => it.woken.length > 0)
    using pod = await startHttp2Pod()
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address], protocol: 'h2c' })
    expect((await answer).body).toContain('kept')
    session.destroy()
  })
})

describe('TLS', () => {
  it.each([
    ['version', { minVersion: 'TLSv1.3' }, { maxVersion: 'TLSv1.2' }],
    ['ciphers', { ciphers: 'TLS_AES_256_GCM_SHA384' }, { ciphers: 'TLS_AES_128_GCM_SHA256' }],
    ['groups', { ecdhCurve: 'X25519' }, { ecdhCurve: 'P-256' }],
  ] as const)('can be held to another policy: %s (C56)', async (_, tlsPolicy, refused) => {
    const proxy = new Proxy({ clock: systemClock, wake: () => {}, random: () => 0.5 }, { tls: tlsPolicy })
    await proxy.setCertificates([certificateFor('app.test')])
    const port = await proxy.listen({ host: '127.0.0.1', port: 0, tls: true })
    const connects = (options: tls.ConnectionOptions) =>
      new Promise<boolean>((resolve) => {
        const socket = tls.connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => {
          socket.destroy()
          resolve(true)
        })
        socket.on('error', () => resolve(false))
      })
    // By the certificate of a name, and by the one for clients that give none.
    for (const name of [{ servername: 'app.test' }, {}]) {
      expect(await connects({ ...name })).toBe(true)
      expect(await connects({ ...name, ...refused })).toBe(false)
    }
    await proxy.close()
  })

  it('is terminated with the certificate of the host asked for (C56)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({ hosts: ['app.test', 'b.test', 'c.b.test'] })
    it.warm(pod.address)
    const [a, b] = [certificateFor('app.test'), certificateFor('b.test', '*.b.test')]
    const broken = { name: 'broken', cert: 'no', key: 'no' }
    const faults = await it.proxy.setCertificates([
      broken,
      { ...a, name: 'keyless', key: '' },
      { ...a, name: 'other', key: b.key },
      a,
      b,
    ])
    expect(faults.map(({ name }) => name)).toEqual(['broken', 'keyless', 'other'])
    const port = await it.proxy.listen({ host: '127.0.0.1', port: 0, tls: true })
    for (const [servername, expected] of [
      ['app.test', 'app.test'],
      ['b.test', 'b.test'],
      ['c.b.test', 'b.test'],
      ['unknown.test', 'app.test'],
    ] as const) {
      const socket = tls.connect({
        host: '127.0.0.1',
        port,
        servername,
        rejectUnauthorized: false,
        ALPNProtocols: ['http/1.1'],
      })
      socket.write('GET /tls HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n')
      let name: unknown
      socket.on('secureConnect', () => (name = socket.getPeerCertificate().subject.CN))
      let text = ''
      for await (const data of socket) text += String(data)
      expect(text).toContain('GET /tls')
      expect(name).toBe(expected)
    }
    expect(pod.received.join('')).toContain('X-Forwarded-Proto: https')
  })

  it('answers for a host with the certificate of its owner, though others have one for it, too (C56)', async () => {
    await using it = await startProxy()
    const theirs = { ...certificateFor('other.test', 'app.test', 'a.wild.test'), hosts: ['other.test'] }
    const exact = { ...certificateFor('mine.test', 'app.test'), hosts: ['app.test', 'elsewhere.test'] }
    const wild = { ...certificateFor('wild.test', '*.wild.test'), hosts: ['*.wild.test', 'b.wild.test'] }
    await it.proxy.setCertificates([theirs, exact, wild])
    const port = await it.proxy.listen({ host: '127.0.0.1', port: 0, tls: true })
    const offered = (servername: string) =>
      new Promise<unknown>((resolve) => {
        const socket = tls.connect({ host: '127.0.0.1', port, servername, rejectUnauthorized: false }, () => {
          resolve(socket.getPeerCertificate().subject.CN)
          socket.destroy()
        })
      })
    expect(await Promise.all(['app.test', 'a.wild.test', 'b.wild.test', 'other.test'].map(offered))).toEqual([
      'mine.test',
      'wild.test',
      'wild.test',
      'other.test',
    ])
    expect(await offered('elsewhere.test')).toBe('other.test')
  })

  it('offers HTTP/2 and follows certificates as they change', async () => {
    using pod = await startHttp2Pod()
    await using it = await startProxy()
    it.proxy.setTarget('t', { is: 'warm', endpoints: [pod.address], protocol: 'h2c' })
    const port = await it.proxy.listen({ host: '127.0.0.1', port: 0, tls: true })
    for (const name of ['app.test', 'other.test']) {
      await it.proxy.setCertificates([certificateFor(name)])
      const session = http2.connect(`https://127.0.0.1:${port}`, { servername: 'app.test', rejectUnauthorized: false })
      expect((await ask(session, { ':method': 'POST', ':path': '/h2' }, 'x')).body).toContain('/h2')
      expect((session.socket as tls.TLSSocket).getPeerCertificate().subject.CN).toBe(name)
      session.destroy()
    }
  })
})

describe('the PROXY protocol', () => {
  it('comes before the handshake where TLS is terminated, and is believed for HTTP/1 and HTTP/2', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    await it.proxy.setCertificates([certificateFor('app.test')])
    const port = await it.proxy.listen({ host: '127.0.0.1', port: 0, tls: true, proxyProtocol: true })
    for (const protocol of ['http/1.1', 'h2']) {
      const raw = net.connect({ host: '127.0.0.1', port })
      raw.write('PROXY TCP4 192.0.2.9 127.0.0.1 5000 80\r\n')
      const socket = tls.connect({
        socket: raw,
        servername: 'app.test',
        rejectUnauthorized: false,
        ALPNProtocols: [protocol],
      })
      await new Promise((resolve) => socket.on('secureConnect', resolve))
      if (protocol === 'h2') {
        const session = http2.connect('https://app.test', { createConnection: () => socket })
        expect((await ask(session, { ':method': 'GET', ':path': '/h2' })).body).toContain('GET /h2')
        session.destroy()
      } else {
        socket.write('GET /h1 HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n')
        let text = ''
        for await (const data of socket) text += String(data)
        expect(text).toContain('GET /h1')
      }
      expect(pod.received.join('').match(/X-Forwarded-For: 192.0.2.9/gi)).toHaveLength(protocol === 'h2' ? 2 : 1)
    }
    const liar = net.connect({ host: '127.0.0.1', port })
    liar.write('GET / HTTP/1.1\r\n\r\n')
    liar.resume()
    await new Promise((resolve) => liar.on('close', resolve))
  })

  const header = Buffer.concat([
    Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1'),
    Buffer.from([0x21, 0x11, 0, 12, 192, 0, 2, 9, 127, 0, 0, 1, 0, 80, 1, 187]),
  ]).toString('latin1')

  it.each([
    ['text', 'PROXY TCP4 192.0.2.9 127.0.0.1 5000 80\r\n'],
    ['binary', header],
  ])('in its %s form tells who the client is', async (_, preamble) => {
    await using pod = await startEcho()
    await using it = await startProxy({}, {}, { proxyProtocol: true })
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(`${preamble}GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n`)
    await client.closed()
    expect(pod.received[0]).toContain('X-Forwarded-For: 192.0.2.9\r\n')
  })

  it('is demanded when it is on and refused when it is off', async () => {
    await using on = await startProxy({}, {}, { proxyProtocol: true })
    expect(await roundTrip(on.port, 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n')).toBe('')
    await using off = await startProxy()
    expect(
      await roundTrip(off.port, 'PROXY TCP4 192.0.2.9 127.0.0.1 5000 80\r\nGET / HTTP/1.1\r\nHost: app.test\r\n\r\n'),
    ).toMatch(/^HTTP\/1.1 400/)
  })
})

describe('a real HTTP/1 client', () => {
  it('gets streamed answers as they come', async () => {
    const server = http.createServer((_, response) => {
      response.write('first')
      setImmediate(() => response.end('second'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await using it = await startProxy({ hosts: ['127.0.0.1'] })
    it.warm({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
    expect(await (await fetch(`http://127.0.0.1:${it.port}/`)).text()).toBe('firstsecond')
    server.closeAllConnections()
    server.close()
  })
})
