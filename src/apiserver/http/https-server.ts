import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerOptions as HttpServerOptions, ServerResponse } from 'node:http'
import { constants, createSecureServer, type Http2SecureServer, type Http2ServerRequest } from 'node:http2'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { StatusError } from '../../kube/status-error.ts'
import { flatHeaders } from '../../kube/transport.ts'
import type { Authenticator } from '../auth/authenticator.ts'
import { anonymous, type User } from '../auth/user.ts'
import { Turns, type Clock } from '../store/clock.ts'
import { failure, type Answer } from './response/answer.ts'
import { bytesBody } from './request/body.ts'
import { readBody } from './request/read-body.ts'
import type { Edge } from './edge.ts'
import type { EdgeRequest } from './request/edge-request.ts'
import { protobufWatch } from './response/encoding.ts'
import { RequestLimit } from './response/request-limit.ts'
import { isClosed, writeAnswer, writeHead } from './response/response-writer.ts'
import { WatchLimit } from './response/watch-limit.ts'
import { WatchWriter } from './response/watch-writer.ts'

/** A page that the application serves on the API port, outside the Kubernetes API. */
export interface ExtraRoute {
  /** `public` pages check access themselves; for `authorized` ones RBAC must allow the user this verb on the path. */
  readonly access: 'public' | 'authorized'
  serve(request: IncomingMessage, response: ServerResponse, user: User): void | Promise<void>
}

/** A request for a path outside the resource API, with the headers that may impersonate another user. */
export interface PathAccess {
  readonly user: User
  readonly headers: Readonly<Record<string, string>>
  readonly verb: string
  readonly path: string
}

/** Finds the application's page for a path (without query); undefined: the API handles it. */
export type ExtraRoutes = (method: string, path: string) => ExtraRoute | undefined

/** The token of a browser's session, if the request proves one. */
export type SessionToken = (
  request: Pick<IncomingMessage, 'headers'> & { readonly method: string },
) => string | undefined

/** Bounds on what one client may use. */
export interface HttpsLimits {
  readonly urlLength: number
  readonly watchesPerUser: number
  /** How many requests of a user are answered at once, apart from watches and other streams. */
  readonly requestsPerUser: number
  /** How long a request may take to arrive. */
  readonly requestMs: number
  /** How long a client may stop reading its response before the connection is closed. */
  readonly stallMs: number
}

/** Used where `ApiServerOptions.limits` says nothing. */
export const defaultLimits: HttpsLimits = {
  urlLength: 16 * 1024,
  watchesPerUser: 5000,
  requestsPerUser: 100,
  requestMs: 60_000,
  stallMs: 60_000,
}

/** After which time a connection without requests is closed. */
const idleMs = 120_000

/** What the HTTPS server needs. */
export interface HttpsPorts {
  readonly edge: Edge
  readonly authenticator: Authenticator
  readonly tls: { readonly certificate: string; readonly key: string; readonly authority: string }
  readonly clock: Clock
  readonly extraRoutes: ExtraRoutes
  readonly sessionToken: SessionToken
  readonly limits: HttpsLimits
  /** Whether a path is served without credentials. */
  isPublic(path: string): boolean
  /**
   * The user to serve the request as, after impersonation. Throws Forbidden unless that user has access to the path.
   */
  userForPath(request: PathAccess): User
  onInternalError(error: unknown, request: { readonly method: string; readonly path: string }): void
}

/** Requests come from outside: their turns are those of the event loop, even on a clock that stands still. */
const eventLoop = { now: () => performance.now(), breathe: () => setImmediate() }

/** Serves the API and the application's pages on a TLS port, over HTTP/2 and HTTP/1.1. */
export class HttpsServer {
  readonly #ports: HttpsPorts
  readonly #server: Http2SecureServer
  readonly #sockets = new Set<Socket>()
  readonly #watches: WatchLimit
  readonly #requests: RequestLimit
  readonly #turns: Turns

  constructor(ports: HttpsPorts) {
    const { tls, limits } = ports
    this.#ports = ports
    this.#watches = new WatchLimit(limits.watchesPerUser)
    this.#requests = new RequestLimit(limits.requestsPerUser)
    this.#turns = new Turns(eventLoop)
    this.#server = createSecureServer(
      {
        allowHTTP1: true,
        settings: { maxConcurrentStreams: 250 },
        // Node's limit of 10 MB is for all streams of a connection; a slow watch alone may buffer one.
        maxSessionMemory: 256,
        cert: tls.certificate,
        key: tls.key,
        ca: tls.authority,
        requestCert: true,
        rejectUnauthorized: false,
        minVersion: 'TLSv1.2',
        http1Options: http1Options(limits),
      },
      // Requests and responses of HTTP/2 have the shape of those of HTTP/1.1, except for what is handled below.
      (request, response) =>
        void this.#serve(request as unknown as IncomingMessage, response as unknown as ServerResponse),
    )
    this.#server.on('clientError', refuse)
    // Idle connections are told to go away; open watches on them end first.
    this.#server.on('session', (session) => session.setTimeout(idleMs, () => session.close()))
    this.#server.on('secureConnection', (socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
  }

  listen({ port, host }: { readonly port: number; readonly host: string }): Promise<AddressInfo> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen(port, host, () => {
        this.#server.off('error', reject)
        resolve(this.#server.address() as AddressInfo)
      })
    })
  }

  /** Ends watches, waits up to `graceMs` for responses in progress, then closes the remaining connections. */
  close(graceMs: number): Promise<void> {
    if (!this.#server.listening) return Promise.resolve()
    this.#watches.endAll()
    return new Promise((resolve) => {
      const cancel = this.#ports.clock.after(graceMs, () => this.#sockets.forEach((socket) => socket.destroy()))
      this.#server.close(() => {
        cancel()
        resolve()
      })
    })
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '' } = request
    const [path = ''] = url.split('?', 1)
    request.headers.host ??= request.headers[':authority'] as string | undefined
    response.setHeader('audit-id', auditId(request))
    try {
      await this.#route(request, response, { method, path })
    } catch (error) {
      if (response.headersSent) return void response.destroy()
      if (!(error instanceof StatusError)) this.#ports.onInternalError(error, { method, path })
      await this.#write(request, response, failure(asStatus(error)))
    }
  }

  async #route(
    request: IncomingMessage,
    response: ServerResponse,
    { method, path }: { readonly method: string; readonly path: string },
  ): Promise<void> {
    const { extraRoutes, limits, edge } = this.#ports
    checkUrl(request.url ?? '', limits.urlLength)
    // A browser gets the application's page at `/`, every other client the paths of the API.
    const isApiRoot = path === '/' && !request.headers.accept?.includes('text/html')
    const route = isApiRoot ? undefined : extraRoutes(method, path)
    const user = this.#userOf(request)
    if (route?.access === 'public') return route.serve(request, response, user ?? anonymous)
    if (!user && !this.#ports.isPublic(path)) throw new StatusError('Unauthorized', 'Unauthorized')
    if (route) return route.serve(request, response, this.#userForPage(request, user ?? anonymous, path))
    // Without credentials there are only small answers, and no bodies.
    const release = user ? await this.#requests.take(user.name) : () => {}
    try {
      await this.#turns.begin(user?.name ?? '')
      if (isClosed(response)) return
      const answer = await edge.handle(await this.#edgeRequest(request, user, path))
      if (answer.content.is === 'stream') release()
      await this.#write(request, response, answer, user)
    } finally {
      release()
    }
  }

  /** `requestTimeout` of Node ends slow requests of HTTP/1.1 only. */
  async #edgeRequest(request: IncomingMessage, user: User | undefined, path: string): Promise<EdgeRequest> {
    const { clock, limits } = this.#ports
    if (request.httpVersionMajor < 2 || !hasBody(request)) return edgeRequest(request, user, path)
    const { stream } = request as unknown as Http2ServerRequest
    const cancel = clock.after(limits.requestMs, () => stream.close(constants.NGHTTP2_CANCEL))
    return edgeRequest(request, user, path).finally(cancel)
  }

  #userForPage({ method = 'GET', headers }: IncomingMessage, user: User, path: string): User {
    return this.#ports.userForPath({ user, headers: flatHeaders(headers), verb: method.toLowerCase(), path })
  }

  /**
   * Undefined without credentials; throws Unauthorized for invalid ones. A bearer token wins over a session, and
   * both over a client certificate.
   */
  #userOf(request: IncomingMessage): User | undefined {
    const { authenticator, sessionToken } = this.#ports
    const { method = 'GET', headers } = request
    const [scheme = '', sent = ''] = (headers.authorization ?? '').split(' ')
    const token = scheme.toLowerCase() === 'bearer' && sent ? sent : sessionToken({ method, headers })
    if (token) {
      const user = authenticator.byToken(token)
      if (!user) throw new StatusError('Unauthorized', 'Unauthorized')
      return user
    }
    const socket = request.socket as TLSSocket
    return socket.authorized ? authenticator.byCertificate(socket.getPeerCertificate().subject ?? {}) : undefined
  }

  async #write(request: IncomingMessage, response: ServerResponse, answer: Answer, user = anonymous): Promise<void> {
    const { content } = answer
    if (content.is === 'watch') return this.#watch(response, { ...answer, content }, user)
    await writeAnswer(
      response,
      { ...answer, content },
      {
        acceptsGzip: /\bgzip\b/.test(request.headers['accept-encoding']?.toString() ?? ''),
        isHead: request.method === 'HEAD',
        onStall: () => this.#ports.clock.after(this.#ports.limits.stallMs, () => response.destroy()),
        breathe: () => this.#turns.next(user.name),
      },
    )
  }

  #watch(
    response: ServerResponse,
    answer: Answer & { readonly content: Extract<Answer['content'], { is: 'watch' }> },
    user: User,
  ): void {
    const { as, open } = answer.content
    const { clock, limits } = this.#ports
    const { encoding } = answer
    const writer = new WatchWriter(
      response,
      { as, encoding },
      {
        onStall: () => clock.after(limits.stallMs, () => response.destroy()),
        onWrite: (size) => this.#watches.wrote(user.name, size),
      },
    )
    this.#watches.take(user.name, response)
    writeHead(response, answer)
    if (encoding === 'protobuf') response.setHeader('content-type', protobufWatch.type)
    // Headers are flushed only after the watch opened: opening may still fail with a Status.
    writer.attach(open(writer))
    response.flushHeaders()
  }
}

function http1Options({ urlLength, requestMs }: HttpsLimits): HttpServerOptions {
  return {
    maxHeaderSize: urlLength + 64 * 1024,
    requestTimeout: requestMs,
    headersTimeout: requestMs,
    // How often Node checks the two timeouts above.
    connectionsCheckingInterval: Math.ceil(requestMs / 4),
    keepAliveTimeout: idleMs,
    noDelay: true,
  }
}

function asStatus(error: unknown): StatusError {
  if (error instanceof StatusError) return error
  return new StatusError('InternalError', 'Internal error occurred: unexpected failure', { cause: error })
}

function checkUrl(url: string, limit: number): void {
  if (url.length > limit) {
    throw new StatusError('BadRequest', `the request URI is longer than ${limit} bytes`, { code: 414 })
  }
  if (!url.startsWith('/')) throw new StatusError('BadRequest', 'the request target is not a path')
}

function hasBody({ method }: IncomingMessage): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

async function edgeRequest(request: IncomingMessage, user: User | undefined, path: string): Promise<EdgeRequest> {
  const { method = 'GET', url = '', headers } = request
  const parameters = new URLSearchParams(url.slice(path.length + 1))
  const query = Object.create(null) as Record<string, string>
  for (const [name, value] of parameters) query[name] ??= value
  const bytes = user && hasBody(request) ? await readBody(request) : new Uint8Array()
  return {
    method,
    path,
    query,
    dryRun: parameters.getAll('dryRun'),
    headers: flatHeaders(headers),
    user: user ?? anonymous,
    body: bytesBody(bytes, headers['content-type'], user?.name),
  }
}

function auditId(request: IncomingMessage): string {
  const given = request.headers['audit-id']
  return typeof given === 'string' && /^[-\w.]{1,64}$/.test(given) ? given : randomUUID()
}

/** Answers malformed, oversized or slow requests and closes the connection. */
function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy()
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request'
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`)
}
