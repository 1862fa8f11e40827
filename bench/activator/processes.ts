import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { connect } from 'node:net'

const ticksPerSecond = 100

/** A program that is being measured. */
export interface Running {
  readonly pid: number
  stop(): Promise<void>
}

/** Starts a program on given cores; resolves when its port answers. */
export async function start(
  command: readonly string[],
  { cores, port }: { readonly cores: string; readonly port: number },
): Promise<Running> {
  const child = spawn('taskset', ['-c', cores, ...command], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  for (let attempt = 0; !(await answers(port)); attempt++) {
    if (attempt === 400 || child.exitCode !== null) {
      child.kill()
      throw new Error(`${command.join(' ')} does not listen on ${port}: ${errors}`)
    }
    await pause(50)
  }
  return { pid: child.pid!, stop: () => stop(child) }
}

/** CPU seconds of a process and its children so far. */
export function cpuSeconds(pid: number): number {
  return family(pid).reduce((sum, each) => sum + ownCpu(each), 0)
}

/** Resident memory of a process and its children, in bytes. */
export function residentBytes(pid: number): number {
  return family(pid).reduce((sum, each) => {
    const pages = Number(readFileSync(`/proc/${each}/statm`, 'utf8').split(' ')[1])
    return sum + pages * 4096
  }, 0)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function ownCpu(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

function family(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(family)]
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.on('connect', () => resolve(socket.destroy() !== undefined))
    socket.on('error', () => resolve(false))
  })
}

function stop(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    if (child.exitCode !== null) return resolve()
    child.on('exit', () => resolve())
    child.kill('SIGTERM')
  })
}
