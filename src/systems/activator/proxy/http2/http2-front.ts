import type { Purpose } from '../routing/ports.ts'
import http2, { type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import type { Socket } from 'node:net'
import type { ProxyThread } from '../routing/proxy-thread.ts'
import { answerStream } from './http2-answer.ts'
import { Http2Exchange } from './http2-exchange.ts'
import type { Route } from '../routing/route.ts'

const maxConcurrentStreams = 250

/** Where a connection comes from, and what it is for. */
interface Origin {
  readonly client: string
  readonly proto: 'http' | 'https'
  readonly purpose: Purpose
}

/** Serves connections that speak HTTP/2: each stream is a request of its own, held and forwarded like any other. */
export class Http2Front {
  readonly #thread: ProxyThread
  readonly #sessions = new Set<ServerHttp2Session>()

  constructor(thread: ProxyThread) {
    this.#thread = thread
  }

  get size(): number {
    return this.#sessions.size
  }

  /** Takes a connection over; `read` is what has been read from it already. */
  accept(socket: Socket, read: Buffer, from: Origin): void {
    if (read.length > 0) socket.unshift(read)
    const session = http2.performServerHandshake(socket, {
      settings: { maxConcurrentStreams, maxHeaderListSize: 65_536, enableConnectProtocol: false },
      maxSessionMemory: 16,
    } as http2.ServerSessionOptions)
    this.#sessions.add(session)
    session.on('close', () => this.#sessions.delete(session))
    // A connection may be half open for HTTP/1 and tunnels; here a client that has gone takes its streams along.
    socket.on('end', () => session.destroy())
    session.on('error', () => session.destroy())
    let open = 0
    session.setTimeout(this.#thread.limits.keepAliveMs, () => open === 0 && session.close())
    session.on('stream', (stream, headers) => {
      open++
      stream.on('close', () => open--)
      this.#serve(stream, headers, from)
    })
  }

  /** Sends GOAWAY to every client; running streams may finish. */
  retire(): void {
    for (const session of this.#sessions) session.close()
  }

  destroy(): void {
    for (const session of this.#sessions) session.destroy()
  }

  #serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, from: Origin): void {
    stream.on('error', () => stream.destroy())
    const authority = headers[':authority'] ?? headers.host ?? ''
    const path = headers[':path'] ?? ''
    if (headers[':method'] === 'CONNECT') return answerStream(stream, headers, 'unsupported-method')
    if (!isPath(path, headers[':method'])) return answerStream(stream, headers, 'malformed-request')
    const routes = this.#thread.table.find(authority)
    if (routes === 'invalid' || authority === '') return answerStream(stream, headers, 'bad-host')
    const route: Route | undefined =
      from.purpose.is === 'requests'
        ? this.#thread.routes.get(from.purpose.route)
        : (routes?.only ?? routes?.match(path))
    if (!route) return answerStream(stream, headers, 'unknown-host')
    new Http2Exchange(this.#thread, route, stream, { ...from, headers, authority, path }).begin()
  }
}

/** Under schemes other than its own HTTP/2 itself lets anything be a path: another host, too. */
function isPath(path: string, method: string | undefined): boolean {
  return path === '*' ? method === 'OPTIONS' : /^\/[!-~]*$/.test(path)
}
