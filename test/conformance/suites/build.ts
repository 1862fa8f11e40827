import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { constants, homedir, setPriority } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { whyNoGo } from '../../../scripts/reference-cluster/go-build.ts'
import { withLock } from '../../../scripts/reference-cluster/lock.ts'
import { ensureTool } from '../../../scripts/reference-cluster/tools.ts'

const run = promisify(execFile)
const reference = join(import.meta.dirname, '../../../scripts/reference-cluster/modules/kubernetes')
const kubernetes = /k8s\.io\/kubernetes v(\S+)/.exec(readFileSync(join(reference, 'go.mod'), 'utf8'))?.[1] ?? ''
const controllerRuntime = '0.24.1'

/** Packages of controller-runtime whose tests run against a cluster. */
export const packages = ['client', 'cache', 'controller', 'manager', 'handler', 'source', 'builder'] as const
export type Package = (typeof packages)[number]

const directory = join(
  process.env['SOJOURN_TOOLS'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sojourn', 'tools'),
  `suites-k8s-${kubernetes}-controller-runtime-${controllerRuntime}`,
)

/** Kubernetes' end-to-end suite, built from its Go module; it outlives clones and changes with the version. */
export const e2eProgram = join(directory, 'e2e.test')

export function packageProgram(name: Package): string {
  return join(directory, `${name}.test`)
}

/** The folder of a package's sources: its tests read files beside them. */
export async function packageFolder(name: Package): Promise<string> {
  return join(await download(`sigs.k8s.io/controller-runtime@v${controllerRuntime}`), 'pkg', name)
}

/** Runs before the lane: no test's time limit allows for the compiling, which takes about six minutes. */
export async function setup(): Promise<void> {
  const missing = await whyNoGo(reference)
  if (missing && !existsSync(e2eProgram))
    return console.warn(`\n*** The conformance suites are SKIPPED: they must be built, and ${missing}\n`)
  await ensureTool('kubectl')
  mkdirSync(directory, { recursive: true })
  await withLock(join(directory, 'lock'), async () => {
    if (!existsSync(e2eProgram)) await buildE2e()
    for (const name of packages)
      if (!existsSync(packageProgram(name)))
        await compile(await packageFolder(name), packageProgram(name), ['-mod=readonly'])
  })
}

/**
 * In the module's own folder, with a go.mod that names its staging modules by version: its own maps them to folders that
 * are not in the module.
 */
async function buildE2e(): Promise<void> {
  const source = await download(`k8s.io/kubernetes@v${kubernetes}`)
  const goMod = readFileSync(join(source, 'go.mod'), 'utf8')
  const staging = kubernetes.replace(/^1/, '0')
  writeFileSync(
    join(directory, 'go.mod'),
    goMod.replaceAll(/=> \.\/staging\/src\/(\S+)/g, (_, module: string) => `=> ${module} v${staging}`),
  )
  writeFileSync(join(directory, 'go.sum'), readFileSync(join(source, 'go.sum')))
  const version = `-X k8s.io/component-base/version.gitVersion=v${kubernetes}`
  await compile(join(source, 'test/e2e'), e2eProgram, [
    '-mod=mod',
    `-modfile=${join(directory, 'go.mod')}`,
    '-ldflags',
    `-s -w ${version}`,
  ])
}

/** `go test -c`; the program appears whole or not at all. */
async function compile(folder: string, output: string, flags: readonly string[]): Promise<void> {
  console.error(`building ${output.slice(dirname(output).length + 1)} …`)
  const unfinished = `${output}.${process.pid}`
  const child = spawn(
    'go',
    ['test', '-c', '-vet=off', '-trimpath', '-buildvcs=false', ...flags, '-o', unfinished, '.'],
    {
      cwd: folder,
      env: { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '' },
      stdio: ['ignore', 'inherit', 'inherit'],
    },
  )
  if (child.pid) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL)
  const code = await new Promise((resolve, reject) => child.on('close', resolve).on('error', reject))
  if (code === 0) renameSync(unfinished, output)
  else rmSync(unfinished, { force: true })
  if (code !== 0) throw new Error(`go test -c failed in ${folder}`)
}

async function download(module: string): Promise<string> {
  const { stdout } = await run('go', ['mod', 'download', '-json', module], { cwd: reference })
  return (JSON.parse(stdout) as { Dir: string }).Dir
}
