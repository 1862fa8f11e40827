import { describe, expect, it } from 'vitest'
import { cell } from './counters.ts'
import { eventually, rawClient, roundTrip, startBackend, startEcho, startProxy } from './testing.ts'

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
    streaming.socket.end()
    await closed
  })

  it('waits no longer than it may (C55)', async () => {
    const it = await startProxy()
    using held = rawClient(it.port)
    held.send(get)
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    await it.proxy.close(1)
    await held.closed()
    expect(it.proxy.counters.slot(0)[cell.waiting]).toBe(0)
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
