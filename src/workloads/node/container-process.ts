import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { kill } from 'node:process'
import type { ContainerLog } from './container-log.ts'

export interface ProcessOptions {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly workingDir?: string
  readonly log: ContainerLog
  /** Where to note the process, so that it can be ended if we are killed. */
  readonly pidFile: string
}

/** How a process ended. */
export interface Exit {
  readonly exitCode: number
  readonly signal?: number
  readonly error?: string
}

/** A container's process and everything it starts, in a group of its own. */
export class ContainerProcess {
  readonly exited: Promise<Exit>
  readonly #child: ChildProcess
  #hasExited = false

  constructor({ command, env, workingDir, log, pidFile }: ProcessOptions) {
    const [file = '', ...args] = command
    this.#child = spawn(file, args, {
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(workingDir ? { cwd: workingDir } : {}),
    })
    this.#child.stdout?.on('data', (chunk: Buffer) => log.write('stdout', chunk))
    this.#child.stderr?.on('data', (chunk: Buffer) => log.write('stderr', chunk))
    const { pid } = this.#child
    if (pid !== undefined) {
      mkdirSync(dirname(pidFile), { recursive: true })
      writeFileSync(pidFile, `${pid} ${startOf(pid) ?? ''}\n`)
    }
    this.exited = new Promise((resolve) => {
      const end = (exit: Exit) => {
        this.#hasExited = true
        // What it started and left behind goes too.
        this.signal('SIGKILL')
        log.end()
        rmSync(pidFile, { force: true })
        resolve(exit)
      }
      this.#child.on('error', (error) => end({ exitCode: 128, error: error.message }))
      // 'close' comes when its output has been read to the end; a grandchild that keeps the pipe must not hold that up.
      this.#child.on('exit', (code, signal) =>
        end(
          signal
            ? { exitCode: 128 + (constants.signals[signal] ?? 0), signal: constants.signals[signal] ?? 0 }
            : { exitCode: code ?? 0 },
        ),
      )
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get isRunning(): boolean {
    return !this.#hasExited
  }

  /** To the whole group. */
  signal(name: NodeJS.Signals): void {
    if (this.#child.pid === undefined) return
    try {
      kill(-this.#child.pid, name)
    } catch {
      // Nobody is left in the group.
    }
  }
}

/** Ends processes that a server which was killed hard left running: by pid, and only if they started when it noted them. */
export function endLeftovers(directory: string): number {
  let ended = 0
  for (const entry of listFiles(directory)) {
    if (!entry.endsWith('.pid')) continue
    const path = join(directory, entry)
    const [pid = 0, start = ''] = readFileSync(path, 'utf8').trim().split(' ')
    if (start !== '' && startOf(Number(pid)) === start) {
      try {
        kill(-Number(pid), 'SIGKILL')
        ended++
      } catch {
        // Gone between the look and the signal.
      }
    }
    rmSync(path, { force: true })
  }
  return ended
}

function listFiles(directory: string): readonly string[] {
  try {
    return readdirSync(directory, { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
}

/** When a process started, in the kernel's ticks: with its pid, that is who it is. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name in parentheses may hold anything; the fields after it are fixed.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
