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
  /** Unique path in the node's directory. Every process with it in its environment belongs to this container, in whatever group. */
  readonly mark: string
}

/** How a process ended. */
export interface Exit {
  readonly exitCode: number
  readonly signal?: number
  readonly error?: string
}

/** A container's process, in its own process group. When it exits, everything it started is killed. */
export class ContainerProcess {
  readonly exited: Promise<Exit>
  /** Undefined when Node refuses the command, its arguments or the environment: it throws at once. */
  readonly #child: ChildProcess | undefined
  #hasExited = false

  constructor({ command, env, workingDir, log, clock, mark }: ProcessOptions) {
    const [file = '', ...args] = command
    let child: ChildProcess
    try {
      child = this.#child = spawn(file, args, {
        env: { ...env, [markVariable]: mark },
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        ...(workingDir ? { cwd: workingDir } : {}),
      })
    } catch (error) {
      this.#hasExited = true
      this.exited = Promise.resolve({ exitCode: 128, error: (error as Error).message })
      return
    }
    child.stdout?.on('data', (chunk: Buffer) => log.write('stdout', chunk))
    child.stderr?.on('data', (chunk: Buffer) => log.write('stderr', chunk))
    const { pid } = child
    const pidFile = `${mark}.pid`
    if (pid !== undefined) {
      mkdirSync(dirname(pidFile), { recursive: true })
      writeFileSync(pidFile, `${pid} ${startTimeOf(pid) ?? ''}\n`)
    }
    this.exited = new Promise((resolve) => {
      const report = (exit: Exit) => {
        log.end()
        rmSync(pidFile, { force: true })
        resolve(exit)
      }
      child.on('error', (error) => {
        this.#hasExited = true
        report({ exitCode: 128, error: error.message })
      })
      child.on('exit', (code, signal) => {
        this.#hasExited = true
        // As when PID 1 of a real container exits, all other processes of the container are killed.
        this.signal('SIGKILL')
        for (const pid of processesMarked(`${mark}\0`)) killHard(pid)
        const number = signal ? (constants.signals[signal] ?? 0) : undefined
        const exit = number === undefined ? { exitCode: code ?? 0 } : { exitCode: 128 + number, signal: number }
        // 'close' comes once all output is read. A process that left the group and keeps the pipe open must not delay it.
        const cancel = clock.after(1000, () => report(exit))
        child.on('close', () => {
          cancel()
          report(exit)
        })
      })
    })
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  get isRunning(): boolean {
    return !this.#hasExited
  }

  /** Sends a signal to the whole process group. */
  signal(name: NodeJS.Signals): void {
    if (this.#child?.pid === undefined) return
    try {
      kill(-this.#child.pid, name)
    } catch {
      // The group is empty.
    }
  }
}

const markVariable = 'SOJOURN_CONTAINER'

/**
 * Kills processes that a crashed server left running: the groups in its pid files, if the leader's start time still matches, and every
 * process whose mark lies in its directory.
 */
export function killLeftovers(directory: string): void {
  for (const entry of listFiles(directory)) {
    if (!entry.endsWith('.pid')) continue
    const path = join(directory, entry)
    const [pid = 0, start = ''] = readFileSync(path, 'utf8').trim().split(' ')
    if (start !== '' && startTimeOf(Number(pid)) === start) killHard(-Number(pid))
    rmSync(path, { force: true })
  }
  for (const pid of processesMarked(`${directory}/`)) killHard(pid)
}

function killHard(pid: number): void {
  try {
    kill(pid, 'SIGKILL')
  } catch {
    // It ended in the meantime.
  }
}

/** The processes whose mark starts with this prefix. */
function processesMarked(prefix: string): readonly number[] {
  const mark = `\0${markVariable}=${prefix}`
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

/** Empty when it may not be read. */
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

/** The start time of a process in clock ticks; together with the pid it identifies the process. */
function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The command name in parentheses may contain anything; the fields after it are fixed.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
  } catch {
    return undefined
  }
}
