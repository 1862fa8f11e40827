import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe } from 'vitest'
import { ensureTool, whyUnavailable, type Tool } from '../../../scripts/reference-cluster/tools.ts'
import type { AdmissionHook } from '../../../src/apiserver/objects/contract/admission.ts'
import { startTestServer, type TestServer } from '../../apiserver/test-server.ts'
import { systemClock } from '../../../src/runtime/time/clock.ts'

export interface Output {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly stdin?: string
  readonly env?: Readonly<Record<string, string>>
  /** Ends the command, without counting as a failure. */
  readonly signal?: AbortSignal
  /** Called with everything it prints so far. */
  readonly onOutput?: (stdout: string) => void
}

/** An embedded server, with a real client program pointed at it. */
export class Session implements AsyncDisposable {
  readonly server: TestServer
  readonly url: string
  readonly directory: string
  readonly kubeconfig: string
  readonly #program: string

  private constructor(server: TestServer, url: string, program: string) {
    this.server = server
    this.url = url
    this.#program = program
    this.directory = mkdtempSync(join(tmpdir(), 'sojourn-e2e-'))
    this.kubeconfig = this.file('kubeconfig', server.kubeconfig(url))
  }

  static async start(tool: Tool = 'kubectl', admission: readonly AdmissionHook[] = []): Promise<Session> {
    const program = await ensureTool(tool)
    const onError = (error: unknown, where: unknown) => console.error('the API server failed', where, error)
    const server = await startTestServer({ clock: systemClock, onError, nodeName: 'local', admission })
    const { url } = await server.listen({ port: 0 })
    return new Session(server, url, program)
  }

  /** Writes a file that commands can name. */
  file(name: string, content: string): string {
    const path = join(this.directory, name)
    writeFileSync(path, content, { mode: 0o600 })
    return path
  }

  /** Runs the program with these words, 'quoted ones' kept together; fails when it fails. */
  async run(command: string, options: RunOptions = {}): Promise<string> {
    const { code, stdout, stderr } = await this.attempt(command, options)
    if (code !== 0) throw new Error(`${command} failed with ${code}:\n${stderr}\n${stdout}`)
    return stdout
  }

  /** The same, for commands that may fail. */
  attempt(command: string, options: RunOptions = {}): Promise<Output> {
    return execute(this.#program, words(command), {
      ...options,
      env: {
        KUBECONFIG: this.kubeconfig,
        KUBECACHEDIR: join(this.directory, 'cache'),
        HOME: this.directory,
        PATH: process.env['PATH'] ?? '',
        ...options.env,
      },
    })
  }

  /** Runs the program with a manifest on its standard input. */
  pipe(command: string, manifest: unknown): Promise<string> {
    return this.run(command, { stdin: typeof manifest === 'string' ? manifest : JSON.stringify(manifest) })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.close()
    rmSync(this.directory, { recursive: true, force: true })
  }
}

/** Describes tests that need these programs, which are built first. Where they cannot be built, the tests are skipped with the reason. */
export async function describeWith(tools: readonly Tool[], name: string, tests: () => void): Promise<void> {
  const reason = await whyUnavailable(...tools)
  if (reason) console.warn(`SKIPPED: ${name}: ${reason}`)
  // Here, where no time limit runs: compiling takes minutes on a new machine.
  else for (const tool of tools) await ensureTool(tool)
  describe.skipIf(reason !== undefined)(reason ? `${name} (skipped: ${reason})` : name, tests)
}

function execute(
  program: string,
  args: readonly string[],
  { stdin, env = {}, signal, onOutput }: RunOptions,
): Promise<Output> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { env })
    const output = { stdout: '', stderr: '' }
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      output.stdout += chunk
      onOutput?.(output.stdout)
    })
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output.stderr += chunk))
    child.on('error', reject)
    child.on('close', (code) => resolve({ code: code ?? 0, ...output }))
    signal?.addEventListener('abort', () => child.kill(), { once: true })
    child.stdin.on('error', () => {})
    child.stdin.end(stdin ?? '')
  })
}

function words(command: string): string[] {
  return [...command.matchAll(/'([^']*)'|([^\s']+)/g)].reduce<string[]>((list, match) => {
    const isGlued = match.index > 0 && !/\s/.test(command[match.index - 1] ?? '')
    const word = match[1] ?? match[2] ?? ''
    return isGlued ? [...list.slice(0, -1), `${list.at(-1)}${word}`] : [...list, word]
  }, [])
}
