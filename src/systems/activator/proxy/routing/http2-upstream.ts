import http2, {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2'
import { chunkOf, ChunkedBody, lastChunk } from '../wire/chunked-body.ts'
import { Head } from '../wire/head.ts'
import { fieldsOf, linesOf } from './rewrite.ts'
import type { Endpoint } from './target.ts'
import type { Upstream, UpstreamFailure, UpstreamRequest } from './upstream-connection.ts'

const sessions = new WeakMap<Endpoint, ClientHttp2Session>()
const requestHead = new Head({ headBytes: 131_072, fields: 500, targetBytes: 65_536 })
const responseHead = new Head({ headBytes: 131_072, fields: 500, targetBytes: 0 })

/** A stream to a pod that speaks HTTP/2. To its exchange it is a connection to a pod like any other: what goes in and comes out is HTTP/1. */
export class Http2Upstream implements Upstream {
  readonly endpoint: Endpoint
  trailers: readonly string[] = []
  readonly #session: ClientHttp2Session
  readonly #givenUp = new AbortController()
  #served: UpstreamRequest | undefined
  #stream: ClientHttp2Stream | undefined
  #chunks: ChunkedBody | undefined
  /** Bytes the body of the request still lacks, where it is not chunked. */
  #left = 0
  #responded = false

  constructor(endpoint: Endpoint, dialTimeoutMs: number) {
    this.endpoint = endpoint
    this.#session = sessionTo(endpoint, dialTimeoutMs)
    if (!this.#session.connecting) return
    let failure: Error | undefined
    this.#session.once('error', (error: Error) => (failure = error))
    const missed = () => {
      if (!this.#served) return
      endpoint.target.dialFailed(endpoint, failure)
      this.#broke('dial-failed')
    }
    this.#session.once('close', missed)
    this.#session.once('connect', () => {
      this.#session.off('close', missed)
      endpoint.reached()
      this.#served?.connected()
    })
  }

  get open(): boolean {
    return !this.#session.connecting
  }

  readonly socket = {
    pause: () => this.#stream?.pause(),
    resume: () => this.#stream?.resume(),
    end: () => this.#stream?.end(),
    cork: () => {},
    uncork: () => {},
  }

  serve(served: UpstreamRequest): void {
    this.#served = served
    this.endpoint.requestBegan()
  }

  begin(): void {}

  giveBack(): void {
    this.#release()
  }

  destroy(): void {
    this.#release()
    // Closing it would first end it, as if all had been sent.
    this.#givenUp.abort()
  }

  send(payload: string | Buffer): boolean {
    const bytes = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload
    const from = this.#stream ? 0 : this.#request(bytes)
    return from === bytes.length || this.#sendBody(bytes, from)
  }

  /** Opens the stream for the head that the bytes begin with; answers where the head ends. */
  #request(bytes: Buffer): number {
    const head = requestHead
    head.parseRequest(bytes, 0, bytes.length)
    const text = (start: number, end: number) => bytes.toString('latin1', start, end)
    const fields = {
      ...fieldsOf(bytes, head),
      te: 'trailers',
      ':method': text(head.start, head.methodEnd),
      ':path': text(head.targetStart, head.targetEnd),
      ':scheme': 'http',
      ':authority': text(head.valueStart(head.host), head.valueEnd(head.host)),
    }
    this.#left = Math.max(0, head.contentLength)
    if (head.chunked) this.#chunks = new ChunkedBody()
    const endStream = !head.chunked && this.#left === 0
    const { end } = head
    this.#follow((this.#stream = this.#session.request(fields, { signal: this.#givenUp.signal, endStream })))
    return end
  }

  #sendBody(bytes: Buffer, from: number): boolean {
    const stream = this.#stream!
    if (stream.writableEnded || stream.destroyed) return true
    if (!this.#chunks) {
      this.#left -= bytes.length - from
      const isFlowing = stream.write(bytes.subarray(from))
      if (this.#left <= 0) stream.end()
      return isFlowing
    }
    const { runs } = this.#chunks
    this.#chunks.follow(bytes, from, bytes.length)
    let isFlowing = true
    for (let i = 0; i < runs.length; i += 2) isFlowing = stream.write(bytes.subarray(runs[i], runs[i + 1]))
    if (this.#chunks.done) stream.end()
    return isFlowing
  }

  #follow(stream: ClientHttp2Stream): void {
    stream.on('headers', (fields) => this.#interim(fields))
    stream.on('trailers', (fields) => (this.trailers = linesOf(fields)))
    stream.on('response', (fields, flags) => this.#respond(fields, flags))
    stream.on('data', (piece: Buffer) => {
      const served = this.#served
      served?.relay(served.unchunked || !this.#isChunked ? piece : chunkOf(piece), false)
    })
    stream.on('drain', () => this.#served?.drained())
    stream.on('end', () => this.#finish())
    stream.on('error', () => {})
    stream.on('close', () => {
      if (!this.#responded)
        this.#broke(stream.rstCode === http2.constants.NGHTTP2_REFUSED_STREAM ? 'refused' : 'closed-unanswered')
      else this.#broke('truncated')
    })
  }

  #isChunked = false

  #interim({ ':status': status, ...fields }: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    const bytes = Buffer.from(headText(status ?? 100, linesOf(fields)), 'latin1')
    if (this.#served && responseHead.parseResponse(bytes, 0, bytes.length) === 'complete')
      this.#served.interim(bytes, responseHead)
  }

  #respond(
    { ':status': status = 502, ...fields }: IncomingHttpHeaders & IncomingHttpStatusHeader,
    flags: number,
  ): void {
    const served = this.#served
    if (!served) return
    const isBodiless = served.isHead || (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0
    this.#isChunked = !isBodiless && fields['content-length'] === undefined
    const isEmpty = isBodiless && !served.isHead && status >= 200 && status !== 204 && status !== 304
    const framing = this.#isChunked ? ['transfer-encoding: chunked'] : []
    if (isEmpty && fields['content-length'] === undefined && !served.unchunked) framing.push('content-length: 0')
    const bytes = Buffer.from(headText(status, [...linesOf(fields), ...framing]), 'latin1')
    const head = responseHead
    if (head.parseResponse(bytes, 0, bytes.length) !== 'complete') return this.#broke('bad-response')
    this.#responded = true
    const how = isBodiless ? 'none' : this.#isChunked ? 'chunked' : 'length'
    const text = served.respond(bytes, head, how) ?? bytes
    if (!this.#served) return
    if (isBodiless) this.#release()
    served.relay(text, isBodiless)
  }

  #finish(): void {
    const served = this.#served
    if (!served || !this.#responded || this.#stream!.rstCode !== 0) return
    this.#release()
    served.relay(served.unchunked || !this.#isChunked ? '' : lastChunk(this.trailers), true)
    // What is left of the request goes nowhere.
    if (!this.#stream!.writableEnded) this.#givenUp.abort()
  }

  #broke(because: UpstreamFailure): void {
    const served = this.#served
    this.#release()
    this.#givenUp.abort()
    served?.broke(because)
  }

  #release(): void {
    if (!this.#served) return
    this.#served = undefined
    this.endpoint.requestEnded()
    const { target } = this.endpoint
    if (target.waiters.size > 0) target.dispatch()
  }
}

function headText(status: number, lines: readonly string[]): string {
  return `HTTP/1.1 ${status} \r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`
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
