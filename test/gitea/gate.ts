import { Agent, createServer, request as httpsRequest, type Server } from 'node:https'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { makeCertificates } from '../forge/certificates.ts'

export interface Passing {
  readonly method: string
  readonly path: string
  readonly body: string
}

/** Names a request whose sender is killed before it arrives and again after it was carried out; undefined lets it pass. */
export type StepOf = (passing: Passing) => string | undefined

/** A way to an HTTPS server on which the sender of a request can die: before the request arrives, or before its answer does. */
export class Gate implements AsyncDisposable {
  readonly ca: string
  /** Every kill there was: the name of the step, and when. */
  readonly kills: string[] = []
  /** Requests that were carried out. */
  readonly passed: Passing[] = []
  readonly #server: Server
  readonly #target: string
  readonly #agent = new Agent({ rejectUnauthorized: false, keepAlive: true })
  readonly #seen = new Map<string, number>()
  readonly #stepOf: StepOf
  readonly #kill: () => void

  private constructor(target: string, { stepOf, kill }: { stepOf: StepOf; kill: () => void }) {
    const certificates = makeCertificates()
    this.ca = certificates.ca
    this.#target = target
    this.#stepOf = stepOf
    this.#kill = kill
    this.#server = createServer(certificates, (request, response) => {
      this.#pass(request, response).catch(() => response.destroy())
    })
  }

  static async open(target: string, given: { stepOf: StepOf; kill: () => void }): Promise<Gate> {
    const gate = new Gate(target, given)
    await new Promise<void>((resolve) => gate.#server.listen(0, '127.0.0.1', resolve))
    return gate
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
    this.#agent.destroy()
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/' } = request
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const passing = { method, path, body: body.toString() }
    const step = this.#stepOf(passing)
    const times = step === undefined ? 2 : (this.#seen.get(step) ?? 0)
    if (step !== undefined) this.#seen.set(step, times + 1)
    if (times === 0) return this.#dies(response, `before ${step}`)
    const answer = await this.#forward(request, body)
    this.passed.push(passing)
    if (times === 1) {
      for await (const _ of answer);
      return this.#dies(response, `after ${step}`)
    }
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    response.on('close', () => answer.destroy())
    answer.pipe(response)
  }

  #dies(response: ServerResponse, step: string): void {
    this.kills.push(step)
    this.#kill()
    response.destroy()
  }

  #forward({ method, url, headers }: IncomingMessage, body: Buffer): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const { host: _, ...rest } = headers
      const outgoing = httpsRequest(new URL(url ?? '/', this.#target), { method, headers: rest, agent: this.#agent })
      outgoing.on('response', (answer) => {
        answer.on('error', () => {})
        resolve(answer)
      })
      outgoing.on('error', reject)
      outgoing.end(body)
    })
  }
}
