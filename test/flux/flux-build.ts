import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildGo, Unavailable } from '../../scripts/reference-cluster/go-build.ts'
import { withLock } from '../../scripts/reference-cluster/lock.ts'

const modules = join(import.meta.dirname, 'modules')
const run = promisify(execFile)

/** Flux's own controllers, from their Go modules. */
export const controllers = ['source-controller', 'kustomize-controller'] as const
export type FluxController = (typeof controllers)[number]

/** The path of a built controller; it outlives clones and changes with the version. */
export function fluxProgram(name: FluxController): string {
  const tools =
    process.env['SOJOURN_TOOLS'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sojourn', 'tools')
  return join(tools, `flux-${name}-${versionOf(name)}`, name)
}

/** Where a controller's CRDs are, in the module cache. */
export async function definitionsOf(name: FluxController): Promise<string> {
  const asked = ['mod', 'download', '-json', `github.com/fluxcd/${name}@v${versionOf(name)}`]
  const { stdout } = await run('go', asked, { cwd: join(modules, name) })
  return join((JSON.parse(stdout) as { Dir: string }).Dir, 'config', 'crd', 'bases')
}

/** Runs before the lane: no test's time limit allows for the compiling. */
export async function setup(): Promise<void> {
  try {
    for (const name of controllers) await ensure(name)
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.warn(`\n*** Tests with Flux's own controllers are SKIPPED: ${error.message}\n`)
  }
}

async function ensure(name: FluxController): Promise<void> {
  const output = fluxProgram(name)
  if (existsSync(output)) return
  mkdirSync(join(output, '..'), { recursive: true })
  await withLock(`${output}.lock`, async () => {
    if (existsSync(output)) return
    await buildGo({ module: join(modules, name), package: `github.com/fluxcd/${name}`, output, ldflags: '-s -w' })
  })
}

function versionOf(name: FluxController): string {
  const goMod = readFileSync(join(modules, name, 'go.mod'), 'utf8')
  const [, version] = new RegExp(`^require github\\.com/fluxcd/${name} v(\\S+)$`, 'm').exec(goMod) ?? []
  if (!version) throw new Error(`modules/${name}/go.mod does not require it`)
  return version
}
