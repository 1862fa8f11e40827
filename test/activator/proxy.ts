import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { ClientHttp2Session, IncomingHttpHeaders } from 'node:http2'
import net, { type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/runtime/time/clock.ts'
import type { ProxyLimits } from '../../src/systems/activator/proxy/routing/ports.ts'
import { Proxy, type ListenOptions } from '../../src/systems/activator/proxy/planes/proxy.ts'
import { routeDefaults, type Address, type RouteConfig } from '../../src/systems/activator/proxy/routing/route.ts'

/** A route with everything defaulted but what a case is about. */
export function aRoute(overrides: Partial<RouteConfig> = {}): RouteConfig {
  return { id: 'r', target: 't', slot: 0, hosts: ['app.test'], ...routeDefaults, ...overrides }
}

export interface TestProxy extends AsyncDisposable {
  readonly proxy: Proxy
  readonly port: number
  /** Targets that were asked for, in order. */
  readonly woken: string[]
  warm(...endpoints: readonly Address[]): void
}

/** A proxy on a free port with one cold route, on the real clock. */
export async function startProxy(
  route: Partial<RouteConfig> = {},
  limits: Partial<ProxyLimits> = {},
  listen: Partial<ListenOptions> = {},
): Promise<TestProxy> {
  const woken: string[] = []
  const proxy = new Proxy({ clock: systemClock, wake: (target) => woken.push(target), random: () => 0.5 }, { limits })
  proxy.setRoute(aRoute(route))
  const port = await proxy.listen({ host: '127.0.0.1', port: 0, ...listen })
  return {
    proxy,
    port,
    woken,
    warm: (...endpoints) => proxy.setTarget(route.target ?? 't', { is: 'warm', endpoints }),
    [Symbol.asyncDispose]: () => proxy.close(),
  }
}

export interface Backend extends AsyncDisposable {
  readonly address: Address
  /** Everything each connection received, by order of arrival. */
  readonly received: string[]
  readonly sockets: Socket[]
}

/** A pod made of bare bytes: `onData` sees what has arrived on a connection so far, and answers with the socket. */
export async function startBackend(
  onData: (text: string, socket: Socket, connection: number) => void,
): Promise<Backend> {
  const received: string[] = []
  const sockets: Socket[] = []
  const server = net.createServer({ noDelay: true, allowHalfOpen: true }, (socket) => {
    const connection = sockets.push(socket) - 1
    received[connection] = ''
    socket.on('data', (data) => {
      received[connection] += data.toString('latin1')
      onData(received[connection]!, socket, connection)
    })
    socket.on('end', () => socket.end())
    socket.on('error', () => {})
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    address: { host: '127.0.0.1', port: (server.address() as AddressInfo).port },
    received,
    sockets,
    [Symbol.asyncDispose]: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** A pod that answers every complete, bodiless request with 200 and the request's start line. */
export function startEcho(): Promise<Backend> {
  const answered = new Map<Socket, number>()
  return startBackend((text, socket) => {
    const heads = text.split('\r\n\r\n').slice(0, -1)
    for (const head of heads.slice(answered.get(socket) ?? 0)) {
      const body = head.split('\r\n')[0]!
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n\r\n${body}`)
    }
    answered.set(socket, heads.length)
  })
}

export interface RawClient extends Disposable {
  readonly socket: Socket
  readonly text: string
  send(text: string): void
  /** Resolves once what was received satisfies the condition; rejects if the connection closes first. */
  until(condition: (text: string) => boolean): Promise<string>
  /** Resolves with all that was received when the proxy has closed the connection. */
  closed(): Promise<string>
}

/** A client that says exactly what it is told to, byte for byte. */
export function rawClient(port: number): RawClient {
  const socket = net.connect({ port, host: '127.0.0.1', allowHalfOpen: true, noDelay: true })
  let text = ''
  let ended = false
  const watchers = new Set<() => void>()
  const changed = () => {
    for (const watcher of watchers) watcher()
  }
  socket.on('data', (data) => {
    text += data.toString('latin1')
    changed()
  })
  for (const event of ['end', 'close', 'error'] as const) {
    socket.on(event, () => {
      ended = true
      changed()
    })
  }
  const wait = (done: () => boolean, mayEnd: boolean) =>
    new Promise<string>((resolve, reject) => {
      const look = () => {
        if (done()) resolve(text)
        else if (ended && !mayEnd) reject(new Error(`connection closed after: ${JSON.stringify(text)}`))
        else return
        watchers.delete(look)
      }
      watchers.add(look)
      look()
    })
  return {
    socket,
    get text() {
      return text
    },
    send: (bytes) => void socket.write(bytes, 'latin1'),
    until: (condition) => wait(() => condition(text), false),
    closed: () => wait(() => ended, true),
    [Symbol.dispose]: () => socket.destroy(),
  }
}

/** Sends one request on a connection of its own and answers all that came back until the proxy closed it. */
export async function roundTrip(port: number, request: string): Promise<string> {
  using client = rawClient(port)
  client.send(request)
  return await client.closed()
}

/** What came back on a stream. */
export interface Http2Answer {
  readonly headers: IncomingHttpHeaders
  readonly trailers: IncomingHttpHeaders
  readonly body: string
}

/** Sends one request on a stream of its own. */
export function askHttp2(
  session: ClientHttp2Session,
  headers: Record<string, string>,
  body?: string,
): Promise<Http2Answer> {
  return new Promise((resolve, reject) => {
    const stream = session.request(
      { ':authority': 'app.test', ':path': '/', ...headers },
      { endStream: body === undefined },
    )
    let [head, trailers, text]: [IncomingHttpHeaders, IncomingHttpHeaders, string] = [{}, {}, '']
    stream.on('response', (value) => (head = value))
    stream.on('trailers', (value) => (trailers = value))
    stream.on('data', (data: Buffer) => (text += data.toString('latin1')))
    stream.on('end', () => resolve({ headers: head, trailers, body: text }))
    stream.on('error', reject)
    if (body !== undefined) stream.end(body)
  })
}

/** Resolves when the condition holds, looking again after everything else had its turn. */
export async function eventually(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise<void>((resolve) => systemClock.after(2, resolve))
}

/** A self-signed certificate for these hosts, with its key. */
export function certificateFor(...hosts: string[]): {
  readonly name: string
  readonly cert: string
  readonly key: string
} {
  const folder = mkdtempSync(join(tmpdir(), 'certificate-'))
  const names = hosts.map((host) => `DNS:${host}`).join(',')
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      '30',
      '-subj',
      `/CN=${hosts[0]}`,
    ].concat(['-addext', `subjectAltName=${names}`, '-keyout', join(folder, 'key'), '-out', join(folder, 'cert')]),
    { stdio: 'ignore' },
  )
  const made = {
    name: hosts[0]!,
    cert: readFileSync(join(folder, 'cert'), 'utf8'),
    key: readFileSync(join(folder, 'key'), 'utf8'),
  }
  rmSync(folder, { recursive: true })
  return made
}
