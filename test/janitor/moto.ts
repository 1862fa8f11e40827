import { execFile, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { withLock } from '../../scripts/reference-cluster/lock.ts'

const version = '5.2.1'
const directory = join(
  process.env['SOJOURN_TOOLS'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sojourn', 'tools'),
  `moto-${version}`,
)
const server = join(directory, 'bin', 'moto_server')
const run = promisify(execFile)

/** A pretended AWS on this machine. */
export interface Moto extends AsyncDisposable {
  readonly url: string
  /** Forgets everything it has been told. */
  reset(): Promise<void>
}

/** Why there can be no moto here; undefined when there can. Installs it (a minute) where Python is, unless told not to. */
export async function whyNoMoto({ mayInstall = true } = {}): Promise<string | undefined> {
  if (existsSync(server)) return undefined
  if (!mayInstall) return `moto ${version} is not installed; "npm run test:janitor" installs it`
  try {
    await withLock(`${directory}.lock`, async () => {
      if (existsSync(server)) return
      await run('python3', ['-m', 'venv', directory])
      await run(join(directory, 'bin', 'pip'), ['install', '--quiet', `moto[server]==${version}`], { timeout: 300_000 })
    })
    return undefined
  } catch (error) {
    const reason = `moto ${version} cannot be had here: ${(error as Error).message.split('\n')[0]}`
    console.warn(`\n*** Tests that need a pretended AWS are SKIPPED: ${reason}\n`)
    return reason
  }
}

/** Starts moto on a free port, without the thousand public images it would pretend. */
export async function startMoto(): Promise<Moto> {
  const port = await freePort()
  const child = spawn(server, ['-H', '127.0.0.1', '-p', String(port)], {
    env: { ...process.env, MOTO_EC2_LOAD_DEFAULT_AMIS: 'false' },
    stdio: 'ignore',
  })
  const url = `http://127.0.0.1:${port}`
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  for (let tries = 0; ; tries++) {
    const answers = await fetch(`${url}/moto-api/`).then(
      () => true,
      () => false,
    )
    if (answers) break
    if (tries > 300 || child.exitCode !== null) throw new Error('moto does not answer')
    await sleep(100)
  }
  return {
    url,
    async reset() {
      await fetch(`${url}/moto-api/reset`, { method: 'POST' })
    },
    async [Symbol.asyncDispose]() {
      child.kill()
      await ended
    },
  }
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as { port: number }
  await new Promise((resolve) => probe.close(resolve))
  return port
}
