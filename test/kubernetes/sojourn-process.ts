import { spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'

/** `sojourn run` in a process of its own, as a cluster's user starts it. */
export class SojournProcess {
  readonly #child: ChildProcess
  #output = ''

  private constructor(child: ChildProcess) {
    this.#child = child
    for (const stream of [child.stdout, child.stderr])
      stream?.setEncoding('utf8').on('data', (chunk: string) => (this.#output += chunk))
  }

  /** Starts it and waits until it runs. */
  static async start(flags: readonly string[]): Promise<SojournProcess> {
    const program = join(import.meta.dirname, '../../bin/sojourn.js')
    const started = new SojournProcess(spawn(process.execPath, [program, 'run', ...flags], { env: process.env }))
    await started.#says('sojourn running')
    return started
  }

  /** Everything it has said so far. */
  get output(): string {
    return this.#output
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  stop(): Promise<void> {
    return this.#end('SIGTERM')
  }

  /** As a node that loses its power. */
  kill(): Promise<void> {
    return this.#end('SIGKILL')
  }

  async #end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = new Promise((resolve) => this.#child.once('close', resolve))
    this.#child.kill(signal)
    await ended
  }

  #says(words: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (this.#output.includes(words)) resolve()
      }
      this.#child.stdout?.on('data', look)
      this.#child.once('close', () => reject(new Error(`sojourn run ended early:\n${this.#output}`)))
    })
  }
}
