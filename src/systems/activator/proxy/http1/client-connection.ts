import type { Purpose } from '../routing/ports.ts'
import type { Socket } from 'node:net'
import { adoptSocket, readBuffer, type SocketOwner } from '../wire/adopt-socket.ts'
import { answer, statusFor, type Because } from '../answers/answers.ts'
import { ChunkedBody } from '../wire/chunked-body.ts'
import type { ProxyThread } from '../routing/proxy-thread.ts'
import { Exchange, type ExchangeClient } from './exchange.ts'
import { Head, type Parsed } from '../wire/head.ts'
import { readPreamble } from '../wire/proxy-protocol.ts'
import { resolveRequest, type RequestContext } from './resolve-request.ts'
import { ownBytes, write, writeBytes } from '../wire/socket-writes.ts'

const requestHead = new Head()
const preface = 'PRI * HTTP/2.0\r\n\r\n'
const lingerMs = 2000
/** How long an idle connection stays open while draining: a request may be on its way. */
const farewellMs = 1000
const maxPipelinedBytes = 65_536
/** Long enough for the network to refuse what was sent to a client that has left. */
const firstProbeMs = 1000

const faults: Record<Exclude<Parsed, 'complete' | 'incomplete'>, Because> = {
  malformed: 'malformed-request',
  'too-large': 'head-too-large',
  'target-too-long': 'target-too-long',
}

export interface ClientOptions {
  readonly secure: boolean
  /** The connection begins with a PROXY protocol header. */
  readonly proxyProtocol: boolean
  /** The client's address, if the socket's own is not it. */
  readonly remoteAddress?: string
  readonly purpose: Purpose
}

/**
 * One client's connection: finds the requests in its bytes, strictly, and hands them to an exchange one at a time.
 * `head` waits for a request, `body` reads one, `response` has read one and waits for its answer to end.
 */
export class ClientConnection implements SocketOwner, ExchangeClient, RequestContext {
  readonly #thread: ProxyThread
  readonly #socket: Socket
  readonly #exchange: Exchange
  /** A PROXY header is still to come. */
  #expectsPreamble: boolean
  #phase: 'head' | 'body' | 'response' | 'tunnel' | 'closing' | 'gone' = 'head'
  /** HTTP/1.`minor` is what the client speaks. */
  minor = 1
  keepAlive = true
  remoteAddress: string
  readonly proto: 'http' | 'https'
  readonly purpose: Purpose
  addedFor = ''
  added = ''
  trailers: readonly string[] = []
  #carry: Buffer | undefined
  #requests = 0
  /** Part of a head has arrived. */
  #inHead = false
  #hadEmptyLine = false
  /** Bytes the body still lacks, or -1 if it is chunked. */
  #bodyLeft = 0
  #chunks: ChunkedBody | undefined
  #deadlineAt: number
  #working = false
  #halfOpen = false
  /** How often a client that has closed its side was asked whether it is still there. */
  #probes = 0

  get isTrusted(): boolean {
    return this.#thread.isTrusted(this.remoteAddress)
  }

  constructor(accepted: Socket, thread: ProxyThread, { secure, proxyProtocol, remoteAddress, purpose }: ClientOptions) {
    this.#thread = thread
    this.purpose = purpose
    this.#deadlineAt = thread.time.now + thread.limits.headTimeoutMs
    this.proto = secure ? 'https' : 'http'
    this.remoteAddress = remoteAddress ?? plainAddress(accepted.remoteAddress)
    this.#expectsPreamble = proxyProtocol
    this.#exchange = new Exchange(thread, this)
    this.#socket = adoptSocket(accepted, this)
  }

  get protocol(): 'HTTP/1.0' | 'HTTP/1.1' {
    return this.minor === 1 ? 'HTTP/1.1' : 'HTTP/1.0'
  }

  get via(): string {
    return this.minor === 1 ? '1.1' : '1.0'
  }

  get unchunked(): boolean {
    return this.minor === 0
  }

  write(payload: string | Buffer): boolean {
    if (this.#halfOpen) this.#touchTunnel()
    return write(this.#socket, payload)
  }

  writeBytes(bytes: Buffer, start: number, end: number): boolean {
    if (this.#halfOpen) this.#touchTunnel()
    return writeBytes(this.#socket, bytes, start, end)
  }

  pauseReading(): void {
    this.#socket.pause()
  }

  resumeReading(): void {
    if (this.#socket.isPaused()) this.#socket.resume()
  }

  exchangeDone(keep: boolean): void {
    if (this.#phase === 'gone') return
    if (!keep || this.#halfOpen) return this.#linger()
    this.#phase = 'head'
    this.#deadlineAt = this.#thread.time.now + (this.#thread.closing ? farewellMs : this.#thread.limits.keepAliveMs)
    if (this.#working) return
    this.#continue()
    this.resumeReading()
  }

  enterTunnel(): void {
    this.#phase = 'tunnel'
    this.#touchTunnel()
    this.#continue()
    this.resumeReading()
  }

  end(): void {
    this.#closeHalf()
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Even where closing ends the answer. */
  breakOff(endsByClosing: boolean): void {
    // TLS announces a proper end; this connection ended without it.
    if (endsByClosing && this.proto === 'http') this.#socket.resetAndDestroy()
    else this.#socket.destroy()
  }

  /** Drains the connection: closes it soon if it is idle, else after its response. */
  retire(): void {
    if (this.#phase !== 'head' || this.#inHead) return
    this.#deadlineAt = Math.min(this.#deadlineAt, this.#thread.time.now + farewellMs)
  }

  sweep(now: number): void {
    if (this.#exchange.active) this.#exchange.sweep(now)
    if (now < this.#deadlineAt || (this.#phase === 'response' && !this.#halfOpen)) return
    if (this.#phase === 'response' && this.#mayProbe) return this.#probe()
    // A client that waits for a pod, or for the proxy to read on, is not slow.
    if (this.#phase === 'body' && (!this.#exchange.forwarding || this.#socket.isPaused())) return
    if (this.#phase === 'head' && this.#carry) return this.#refuse('head-timeout')
    this.#socket.destroy()
  }

  connected(): void {}

  drained(): void {
    this.#exchange.clientDrained()
  }

  read(length: number): void {
    let bytes = readBuffer
    let end = length
    if (this.#phase === 'closing') return
    if (this.#carry) {
      if (this.#phase === 'response') return this.#keepForLater(readBuffer, 0, length)
      end = this.#carry.length + length
      bytes = Buffer.allocUnsafe(end + 1)
      this.#carry.copy(bytes)
      readBuffer.copy(bytes, this.#carry.length, 0, length)
      // A head cannot have become complete, nor newly wrong in a way that matters, without a line's end.
      if (this.#phase === 'head' && end < 16_384 && readBuffer.subarray(0, length).indexOf(10) < 0) {
        this.#carry = bytes.subarray(0, end)
        return
      }
      this.#carry = undefined
    }
    this.#work(bytes, end)
  }

  /** Processes bytes that arrived during the last response. */
  #continue(): void {
    const kept = this.#carry
    if (!kept) return
    this.#carry = undefined
    const bytes = Buffer.allocUnsafe(kept.length + 1)
    kept.copy(bytes)
    this.#work(bytes, kept.length)
  }

  #work(bytes: Buffer, end: number): void {
    this.#working = true
    let at = 0
    while (at < end) {
      const next = this.#step(bytes, at, end)
      if (next < 0) break
      at = next
    }
    this.#working = false
  }

  /** Consumes what it can; returns the offset to continue at, or -1 when it needs more bytes. */
  #step(bytes: Buffer, at: number, end: number): number {
    switch (this.#phase) {
      case 'head':
        return this.#expectsPreamble ? this.#beforeHead(bytes, at, end) : this.#head(bytes, at, end)
      case 'body':
        return this.#body(bytes, at, end)
      case 'response':
        this.#keepForLater(bytes, at, end)
        return -1
      case 'tunnel':
        this.#touchTunnel()
        this.#exchange.tunnel(ownBytes(bytes, at, end))
        return -1
      default:
        return -1
    }
  }

  #beforeHead(bytes: Buffer, at: number, end: number): number {
    const found = readPreamble(bytes.subarray(at, end))
    if (found === 'incomplete') return this.#wantMore(bytes, at, end)
    if (found === 'malformed') {
      this.#socket.destroy()
      return -1
    }
    this.#expectsPreamble = false
    if (found.address !== undefined) this.remoteAddress = found.address
    return at + found.length
  }

  #head(bytes: Buffer, at: number, end: number): number {
    // An empty line in front of a request is ignored, but only one (RFC 9112 §2.2).
    if (bytes[at] === 13 && !this.#hadEmptyLine) {
      if (at + 1 === end) return this.#wantMore(bytes, at, end)
      if (bytes[at + 1] === 10) {
        this.#hadEmptyLine = true
        return at + 2
      }
    }
    const parsed = requestHead.parseRequest(bytes, at, end)
    if (parsed === 'incomplete') return this.#wantMore(bytes, at, end)
    if (parsed !== 'complete') {
      const begun = bytes.toString('latin1', at, Math.min(end, at + preface.length))
      if (this.#requests === 0 && this.purpose.is !== 'checks' && preface.startsWith(begun)) {
        return begun === preface ? this.#speakHttp2(bytes, at, end) : this.#wantMore(bytes, at, end)
      }
      this.#refuse(faults[parsed])
      return -1
    }
    this.#requests++
    this.#inHead = false
    this.#hadEmptyLine = false
    return this.#request(bytes, end)
  }

  #request(bytes: Buffer, end: number): number {
    const head = requestHead
    this.minor = head.minor
    this.keepAlive = head.minor === 1
    const bodyStart = head.end
    const request = resolveRequest(bytes, head, this, this.#thread)
    if (typeof request === 'string') {
      const unread = head.chunked || head.contentLength > 0
      if (unread || request !== 'unknown-host' || !this.keepAlive) {
        this.#refuse(request)
        return -1
      }
      const isHead =
        head.methodEnd - head.start === 4 && bytes.toString('latin1', head.start, head.methodEnd) === 'HEAD'
      this.#noteRefusal(request)
      this.write(answer(request, { close: false, isHead }))
      return bodyStart
    }
    this.#bodyLeft = head.chunked ? -1 : Math.max(0, head.contentLength)
    if (this.#bodyLeft < 0) (this.#chunks ??= new ChunkedBody()).reset()
    const bodyEnd = this.#follow(bytes, bodyStart, end)
    if (bodyEnd < 0) {
      this.#refuse('malformed-request')
      return -1
    }
    const complete = this.#bodyLeft === 0
    this.#phase = complete ? 'response' : 'body'
    this.#deadlineAt = this.#thread.time.now + this.#thread.limits.bodyTimeoutMs
    const body = bodyEnd > bodyStart ? ownBytes(bytes, bodyStart, bodyEnd) : ''
    this.#exchange.begin(request, body, complete)
    return bodyEnd
  }

  #body(bytes: Buffer, at: number, end: number): number {
    const bodyEnd = this.#follow(bytes, at, end)
    if (bodyEnd < 0) {
      this.#exchange.reject('malformed-request')
      return -1
    }
    const complete = this.#bodyLeft === 0
    if (complete) this.#phase = 'response'
    this.#deadlineAt = this.#thread.time.now + this.#thread.limits.bodyTimeoutMs
    this.#exchange.body(ownBytes(bytes, at, bodyEnd), complete)
    return bodyEnd
  }

  /** Where in the bytes the body ends or breaks off; negative if it is malformed. */
  #follow(bytes: Buffer, start: number, end: number): number {
    if (this.#bodyLeft >= 0) {
      const taken = Math.min(end - start, this.#bodyLeft)
      this.#bodyLeft -= taken
      return start + taken
    }
    const bodyEnd = this.#chunks!.follow(bytes, start, end)
    if (this.#chunks!.broken) return -1
    if (this.#chunks!.done) this.#bodyLeft = 0
    return bodyEnd
  }

  #wantMore(bytes: Buffer, at: number, end: number): number {
    // The time for a head runs from its first byte, however slowly the rest drips in; the first one's from the start.
    if (this.#requests > 0 && !this.#inHead)
      this.#deadlineAt = this.#thread.time.now + this.#thread.limits.headTimeoutMs
    this.#inHead = true
    this.#carry = Buffer.from(bytes.subarray(at, end))
    return -1
  }

  #keepForLater(bytes: Buffer, at: number, end: number): void {
    const rest = bytes.subarray(at, end)
    this.#carry = this.#carry ? Buffer.concat([this.#carry, rest]) : Buffer.from(rest)
    if (this.#carry.length >= maxPipelinedBytes) this.pauseReading()
  }

  #speakHttp2(bytes: Buffer, at: number, end: number): number {
    this.#phase = 'gone'
    this.#thread.clients.delete(this)
    this.#thread.speakHttp2(this.#socket, Buffer.from(bytes.subarray(at, end)), {
      client: this.remoteAddress,
      purpose: this.purpose,
    })
    return -1
  }

  #noteRefusal(because: Because): void {
    const { journal } = this.#thread
    const status = statusFor(because)
    journal.noteAnswer({ because, status })
    const { protocol, remoteAddress: client } = this
    if (journal.keepsAccessLog) journal.noteAccess({ client, protocol, status, because })
  }

  #refuse(because: Because): void {
    this.#noteRefusal(because)
    this.write(answer(because, { close: true }))
    this.#linger()
  }

  /** Closes our side and reads a little longer (RFC 9112 §9.6): a reset now could destroy the answer on its way. */
  #linger(): void {
    this.#phase = 'closing'
    this.#carry = undefined
    this.#deadlineAt = this.#thread.time.now + lingerMs
    this.#socket.end()
    this.resumeReading()
  }

  /** One end has closed, or vanished, which looks the same: the other end is closed after a timeout. */
  #closeHalf(): void {
    this.#halfOpen = true
    this.#touchTunnel()
  }

  #touchTunnel(): void {
    const idleMs = this.#exchange.route.config.tunnelIdleMs
    const { halfOpenMs } = this.#thread.limits
    const silenceMs = this.#halfOpen ? Math.min(idleMs || halfOpenMs, halfOpenMs) : idleMs
    this.#deadlineAt = silenceMs > 0 ? this.#thread.time.now + silenceMs : Infinity
  }

  ended(): void {
    if (this.#phase === 'tunnel') {
      this.#closeHalf()
      return this.#exchange.closeTunnel()
    }
    if (this.#phase === 'response' && (this.#mayProbe || this.#exchange.hasPod)) {
      this.keepAlive = false
      this.#closeHalf()
      if (this.#mayProbe) this.#probe()
    } else if (this.#phase !== 'gone') this.#socket.destroy()
  }

  /** Whether an interim answer may still be sent, which HTTP/1.0 does not have. */
  get #mayProbe(): boolean {
    return this.minor === 1 && !this.#exchange.responding
  }

  /**
   * A client that has closed its side waits for the answer, or has left: only writing to it shows. The network refuses the first bytes to one
   * that has left, and the second write fails.
   */
  #probe(): void {
    write(this.#socket, 'HTTP/1.1 100 Continue\r\n\r\n')
    this.#deadlineAt = this.#thread.time.now + (this.#probes++ === 0 ? firstProbeMs : this.#thread.limits.halfOpenMs)
  }

  closed(): void {
    if (this.#phase === 'gone') return
    this.#phase = 'gone'
    this.#carry = undefined
    this.#exchange.abandon()
    this.#thread.clients.delete(this)
  }
}

/** A dual-stack listener reports IPv4 addresses as IPv4-mapped IPv6. */
export function plainAddress(address = 'unknown'): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address
}
