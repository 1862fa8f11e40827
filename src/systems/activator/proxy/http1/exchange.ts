import { answer, page, statusFor, type AnswerOptions, type Because } from '../answers/answers.ts'
import { word } from '../wire/bytes.ts'
import type { ProxyThread } from '../routing/proxy-thread.ts'
import { cell, noteDuration, noteStatus } from '../routing/counters.ts'
import { fieldKind, type Head } from '../wire/head.ts'
import { QueueEntry } from '../routing/queue-entry.ts'
import type { Refusal, Waiter } from '../routing/ports.ts'
import { rewriteResponse, saysOnly, valuesOfKind } from '../routing/rewrite.ts'
import type { Route } from '../routing/route.ts'
import type { StaticAnswer } from '../routing/static-answer.ts'
import {
  detailOf,
  type UpstreamFailure,
  type Framing,
  type Upstream,
  type UpstreamRequest,
} from '../routing/upstream-connection.ts'
import { refreshSeconds, waitingPage } from '../answers/waiting-page.ts'

/** The client of an exchange: a connection, or one stream of HTTP/2. Heads and framing of what is written are those of HTTP/1. */
export interface ExchangeClient {
  readonly protocol: 'HTTP/1.0' | 'HTTP/1.1' | 'HTTP/2'
  /** HTTP/1.`minor`: what may be sent to it. */
  readonly minor: number
  /** It gets the content of a chunked body alone. */
  readonly unchunked: boolean
  readonly keepAlive: boolean
  readonly remoteAddress: string
  /** Bytes of body that it got, where its heads are not those that were written. */
  readonly bodyBytes?: number
  /** What came behind the content of the answer, set before the last write. */
  trailers: readonly string[]
  /** False when it cannot keep up. `last`: nothing follows. */
  write(payload: string | Buffer, last?: boolean): boolean
  /** The same for bytes that will be overwritten. */
  writeBytes(bytes: Buffer, start: number, end: number, last?: boolean): boolean
  pauseReading(): void
  resumeReading(): void
  /** The answer has gone out; the connection may carry another request if `keep`. */
  exchangeDone(keep: boolean): void
  enterTunnel(): void
  end(): void
  destroy(): void
  /** Ends it so that a truncated answer cannot be taken for a complete one. */
  breakOff(endsByClosing: boolean): void
}

/** A request as it will be forwarded. */
export interface ResolvedRequest {
  readonly route: Route
  readonly method: string
  readonly host: string
  readonly head: string
  readonly asksUpgrade: boolean
  /** A check by a proxy in front: nothing is forwarded, the answer says when a pod is ready. */
  readonly isCheck: boolean
  /** A health check: it must not wake the workload. */
  readonly isProbe: boolean
  /** The static response, given without the workload. */
  readonly fixed: StaticAnswer | undefined
  /** The request is a browser opening a page. */
  readonly isNavigation: boolean
}

const fixedBecause = 'X-Sojourn-Because: static-answer\r\n'
const wakingFields = `Retry-After: ${refreshSeconds}\r\nX-Sojourn-Because: waking\r\n`
const keepAlive = word('keep-alive')
const idempotent = new Set(['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE', 'TRACE'])
const maxReplays = 2

/** Whether a request of this method may be sent twice (RFC 9110 §9.2.2). */
function isIdempotent(method: string): boolean {
  return idempotent.has(method)
}

/**
 * One request and its answer, from admission to the last byte. Each client connection reuses one, so that a request
 * allocates nothing here. It is wide on purpose: client, pod and wait queue all call it, and splitting its state would
 * cost an object and a call per request on the hot path.
 */
export class Exchange implements UpstreamRequest, Waiter {
  readonly #thread: ProxyThread
  readonly #client: ExchangeClient
  route!: Route
  active = false
  sent = false
  /** When the workload must have begun to answer, or the client to read again. */
  #impatientAt = Infinity
  #request!: ResolvedRequest
  #upstream: Upstream | undefined
  #held: (string | Buffer)[] = []
  #heldBytes = 0
  /** All of the body has arrived. */
  #received = false
  /** All that was ever sent on is still in `request` and `held`. */
  #whole = true
  #responding = false
  /** The end of the answer is the end of the connection. */
  #endsByClosing = false
  #keep = false
  #replays = 0
  #beganAt = 0
  #status = 0
  #bytes = 0
  /** Why the answer is the proxy's own. */
  #because: string | undefined
  /** Whether the request counts as use of the workload. */
  #counts = true
  /** Made when a request of the connection waits for the first time. */
  #entry: QueueEntry | undefined

  constructor(thread: ProxyThread, client: ExchangeClient) {
    this.#thread = thread
    this.#client = client
  }

  get isHead(): boolean {
    return this.#request.method === 'HEAD'
  }

  get asksUpgrade(): boolean {
    return this.#request.asksUpgrade
  }

  get unchunked(): boolean {
    return this.#client.unchunked
  }

  /** Takes a request on, with what arrived of its body together with its head, and whether that is all of it. */
  begin(request: ResolvedRequest, body: string | Buffer, complete: boolean): void {
    const { route } = request
    this.active = true
    this.route = route
    this.#request = request
    this.sent = false
    this.#received = complete
    this.#whole = true
    this.#responding = false
    this.#replays = 0
    this.#beganAt = this.#thread.ports.clock.monotonic()
    this.#status = 0
    this.#bytes = 0
    this.#because = undefined
    this.#entry?.renew()
    this.#impatientAt = Infinity
    const { fixed } = request
    const isFixed = fixed !== undefined && (fixed.when === 'always' || route.target.state.is !== 'warm')
    this.#counts = !request.isProbe && !isFixed
    if (this.#counts) route.cells[cell.started]!++
    if (isFixed) return this.#answerFixed(fixed)
    if (body.length > 0) this.#hold(body)
    if (request.isCheck && route.target.isReachable) return this.#pass()
    const upstream = route.target.waiters.size === 0 ? route.target.takeFor(this.#mayReuse()) : undefined
    if (upstream) this.#use(upstream)
    else this.#wait()
  }

  /** The next stretch of the request's body. */
  body(payload: string | Buffer, last: boolean): void {
    this.#received = last
    if (this.#upstream?.open) {
      this.sent = last
      this.#whole = false
      // Once it answers, only a client that does not read is waited for.
      if (!this.#responding) this.#impatientAt = this.#thread.time.now + this.#patienceMs()
      if (payload.length > 0 && !this.#upstream.send(payload) && !last) this.#client.pauseReading()
      return
    }
    this.#hold(payload)
    if (this.#heldBytes >= this.#thread.limits.holdBytes) this.#client.pauseReading()
  }

  /** A pod is taking the request. */
  get forwarding(): boolean {
    return this.#upstream?.open ?? false
  }

  /** A pod has been found for the request. */
  get hasPod(): boolean {
    return this.#upstream !== undefined
  }

  /** Its answer has begun. */
  get responding(): boolean {
    return this.#responding
  }

  /** The client has disconnected: cancels its request. */
  abandon(): void {
    if (!this.active) return
    this.route.cells[cell.clientLeft]!++
    this.#entry?.leave()
    this.#upstream?.destroy()
    this.#end(true)
  }

  /** The body turned out to be malformed while it was being forwarded. */
  reject(because: Because): void {
    this.#upstream?.destroy()
    this.#upstream = undefined
    this.#answer(because, undefined, { close: true })
  }

  clientDrained(): void {
    if (!this.#upstream) return
    this.#impatientAt = Infinity
    this.#upstream.socket.resume()
  }

  tunnel(payload: string | Buffer): void {
    if (this.#upstream && !this.#upstream.send(payload)) this.#client.pauseReading()
  }

  /** The client will send no more into its tunnel. */
  closeTunnel(): void {
    this.#upstream?.socket.end()
  }

  sweep(now: number): void {
    if (now < this.#impatientAt || !this.#upstream) return
    if (this.#responding) return this.#client.destroy()
    const { host, port } = this.#upstream.endpoint.address
    this.#upstream.destroy()
    this.#upstream = undefined
    this.#answer('upstream-timeout', 1, { detail: `${host}:${port}` })
  }

  resume(): void {
    const upstream = this.#entry?.target?.takeFor(this.#mayReuse())
    if (!upstream) return
    this.#entry?.leave()
    this.#use(upstream)
  }

  refuse(because: Refusal, retryAfterSeconds: number): void {
    this.#entry?.leave()
    this.route.cells[cell.refused]!++
    this.#answer(because, retryAfterSeconds)
  }

  checkWait(now: number): void {
    if (!this.#entry || this.#entry.isLate(now)) return
    if (this.#request.isNavigation && this.#entry.isPageDue(now)) this.#showPage()
  }

  connected(): void {
    this.#send()
  }

  interim(bytes: Buffer, head: Head): void {
    if (this.#client.minor === 1) this.#client.write(rewriteResponse(bytes, head, ''))
  }

  respond(bytes: Buffer, head: Head, framing: Framing): string | undefined {
    const client = this.#client
    // HTTP/2 has no place for it.
    if (head.status > 599 && client.protocol === 'HTTP/2') return this.#unusable()
    this.#responding = true
    this.#impatientAt = Infinity
    noteStatus(this.route.cells, (this.#status = head.status))
    const unframed = this.unchunked && framing === 'chunked'
    this.#endsByClosing = framing === 'until-close' || unframed
    this.#keep = client.keepAlive && !this.#endsByClosing && !this.#thread.closing
    let added = ''
    if (!this.#keep) added = 'Connection: close\r\n'
    else if (client.minor === 0) added = 'Connection: keep-alive\r\n'
    added += this.#coldStart()
    const asIs = added === '' && head.clean && !head.hasHop && !head.hasUpgrade && head.minor === 1
    if (asIs && (head.connections === 0 || saysOnly(bytes, head, keepAlive))) return undefined
    return rewriteResponse(bytes, head, added, unframed)
  }

  #unusable(): undefined {
    const detail = this.#upstream && detailOf('bad-response', this.#upstream.endpoint.address)
    this.#upstream?.destroy()
    this.#upstream = undefined
    this.#answer('upstream-failed', 1, { detail })
  }

  relay(payload: string | Buffer, last: boolean): void {
    this.#bytes += payload.length
    if (last && this.unchunked) this.#client.trailers = this.#upstream?.trailers ?? []
    this.#relayed(payload.length === 0 || this.#client.write(payload, last), last)
  }

  relayBytes(bytes: Buffer, start: number, end: number, last: boolean): void {
    this.#bytes += end - start
    this.#relayed(start === end || this.#client.writeBytes(bytes, start, end, last), last)
  }

  #relayed(flowing: boolean, last: boolean): void {
    const upstream = this.#upstream
    if (last) {
      this.#end()
      this.#client.exchangeDone(this.#keep && this.#received)
    } else if (!flowing && upstream) {
      this.#impatientAt = this.#thread.time.now + this.#patienceMs()
      upstream.socket.pause()
    }
  }

  switched(bytes: Buffer, head: Head, rest: string | Buffer): void {
    this.route.cells[cell.tunnels]!++
    this.#responding = true
    this.#impatientAt = Infinity
    noteStatus(this.route.cells, (this.#status = head.status))
    noteDuration(this.route.cells, this.#tookMs())
    const protocol = valuesOfKind(bytes, head, fieldKind.upgrade)
    const added = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n${this.#coldStart()}`
    this.#client.write(rewriteResponse(bytes, head, added))
    if (rest.length > 0) this.#client.write(rest)
    this.#client.enterTunnel()
  }

  tunnelled(payload: string | Buffer): void {
    this.#bytes += payload.length
    if (!this.#client.write(payload)) this.#upstream?.socket.pause()
  }

  tunnelEnded(): void {
    this.#client.end()
  }

  drained(): void {
    this.#client.resumeReading()
  }

  broke(because: UpstreamFailure): void {
    const detail = this.#upstream && detailOf(because, this.#upstream.endpoint.address)
    this.#upstream = undefined
    if (because === 'dial-failed') return this.#wait()
    if (this.#mayReplay(because)) {
      this.#replays++
      this.route.cells[cell.retries]!++
      const upstream = this.route.target.takeFor(false)
      return upstream ? this.#use(upstream) : this.#wait()
    }
    if (!this.#responding) return this.#answer('upstream-failed', 1, { detail })
    this.route.cells[cell.truncated]!++
    this.#noteOwn('upstream-truncated', this.#status, detail)
    this.#end()
    this.#client.breakOff(this.#endsByClosing)
  }

  #patienceMs(): number {
    return this.#entry?.patienceMs ?? this.route.config.responseTimeoutMs
  }

  /** A kept connection may be closing just now: only what can be sent twice is risked on one that was idle for long. */
  #mayReuse(): boolean {
    return isIdempotent(this.#request.method)
  }

  /** Nothing came back, and all that was sent is still here to be sent again. What a pod has refused it has not looked at. */
  #mayReplay(because: UpstreamFailure): boolean {
    const isHarmless = because === 'refused' || (because === 'closed-unanswered' && isIdempotent(this.#request.method))
    return isHarmless && this.sent && this.#whole && this.#replays < maxReplays
  }

  #hold(payload: string | Buffer): void {
    this.#held.push(payload)
    this.#heldBytes += payload.length
    this.#entry?.grow(payload.length)
  }

  #use(upstream: Upstream): void {
    this.#upstream = upstream
    upstream.serve(this)
    if (upstream.open) this.#send()
    else if (!this.#received && this.#heldBytes >= this.#thread.limits.holdBytes) this.#client.pauseReading()
  }

  #send(): void {
    const upstream = this.#upstream!
    if (this.#request.isCheck) {
      this.#upstream = undefined
      upstream.giveBack()
      return this.#pass()
    }
    this.#impatientAt = this.#thread.time.now + this.#patienceMs()
    this.sent = this.#received
    upstream.begin()
    if (this.#held.length === 0) upstream.send(this.#request.head)
    else this.#sendHeld(upstream)
    if (this.#received) return
    this.#whole = false
    this.#dropHeld()
    this.#client.resumeReading()
  }

  #sendHeld(upstream: Upstream): void {
    const [first] = this.#held
    if (typeof first === 'string' && this.#held.length === 1) return void upstream.send(this.#request.head + first)
    upstream.socket.cork()
    upstream.send(this.#request.head)
    for (const piece of this.#held) upstream.send(piece)
    upstream.socket.uncork()
  }

  #dropHeld(): void {
    if (this.#held.length === 0) return
    this.#held = []
    this.#heldBytes = 0
  }

  #wait(): void {
    const { target } = this.route
    if (target.state.is === 'refusing') return this.refuse(target.state.because, target.state.retryAfterSeconds)
    if (this.route.removed) return this.refuse('route-gone', 1)
    if (this.#request.isProbe && target.state.is !== 'warm') return this.#answerProbe()
    this.#entry ??= new QueueEntry(this.#thread, this)
    if (!this.#entry.take(this.#request.head.length + this.#heldBytes)) this.refuse('queue-full', 1)
  }

  /** Responds in place of the workload. */
  #answer(
    because: Because,
    retryAfterSeconds: number | undefined,
    { close = false, detail }: { readonly close?: boolean; readonly detail?: string | undefined } = {},
  ): void {
    const retry = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
    const isLate = because === 'not-ready-in-time'
    const fault = isLate ? this.route.target.fault : undefined
    const told = isLate ? this.route.target.faultForCallers : undefined
    this.#noteOwn(because, statusFor(because), detail ?? fault)
    this.#reply(statusFor(because), (options) => answer(because, { ...options, ...retry, detail: told }), close)
  }

  #noteOwn(because: string, status: number, detail?: string): void {
    this.#because = because
    this.#thread.journal.noteAnswer({ because, status, route: this.route.config.id, detail })
  }

  /** Tells the proxy in front that a pod is ready for the request. */
  #pass(): void {
    const extra = this.#coldStart()
    this.#reply(200, (options) => page(200, '', { ...options, type: 'text/plain', extra }))
  }

  /** A health check of a workload that sleeps. */
  #answerProbe(): void {
    const extra = 'X-Sojourn-Because: asleep\r\n'
    this.#reply(200, (options) => page(200, 'asleep\n', { ...options, type: 'text/plain', extra }))
  }

  #answerFixed({ status, type, body }: StaticAnswer): void {
    this.#reply(status, (options) => page(status, body, { ...options, type, extra: fixedBecause }))
  }

  #showPage(): void {
    this.#entry?.leave()
    const { readinessTimeoutMs } = this.route.config
    if (this.route.target.wakingMs >= (readinessTimeoutMs || this.#thread.limits.maxWaitMs))
      return this.refuse('not-ready-in-time', 1)
    this.#noteOwn('waking', 503)
    const { type, body } = waitingPage(this.route, this.#request.host)
    this.#reply(503, (options) => page(503, body, { ...options, type, extra: wakingFields }))
  }

  /** Sends an answer of our own. The connection outlives it only if the request was read whole. */
  #reply(status: number, textOf: (options: AnswerOptions) => string, close = false): void {
    noteStatus(this.route.cells, (this.#status = status))
    const keep = !close && this.#client.keepAlive && this.#received && !this.#thread.closing
    const text = textOf({ close: !keep, isHead: this.isHead })
    this.#bytes = text.length
    this.#client.write(text, true)
    this.#end()
    this.#client.exchangeDone(keep)
  }

  /** Counts a cold start, and tells of it where the route wants that. */
  #coldStart(): string {
    if (!this.#entry?.cold) return ''
    const waitedMs = this.#entry.noteColdStart()
    return this.route.config.coldStartHeader ? `X-Cold-Start: ${waitedMs}\r\n` : ''
  }

  #tookMs(): number {
    return this.#thread.ports.clock.monotonic() - this.#beganAt
  }

  #end(hasClientLeft = false): void {
    if (!this.active) return
    this.active = false
    if (this.#status !== 101 && !hasClientLeft) noteDuration(this.route.cells, this.#tookMs())
    if (this.#thread.journal.keepsAccessLog) this.#noteAccess(hasClientLeft)
    this.#upstream = undefined
    this.#dropHeld()
    if (this.#counts) this.route.cells[cell.finished]!++
  }

  #noteAccess(hasClientLeft: boolean): void {
    const { method, host, head } = this.#request
    this.#thread.journal.noteAccess({
      client: this.#client.remoteAddress,
      protocol: this.#client.protocol,
      method,
      host,
      target: head.slice(method.length + 1, head.indexOf(' ', method.length + 1)),
      route: this.route.config.id,
      status: this.#status,
      bytes: this.#client.bodyBytes ?? this.#bytes,
      durationMs: this.#tookMs(),
      because: this.#because,
      clientLeft: (hasClientLeft && this.#status !== 101) || undefined,
    })
  }
}
