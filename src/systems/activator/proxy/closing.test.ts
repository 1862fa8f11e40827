import { readFileSync } from 'node:fs'
import net from 'node:net'
import tls from 'node:tls'
import { describe, expect, it } from 'vitest'
import { VirtualClock } from '../../../runtime/time/virtual-clock.ts'
import { cell } from './routing/counters.ts'
import { Proxy } from './planes/proxy.ts'
import {
  aRoute,
  certificateFor,
  eventually,
  rawClient,
  roundTrip,
  startBackend,
  startEcho,
  startProxy,
} from '../../../../test/activator/proxy.ts'

const get = 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n'

describe('closing', () => {
  it('takes no new connections, tells clients to leave, and lets held and streaming requests end (C55)', async () => {
    let finish = () => {}
    await using pod = await startBackend((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab')
      finish = () => void socket.write('cd')
    })
    const it = await startProxy()
    it.warm(pod.address)
    using streaming = rawClient(it.port)
    streaming.send(get)
    await streaming.until((text) => text.endsWith('ab'))
    it.proxy.setTarget('t', { is: 'cold' })
    using held = rawClient(it.port)
    held.send(get)
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    using idle = rawClient(it.port)
    idle.send('GET / HTTP/1.1\r\nHost: other.test\r\n\r\n')
    await idle.until((text) => text.includes('404'))
    const closed = it.proxy.close(60_000)
    await idle.closed()
    await expect(roundTrip(it.port, get)).resolves.toBe('')
    finish()
    await streaming.until((text) => text.endsWith('abcd'))
    await using echo = await startEcho()
    it.warm(echo.address)
    expect(await held.closed()).toMatch(/200 OK[^]*Connection: close/)
    await closed
  })

  it('serves a request that was on its way to a connection that was idle (C55)', async () => {
    await using pod = await startEcho()
    const it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(get)
    await client.until((text) => text.includes('200 OK'))
    const closed = it.proxy.close(60_000)
    client.send('GET /late HTTP/1.1\r\nHost: app.test\r\n\r\n')
    expect(await client.closed()).toMatch(/200 OK[^]*Connection: close[^]*GET \/late/)
    client.socket.end()
    await closed
  })

  it('waits no longer than it may (C55)', async () => {
    const it = await startProxy()
    using held = rawClient(it.port)
    held.send(get)
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    await it.proxy.close(1)
    await held.closed()
    expect(it.proxy.counters[0].slot(0)[cell.waiting]).toBe(0)
  })
})

describe('release', () => {
  it('opens no more connections at once than a pod may be dialled with, and serves everyone (C97)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({}, { maxDialsPerPod: 2, maxConnectionsPerPod: 8 })
    const answers = Array.from({ length: 200 }, () =>
      roundTrip(it.port, 'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n'),
    )
    await eventually(() => it.proxy.loadOf('t').waiting === 200)
    it.warm(pod.address)
    for (const answer of await Promise.all(answers)) expect(answer).toContain('200 OK')
    expect(pod.sockets.length).toBeLessThanOrEqual(8)
  })

  it('serves those first who came first (C97)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy({}, { maxDialsPerPod: 1, maxConnectionsPerPod: 1 })
    const answers: Promise<string>[] = []
    for (let i = 0; i < 20; i++) {
      answers.push(roundTrip(it.port, `GET /${i} HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n`))
      await eventually(() => it.proxy.loadOf('t').waiting === i + 1)
    }
    it.warm(pod.address)
    await Promise.all(answers)
    expect(pod.received.join('').match(/GET \/\d+/g)).toEqual(answers.map((_, i) => `GET /${i}`))
  })

  it('spreads over pods, and leaves one that does not answer alone (C60)', async () => {
    await using first = await startEcho()
    await using second = await startEcho()
    const gone = await startEcho()
    await gone[Symbol.asyncDispose]()
    await using it = await startProxy()
    it.warm(first.address, gone.address, second.address)
    const request = 'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n'
    const answers = await Promise.all(Array.from({ length: 60 }, () => roundTrip(it.port, request)))
    for (const answer of answers) expect(answer).toContain('200 OK')
  })

  it('survives readiness that comes and goes (C96)', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    const answers = Array.from({ length: 50 }, () =>
      roundTrip(it.port, 'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n'),
    )
    for (let i = 0; i < 20; i++) {
      it.warm(pod.address)
      await new Promise((resolve) => setImmediate(resolve))
      it.proxy.setTarget('t', { is: 'cold' })
      await new Promise((resolve) => setImmediate(resolve))
    }
    it.warm(pod.address)
    for (const answer of await Promise.all(answers)) expect(answer).toContain('200 OK')
  })

  it('never sends to a pod that was taken from the list (C85)', async () => {
    await using old = await startEcho()
    await using fresh = await startEcho()
    await using it = await startProxy()
    it.warm(old.address)
    using client = rawClient(it.port)
    client.send('GET /1 HTTP/1.1\r\nHost: app.test\r\n\r\n')
    await client.until((text) => text.includes('GET /1'))
    it.warm(fresh.address)
    client.send('GET /2 HTTP/1.1\r\nHost: app.test\r\n\r\n')
    await client.until((text) => text.includes('GET /2'))
    expect(old.received.join('')).not.toContain('/2')
  })
})

describe('an answer that ends with its connection', () => {
  it('and breaks off before that is not taken for a whole one (C76)', async () => {
    await using pod = await startBackend((text, socket) => {
      socket.write('HTTP/1.0 200 OK\r\n\r\nhalf', () => {
        if (text.includes('/whole')) socket.end()
        else socket.resetAndDestroy()
      })
    })
    await using it = await startProxy()
    it.warm(pod.address)
    const ends = async (path: string) => {
      const socket = net.connect({ port: it.port, host: '127.0.0.1' })
      socket.write(`GET ${path} HTTP/1.1\r\nHost: app.test\r\n\r\n`)
      socket.resume()
      return await new Promise((resolve) => {
        socket.on('end', () => resolve('ended'))
        socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
      })
    }
    expect(await ends('/whole')).toBe('ended')
    expect(await ends('/half')).toBe('ECONNRESET')
  })
})

describe('a client that reads an answer while it still sends', () => {
  it('is not cut off for what the answer takes', async () => {
    const clock = new VirtualClock()
    await using pod = await startBackend((text, socket) => {
      if (text.endsWith('first\r\n')) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfirst')
    })
    const proxy = new Proxy({ clock, wake: () => {}, random: () => 0.5 })
    proxy.setRoute(aRoute({ responseTimeoutMs: 1000 }))
    proxy.setTarget('t', { is: 'warm', endpoints: [pod.address] })
    using client = rawClient(await proxy.listen({ host: '127.0.0.1', port: 0 }))
    client.send('POST / HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n')
    await client.until((text) => text.endsWith('first'))
    client.send('0\r\n\r\n')
    await eventually(() => pod.received[0]?.endsWith('0\r\n\r\n') === true)
    await clock.runFor(60_000)
    pod.sockets[0]!.write('last')
    expect(await client.until((text) => text.endsWith('last'))).toContain('firstlast')
    await proxy.close()
  })
})

describe.runIf(process.platform === 'linux')('a connection whose other end vanished', () => {
  it('is asked for after a minute, in both directions', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    await it.proxy.setCertificates([certificateFor('app.test')])
    const tlsPort = await it.proxy.listen({ host: '127.0.0.1', port: 0, tls: true })
    using plain = rawClient(it.port)
    plain.send(get)
    await plain.until((text) => text.includes('200 OK'))
    const secure = tls.connect({ host: '127.0.0.1', port: tlsPort, rejectUnauthorized: false })
    await new Promise((resolve) => secure.on('secureConnect', resolve))
    // Those of the proxy: by its own ports, and the one to the pod.
    for (const isOurs of [
      ({ local }: Connection) => local === it.port,
      ({ local }: Connection) => local === tlsPort,
      ({ remote }: Connection) => remote === pod.address.port,
    ]) {
      const [ours] = establishedConnections().filter(isOurs)
      expect(ours?.keepAliveSeconds).toBeGreaterThan(0)
      expect(ours?.keepAliveSeconds).toBeLessThanOrEqual(60)
    }
    secure.destroy()
  })
})

interface Connection {
  readonly local: number
  readonly remote: number
  /** When the kernel asks whether the other end is still there; undefined if never. */
  readonly keepAliveSeconds: number | undefined
}

function establishedConnections(): Connection[] {
  const lines = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1)
  return lines.flatMap((line) => {
    const [, local = '', remote = '', state, , timer = ''] = line.trim().split(/\s+/)
    const [kind, due = '0'] = timer.split(':')
    const portOf = (address: string) => Number.parseInt(address.split(':')[1] ?? '', 16)
    const keepAliveSeconds = kind === '02' ? Number.parseInt(due, 16) / 100 : undefined
    return state === '01' ? [{ local: portOf(local), remote: portOf(remote), keepAliveSeconds }] : []
  })
}
