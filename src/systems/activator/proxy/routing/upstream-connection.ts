import type { Socket } from 'node:net'
import { connectSocket, readBuffer, type SocketOwner } from '../wire/adopt-socket.ts'
import { ChunkedBody } from '../wire/chunked-body.ts'
import { Head } from '../wire/head.ts'
import { word } from '../wire/bytes.ts'
import { connectionOptions, saysOnly } from './rewrite.ts'
import { ownBytes, write } from '../wire/socket-writes.ts'
import type { Address } from './route.ts'
import type { Endpoint } from './target.ts'

const lookahead = new ChunkedBody()

function isMalformed(bytes: Buffer, start: number, end: number): boolean {
  lookahead.reset()
  lookahead.follow(bytes, start, end)
  return lookahead.broken
}

/** How the end of a response body is known. */
export type Framing = 'none' | 'length' | 'chunked' | 'until-close'

/** Why a connection to a pod failed the request on it. */
export type UpstreamFailure = 'dial-failed' | 'closed-unanswered' | 'refused' | 'bad-response' | 'truncated'

const failures: Readonly<Record<UpstreamFailure, string>> = {
  'dial-failed': 'could not be reached',
  'closed-unanswered': 'closed the connection without an answer',
  refused: 'refused the stream',
  'bad-response': 'sent no valid HTTP answer',
  truncated: 'broke off its answer',
}

/** What a pod did, for the log. */
export function detailOf(failure: UpstreamFailure, { host, port }: Address): string {
  return `${host}:${port} ${failures[failure]}`
}

/** What a connection carries bytes for. */
export interface UpstreamUser {
  /** The connection is open: send. */
  connected(): void
  tunnelled(payload: string | Buffer): void
  tunnelEnded(): void
  drained(): void
  broke(because: UpstreamFailure): void
}

/** The request a connection serves, as the connection sees it. */
export interface UpstreamRequest extends UpstreamUser {
  readonly isHead: boolean
  readonly asksUpgrade: boolean
  /** The client cannot read chunks: it gets the content alone. */
  readonly unchunked: boolean
  /** The whole request has been sent on. */
  readonly sent: boolean
  /** The text of an interim response's head. */
  interim(bytes: Buffer, head: Head): void
  /** The head of the final response; answers the text to send in its place, or undefined to send it unchanged. */
  respond(bytes: Buffer, head: Head, framing: Framing): string | undefined
  relay(payload: string | Buffer, last: boolean): void
  /** The same for bytes that will be overwritten. */
  relayBytes(bytes: Buffer, start: number, end: number, last: boolean): void
  /** The pod agreed to switch protocols; `rest` is what it sent behind its answer. */
  switched(bytes: Buffer, head: Head, rest: string | Buffer): void
}

/** A way to a pod that carries one request at a time: what goes in and comes out is HTTP/1. */
export interface Upstream {
  readonly endpoint: Endpoint
  readonly open: boolean
  readonly socket: Readonly<Record<'pause' | 'resume' | 'end' | 'cork' | 'uncork', () => unknown>>
  /** What came behind the content of the last answer. */
  readonly trailers: readonly string[]
  /** Binds it to a request. */
  serve(served: UpstreamRequest): void
  /** The request is about to be sent: what comes back from now on is its answer. */
  begin(): void
  /** False when the pod cannot keep up. */
  send(payload: string | Buffer): boolean
  /** It was only wanted to see whether the pod answers. */
  giveBack(): void
  destroy(): void
}

const keepAlive = word('keep-alive')
const responseHead = new Head({ headBytes: 65_536, fields: 200, targetBytes: 0 })

/** One connection to a pod: carries one request at a time, and is kept only after a complete, well-framed answer. */
export class UpstreamConnection implements SocketOwner, Upstream {
  readonly endpoint: Endpoint
  readonly socket: Socket
  /** When it began to be dialled or, later, to be idle. */
  since: number
  #served: UpstreamRequest | undefined
  /** The same, or an opaque connection, whose bytes are not parsed. */
  #carried: UpstreamUser | undefined
  #phase: 'dialling' | 'idle' | 'head' | 'body' | 'tunnel' | 'dead' = 'dialling'
  #framing: Framing = 'none'
  #left = 0
  #chunks: ChunkedBody | undefined
  #carry: Buffer | undefined
  #reusable = true
  /** The pod has said, properly, that it will send no more. */
  #hasEnded = false

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint
    endpoint.dialling(this)
    this.since = endpoint.target.time.now
    const { host, port } = endpoint.address
    this.socket = connectSocket(host, port, this)
  }

  get open(): boolean {
    return this.#phase !== 'dialling' && this.#phase !== 'dead'
  }

  get trailers(): readonly string[] {
    return this.#framing === 'chunked' ? (this.#chunks?.trailers ?? []) : []
  }

  serve(served: UpstreamRequest): void {
    this.#served = served
    this.carry(served)
  }

  /** Binds the connection to bytes of whatever kind. */
  carry(carried: UpstreamUser): void {
    this.#carried = carried
    this.endpoint.requestBegan()
  }

  /** From now on bytes go both ways as they are. */
  beginTunnel(): void {
    this.#phase = 'tunnel'
    this.#reusable = false
  }

  giveBack(): void {
    this.#release()
    if (this.endpoint.retired) return this.destroy()
    this.#phase = 'idle'
    this.endpoint.idle.push(this)
  }

  begin(): void {
    this.#phase = 'head'
    this.#reusable = true
  }

  send(payload: string | Buffer): boolean {
    return write(this.socket, payload)
  }

  destroy(): void {
    if (this.#phase === 'dead') return
    this.#release()
    this.#die()
    this.socket.destroy()
  }

  drained(): void {
    this.#carried?.drained()
  }

  connected(): void {
    if (this.#phase !== 'dialling') return
    this.endpoint.connected(this)
    this.#phase = 'idle'
    if (this.#carried) this.#carried.connected()
    else this.#park()
    this.endpoint.target.dispatch()
  }

  read(length: number): void {
    switch (this.#phase) {
      case 'head':
        return this.#head(length)
      case 'body':
        return this.#body(readBuffer, 0, length)
      case 'tunnel':
        return this.#carried?.tunnelled(ownBytes(readBuffer, 0, length))
      default:
        // Nothing was asked, so nothing can be trusted that this connection says from now on.
        return this.destroy()
    }
  }

  #head(length: number): void {
    let bytes = readBuffer
    let end = length
    if (this.#carry) {
      end = this.#carry.length + length
      bytes = Buffer.allocUnsafe(end + 1)
      this.#carry.copy(bytes)
      readBuffer.copy(bytes, this.#carry.length, 0, length)
      this.#carry = undefined
    }
    let start = 0
    for (;;) {
      const parsed = responseHead.parseResponse(bytes, start, end)
      if (parsed === 'incomplete') {
        this.#carry = Buffer.from(bytes.subarray(start, end))
        return
      }
      if (parsed !== 'complete') return this.#break('bad-response')
      if (responseHead.status === 101) return this.#switch(bytes, end)
      if (responseHead.status >= 200) break
      this.#served?.interim(bytes, responseHead)
      if (this.#phase !== 'head') return
      start = responseHead.end
      if (start === end) return
    }
    this.#final(bytes, end)
  }

  #final(bytes: Buffer, end: number): void {
    const served = this.#served!
    const head = responseHead
    if (head.minor === 0) this.#reusable = false
    if (head.connections > 0 && !saysOnly(bytes, head, keepAlive)) {
      const options = connectionOptions(bytes, head)
      if (options.forbidden) return this.#break('bad-response')
      if (options.close) this.#reusable = false
    }
    this.#framing = framingOf(head, served.isHead)
    this.#left = this.#framing === 'length' ? head.contentLength : 0
    if (this.#framing === 'chunked') {
      // Before anything is sent to the client: a body that is malformed from the start is a 502.
      if (isMalformed(bytes, head.end, end)) return this.#break('bad-response')
      ;(this.#chunks ??= new ChunkedBody()).reset()
    }
    if (this.#framing === 'until-close') this.#reusable = false
    const text = served.respond(bytes, head, this.#framing)
    if (this.#phase !== 'head') return
    this.#phase = 'body'
    this.#body(bytes, head.end, end, text ?? head.start)
  }

  /** Passes a stretch of body on. `before` is a head to go in front: its text, or where in the bytes it begins. */
  #body(bytes: Buffer, start: number, end: number, before: string | number = start): void {
    const served = this.#served!
    let bodyEnd = end
    let last = false
    if (this.#framing === 'length') {
      bodyEnd = Math.min(end, start + this.#left)
      this.#left -= bodyEnd - start
      last = this.#left === 0
    } else if (this.#framing === 'chunked') {
      bodyEnd = this.#chunks!.follow(bytes, start, end)
      if (this.#chunks!.broken) return this.#break('truncated')
      last = this.#chunks!.done
    } else if (this.#framing === 'none') {
      bodyEnd = start
      last = true
    }
    if (bodyEnd < end) this.#reusable = false
    const { unchunked } = served
    const runs = unchunked && this.#framing === 'chunked' ? runsOf(bytes, this.#chunks!.runs) : undefined
    if (last) this.#finish()
    if (runs) served.relay(join(typeof before === 'string' ? before : '', runs), last)
    else if (typeof before === 'string') served.relay(join(before, ownBytes(bytes, start, bodyEnd)), last)
    else served.relayBytes(bytes, before, bodyEnd, last)
    if (last && this.endpoint.target.waiters.size > 0) this.endpoint.target.dispatch()
  }

  #switch(bytes: Buffer, end: number): void {
    const served = this.#served!
    if (!served.asksUpgrade || !served.sent) return this.#break('bad-response')
    this.#phase = 'tunnel'
    this.#reusable = false
    served.switched(bytes, responseHead, ownBytes(bytes, responseHead.end, end))
  }

  /** The answer is complete: back to the pool, if nothing speaks against it. */
  #finish(): void {
    const complete = this.#served!.sent
    this.#release()
    if (this.#reusable && complete && !this.endpoint.retired && this.endpoint.target.state.is === 'warm') {
      this.#phase = 'idle'
      this.#park()
      return
    }
    this.#die()
    this.socket.destroy()
  }

  #park(): void {
    this.since = this.endpoint.target.time.now
    this.endpoint.idle.push(this)
  }

  ended(): void {
    if (this.#phase === 'tunnel') {
      this.#hasEnded = true
      this.#carried?.tunnelEnded()
    } else if (this.#phase === 'body' && this.#framing === 'until-close') {
      const served = this.#served!
      this.#finish()
      served.relay('', true)
    } else this.socket.destroy()
  }

  #break(because: UpstreamFailure): void {
    const served = this.#served
    this.#release()
    this.#die()
    this.socket.destroy()
    served?.broke(because)
  }

  closed(): void {
    if (this.#phase === 'dead') return
    const phase = this.#phase
    const carried = this.#carried
    const idle = this.endpoint.idle.indexOf(this)
    if (idle >= 0) this.endpoint.idle.splice(idle, 1)
    this.#release()
    this.#die()
    if (phase === 'dialling') this.endpoint.target.dialFailed(this.endpoint, this.socket.errored)
    if (!carried) return
    if (phase === 'tunnel' && this.#hasEnded) carried.tunnelEnded()
    else if (phase === 'dialling') carried.broke('dial-failed')
    else if (phase === 'head' && !this.#carry) carried.broke('closed-unanswered')
    else carried.broke('truncated')
  }

  #release(): void {
    if (!this.#carried) return
    this.#carried = undefined
    this.#served = undefined
    this.endpoint.requestEnded()
  }

  #die(): void {
    this.endpoint.disconnected(this)
    this.#phase = 'dead'
  }
}

/** How the end of a response body is found, by RFC 9112 §6.3. */
function framingOf(head: Head, isHead: boolean): Framing {
  if (isHead || head.status === 204 || head.status === 304) return 'none'
  if (head.chunked) return 'chunked'
  return head.contentLength >= 0 ? 'length' : 'until-close'
}

function join(head: string, body: string | Buffer): string | Buffer {
  if (typeof body === 'string') return head + body
  return head === '' ? body : Buffer.concat([Buffer.from(head, 'latin1'), body])
}

function runsOf(bytes: Buffer, runs: readonly number[]): Buffer {
  const pieces: Buffer[] = []
  for (let i = 0; i < runs.length; i += 2) pieces.push(bytes.subarray(runs[i], runs[i + 1]))
  return Buffer.concat(pieces)
}
