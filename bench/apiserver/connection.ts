import { once } from 'node:events'
import { connect, type TLSSocket } from 'node:tls'
import type { Target } from './target.ts'

/** An answer with its body; only its size where nobody looks. */
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
  readonly #head: string
  #received = Buffer.alloc(0)
  #answered: { resolve(answer: Answer): void; reject(error: Error): void } | undefined

  constructor(socket: TLSSocket, { url, token }: Target) {
    this.#socket = socket
    this.#head = `Host: ${new URL(url).host}\r\nAuthorization: Bearer ${token}\r\nAccept: application/json\r\nUser-Agent: bench/1\r\n`
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
      this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${content}\r\n${body ?? ''}`)
    })
  }

  /** Begins a watch; from now on everything received goes to the listener. */
  watch(path: string, listener: (data: Buffer) => void): void {
    this.#socket.removeAllListeners('data')
    this.#socket.on('data', listener)
    this.#socket.write(`GET ${path} HTTP/1.1\r\n${this.#head}\r\n`)
  }

  [Symbol.dispose](): void {
    this.#answered = undefined
    this.#socket.destroy()
  }

  #take(data: Buffer): void {
    this.#received = this.#received.length === 0 ? data : Buffer.concat([this.#received, data])
    const headEnd = this.#received.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const head = this.#received.toString('latin1', 0, headEnd)
    const length = /content-length: (\d+)/i.exec(head)?.[1]
    const body = length === undefined ? this.#chunked(headEnd + 4) : this.#sized(headEnd + 4, Number(length))
    if (body === undefined) return
    this.#received = Buffer.alloc(0)
    const answered = this.#answered
    this.#answered = undefined
    answered?.resolve({ status: Number(head.slice(9, 12)), body })
  }

  #sized(start: number, length: number): string | undefined {
    return this.#received.length < start + length ? undefined : this.#received.toString('utf8', start)
  }

  /** Chunks are not taken apart: whoever looks for words finds them anyway. */
  #chunked(start: number): string | undefined {
    const isComplete = this.#received.subarray(-7).toString('latin1').endsWith('\r\n0\r\n\r\n')
    return isComplete ? this.#received.toString('latin1', start) : undefined
  }
}
