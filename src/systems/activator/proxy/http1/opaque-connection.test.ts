import { execFile } from 'node:child_process'
import http from 'node:http'
import net, { type AddressInfo } from 'node:net'
import tls from 'node:tls'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { cell, inFlightOf } from '../routing/counters.ts'
import {
  aRoute,
  certificateFor,
  eventually,
  rawClient,
  roundTrip,
  startBackend,
  startEcho,
  startProxy,
} from '../../../../../test/activator/proxy.ts'

const run = promisify(execFile)
const bytes = { purpose: { is: 'bytes', route: 'r' } } as const
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

it('holds the first words of any protocol until a pod answers, and passes bytes both ways', async () => {
  await using pod = await startBackend((text, socket) => void socket.write(`<${text}>`))
  await using proxy = await startProxy({}, {}, bytes)
  using client = rawClient(proxy.port)
  client.send('\0hello\n')
  await eventually(() => proxy.woken.length > 0)
  expect(proxy.woken).toEqual(['t'])
  proxy.warm(pod.address)
  expect(await client.until((text) => text.endsWith('>'))).toBe('<\0hello\n>')
})

it('lets the pod speak first, once the client has been silent for a moment', async () => {
  await using pod = await startBackend(() => {})
  await using proxy = await startProxy({}, {}, bytes)
  using client = rawClient(proxy.port)
  await eventually(() => proxy.woken.length > 0)
  proxy.warm(pod.address)
  await eventually(() => pod.sockets.length > 0)
  pod.sockets[0]!.write('220 ready\r\n')
  expect(await client.until((text) => text !== '')).toBe('220 ready\r\n')
})

it('neither wakes for nor counts a balancer that only knocks', async () => {
  await using proxy = await startProxy({}, {}, bytes)
  const knock = net.connect(proxy.port, '127.0.0.1', () => knock.end())
  await new Promise((resolve) => knock.once('close', resolve))
  await pause(800)
  expect(proxy.woken).toEqual([])
  expect(proxy.proxy.counters[0].slot(0)[cell.started]).toBe(0)
})

it('is in use for as long as it is open, however silent, and no longer', async () => {
  await using pod = await startBackend((_, socket) => void socket.write('ok'))
  await using proxy = await startProxy({}, {}, bytes)
  proxy.warm(pod.address)
  const client = rawClient(proxy.port)
  client.send('x')
  await client.until((text) => text === 'ok')
  const cells = proxy.proxy.counters[0].slot(0)
  expect([inFlightOf(cells), proxy.proxy.loadOf('t').busy]).toEqual([1, 1])
  client.socket.destroy()
  await eventually(() => inFlightOf(cells) === 0 && proxy.proxy.loadOf('t').busy === 0)
})

it('keeps a client that has said all and waits for its answer', async () => {
  // A pod that answers only once it has heard everything.
  const pod = net.createServer({ allowHalfOpen: true }, (socket) => {
    let heard = ''
    socket.on('data', (data) => (heard += data.toString()))
    socket.on('end', () => socket.end(`heard ${heard}`))
  })
  await new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve))
  await using proxy = await startProxy({}, {}, bytes)
  using client = rawClient(proxy.port)
  client.send('all of it')
  client.socket.end()
  await eventually(() => proxy.woken.length > 0)
  proxy.warm({ host: '127.0.0.1', port: (pod.address() as AddressInfo).port })
  expect(await client.closed()).toBe('heard all of it')
  pod.close()
})

it('resets the client when the pod resets, so that a broken answer does not look whole', async () => {
  await using pod = await startBackend((_, socket) => void socket.write('half', () => socket.resetAndDestroy()))
  await using proxy = await startProxy({}, {}, bytes)
  proxy.warm(pod.address)
  const client = net.connect(proxy.port, '127.0.0.1')
  const broken = new Promise((resolve) => client.once('error', resolve))
  client.write('x')
  expect(await broken).toMatchObject({ code: 'ECONNRESET' })
})

it('frees the place of a client that leaves, and refuses one that has waited too long', async () => {
  await using proxy = await startProxy({ readinessTimeoutMs: 300, maxWaiting: 1 }, {}, bytes)
  const first = rawClient(proxy.port)
  first.send('x')
  await eventually(() => proxy.proxy.loadOf('t').waiting === 1)
  const second = rawClient(proxy.port)
  second.send('x')
  await second.closed()
  first.socket.resetAndDestroy()
  await eventually(() => proxy.proxy.loadOf('t').waiting === 0)
  const third = rawClient(proxy.port)
  third.send('x')
  expect(await third.closed()).toBe('')
  expect(proxy.proxy.counters[0].slot(0)[cell.refused]).toBe(2)
})

it('takes in no more than a bound while it waits, and loses none of what follows', async () => {
  // More than the kernel's own buffers take.
  const size = 32_000_000
  let seen = 0
  const pod = net.createServer((socket) => {
    socket.on('data', (data) => {
      seen += data.length
      if (seen === size) socket.end('all')
    })
  })
  await new Promise<void>((resolve) => pod.listen(0, '127.0.0.1', resolve))
  await using proxy = await startProxy({}, { holdBytes: 65_536 }, bytes)
  using client = rawClient(proxy.port)
  client.send('x'.repeat(size))
  await eventually(() => proxy.woken.length > 0)
  await pause(50)
  expect(client.socket.writableLength).toBeGreaterThan(0)
  proxy.warm({ host: '127.0.0.1', port: (pod.address() as AddressInfo).port })
  expect(await client.until((text) => text === 'all')).toBe('all')
  pod.close()
  expect(seen).toBe(size)
})

it('is held back while its workload is drained, and goes on when it may', async () => {
  await using pod = await startBackend((_, socket) => void socket.end('ok'))
  await using proxy = await startProxy({}, {}, bytes)
  proxy.warm(pod.address)
  proxy.proxy.setTarget('t', { is: 'draining' })
  using client = rawClient(proxy.port)
  client.send('x')
  await eventually(() => proxy.proxy.loadOf('t').waiting === 1)
  expect(pod.sockets).toEqual([])
  proxy.warm(pod.address)
  expect(await client.closed()).toBe('ok')
})

it('passes TLS through: the pod shows its own certificate to a real curl', async () => {
  const { cert, key } = certificateFor('shop')
  const server = tls.createServer({ cert, key }, (socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\nsecret'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await using proxy = await startProxy({}, {}, bytes)
  const asked = run('curl', ['-sSkv', '--connect-to', `shop:443:127.0.0.1:${proxy.port}`, 'https://shop/'])
  await eventually(() => proxy.woken.length > 0)
  proxy.warm({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  const { stdout, stderr } = await asked
  expect(stdout).toBe('secret')
  expect(stderr).toMatch(/subject: CN\s?=\s?shop/)
  server.close()
})

it('leads every request at a port of its own to one route, whatever host it names, in HTTP/1 and HTTP/2', async () => {
  const server = http.createServer((request, response) => response.end(`${request.headers.host}`))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await using proxy = await startProxy({ hosts: [] }, {}, { purpose: { is: 'requests', route: 'r' } })
  proxy.warm({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
  expect(await roundTrip(proxy.port, 'GET / HTTP/1.1\r\nHost: shop\r\nConnection: close\r\n\r\n')).toContain(
    '\r\n\r\nshop',
  )
  expect(await roundTrip(proxy.port, 'GET / HTTP/1.0\r\n\r\n')).toContain('localhost')
  expect(await roundTrip(proxy.port, 'GET / HTTP/1.1\r\nHost: a b\r\n\r\n')).toContain('400 ')
  const { stdout } = await run('curl', ['-sS', '--http2-prior-knowledge', `http://127.0.0.1:${proxy.port}/`])
  expect(stdout).toBe(`127.0.0.1:${proxy.port}`)
  server.closeAllConnections()
  server.close()
})

it('takes no more connections at a port that was given up; those there are go on', async () => {
  await using pod = await startEcho()
  await using proxy = await startProxy({}, {}, { purpose: { is: 'requests', route: 'r' } })
  proxy.warm(pod.address)
  proxy.proxy.setRoute(aRoute({ id: 'r' }))
  using client = rawClient(proxy.port)
  client.send('GET /1 HTTP/1.1\r\nHost: x\r\n\r\n')
  await client.until((text) => text.includes('/1'))
  proxy.proxy.unlisten(proxy.port)
  client.send('GET /2 HTTP/1.1\r\nHost: x\r\n\r\n')
  expect(await client.until((text) => text.includes('/2'))).toContain('200 OK')
  await expect(roundTrip(proxy.port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).resolves.toBe('')
})
