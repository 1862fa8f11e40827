import http2 from 'node:http2'
import { describe, expect, it } from 'vitest'
import { cell } from './routing/counters.ts'
import {
  askHttp2,
  eventually,
  rawClient,
  roundTrip,
  startBackend,
  startEcho,
  startProxy,
} from '../../../../test/activator/proxy.ts'

const get = 'GET / HTTP/1.1\r\nHost: app.test\r\n\r\n'
const answer = 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nlate'

describe('an empty line in front of a request', () => {
  it.each([[[`\r\n${get}`]], [['\r', `\n${get}`]], [[get, `\r\n${get}`]]])('is ignored: %j', async (pieces) => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    for (const [index, piece] of pieces.entries()) {
      client.send(piece)
      if (piece.startsWith('GET')) await client.until((text) => text.split('200 OK').length > index + 1)
      await new Promise(setImmediate)
    }
    const heads = pieces.join('').split('GET').length
    await client.until((text) => text.split('200 OK').length === heads)
    expect(client.text).not.toContain('400')
  })

  it('is one at most, and ends with CR LF', async () => {
    await using it = await startProxy()
    expect(await roundTrip(it.port, `\r\n\r\n${get}`)).toContain('400 Bad Request')
    expect(await roundTrip(it.port, `\n${get}`)).toContain('400 Bad Request')
    expect(await roundTrip(it.port, `\r${get}`)).toContain('400 Bad Request')
  })
})

describe('a client that has closed its side', () => {
  it('gets its answer, and then the end', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(get)
    client.socket.end()
    await eventually(() => pod.received[0]?.endsWith('\r\n\r\n') === true)
    await new Promise(setImmediate)
    pod.sockets[0]!.write(answer)
    const text = await client.closed()
    expect(text).toMatch(/^(?:HTTP\/1\.1 100 Continue\r\n\r\n)?HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n\r\nlate$/)
    expect(it.proxy.counters[0].slot(0)[cell.clientLeft]).toBe(0)
  })

  it('gets its answer when a pod is found later, and however long that takes to answer', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy({}, { halfOpenMs: 1 })
    using client = rawClient(it.port)
    client.send(get)
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    client.socket.end()
    // It is asked whether it is there, again and again, both before a pod is found and after.
    const asked = (times: number) => client.until((text) => text.split('100 Continue').length > times)
    await asked(3)
    expect(it.proxy.loadOf('t').waiting).toBe(1)
    it.warm(pod.address)
    await eventually(() => pod.received[0]?.endsWith('\r\n\r\n') === true)
    await asked(client.text.split('100 Continue').length + 2)
    pod.sockets[0]!.write(answer)
    expect(await client.closed()).toMatch(
      /^(?:HTTP\/1\.1 100 Continue\r\n\r\n)+HTTP\/1\.1 200 OK\r\n[^]*Connection: close\r\n[^]*late$/,
    )
    expect(it.proxy.counters[0].slot(0)[cell.clientLeft]).toBe(0)
  })

  it('is given up once its answer is silent for a while, for it may have left', async () => {
    await using pod = await startBackend(() => {})
    await using it = await startProxy({}, { halfOpenMs: 1 })
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(get)
    await eventually(() => pod.received.length === 1)
    pod.sockets[0]!.write('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf')
    await client.until((text) => text.endsWith('half'))
    client.socket.end()
    expect(await client.closed()).toMatch(/half$/)
    await eventually(() => it.proxy.counters[0].slot(0)[cell.clientLeft] === 1)
  })

  it.each([
    ['half a request', 'POST / HTTP/1.1\r\nHost: app.test\r\nContent-Length: 9\r\n\r\nhalf'],
    // An interim answer cannot be sent to it, so nothing would ever tell that it has left.
    ['a request of HTTP/1.0', 'GET / HTTP/1.0\r\nHost: app.test\r\n\r\n'],
  ])('is gone at once while it waits for a workload with %s', async (_, request) => {
    await using it = await startProxy()
    using client = rawClient(it.port)
    client.send(request)
    await eventually(() => it.proxy.loadOf('t').waiting === 1)
    client.socket.end()
    expect(await client.closed()).toBe('')
    expect(it.proxy.loadOf('t').waiting).toBe(0)
  })
})

describe('the Via field', () => {
  it('names the protocol each request came by, behind what was there', async () => {
    await using pod = await startEcho()
    await using it = await startProxy()
    it.warm(pod.address)
    await roundTrip(it.port, 'GET /1 HTTP/1.1\r\nHost: app.test\r\nVia: 1.1 first\r\nConnection: close\r\n\r\n')
    await roundTrip(it.port, 'GET /0 HTTP/1.0\r\nHost: app.test\r\n\r\n')
    const session = http2.connect(`http://127.0.0.1:${it.port}`)
    await askHttp2(session, { ':path': '/2', via: '2 first' })
    session.destroy()
    const heads = pod.received.join('').split('\r\n\r\n')
    const via = (path: string) =>
      [...heads.find((head) => head.includes(` ${path} `))!.matchAll(/^via: (.*)$/gim)].map(([, value]) => value)
    expect([via('/1'), via('/0'), via('/2')]).toEqual([
      ['1.1 first', '1.1 sojourn'],
      ['1.0 sojourn'],
      ['2 first', '2 sojourn'],
    ])
  })
})
