import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { promisify } from 'node:util'
import { buildGo, Unavailable, whyNoGo } from '../../scripts/reference-cluster/go-build.ts'
import { withLock } from '../../scripts/reference-cluster/lock.ts'
import { ensureTool } from '../../scripts/reference-cluster/tools.ts'

const module = join(import.meta.dirname, 'module')
const run = promisify(execFile)

/** Modules of which a part is built, without Helm, OCI, buckets, SOPS and clouds, which take most of the time and do nothing here. */
const parts = {
  'source-controller': [
    'internal/controller/{artifact,gitrepository_controller,source_predicate}.go',
    'internal/{error,features,object,predicates,reconcile,util}/**/*.go',
  ],
  'kustomize-controller': ['internal/{controller,features,inventory}/*.go'],
  'pkg/auth': ['*.go', 'jwt/*.go'],
} as const
type Part = keyof typeof parts

const sources = globSync('**/*.{go,mod,sum}', { cwd: module }).toSorted()
const digest = sources.reduce((hash, file) => hash.update(readFileSync(join(module, file))), createHash('sha256'))

/** Flux's reconcilers of GitRepositories and Kustomizations; it outlives clones and changes with its sources. */
export const fluxProgram = join(
  process.env['SOJOURN_TOOLS'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sojourn', 'tools'),
  `flux-${digest.digest('hex').slice(0, 12)}`,
  'flux',
)

/** Where the CRDs of both controllers are, in the module cache. */
export async function definitionFolders(): Promise<readonly string[]> {
  const folders = await Promise.all([folderOf('source-controller'), folderOf('kustomize-controller')])
  return folders.map((folder) => join(folder, 'config', 'crd', 'bases'))
}

/** Runs before the lane: no test's time limit allows for the compiling. */
export async function setup(): Promise<void> {
  try {
    // First, because half of what Flux consists of is compiled with them.
    for (const tool of ['etcd', 'kube-apiserver'] as const) await ensureTool(tool)
    mkdirSync(join(fluxProgram, '..'), { recursive: true })
    await withLock(`${fluxProgram}.lock`, async () => {
      if (!existsSync(fluxProgram)) await build()
    })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.warn(`\n*** Tests with Flux's own controllers are SKIPPED: ${error.message}\n`)
  }
}

/** Builds the files as they are in the modules, beside what stands in for the rest. */
async function build(): Promise<void> {
  const missing = await whyNoGo(module)
  if (missing) throw new Unavailable(`cannot build Flux's controllers: ${missing}`)
  const directory = mkdtempSync(join(tmpdir(), 'sojourn-flux-build-'))
  try {
    for (const file of ['go.mod', 'go.sum', 'main.go']) cpSync(join(module, file), join(directory, file))
    for (const part of Object.keys(parts) as Part[]) {
      const folder = await folderOf(part)
      const files = globSync(['go.mod', ...parts[part]], { cwd: folder }).filter((file) => !file.endsWith('_test.go'))
      for (const file of files) cpSync(join(folder, file), join(directory, basename(part), file), { mode: 0 })
    }
    cpSync(join(module, 'cut'), directory, { recursive: true })
    await buildGo({ module: directory, package: '.', output: fluxProgram, ldflags: '-s -w' })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

/** A module's folder in the module cache, checked against go.sum. */
async function folderOf(part: Part): Promise<string> {
  const name = `github.com/fluxcd/${part}`
  const [, version] = new RegExp(`^\t${name} (v\\S+)$`, 'm').exec(readFileSync(join(module, 'go.mod'), 'utf8')) ?? []
  const { stdout } = await run('go', ['mod', 'download', '-json', `${name}@${version}`], { cwd: module }).catch(
    (error: unknown) => {
      throw new Unavailable(`cannot download ${name} ${version}: ${(error as Error).message}`)
    },
  )
  return (JSON.parse(stdout) as { Dir: string }).Dir
}
