import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request as httpsRequest } from 'node:https'
import type { IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parse } from 'yaml'

export interface Answer {
  readonly status: number
  readonly body: string
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string }
  }[]
  readonly users: readonly { readonly user: { readonly token: string } }[]
}

/** `sojourn up` on a folder and a port of its own, durable, to be killed without warning and started again. */
export class KillableServer implements AsyncDisposable {
  readonly #data = mkdtempSync(join(tmpdir(), 'sojourn-kills-'))
  #child: ChildProcess | undefined
  #url = ''
  #token = ''
  #agent = new Agent()
  readonly #roles: string

  /** With these roles; default only the API. */
  constructor(roles = 'api') {
    this.#roles = roles
  }

  get kubeconfig(): string {
    return join(this.#data, 'kubeconfig')
  }

  /** Starts it; from the second time on at the port it had before. */
  async start(): Promise<void> {
    const main = resolve(import.meta.dirname, '../../src/cli/main.ts')
    const port = this.#url === '' ? '0' : new URL(this.#url).port
    const args = [main, 'up', '--only', this.#roles, '--data', this.#data, '--port', port, '--proxy-port', '0']
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    this.#child = child
    await this.#untilReady(child)
    const { clusters, users } = parse(readFileSync(this.kubeconfig, 'utf8')) as Kubeconfig
    const cluster = clusters[0]?.cluster
    this.#url = cluster?.server ?? ''
    this.#token = users[0]?.user.token ?? ''
    const ca = Buffer.from(cluster?.['certificate-authority-data'] ?? '', 'base64').toString()
    this.#agent.destroy()
    this.#agent = new Agent({ ca, keepAlive: true, maxSockets: Infinity })
  }

  /** `kill -9`. */
  async kill(): Promise<void> {
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }

  /** Sends a request and reads its whole answer; rejects when the server is gone before that. */
  async ask(method: string, path: string, body?: unknown): Promise<Answer> {
    const response = await this.open(method, path, body)
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk as string
    if (!response.complete) throw new Error('the answer was cut off')
    return { status: response.statusCode ?? 0, body: text }
  }

  /** Sends a request and gives its answer as soon as that begins. */
  open(method: string, path: string, body?: unknown): Promise<IncomingMessage> {
    return new Promise((resolvePromise, reject) => {
      const outgoing = httpsRequest(`${this.#url}${path}`, {
        method,
        agent: this.#agent,
        headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      })
      outgoing.on('response', (response) => {
        // A killed server cuts responses off; the reader of the body gets the error.
        response.on('error', () => {})
        resolvePromise(response)
      })
      outgoing.on('error', reject)
      outgoing.end(body === undefined ? undefined : JSON.stringify(body))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
    this.#agent.destroy()
    rmSync(this.#data, { recursive: true, force: true })
  }

  async #untilReady(child: ChildProcess): Promise<void> {
    if (!child.stdout) throw new Error('no output')
    for await (const line of createInterface({ input: child.stdout })) {
      if (!line.startsWith('sojourn ready ')) continue
      child.stdout.resume()
      return
    }
    throw new Error('sojourn ended before it was ready')
  }
}
