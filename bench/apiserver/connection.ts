import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import type { Target } from './target.ts'

/** A response with its body, or only its size if the body is not needed. */
export interface Answer {
  readonly status: number
  readonly body: string
}

/**
 * One kept-alive HTTP/1.1 connection that does as little as can be done, so that what is measured is the server. Requests are
 * answered one after the other.
 */
export class Connection implements Disposable {
  readonly #socket: TLSSocket
  readonly #headers: string
  /** What has come of the answer so far. */
  #parts: Buffer[] = []
  #size = 0
  #head: Head | undefined
  #answered: { resolve(answer: Answer): void; reject(error: Error): void } | undefined

  constructor(socket: TLSSocket, { url, token }: Target) {
    this.#socket = socket
    this.#headers = `Host: ${new URL(url).host}\r\nAuthorization: Bearer ${token}\r\nAccept: application/json\r\nUser-Agent: bench/1\r\n`
    socket.on('data', (data: Buffer) => this.#take(data))
    socket.on('error', (error) => this.#answered?.reject(error))
    socket.on('close', () => this.#answered?.reject(new Error('the server closed the connection')))
  }

  static async open(target: Target): Promise<Connection> {
    const { hostname, port } = new URL(target.url)
    const socket = connect({ host: hostname, port: Number(port), ca: target.ca, ALPNProtocols: ['http/1.1'] })
    await once(socket, 'secureConnect')
    socket.setNoDelay(true)
    return new Connection(socket, target)
  }

  send(method: string, path: string, body?: string): Promise<Answer> {
    const content =
      body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`
    return new Promise((resolve, reject) => {
      this.#answered = { resolve, reject }
      this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#headers}${content}\r\n${body ?? ''}`)
    })
  }

  /** Begins a watch; from now on everything received goes to the listener. */
  watch(path: string, listener: (data: Buffer) => void): void {
    this.#socket.removeAllListeners('data')
    this.#socket.on('data', listener)
    this.#socket.write(`GET ${path} HTTP/1.1\r\n${this.#headers}\r\n`)
  }

  [Symbol.dispose](): void {
    this.#answered = undefined
    this.#socket.destroy()
  }

  #take(data: Buffer): void {
    this.#parts.push(data)
    this.#size += data.length
    this.#head ??= headOf(this.#parts)
    if (!this.#head || !this.#isComplete(this.#head, data)) return
    const body = Buffer.concat(this.#parts).toString('latin1', this.#head.length)
    const answered = this.#answered
    const { status } = this.#head
    this.#parts = []
    this.#size = 0
    this.#head = undefined
    this.#answered = undefined
    answered?.resolve({ status, body })
  }

  /** Chunked bodies are not decoded: callers only search them for text. */
  #isComplete({ length, bodyLength }: Head, last: Buffer): boolean {
    if (bodyLength !== undefined) return this.#size >= length + bodyLength
    return last.subarray(-7).toString('latin1').endsWith('0\r\n\r\n')
  }
}

interface Head {
  readonly status: number
  readonly length: number
  /** Undefined for a chunked body. */
  readonly bodyLength: number | undefined
}

function headOf(parts: readonly Buffer[]): Head | undefined {
  const received = parts.length === 1 ? (parts[0] ?? Buffer.alloc(0)) : Buffer.concat(parts)
  const end = received.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const text = received.toString('latin1', 0, end)
  const bodyLength = /content-length: (\d+)/i.exec(text)?.[1]
  return {
    status: Number(text.slice(9, 12)),
    length: end + 4,
    bodyLength: bodyLength === undefined ? undefined : Number(bodyLength),
  }
}
