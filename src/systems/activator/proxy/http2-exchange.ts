import http, { type IncomingMessage } from 'node:http'
import http2, {
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { fallbackTarget, type Core } from './core.ts'
import { cell, noteStatus, noteWait } from './counters.ts'
import { answerStream, giveStream } from './http2-answer.ts'
import { Place } from './place.ts'
import type { Refusal, Waiter } from './ports.ts'
import type { Route } from './route.ts'
import { findStaticAnswer, type StaticAnswer } from './static-answer.ts'
import type { Endpoint } from './target.ts'
import { isNavigation, ourPage, refreshSeconds } from './waiting-page.ts'

export interface Http2Request {
  readonly headers: IncomingHttpHeaders
  readonly authority: string
  readonly path: string
  readonly client: string
  readonly proto: 'http' | 'https'
}

const hopByHop = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
  'host',
  'http2-settings',
  'te',
])
const sessions = new WeakMap<Endpoint, ClientHttp2Session>()
const agents = new WeakMap<Endpoint, http.Agent>()

/** One HTTP/2 stream and its answer. Slower than the HTTP/1 path and built on Node's own HTTP, trailers included. */
export class Http2Exchange implements Waiter {
  readonly #core: Core
  readonly route: Route
  readonly #stream: ServerHttp2Stream
  readonly #request: Http2Request
  deadlineAt = 0
  #since = 0
  cold = false
  #place: Place | undefined
  #ended = false
  /** It was sent to the fallback: there is nowhere else to go. */
  #fellBack = false
  /** Someone who only wants to know whether anybody is there. */
  #isProbe = false
  #endpoint: Endpoint | undefined
  #cancelTimeout: (() => void) | undefined

  constructor(core: Core, route: Route, stream: ServerHttp2Stream, request: Http2Request) {
    this.#core = core
    this.route = route
    this.#stream = stream
    this.#request = request
  }

  begin(): void {
    const { config, target } = this.route
    const isWarm = target.state.is === 'warm'
    const fixed = findStaticAnswer(config.staticAnswers, this.#method, this.#request.path)
    if (fixed && (fixed.when === 'always' || !isWarm))
      return this.#give(fixed, { 'x-sojourn-because': 'static-answer' })
    this.#isProbe = isProbe(this.route, this.#request)
    if (this.#isProbe && !isWarm) {
      const { probeStatus: status } = config
      return this.#give({ status, type: 'text/plain', body: 'asleep\n' }, { 'x-sojourn-because': 'asleep' })
    }
    if (!this.#isProbe) this.route.cells[cell.started]!++
    this.#stream.on('close', () => this.#end())
    this.#admit()
  }

  /** Answers in the workload's place, which it neither wakes nor uses. */
  #give(answer: Pick<StaticAnswer, 'status' | 'type' | 'body'>, fields: OutgoingHttpHeaders): void {
    noteStatus(this.route.cells, answer.status)
    giveStream(this.#stream, answer, fields)
  }

  resume(): void {
    const endpoint = this.#place?.target?.pick()
    if (!endpoint) return
    this.#place?.leave()
    this.#forward(endpoint)
  }

  refuse(because: Refusal, retryAfterSeconds: number): void {
    this.#place?.leave()
    this.route.cells[cell.refused]!++
    noteStatus(this.route.cells, 503)
    answerStream(this.#stream, this.#request.headers, because, retryAfterSeconds)
  }

  glance(now: number): void {
    if (now < this.deadlineAt) return this.#mayShowPage(now)
    const { fallback } = this.route.config
    if (!fallback || this.#fellBack) return this.refuse('not-ready-in-time', 1)
    this.#fellBack = true
    this.#place?.leave()
    this.deadlineAt = now + this.#core.limits.dialTimeoutMs
    if (!this.#place?.take(fallbackTarget(this.#core, fallback), 0)) this.refuse('queue-full', 1)
  }

  /** A browser that has waited for a moment sees what it waits for. */
  #mayShowPage(now: number): void {
    const { config, target } = this.route
    const waitedMs = now - this.#since
    if (!config.waitingPage || !this.cold || waitedMs < this.#core.limits.waitingPageAfterMs) return
    if (!isNavigation(this.#method, (name) => this.#request.headers[name]?.toString())) return
    this.#place?.leave()
    const { authority: host } = this.#request
    const shown = config.ownPage ?? ourPage({ host, waitedMs, expectedMs: target.expectedWakeMs })
    this.#give({ status: 503, ...shown }, { 'x-sojourn-because': 'waking', 'retry-after': String(refreshSeconds) })
  }

  #admit(): void {
    const { target } = this.route
    const endpoint = target.state.is === 'warm' && target.waiters.size === 0 ? target.pick() : undefined
    if (endpoint) return this.#forward(endpoint)
    if (target.state.is === 'refusing') return this.refuse(target.state.because, target.state.retryAfterSeconds)
    const { limits, ports } = this.#core
    if (this.#since === 0) this.#since = ports.clock.monotonic()
    this.deadlineAt = this.#since + (this.route.config.readinessTimeoutMs || limits.longestWaitMs)
    this.cold ||= target.isCold
    this.#place ??= new Place(this.#core, this)
    if (!this.#place.take(target, 0)) this.refuse('queue-full', 1)
  }

  #forward(endpoint: Endpoint): void {
    this.#endpoint = endpoint
    endpoint.busy++
    endpoint.target.busy++
    this.#cancelTimeout = this.#core.ports.clock.after(this.#patienceMs, () => this.#fail('upstream-timeout'))
    if (endpoint.target.protocol === 'h2c') this.#overHttp2(endpoint)
    else this.#overHttp1(endpoint)
  }

  #overHttp2(endpoint: Endpoint): void {
    const session = sessionTo(endpoint, this.#core.limits.dialTimeoutMs)
    const send = () => {
      if (this.#ended) return
      const upstream = session.request({
        ...this.#headers(true),
        ':method': this.#method,
        ':path': this.#request.path,
        ':scheme': 'http',
        ':authority': this.#request.authority,
      })
      this.#stream.pipe(upstream)
      let trailers: IncomingHttpHeaders = {}
      upstream.on('headers', (headers) => this.#stream.additionalHeaders(headers))
      upstream.on('trailers', (headers) => (trailers = headers))
      upstream.on('response', (headers, flags) => {
        const ended = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0
        this.#respond({ ...headers }, headers[':status'] ?? 502, ended)
        if (ended) return
        this.#stream.on('wantTrailers', () => this.#stream.sendTrailers(trailers))
        upstream.pipe(this.#stream)
      })
      upstream.on('error', () => this.#fail('upstream-failed'))
      upstream.on('close', () => {
        if (!this.#stream.headersSent) this.#fail('upstream-failed')
        else if (upstream.rstCode !== 0) this.#stream.close(upstream.rstCode)
      })
      this.#stream.on('close', () => upstream.close(http2.constants.NGHTTP2_CANCEL))
    }
    if (!session.connecting) return send()
    session.once('connect', send)
    session.once('close', () => session.connecting && this.#again(endpoint))
    session.once('error', () => this.#again(endpoint))
  }

  #overHttp1(endpoint: Endpoint): void {
    const { host, port } = endpoint.address
    let agent = agents.get(endpoint)
    if (!agent)
      agents.set(
        endpoint,
        (agent = new http.Agent({ keepAlive: true, maxSockets: this.#core.limits.maxConnectionsPerPod })),
      )
    const headers = { ...this.#headers(false), host: this.#request.authority }
    const upstream = http.request({ host, port, agent, method: this.#method, path: this.#request.path, headers })
    let connected = false
    // The body waits for the connection, so that a pod that cannot be reached costs none of it.
    const send = () => {
      connected = true
      this.#stream.pipe(upstream)
    }
    upstream.on('socket', (socket) => (socket.connecting ? socket.once('connect', send) : send()))
    upstream.on('information', ({ statusCode, headers: hints }) =>
      this.#stream.additionalHeaders({ ...withoutHop(hints), ':status': statusCode }),
    )
    upstream.on('response', (response: IncomingMessage) => {
      this.#respond(withoutHop(response.headers), response.statusCode ?? 502, false)
      this.#stream.on('wantTrailers', () => this.#stream.sendTrailers(response.trailers))
      response.on('aborted', () => this.#stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR))
      response.pipe(this.#stream)
    })
    upstream.on('error', () =>
      connected || this.#stream.headersSent ? this.#fail('upstream-failed') : this.#again(endpoint),
    )
    this.#stream.on('close', () => upstream.destroy())
    upstream.flushHeaders()
  }

  get #patienceMs(): number {
    const { fallbackTimeoutMs, responseTimeoutMs } = this.route.config
    return this.#fellBack ? fallbackTimeoutMs : responseTimeoutMs
  }

  get #method(): string {
    return this.#request.headers[':method'] ?? 'GET'
  }

  #headers(keepTe: boolean): OutgoingHttpHeaders {
    const { headers, client, proto, authority } = this.#request
    const kept = withoutHop(headers)
    const passed = headers['x-forwarded-for']
    kept['x-forwarded-for'] = passed === undefined ? client : `${String(passed)}, ${client}`
    kept['x-forwarded-host'] ??= authority
    kept['x-forwarded-proto'] ??= proto
    if (keepTe && headers.te !== undefined) kept['te'] = 'trailers'
    return kept
  }

  #respond(headers: OutgoingHttpHeaders, status: number, endStream: boolean): void {
    this.#cancelTimeout?.()
    noteStatus(this.route.cells, status)
    if (this.cold) {
      const waitedMs = Math.max(1, Math.round(this.#core.ports.clock.monotonic() - this.#since))
      noteWait(this.route.cells, waitedMs)
      if (this.route.config.coldStartHeader) headers['x-cold-start'] = String(waitedMs)
    }
    if (!this.#stream.destroyed)
      this.#stream.respond({ ...headers, ':status': status }, { endStream, waitForTrailers: !endStream })
  }

  /** The pod could not be reached and nothing was sent: wait for it like for a cold one. */
  #again(endpoint: Endpoint): void {
    if (this.#ended) return
    this.#release()
    this.#stream.unpipe()
    endpoint.target.dialFailed(endpoint)
    this.#admit()
  }

  #fail(because: 'upstream-failed' | 'upstream-timeout'): void {
    if (this.#ended) return
    noteStatus(this.route.cells, because === 'upstream-failed' ? 502 : 504)
    answerStream(this.#stream, this.#request.headers, because)
  }

  #release(): void {
    this.#cancelTimeout?.()
    this.#cancelTimeout = undefined
    if (!this.#endpoint) return
    this.#endpoint.busy--
    this.#endpoint.target.busy--
    const { target } = this.#endpoint
    this.#endpoint = undefined
    if (target.waiters.size > 0) target.dispatch()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#place?.leave()
    this.#release()
    if (!this.#isProbe) this.route.cells[cell.finished]!++
  }
}

function isProbe({ config }: Route, { headers, path }: Http2Request): boolean {
  const agent = headers['user-agent'] ?? ''
  return config.probePaths.includes(path) || config.probeAgents.some((beginning) => agent.startsWith(beginning))
}

function withoutHop(headers: IncomingHttpHeaders | http.IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':') && !hopByHop.has(name)))
}

/** The one session to a pod that takes HTTP/2 without asking; opened anew when it has gone. */
function sessionTo(endpoint: Endpoint, dialTimeoutMs: number): ClientHttp2Session {
  const known = sessions.get(endpoint)
  if (known && !known.closed && !known.destroyed) return known
  const { host, port } = endpoint.address
  const authority = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  const session = http2.connect(authority)
  // Every stream that waits for the session listens to it.
  session.setMaxListeners(0)
  session.socket.setTimeout(dialTimeoutMs, () => session.connecting && session.destroy())
  session.on('connect', () => session.socket.setTimeout(0))
  session.on('error', () => session.destroy())
  sessions.set(endpoint, session)
  endpoint.onRetire(() => session.close())
  return session
}
