import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'

/** Sojourn in a process that is killed again and again, and started again each time, as a node's kubelet would. */
export class MortalSojourn implements AsyncDisposable {
  readonly #args: () => readonly string[]
  readonly #beforeStart: () => Promise<void>
  #child: ChildProcess | undefined
  #isOver = false
  #starts = 0
  #output = ''

  constructor(args: () => readonly string[], beforeStart: () => Promise<void> = () => Promise.resolve()) {
    this.#args = args
    this.#beforeStart = beforeStart
  }

  get starts(): number {
    return this.#starts
  }

  /** What the current process has said. */
  get output(): string {
    return this.#output
  }

  /** Resolves when the current process is ready; rejects when it ends of itself. */
  async start(): Promise<void> {
    const program = join(import.meta.dirname, '../../bin/sojourn.js')
    this.#output = ''
    const child = spawn(process.execPath, [program, ...this.#args()], { env: process.env })
    this.#child = child
    this.#starts++
    const ready = Promise.withResolvers<void>()
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        this.#output += chunk
        if (/sojourn (?:ready|running) /.test(this.#output)) ready.resolve()
      })
    child.once('close', (code) => {
      if (this.#isOver) return ready.resolve()
      if (code !== null) ready.reject(new Error(`sojourn ended with ${code}:\n${this.#output}`))
      else void this.#restart().then(ready.resolve, ready.reject)
    })
    return ready.promise
  }

  /** `kill -9`, at this very moment. */
  readonly kill = (): void => void this.#child?.kill('SIGKILL')

  async #restart(): Promise<void> {
    await this.#beforeStart()
    if (!this.#isOver) await this.start()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('close', resolve))
    child.kill('SIGKILL')
    await ended
  }
}
