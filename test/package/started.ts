import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A way to run the program: its command and the only environment it gets. */
export interface Program {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Runs one command to its end. */
export function run({ command: [file = '', ...first], env }: Program, ...args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(file, [...first, ...args], { env, encoding: 'utf8', cwd: tmpdir() })
  return { status, stdout, stderr }
}

/** Runs one command to its end while others run; rejects unless it ends with 0. */
export function runBeside({ command: [file = '', ...first], env }: Program, ...args: readonly string[]) {
  return promisify(execFile)(file, [...first, ...args], { env, cwd: tmpdir() })
}

/** `sojourn up` of the program under test, on free ports and a folder of its own. */
export class Started {
  readonly api: string
  readonly data: string
  readonly kubeconfig: string
  /** From the start of the process to its ready line. */
  readonly readyAfterMs: number
  readonly #process: ChildProcess
  readonly #folder: string

  private constructor(child: ChildProcess, folder: string, ready: { api: string; afterMs: number }) {
    this.#process = child
    this.#folder = folder
    this.api = ready.api
    this.readyAfterMs = ready.afterMs
    this.data = join(folder, 'data')
    this.kubeconfig = join(this.data, 'kubeconfig')
  }

  static async up({ command: [file = '', ...first], env }: Program): Promise<Started> {
    const folder = mkdtempSync(join(tmpdir(), 'sojourn-package-'))
    const startedAt = performance.now()
    const flags = ['up', '--data', join(folder, 'data'), '--port', '0', '--proxy-port', '0']
    const child = spawn(file, [...first, ...flags], { env, cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] })
    let text = ''
    for await (const chunk of child.stdout.setEncoding('utf8')) {
      text += chunk as string
      const [, api] = /^sojourn ready api=(\S+)/m.exec(text) ?? []
      if (api) return new Started(child, folder, { api, afterMs: performance.now() - startedAt })
    }
    throw new Error(`sojourn up ended before it was ready: ${text}`)
  }

  /** What the API answers to the administrator. */
  async call(
    path: string,
    { method = 'GET', body, accept = '*/*' }: { method?: string; body?: unknown; accept?: string } = {},
  ) {
    const [, token] = /token: "?([^"\s]+)/.exec(readFileSync(this.kubeconfig, 'utf8')) ?? []
    const headers = { accept, authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const sent = request(`${this.api}${path}`, { method, headers, rejectUnauthorized: false })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response] = (await once(sent, 'response')) as [IncomingMessage]
    let text = ''
    for await (const chunk of response.setEncoding('utf8')) text += chunk as string
    return { status: response.statusCode, text }
  }

  /** Sends SIGTERM; resolves with the exit code. */
  async stop(): Promise<number | null> {
    const ended = once(this.#process, 'exit')
    this.#process.kill('SIGTERM')
    const [code] = (await ended) as [number | null]
    rmSync(this.#folder, { recursive: true, force: true })
    return code
  }
}
