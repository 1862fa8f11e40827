import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { buildGo, Unavailable } from '../../scripts/reference-cluster/go-build.ts'
import { withLock } from '../../scripts/reference-cluster/lock.ts'

const version = '1.26.0'
const module = join(import.meta.dirname, 'module')
const run = promisify(execFile)

/** Where the program and the files it reads at run time are kept; it outlives clones and changes with the version. */
export const giteaDirectory = join(
  process.env['SOJOURN_TOOLS'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sojourn', 'tools'),
  `gitea-${version}`,
)

export const giteaProgram = join(giteaDirectory, 'gitea')

/** Builds Gitea from its Go module (minutes, told on stderr) if this machine has none; throws `Unavailable` where that cannot be. */
export async function ensureGitea(): Promise<void> {
  if (existsSync(giteaProgram)) return
  mkdirSync(giteaDirectory, { recursive: true })
  await withLock(`${giteaProgram}.lock`, async () => {
    if (!existsSync(giteaProgram)) await build()
  })
}

/** Runs before the lane: no test's time limit allows for the compiling. */
export async function setup(): Promise<void> {
  try {
    await ensureGitea()
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    console.warn(`\n*** Tests against a real Gitea are SKIPPED: ${error.message}\n`)
  }
}

async function build(): Promise<void> {
  const compiler = process.env['CC'] ?? 'gcc'
  await run(compiler, ['--version']).catch(() => {
    throw new Unavailable(
      `cannot build gitea: its SQLite needs a C compiler, and there is no "${compiler}" on the PATH`,
    )
  })
  await copyFiles()
  await buildGo({
    module,
    package: 'code.gitea.io/gitea',
    output: giteaProgram,
    tags: ['sqlite', 'sqlite_unlock_notify'],
    ldflags: `-s -w -X main.Version=${version}`,
    cgo: true,
  })
}

/** What a release carries inside itself: texts, templates and the rules for new repositories. */
async function copyFiles(): Promise<void> {
  const found = await run('go', ['mod', 'download', '-json', `code.gitea.io/gitea@v${version}`], { cwd: module }).catch(
    (error: unknown) => {
      throw new Unavailable(`cannot download Gitea ${version}: ${(error as Error).message}`)
    },
  )
  const { Dir } = JSON.parse(found.stdout) as { Dir: string }
  for (const folder of ['options', 'templates', 'public'])
    cpSync(join(Dir, folder), join(giteaDirectory, folder), { recursive: true, mode: 0 })
}
