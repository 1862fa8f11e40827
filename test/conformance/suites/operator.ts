import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildGo, Unavailable } from '../../../scripts/reference-cluster/go-build.ts'
import { withLock } from '../../../scripts/reference-cluster/lock.ts'

const module = join(import.meta.dirname, 'modules/prometheus-operator')
const name = 'github.com/prometheus-operator/prometheus-operator'
const [, version = ''] = new RegExp(`${name} v(\\S+)`).exec(readFileSync(join(module, 'go.mod'), 'utf8')) ?? []
const tools =
  process.env['SOJOURN_TOOLS'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sojourn', 'tools')

/** The controller of prometheus-operator, from its Go module; it outlives clones and changes with the version. */
export const operatorProgram = join(tools, `prometheus-operator-${version}`, 'operator')

/** The manifests that the project publishes, in the module cache. */
export async function operatorManifests(): Promise<string> {
  const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', `${name}@v${version}`], {
    cwd: module,
  })
  return join((JSON.parse(stdout) as { Dir: string }).Dir, 'example')
}

/** Runs before the lane: no test's time limit allows for the compiling. */
export async function setup(): Promise<void> {
  if (existsSync(operatorProgram)) return
  mkdirSync(join(operatorProgram, '..'), { recursive: true })
  const build = { module, package: `${name}/cmd/operator`, output: operatorProgram, ldflags: '-s -w' }
  try {
    await withLock(`${operatorProgram}.lock`, async () => {
      if (!existsSync(operatorProgram)) await buildGo(build)
    })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.warn(`\n*** The test with prometheus-operator is SKIPPED: ${error.message}\n`)
  }
}
