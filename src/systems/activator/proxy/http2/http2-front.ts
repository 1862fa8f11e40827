import http2, { type ServerHttp2Session } from 'node:http2'
import type { Socket } from 'node:net'
import type { ProxyThread } from '../routing/proxy-thread.ts'
import { Http2Client, type Origin } from './http2-client.ts'
import { StreamGuard } from './stream-guard.ts'

const maxConcurrentStreams = 250

/** Serves connections that speak HTTP/2: each stream is a request of its own, held and forwarded like any other. */
export class Http2Front {
  readonly #thread: ProxyThread
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #streams = new Set<Http2Client>()

  constructor(thread: ProxyThread) {
    this.#thread = thread
  }

  get size(): number {
    return this.#sessions.size
  }

  /** Takes a connection over; `read` is what has been read from it already. */
  accept(socket: Socket, read: Buffer, from: Origin): void {
    const guard = new StreamGuard(socket, read)
    const session = http2.performServerHandshake(guard, {
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
      const { 'content-length': length } = headers
      if (length !== undefined) guard.expectBody(stream.id!, Number(length))
      const client = new Http2Client(this.#thread, stream, headers, from)
      open++
      this.#streams.add(client)
      stream.on('error', () => stream.destroy())
      stream.on('close', () => {
        open--
        this.#streams.delete(client)
      })
      client.begin()
    })
  }

  sweep(now: number): void {
    for (const client of this.#streams) client.sweep(now)
  }

  /** Sends GOAWAY to every client; running streams may finish. */
  retire(): void {
    for (const session of this.#sessions) session.close()
  }

  destroy(): void {
    for (const session of this.#sessions) session.destroy()
  }
}
