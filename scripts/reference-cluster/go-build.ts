import { execFile, spawn } from 'node:child_process'
import { mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** A tool that cannot be built on this machine; the message says what is missing. Tests that need it are skipped with that message. */
export class Unavailable extends Error {
  override readonly name = 'Unavailable'
}

export type GoBuild = {
  /** Folder of the go.mod that pins the versions. */
  readonly module: string
  readonly package: string
  readonly output: string
  readonly ldflags?: string
  readonly tags?: readonly string[]
  /** Whether parts of it are in C, so that a C compiler is needed. Defaults to false. */
  readonly cgo?: boolean
}

/** Builds one Go program. `output` appears whole or not at all; slow builds tell their progress on stderr. */
export async function buildGo(build: GoBuild): Promise<void> {
  const { module, package: name, output, ldflags = '', tags = [], cgo = false } = build
  const missing = await whyNoGo(module)
  if (missing) throw new Unavailable(`cannot build ${basename(output)}: ${missing}`)
  mkdirSync(dirname(output), { recursive: true })
  const unfinished = `${output}.${process.pid}`
  try {
    const args = [
      'build',
      '-trimpath',
      '-buildvcs=false',
      '-tags',
      tags.join(','),
      '-ldflags',
      ldflags,
      '-o',
      unfinished,
      name,
    ]
    await withProgress(`building ${basename(output)}`, go(args, { module, cgo }))
    renameSync(unfinished, output)
  } finally {
    rmSync(unfinished, { force: true })
  }
}

/** Why this module cannot be built here, or undefined when Go is present and new enough for it. */
export async function whyNoGo(module: string): Promise<string | undefined> {
  try {
    await promisify(execFile)('go', ['list', '-m'], { cwd: module })
    return undefined
  } catch (error) {
    const { code, stderr } = error as { code?: unknown; stderr?: string }
    if (code === 'ENOENT') return 'Go is not installed: there is no "go" on the PATH'
    const [, wanted] = /^go (\S+)/m.exec(readFileSync(join(module, 'go.mod'), 'utf8')) ?? []
    return `Go ${wanted} or newer is needed; the one on the PATH says: ${stderr?.trim().split('\n').slice(0, 2).join(' ')}`
  }
}

function go(args: readonly string[], { module: cwd, cgo }: Required<Pick<GoBuild, 'module' | 'cgo'>>): Promise<void> {
  const child = spawn('go', args, {
    cwd,
    env: { ...process.env, CGO_ENABLED: cgo ? '1' : '0', GOFLAGS: '-mod=readonly' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  // Compiling takes minutes and must not starve other processes; the compilers inherit this priority.
  if (child.pid) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (said += chunk))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => {
      if (code === 0) resolve()
      else reject(new Error(`go ${args.join(' ')} failed in ${cwd}:\n${said.split('\n').slice(-20).join('\n')}`))
    })
  })
}

async function withProgress(what: string, work: Promise<void>): Promise<void> {
  const startedAt = performance.now()
  const seconds = () => Math.round((performance.now() - startedAt) / 1000)
  const timer = setInterval(() => console.error(`${what}: ${seconds()} s …`), 15_000)
  try {
    await work
  } finally {
    clearInterval(timer)
  }
  if (seconds() > 2) console.error(`${what}: done in ${seconds()} s`)
}
