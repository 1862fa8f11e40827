import { spawn, type ChildProcess } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server program in a process of its own, with its output in a log file. */
export class Daemon {
  readonly name: string
  readonly #child: ChildProcess
  readonly #exited: Promise<unknown>
  readonly #logFile: string

  constructor(program: string, args: readonly string[], logFile: string) {
    this.name = basename(program)
    this.#logFile = logFile
    const log = openSync(logFile, 'a')
    // Detached, so that ctrl-C in a terminal reaches only us and we end things in our order.
    this.#child = spawn(program, args, { stdio: ['ignore', log, log], detached: true })
    closeSync(log)
    this.#child.on('error', () => {}) // Seen as having no pid.
    this.#child.unref()
    this.#exited = new Promise((resolve) => this.#child.once('exit', resolve))
  }

  get pid(): number {
    if (this.#child.pid === undefined) throw new Error(`cannot start ${this.name}`)
    return this.#child.pid
  }

  /** Resolves when `isReady` says so; rejects with the end of the log when the program ends or takes too long. */
  async ready(isReady: () => Promise<boolean>, withinMs = 60_000): Promise<void> {
    const deadline = performance.now() + withinMs
    while (!(await isReady())) {
      if (this.#child.exitCode !== null) throw this.#failure(`exited with ${this.#child.exitCode}`)
      if (this.#child.signalCode !== null) throw this.#failure(`was ended by ${this.#child.signalCode}`)
      if (performance.now() > deadline) throw this.#failure(`was not ready within ${withinMs / 1000} s`)
      await sleep(50)
    }
  }

  /** Kills it: what it holds is thrown away, so there is nothing to end gracefully. */
  async stop(): Promise<void> {
    this.#child.ref()
    this.#child.kill('SIGKILL')
    await this.#exited
  }

  #failure(what: string): Error {
    const tail = readFileSync(this.#logFile, 'utf8').trimEnd().split('\n').slice(-25).join('\n')
    return new Error(`${this.name} ${what}; its log ends with:\n${tail}`)
  }
}
