import http2, {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { statusFor, type Because } from '../answers/answers.ts'
import type { ProxyThread } from '../routing/proxy-thread.ts'
import { cell, noteStatus } from '../routing/counters.ts'
import { isIdempotent, maxReplays } from '../http1/exchange.ts'
import { Http1Leg, http1Request } from './http1-leg.ts'
import { answerStream, giveStream } from './http2-answer.ts'
import { QueueEntry } from '../routing/queue-entry.ts'
import type { Refusal, Waiter } from '../routing/ports.ts'
import type { Route } from '../routing/route.ts'
import { findStaticAnswer, type StaticAnswer } from '../routing/static-answer.ts'
import type { Endpoint, Target } from '../routing/target.ts'
import type { UpstreamConnection } from '../routing/upstream-connection.ts'
import { isNavigation, refreshSeconds, waitingPage } from '../answers/waiting-page.ts'

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

/** One HTTP/2 stream and its answer, trailers included. */
export class Http2Exchange implements Waiter {
  readonly #thread: ProxyThread
  readonly route: Route
  readonly #stream: ServerHttp2Stream
  readonly #request: Http2Request
  readonly #entry: QueueEntry
  #ended = false
  /** A health check: it must not wake the workload. */
  #isProbe = false
  #replays = 0
  /** Set while it is with a pod that speaks HTTP/2. */
  #endpoint: Endpoint | undefined
  /** Set while it is with a pod that speaks HTTP/1. */
  #leg: Http1Leg | undefined
  /** When the pod must have begun to answer, or the client to read again. */
  #impatientAt = Infinity
  #cancelWatch: (() => void) | undefined

  constructor(thread: ProxyThread, route: Route, stream: ServerHttp2Stream, request: Http2Request) {
    this.#thread = thread
    this.route = route
    this.#stream = stream
    this.#request = request
    this.#entry = new QueueEntry(thread, this)
  }

  begin(): void {
    const { config, target } = this.route
    const isWarm = target.state.is === 'warm'
    const fixed = findStaticAnswer(config.staticAnswers, this.#method, this.#request.path)
    if (fixed && (fixed.when === 'always' || !isWarm))
      return this.#give(fixed, { 'x-sojourn-because': 'static-answer' })
    this.#isProbe = isProbe(this.route, this.#request)
    if (this.#isProbe && !isWarm)
      return this.#give({ status: 200, type: 'text/plain', body: 'asleep\n' }, { 'x-sojourn-because': 'asleep' })
    if (!this.#isProbe) this.route.cells[cell.started]!++
    this.#stream.on('close', () => this.#end())
    this.#stream.on('finish', () => this.#answered())
    this.#admit()
  }

  /** It is no longer a use of the workload, though its client may still send: that goes nowhere. */
  #answered(): void {
    this.#end()
    this.#stream.unpipe()
    this.#stream.resume()
  }

  /** Responds in place of the workload, which the request neither wakes nor uses. */
  #give(answer: Pick<StaticAnswer, 'status' | 'type' | 'body'>, fields: OutgoingHttpHeaders): void {
    noteStatus(this.route.cells, answer.status)
    giveStream(this.#stream, answer, fields)
  }

  resume(): void {
    const { target } = this.#entry
    if (target) this.#forward(target)
  }

  refuse(because: Refusal, retryAfterSeconds: number): void {
    this.#entry.leave()
    this.route.cells[cell.refused]!++
    noteStatus(this.route.cells, 503)
    answerStream(this.#stream, this.#request.headers, because, retryAfterSeconds)
  }

  checkWait(now: number): void {
    if (this.#entry.isLate(now) || !this.route.config.waitingPage || !this.#entry.isPageDue(now)) return
    if (!isNavigation(this.#method, (name) => this.#request.headers[name]?.toString())) return
    this.#entry.leave()
    const shown = waitingPage(this.route, this.#request.authority)
    this.#give({ status: 503, ...shown }, { 'x-sojourn-because': 'waking', 'retry-after': String(refreshSeconds) })
  }

  #admit(): void {
    const { target } = this.route
    if (target.state.is === 'warm' && target.waiters.size === 0 && this.#forward(target)) return
    if (target.state.is === 'refusing') return this.refuse(target.state.because, target.state.retryAfterSeconds)
    if (!this.#entry.take(0)) this.refuse('queue-full', 1)
  }

  /** Sends it to a pod that has room; false when there is none. */
  #forward(target: Target): boolean {
    if (target.protocol === 'h2c') {
      const endpoint = target.pick()
      if (endpoint) this.#overHttp2(endpoint)
      return endpoint !== undefined
    }
    const upstream = target.take(isIdempotent(this.#method))
    if (upstream) this.#overHttp1(upstream)
    return upstream !== undefined
  }

  #overHttp1(upstream: UpstreamConnection): void {
    this.#entry.leave()
    const { path, authority } = this.#request
    const request = http1Request(this.#stream, { method: this.#method, path, authority }, this.#headers(false))
    if (!request) {
      upstream.destroy()
      return this.#fail('malformed-request')
    }
    this.moved()
    this.#watch()
    this.#leg = new Http1Leg(this.#stream, request, this)
    this.#leg.use(upstream)
  }

  #overHttp2(endpoint: Endpoint): void {
    this.#entry.leave()
    this.#endpoint = endpoint
    endpoint.requestBegan()
    this.moved()
    this.#watch()
    const session = sessionTo(endpoint, this.#thread.limits.dialTimeoutMs)
    if (!session.connecting) return this.#send(session)
    const missed = () => this.#again(endpoint)
    session.once('close', missed)
    session.once('connect', () => {
      session.off('close', missed)
      this.#send(session)
    })
  }

  #send(session: ClientHttp2Session): void {
    if (this.#ended) return
    const stream = this.#stream
    // Closing it would first end it, as if all had been sent.
    const givenUp = new AbortController()
    const fields = {
      ...this.#headers(true),
      ':method': this.#method,
      ':path': this.#request.path,
      ':scheme': 'http',
      ':authority': this.#request.authority,
    }
    const upstream = session.request(fields, { signal: givenUp.signal })
    pipeBody(stream, upstream, () => this.moved())
    let trailers: IncomingHttpHeaders = {}
    upstream.on('headers', (headers) => {
      if (!stream.destroyed && !stream.headersSent) stream.additionalHeaders(headers)
    })
    upstream.on('trailers', (headers) => (trailers = headers))
    upstream.on('response', (headers, flags) => {
      const now = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0
      this.respond({ ...headers }, headers[':status'] ?? 502, { now, trailers: !now })
      if (now) return
      stream.on('wantTrailers', () => stream.sendTrailers(trailers))
      upstream.on('pause', () => this.stalled(true))
      stream.on('drain', () => this.stalled(false))
      upstream.pipe(stream)
    })
    upstream.on('error', () => this.#refusedBy(upstream))
    upstream.on('close', () => {
      // It has been answered otherwise.
      if (!this.#endpoint) return
      if (!stream.headersSent) this.failed()
      else if (upstream.rstCode !== 0) stream.close(upstream.rstCode)
    })
    for (const event of ['close', 'finish']) stream.on(event, () => givenUp.abort())
  }

  /** A pod that is about to leave says of what it has not looked at that it may be sent again: so may its client. */
  #refusedBy({ rstCode }: ClientHttp2Stream): void {
    const { NGHTTP2_REFUSED_STREAM } = http2.constants
    if (rstCode === NGHTTP2_REFUSED_STREAM && !this.#stream.headersSent) this.#stream.close(rstCode)
    else this.failed()
  }

  get #method(): string {
    return this.#request.headers[':method'] ?? 'GET'
  }

  /** More of the request has gone out. */
  moved(): void {
    if (!this.#stream.headersSent) this.#impatientAt = this.#thread.ports.clock.monotonic() + this.#entry.patienceMs
  }

  /** The client does not read, or reads again. */
  stalled(isStalled: boolean): void {
    this.#cancelWatch?.()
    if (!isStalled) return
    this.#impatientAt = this.#thread.ports.clock.monotonic() + this.#entry.patienceMs
    this.#watch()
  }

  #watch(): void {
    const { clock } = this.#thread.ports
    const leftMs = this.#impatientAt - clock.monotonic()
    if (leftMs <= 0) return this.#fail('upstream-timeout')
    this.#cancelWatch?.()
    this.#cancelWatch = clock.after(leftMs, () => this.#watch())
  }

  #headers(keepTe: boolean): OutgoingHttpHeaders {
    const { headers, client, proto, authority } = this.#request
    const kept = withoutHop(headers)
    if (!this.#thread.isTrusted(client)) for (const name of forwardingFields) delete kept[name]
    const passed = kept['x-forwarded-for']
    kept['x-forwarded-for'] = passed === undefined ? client : `${String(passed)}, ${client}`
    kept['x-forwarded-host'] ??= authority
    kept['x-forwarded-proto'] ??= proto
    if (keepTe && headers.te !== undefined) kept['te'] = 'trailers'
    return kept
  }

  respond(
    headers: OutgoingHttpHeaders,
    status: number,
    end: { readonly now: boolean; readonly trailers: boolean },
  ): void {
    this.#cancelWatch?.()
    if (this.#stream.destroyed || this.#stream.headersSent) return
    if (this.#entry.cold) {
      const waitedMs = this.#entry.noteColdStart()
      if (this.route.config.coldStartHeader) headers['x-cold-start'] = String(waitedMs)
    }
    try {
      this.#stream.respond({ ...headers, ':status': status }, { endStream: end.now, waitForTrailers: end.trailers })
      noteStatus(this.route.cells, status)
    } catch {
      // HTTP/2 has no place for it: a status beyond 599, say.
      this.failed()
    }
  }

  /** No pod has received any byte of the request. */
  unsent(): void {
    if (this.#ended) return
    this.#leave()
    this.#admit()
  }

  /** A pod may have received the request, which is safe to send twice. */
  unanswered(): void {
    if (this.#replays++ === maxReplays) return this.failed()
    this.route.cells[cell.retries]!++
    this.unsent()
  }

  failed(): void {
    this.#fail('upstream-failed')
  }

  /** The pod could not be reached and nothing was sent: wait for it like for a cold one. */
  #again(endpoint: Endpoint): void {
    if (this.#ended) return
    this.#leave()
    endpoint.target.dialFailed(endpoint)
    this.#admit()
  }

  #fail(because: Extract<Because, 'upstream-failed' | 'upstream-timeout' | 'malformed-request'>): void {
    if (this.#ended) return
    this.#leave()
    noteStatus(this.route.cells, statusFor(because))
    answerStream(this.#stream, this.#request.headers, because)
  }

  /** Releases the pod that serves the stream. */
  #leave(): void {
    this.#cancelWatch?.()
    this.#leg?.abandon()
    this.#leg = undefined
    const { target } = this.#endpoint ?? {}
    if (!this.#endpoint || !target) return
    this.#endpoint.requestEnded()
    this.#endpoint = undefined
    if (target.waiters.size > 0) target.dispatch()
  }

  #end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#entry.leave()
    this.#leave()
    if (!this.#isProbe) this.route.cells[cell.finished]!++
  }
}

function isProbe({ config }: Route, { headers, path }: Http2Request): boolean {
  const agent = headers['user-agent'] ?? ''
  return config.probePaths.includes(path) || config.probeAgents.some((beginning) => agent.startsWith(beginning))
}

function withoutHop(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith(':') && !hopByHop.has(name)))
}

/** Passes a body on. One that the client gave up ends as well, but not here: the pod would take it for all there is. */
function pipeBody(from: ServerHttp2Stream, to: ClientHttp2Stream, moved: () => void): void {
  from.on('data', moved)
  from.pipe(to, { end: false })
  from.on('end', () => from.closed || to.end())
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

const forwardingFields = ['x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-forwarded-port', 'forwarded']
