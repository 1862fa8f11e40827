import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { kill, pid as ownPid } from 'node:process'
import type { Clock } from '../../runtime/time/clock.ts'
import type { ContainerLog } from './container-log.ts'

export interface ProcessOptions {
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly workingDir?: string
  readonly log: ContainerLog
  readonly clock: Clock
  /** A path of its own in the node's directory: what carries it in its environment belongs to this container, wherever it went. */
  readonly mark: string
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

  constructor({ command, env, workingDir, log, clock, mark }: ProcessOptions) {
    const [file = '', ...args] = command
    this.#child = spawn(file, args, {
      env: { ...env, [markVariable]: mark },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(workingDir ? { cwd: workingDir } : {}),
    })
    this.#child.stdout?.on('data', (chunk: Buffer) => log.write('stdout', chunk))
    this.#child.stderr?.on('data', (chunk: Buffer) => log.write('stderr', chunk))
    const { pid } = this.#child
    const pidFile = `${mark}.pid`
    if (pid !== undefined) {
      mkdirSync(dirname(pidFile), { recursive: true })
      writeFileSync(pidFile, `${pid} ${startOf(pid) ?? ''}\n`)
    }
    this.exited = new Promise((resolve) => {
      const report = (exit: Exit) => {
        log.end()
        rmSync(pidFile, { force: true })
        resolve(exit)
      }
      this.#child.on('error', (error) => {
        this.#hasExited = true
        report({ exitCode: 128, error: error.message })
      })
      this.#child.on('exit', (code, signal) => {
        this.#hasExited = true
        // What it started and left behind goes too, as it would with the first process of a real container.
        this.signal('SIGKILL')
        for (const left of marked(`${mark}\0`)) end(left)
        const number = signal ? (constants.signals[signal] ?? 0) : undefined
        const exit = number === undefined ? { exitCode: code ?? 0 } : { exitCode: 128 + number, signal: number }
        // 'close' comes when all it said has been read; whoever left its group and keeps the pipe must not hold that up.
        const cancel = clock.after(1000, () => report(exit))
        this.#child.on('close', () => {
          cancel()
          report(exit)
        })
      })
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

const markVariable = 'SOJOURN_CONTAINER'

/**
 * Ends what a server that was killed hard left running: the groups it noted, if their leaders started when it noted them, and whatever
 * else carries a mark of its directory.
 */
export function endLeftovers(directory: string): void {
  for (const entry of listFiles(directory)) {
    if (!entry.endsWith('.pid')) continue
    const path = join(directory, entry)
    const [pid = 0, start = ''] = readFileSync(path, 'utf8').trim().split(' ')
    if (start !== '' && startOf(Number(pid)) === start) end(-Number(pid))
    rmSync(path, { force: true })
  }
  for (const pid of marked(`${directory}/`)) end(pid)
}

function end(pid: number): void {
  try {
    kill(pid, 'SIGKILL')
  } catch {
    // Gone between the look and the signal.
  }
}

/** The processes whose mark begins so. */
function marked(beginning: string): readonly number[] {
  const mark = `\0${markVariable}=${beginning}`
  return processes()
    .map(Number)
    .filter((pid) => pid !== ownPid && environmentOf(pid).includes(mark))
}

function processes(): readonly string[] {
  try {
    return readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  } catch {
    return []
  }
}

/** Empty where we may not look. */
function environmentOf(pid: number): string {
  try {
    return `\0${readFileSync(`/proc/${pid}/environ`, 'utf8')}`
  } catch {
    return ''
  }
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
