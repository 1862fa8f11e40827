import { createHash } from 'node:crypto'
import http from 'node:http'
import { describe, expect, it } from 'vitest'
import { inFlightOf } from './routing/counters.ts'
import {
  eventually,
  rawClient,
  roundTrip,
  startBackend,
  startProxy,
  type Backend,
} from '../../../../test/activator/proxy.ts'

const upgrade = 'GET /ws HTTP/1.1\r\nHost: app.test\r\nConnection: keep-alive, Upgrade\r\nUpgrade: raw\r\n\r\n'
const agreed = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: raw\r\nConnection: Upgrade\r\n\r\n'

/** A pod that agrees to any upgrade and echoes what comes through. */
function startTunnel(): Promise<Backend> {
  const open = new Set<unknown>()
  return startBackend((text, socket) => {
    if (open.has(socket)) return
    open.add(socket)
    socket.write(agreed)
    const early = text.slice(text.indexOf('\r\n\r\n') + 4)
    if (early) socket.write(early)
    socket.on('data', (data) => socket.write(data))
  })
}

describe('an upgrade', () => {
  it('becomes a tunnel that counts as in flight until it ends', async () => {
    await using pod = await startTunnel()
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(upgrade)
    await client.until((text) => text.endsWith(agreed.slice(-4)))
    expect(client.text).toMatch(/^HTTP\/1.1 101 [^]*Connection: Upgrade\r\nUpgrade: raw\r\n\r\n$/)
    expect(pod.received[0]).toContain('Connection: Upgrade\r\nUpgrade: raw\r\n')
    client.send('\0ping\xff')
    await client.until((text) => text.endsWith('\0ping\xff'))
    expect(inFlightOf(it.proxy.counters[0].slot(0))).toBe(1)
    client.socket.end()
    await client.closed()
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
  })

  it('from cold is held, then switched (C49)', async () => {
    await using pod = await startTunnel()
    await using it = await startProxy()
    using client = rawClient(it.port)
    client.send(`${upgrade}early`)
    await eventually(() => it.woken.length > 0)
    it.warm(pod.address)
    await client.until((text) => text.endsWith('early'))
  })

  it('keeps its target awake while silent, unless the route bounds silence (C81)', async () => {
    await using pod = await startTunnel()
    await using it = await startProxy({ tunnelIdleMs: 1 })
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(upgrade)
    await client.closed()
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
  })

  it('does not outlive a client that vanished, although the pod never closes', async () => {
    await using pod = await startBackend((text, socket) => text.includes('Upgrade') && socket.write(agreed))
    pod.sockets.length = 0
    await using it = await startProxy({}, { halfOpenMs: 1 })
    it.warm(pod.address)
    const client = rawClient(it.port)
    client.send(upgrade)
    await client.until((text) => text.includes('101'))
    for (const socket of pod.sockets) socket.removeAllListeners('end')
    client.socket.destroy()
    await eventually(() => inFlightOf(it.proxy.counters[0].slot(0)) === 0)
  })

  it('lets one end go on after the other has closed', async () => {
    await using pod = await startBackend((text, socket) => {
      if (text.endsWith('last words')) socket.write('heard')
      else if (text.includes('Upgrade')) socket.write(agreed)
    })
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(upgrade)
    await client.until((text) => text.includes('101'))
    for (const socket of pod.sockets) socket.removeAllListeners('end')
    client.send('last words')
    client.socket.end()
    await client.until((text) => text.endsWith('heard'))
  })

  it('ends for the client when the pod goes', async () => {
    await using pod = await startTunnel()
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(upgrade)
    await client.until((text) => text.includes('101'))
    pod.sockets[0]!.destroy()
    await client.closed()
  })

  it('to h2c is not passed on', async () => {
    await using pod = await startBackend((_, socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'))
    await using it = await startProxy()
    it.warm(pod.address)
    await roundTrip(
      it.port,
      'GET / HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n\r\n',
    )
    expect(pod.received[0]).not.toMatch(/Upgrade|HTTP2-Settings/i)
  })

  it('that the pod declines is an answer like any other', async () => {
    await using pod = await startBackend((_, socket) =>
      socket.write('HTTP/1.1 426 Upgrade Required\r\nContent-Length: 0\r\n\r\n'),
    )
    await using it = await startProxy()
    it.warm(pod.address)
    using client = rawClient(it.port)
    client.send(upgrade)
    await client.until((text) => text.includes('426'))
    client.send(upgrade)
    await client.until((text) => text.match(/426/g)?.length === 2)
  })

  it('works for a real WebSocket client', async () => {
    const server = http.createServer()
    server.on('upgrade', (request, socket) => {
      const key = createHash('sha1')
        .update(`${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`)
        .digest('base64')
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${key}\r\n\r\n`,
      )
      socket.write(Buffer.from([0x81, 5, ...Buffer.from('hello')]))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    await using it = await startProxy({ hosts: ['127.0.0.1'] })
    const { port } = server.address() as { port: number }
    const socket = new WebSocket(`ws://127.0.0.1:${it.port}/`)
    const message = new Promise((resolve) => socket.addEventListener('message', ({ data }) => resolve(data)))
    await eventually(() => it.woken.length > 0)
    it.warm({ host: '127.0.0.1', port })
    expect(await message).toBe('hello')
    socket.close()
    server.closeAllConnections()
    server.close()
  })
})
