import type { IncomingHttpHeaders, OutgoingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { isIdempotent } from '../http1/exchange.ts'
import { Head } from '../wire/head.ts'
import type { Http2Exchange } from './http2-exchange.ts'
import { responseFields } from '../routing/rewrite.ts'
import type { UpstreamFailure, Framing, UpstreamRequest, UpstreamConnection } from '../routing/upstream-connection.ts'

/** How the body of a request is framed for a pod that speaks HTTP/1. */
type BodyFraming = 'none' | 'length' | 'chunked'

/** A request as a pod that speaks HTTP/1 gets it. */
export interface Http1Request {
  readonly head: string
  readonly framing: BodyFraming
  readonly isHead: boolean
  /** It may be sent twice, and all of it is in its head. */
  readonly mayRepeat: boolean
}

const check = new Head({ headBytes: 131_072, fields: 500, targetBytes: 65_536 })
const wantsLength = new Set(['POST', 'PUT', 'PATCH'])

/**
 * Writes an HTTP/2 request as HTTP/1. A body always has an end that the pod can see: by its length or, when the client told none, in chunks.
 * What is written is read again by our own strict rules; undefined when it would not pass them.
 */
export function http1Request(
  stream: Pick<ServerHttp2Stream, 'endAfterHeaders'>,
  { method, path, authority }: { readonly method: string; readonly path: string; readonly authority: string },
  headers: OutgoingHttpHeaders,
): Http1Request | undefined {
  const { 'content-length': length } = headers
  const framing = stream.endAfterHeaders ? 'none' : length === undefined ? 'chunked' : 'length'
  let head = `${method} ${path} HTTP/1.1\r\nhost: ${authority}\r\n`
  for (const [name, value] of Object.entries(headers))
    for (const each of Array.isArray(value) ? value : [value]) head += `${name}: ${String(each)}\r\n`
  if (framing === 'chunked') head += 'transfer-encoding: chunked\r\n'
  else if (length === undefined && wantsLength.has(method)) head += 'content-length: 0\r\n'
  head += '\r\n'
  const bytes = Buffer.from(`${head}\0`, 'latin1')
  const isSound = check.parseRequest(bytes, 0, head.length) === 'complete' && check.end === head.length
  if (!isSound || check.connections > 0 || check.chunked !== (framing === 'chunked')) return undefined
  const mayRepeat = framing === 'none' && isIdempotent(method)
  return { head, framing, isHead: method === 'HEAD', mayRepeat }
}

/** Carries one HTTP/2 stream over a connection to a pod that speaks HTTP/1, by the same rules as any other request. */
export class Http1Leg implements UpstreamRequest {
  readonly #stream: ServerHttp2Stream
  readonly #request: Http1Request
  readonly #owner: Http2Exchange
  readonly isHead: boolean
  readonly asksUpgrade = false
  readonly unchunked = true
  sent = false
  #upstream: UpstreamConnection | undefined
  #trailers: IncomingHttpHeaders = {}

  constructor(stream: ServerHttp2Stream, request: Http1Request, owner: Http2Exchange) {
    this.#stream = stream
    this.#request = request
    this.#owner = owner
    this.isHead = request.isHead
  }

  use(upstream: UpstreamConnection): void {
    this.#upstream = upstream
    upstream.serve(this)
    if (upstream.open) this.connected()
  }

  /** Cancels: the client has given up the stream. */
  abandon(): void {
    const upstream = this.#upstream
    this.#upstream = undefined
    upstream?.destroy()
  }

  connected(): void {
    const stream = this.#stream
    const { head, framing } = this.#request
    this.sent = framing === 'none'
    this.#upstream!.begin()
    this.#upstream!.send(head)
    stream.on('drain', () => {
      this.#upstream?.socket.resume()
      this.#owner.stalled(false)
    })
    if (this.sent) return
    stream.on('data', (piece: Buffer) => this.#pass(piece))
    stream.on('end', () => this.#passEnd())
  }

  #pass(piece: Buffer): void {
    // An empty chunk would be the last.
    if (!this.#upstream || piece.length === 0) return
    this.#owner.moved()
    const isFlowing = this.#upstream.send(this.#request.framing === 'chunked' ? chunkOf(piece) : piece)
    if (!isFlowing) this.#stream.pause()
  }

  /** A stream that the client gave up ends as well: what it had sent by then is not all. */
  #passEnd(): void {
    if (!this.#upstream || this.#stream.closed) return
    if (this.#request.framing === 'chunked') this.#upstream.send('0\r\n\r\n')
    this.sent = true
  }

  drained(): void {
    this.#stream.resume()
  }

  interim(bytes: Buffer, head: Head): void {
    if (this.#stream.destroyed || this.#stream.headersSent) return
    this.#stream.additionalHeaders({ ...responseFields(bytes, head), ':status': head.status })
  }

  respond(bytes: Buffer, head: Head, framing: Framing): string {
    const fields = responseFields(bytes, head)
    // HTTP/2 takes a length without a body for a broken answer.
    if (isBodiless(head.status)) delete fields['content-length']
    this.#stream.on('wantTrailers', () => this.#stream.sendTrailers(this.#trailers))
    this.#owner.respond(fields, head.status, { now: framing === 'none', trailers: framing === 'chunked' })
    return ''
  }

  relay(payload: string | Buffer, last: boolean): void {
    this.#relayed(this.#isDone(payload.length) || this.#stream.write(payload as string, 'latin1'), last)
  }

  relayBytes(bytes: Buffer, start: number, end: number, last: boolean): void {
    this.#relayed(this.#isDone(end - start) || this.#stream.write(Buffer.from(bytes.subarray(start, end))), last)
  }

  /** There is nothing to write, or nowhere. */
  #isDone(length: number): boolean {
    return length === 0 || this.#stream.writableEnded || this.#stream.destroyed
  }

  #relayed(isFlowing: boolean, last: boolean): void {
    const upstream = this.#upstream
    if (last) {
      this.#trailers = trailersOf(upstream?.trailers ?? [])
      this.#upstream = undefined
      if (!this.#stream.writableEnded) this.#stream.end()
    } else if (!isFlowing) {
      upstream?.socket.pause()
      this.#owner.stalled(true)
    }
  }

  broke(because: UpstreamFailure): void {
    this.#upstream = undefined
    if (because === 'dial-failed') this.#owner.unsent()
    else if (because === 'closed-unanswered' && this.#request.mayRepeat) this.#owner.unanswered()
    else this.#owner.failed()
  }

  switched(): void {}
  tunnelled(): void {}
  tunnelEnded(): void {}
}

/** Whether an answer of this status never has a body over HTTP/2. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 205
}

function chunkOf(piece: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')])
}

function trailersOf(lines: readonly string[]): IncomingHttpHeaders {
  const pairs = lines.map((line) => [
    line.slice(0, line.indexOf(':')).toLowerCase(),
    line.slice(line.indexOf(':') + 1).trim(),
  ])
  return Object.fromEntries(pairs.filter(([name]) => name !== 'http2-settings')) as IncomingHttpHeaders
}
