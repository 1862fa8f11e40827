import http2, { type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2'
import { answer, sentenceFor, statusFor, type Because } from '../answers/answers.ts'
import { Exchange, type ExchangeClient } from '../http1/exchange.ts'
import { resolveRequest, type RequestContext } from '../http1/resolve-request.ts'
import type { Purpose } from '../routing/ports.ts'
import type { ProxyThread } from '../routing/proxy-thread.ts'
import { fieldsOf, linesOf } from '../routing/rewrite.ts'
import { chunkOf, isTrailer, lastChunk } from '../wire/chunked-body.ts'
import { Head } from '../wire/head.ts'

/** Where a connection comes from, and what it is for. */
export interface Origin {
  readonly client: string
  readonly proto: 'http' | 'https'
  readonly purpose: Purpose
}

const requestHead = new Head({ headBytes: 131_072, fields: 500, targetBytes: 65_536 })
const responseHead = new Head({ headBytes: 131_072, fields: 500, targetBytes: 0 })
const hopByHop = /^(?::.*|host|connection|keep-alive|proxy-connection|transfer-encoding|upgrade|http2-settings|te)$/
const wantsLength = new Set(['POST', 'PUT', 'PATCH'])

/**
 * One HTTP/2 stream as an exchange sees it: its request is written as HTTP/1 and read by our own strict rules, and the answer, which an
 * exchange writes as HTTP/1 too, becomes fields, data and trailers. So every rule about requests is there once.
 */
export class Http2Client implements ExchangeClient, RequestContext {
  readonly #thread: ProxyThread
  readonly #stream: ServerHttp2Stream
  readonly #headers: IncomingHttpHeaders
  readonly #exchange: Exchange
  readonly protocol = 'HTTP/2'
  readonly via = '2'
  readonly minor = 1
  readonly unchunked = true
  readonly remoteAddress: string
  readonly proto: 'http' | 'https'
  readonly purpose: Purpose
  keepAlive = true
  addedFor = ''
  added = ''
  trailers: readonly string[] = []
  bodyBytes = 0
  #requestTrailers: readonly string[] = []

  constructor(thread: ProxyThread, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, from: Origin) {
    this.#thread = thread
    this.#stream = stream
    this.#headers = headers
    this.remoteAddress = from.client
    this.proto = from.proto
    this.purpose = from.purpose
    this.#exchange = new Exchange(thread, this)
  }

  get isTrusted(): boolean {
    return this.#thread.isTrusted(this.remoteAddress)
  }

  begin(): void {
    const stream = this.#stream
    const text = this.#requestText()
    const bytes = Buffer.from(`${text}\0`, 'latin1')
    // It has no path, nor does what it asks for.
    if (this.#headers[':method'] === 'CONNECT') return this.#refuse('unsupported-method')
    const request = this.#isSound(bytes) ? resolveRequest(bytes, requestHead, this, this.#thread) : 'malformed-request'
    if (typeof request === 'string') return this.#refuse(request)
    const isChunked = requestHead.chunked
    stream.on('close', () => this.#exchange.abandon())
    stream.on('drain', () => this.#exchange.clientDrained())
    if (!stream.endAfterHeaders) {
      stream.on('trailers', (fields) => (this.#requestTrailers = linesOf(fields).filter(isTrailer)))
      // An empty chunk would be the last.
      stream.on('data', (piece: Buffer) => {
        if (this.#exchange.active && piece.length > 0) this.#exchange.body(isChunked ? chunkOf(piece) : piece, false)
      })
      stream.on('end', () => this.#requestEnded(isChunked))
    }
    this.#exchange.begin(request, '', stream.endAfterHeaders)
  }

  sweep(now: number): void {
    if (this.#exchange.active) this.#exchange.sweep(now)
  }

  write(payload: string | Buffer, last = false): boolean {
    const bytes = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload
    const from = this.#stream.headersSent ? 0 : this.#respond(bytes, last)
    this.bodyBytes += bytes.length - from
    // A stream that has ended has nowhere to put a body, nor has an answer that may have none.
    if (from === bytes.length || this.#stream.writableEnded || this.#stream.destroyed) return true
    return this.#stream.write(bytes.subarray(from))
  }

  writeBytes(bytes: Buffer, start: number, end: number, last = false): boolean {
    return this.write(Buffer.from(bytes.subarray(start, end)), last)
  }

  pauseReading(): void {
    this.#stream.pause()
  }

  resumeReading(): void {
    this.#stream.resume()
  }

  /** The client may still send: that goes nowhere. */
  exchangeDone(): void {
    if (!this.#stream.writableEnded) this.#stream.end()
    this.#stream.resume()
  }

  destroy(): void {
    this.#stream.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
  }

  breakOff(): void {
    this.destroy()
  }

  enterTunnel(): void {}
  end(): void {}

  /** The request as HTTP/1. Its body always has an end that the pod can see: by its length or, when the client told none, in chunks. */
  #requestText(): string {
    const { ':method': method = 'GET', ':path': path = '', ':authority': authority, host } = this.#headers
    const { 'content-length': length } = this.#headers
    const lines = linesOf(this.#headers).filter((line) => !hopByHop.test(line.slice(0, line.indexOf(':', 1))))
    if (!this.#stream.endAfterHeaders && length === undefined) lines.push('transfer-encoding: chunked')
    else if (length === undefined && wantsLength.has(method)) lines.push('content-length: 0')
    return `${method} ${path} HTTP/1.1\r\nhost: ${authority ?? host ?? ''}\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
  }

  /** Whether it reads as what was written. Under schemes other than its own HTTP/2 itself lets anything be a path: another host, too. */
  #isSound(bytes: Buffer): boolean {
    const { ':method': method, ':path': path = '' } = this.#headers
    const head = requestHead
    const end = bytes.length - 1
    if (!(path === '*' ? method === 'OPTIONS' : /^\/[!-~]*$/.test(path))) return false
    if (head.parseRequest(bytes, 0, end) !== 'complete' || head.end !== end || head.connections > 0) return false
    return head.targetEnd - head.targetStart === path.length
  }

  /** A stream that the client gave up ends as well: what it had sent by then is not all. */
  #requestEnded(isChunked: boolean): void {
    if (this.#stream.closed || !this.#exchange.active) return
    this.#exchange.body(isChunked ? lastChunk(this.#requestTrailers) : '', true)
  }

  /** It is not for any route. */
  #refuse(because: Because): void {
    const { journal } = this.#thread
    const status = statusFor(because)
    journal.noteAnswer({ because, status })
    const { ':authority': host } = this.#headers
    journal.noteAccess({ client: this.remoteAddress, protocol: this.protocol, host, status, because })
    this.write(answer(because, { close: false }))
    this.exchangeDone()
  }

  /** Sends the heads at the start of the bytes, interim ones and the final one; answers where the body begins. `last`: nothing comes behind them. */
  #respond(bytes: Buffer, last: boolean): number {
    const stream = this.#stream
    const head = responseHead
    for (let at = 0; at < bytes.length; at = head.end) {
      if (stream.closed || stream.destroyed || head.parseResponse(bytes, at, bytes.length) !== 'complete')
        return bytes.length
      const fields = fieldsOf(bytes, head)
      if (head.status < 200) {
        stream.additionalHeaders({ ...fields, ':status': head.status })
        continue
      }
      const own = this.#exchange.responding ? undefined : (fields['x-sojourn-because'] as Because | undefined)
      if (own !== undefined && this.#headers['content-type']?.startsWith('application/grpc')) {
        stream.respond(grpcAnswer(own), { endStream: true })
        return bytes.length
      }
      // HTTP/2 takes a length without a body for a broken answer.
      const isBodiless = head.status === 204 || head.status === 205
      if (isBodiless) delete fields['content-length']
      const endStream = isBodiless || (last && head.end === bytes.length && this.trailers.length === 0)
      const waitForTrailers = !endStream && head.contentLength < 0
      stream.on('wantTrailers', () => stream.sendTrailers(trailersOf(this.trailers)))
      stream.respond({ ...fields, ':status': head.status }, { endStream, waitForTrailers })
      return isBodiless ? bytes.length : head.end
    }
    return bytes.length
  }
}

/** gRPC clients read the status of a call, not that of HTTP. */
function grpcAnswer(because: Because) {
  const status = because === 'unknown-host' ? '12' : '14'
  return {
    ':status': 200,
    'content-type': 'application/grpc',
    'grpc-status': status,
    'grpc-message': sentenceFor(because),
  }
}

function trailersOf(lines: readonly string[]): IncomingHttpHeaders {
  const pairs = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ])
  return Object.fromEntries(pairs.filter(([name]) => name !== 'http2-settings')) as IncomingHttpHeaders
}
