import { answer, page, probeAnswer, statusFor, type AnswerOptions, type Because } from '../answers/answers.ts'
import { word } from '../wire/bytes.ts'
import type { ClientConnection } from './client-connection.ts'
import type { ProxyThread } from '../routing/proxy-thread.ts'
import { cell, noteStatus } from '../routing/counters.ts'
import { fieldKind, type Head } from '../wire/head.ts'
import { QueueEntry } from '../routing/queue-entry.ts'
import type { Refusal, Waiter } from '../routing/ports.ts'
import { rewriteResponse, saysOnly, valuesOfKind } from '../routing/rewrite.ts'
import type { Route } from '../routing/route.ts'
import type { StaticAnswer } from '../routing/static-answer.ts'
import type { UpstreamFailure, Framing, UpstreamRequest, UpstreamConnection } from '../routing/upstream-connection.ts'
import { refreshSeconds, waitingPage } from '../answers/waiting-page.ts'

const unreachable = 'A pod is ready, but accepts no connections at its port.'

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
export const maxReplays = 2

/** Whether a request of this method may be sent twice (RFC 9110 §9.2.2). */
export function isIdempotent(method: string): boolean {
  return idempotent.has(method)
}

/**
 * One request and its answer, from admission to the last byte. Each client connection reuses one, so that a request
 * allocates nothing here. It is wide on purpose: client, pod and wait queue all call it, and splitting its state would
 * cost an object and a call per request on the hot path.
 */
export class Exchange implements UpstreamRequest, Waiter {
  readonly #thread: ProxyThread
  readonly #client: ClientConnection
  route!: Route
  active = false
  sent = false
  /** When the workload must have begun to answer, or the client to read again. */
  #impatientAt = Infinity
  #request!: ResolvedRequest
  #upstream: UpstreamConnection | undefined
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
  /** Whether the request counts as use of the workload. */
  #counts = true
  /** Made when a request of the connection waits for the first time. */
  #entry: QueueEntry | undefined

  constructor(thread: ProxyThread, client: ClientConnection) {
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
    return this.#client.minor === 0
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
    this.#entry?.renew()
    this.#impatientAt = Infinity
    const { fixed } = request
    const isFixed = fixed !== undefined && (fixed.when === 'always' || route.target.state.is !== 'warm')
    this.#counts = !request.isProbe && !isFixed
    if (this.#counts) route.cells[cell.started]!++
    if (isFixed) return this.#answerFixed(fixed)
    if (body.length > 0) this.#hold(body)
    if (request.isCheck && route.target.isReachable) return this.#pass()
    const upstream = route.target.waiters.size === 0 ? route.target.take(this.#mayReuse()) : undefined
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
      if (!this.#upstream.send(payload) && !last) this.#client.pauseReading()
      return
    }
    this.#hold(payload)
    if (this.#heldBytes >= this.#thread.limits.holdBytes) this.#client.pauseReading()
  }

  /** A pod is taking the request. */
  get forwarding(): boolean {
    return this.#upstream?.open ?? false
  }

  /** The client has disconnected: cancels its request. */
  abandon(): void {
    if (!this.active) return
    this.route.cells[cell.clientLeft]!++
    this.#letGo()
  }

  /** The body turned out to be malformed while it was being forwarded. */
  reject(because: Because): void {
    this.#upstream?.destroy()
    this.#upstream = undefined
    this.#answer(because, undefined, true)
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
    this.#upstream.destroy()
    this.#upstream = undefined
    this.#answer('upstream-timeout', 1, false)
  }

  resume(): void {
    const upstream = this.#entry?.target?.take(this.#mayReuse())
    if (!upstream) return
    this.#entry?.leave()
    this.#use(upstream)
  }

  refuse(because: Refusal, retryAfterSeconds: number): void {
    this.#entry?.leave()
    this.route.cells[cell.refused]!++
    this.#answer(because, retryAfterSeconds, false)
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
    this.#responding = true
    this.#impatientAt = Infinity
    noteStatus(this.route.cells, head.status)
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

  relay(payload: string | Buffer, last: boolean): void {
    this.#relayed(payload.length === 0 || this.#client.write(payload), last)
  }

  relayBytes(bytes: Buffer, start: number, end: number, last: boolean): void {
    this.#relayed(start === end || this.#client.writeBytes(bytes, start, end), last)
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
    noteStatus(this.route.cells, head.status)
    const protocol = valuesOfKind(bytes, head, fieldKind.upgrade)
    const added = `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n${this.#coldStart()}`
    this.#client.write(rewriteResponse(bytes, head, added))
    if (rest.length > 0) this.#client.write(rest)
    this.#client.enterTunnel()
  }

  tunnelled(payload: string | Buffer): void {
    if (!this.#client.write(payload)) this.#upstream?.socket.pause()
  }

  tunnelEnded(): void {
    this.#client.end()
  }

  drained(): void {
    this.#client.resumeReading()
  }

  broke(because: UpstreamFailure): void {
    this.#upstream = undefined
    if (because === 'dial-failed') return this.#wait()
    if (because === 'closed-unanswered' && this.#mayReplay()) {
      this.#replays++
      this.route.cells[cell.retries]!++
      const upstream = this.route.target.take(false)
      return upstream ? this.#use(upstream) : this.#wait()
    }
    if (this.#responding) this.#client.breakOff(this.#endsByClosing)
    else this.#answer('upstream-failed', 1, false)
  }

  #patienceMs(): number {
    return this.#entry?.patienceMs ?? this.route.config.responseTimeoutMs
  }

  /** A kept connection may be closing just now: only what can be sent twice is risked on one that was idle for long. */
  #mayReuse(): boolean {
    return isIdempotent(this.#request.method)
  }

  /** Nothing came back, and all that was sent is still here to be sent again. */
  #mayReplay(): boolean {
    return this.sent && this.#whole && isIdempotent(this.#request.method) && this.#replays < maxReplays
  }

  #hold(payload: string | Buffer): void {
    this.#held.push(payload)
    this.#heldBytes += payload.length
    this.#entry?.grow(payload.length)
  }

  #use(upstream: UpstreamConnection): void {
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

  #sendHeld(upstream: UpstreamConnection): void {
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
  #answer(because: Because, retryAfterSeconds: number | undefined, close: boolean): void {
    const retry = retryAfterSeconds === undefined ? {} : { retryAfterSeconds }
    // Addresses of pods are for the operator: they are in the Event and the condition.
    const isUnreachable = because === 'not-ready-in-time' && this.route.target.fault !== undefined
    const detail = isUnreachable ? unreachable : undefined
    this.#reply(statusFor(because), (options) => answer(because, { ...options, ...retry, detail }), close)
  }

  /** Tells the proxy in front that a pod is ready for the request. */
  #pass(): void {
    const extra = this.#coldStart()
    this.#reply(200, (options) => page(200, '', { ...options, type: 'text/plain', extra }))
  }

  #answerProbe(): void {
    this.#reply(200, probeAnswer)
  }

  #answerFixed({ status, type, body }: StaticAnswer): void {
    this.#reply(status, (options) => page(status, body, { ...options, type, extra: fixedBecause }))
  }

  #showPage(): void {
    this.#entry?.leave()
    const { readinessTimeoutMs } = this.route.config
    if (this.route.target.wakingMs >= (readinessTimeoutMs || this.#thread.limits.maxWaitMs))
      return this.refuse('not-ready-in-time', 1)
    const { type, body } = waitingPage(this.route, this.#request.host)
    this.#reply(503, (options) => page(503, body, { ...options, type, extra: wakingFields }))
  }

  /** Sends an answer of our own. The connection outlives it only if the request was read whole. */
  #reply(status: number, textOf: (options: AnswerOptions) => string, close = false): void {
    noteStatus(this.route.cells, status)
    const keep = !close && this.#client.keepAlive && this.#received && !this.#thread.closing
    this.#client.write(textOf({ close: !keep, isHead: this.isHead }))
    this.#end()
    this.#client.exchangeDone(keep)
  }

  /** Counts a cold start, and tells of it where the route wants that. */
  #coldStart(): string {
    if (!this.#entry?.cold) return ''
    const waitedMs = this.#entry.noteColdStart()
    return this.route.config.coldStartHeader ? `X-Cold-Start: ${waitedMs}\r\n` : ''
  }

  #letGo(): void {
    this.#entry?.leave()
    this.#upstream?.destroy()
    this.#end()
  }

  #end(): void {
    if (!this.active) return
    this.active = false
    this.#upstream = undefined
    this.#dropHeld()
    if (this.#counts) this.route.cells[cell.finished]!++
  }
}
