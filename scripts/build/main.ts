// npm run build [-- --binary]: the npm package in build/package; with --binary also the executable for this platform in build/binary.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildBinary } from './binary.ts'
import { bundle, entries, root, typeFiles } from './bundle.ts'
import { repository } from './repository.ts'
import { licencesOf } from './licences.ts'

const packageFolder = join(root, 'build/package')

/** Any Node parses this, so that one which is too old says so. */
const launcher = `#!/usr/bin/env node
if (parseInt(process.versions.node, 10) < 26) {
  console.error('sojourn: needs Node 26 or newer; this is ' + process.version + '.')
  process.exitCode = 1
} else {
  import('./main.js')
}
`

await buildPackage()
if (process.argv.includes('--binary')) await buildBinary(packageFolder, join(root, 'build/binary'))

async function buildPackage(): Promise<void> {
  rmSync(packageFolder, { recursive: true, force: true })
  const dist = join(packageFolder, 'dist')
  const chunks = await bundle({ folder: dist, input: entries, isSingleFile: false })
  writeFileSync(join(dist, 'cli.js'), launcher)
  chmodSync(join(dist, 'cli.js'), 0o755)
  for (const file of typeFiles) cpSync(join(root, 'src/apiserver/schema/types', file), join(dist, file))
  copyUi()
  cpSync(join(root, 'deploy/crds'), join(packageFolder, 'crds'), {
    recursive: true,
    filter: (name) => !name.endsWith('kustomization.yaml'),
  })
  cpSync(join(root, 'deploy/policies'), join(packageFolder, 'policies'), { recursive: true })
  for (const file of ['LICENSE', 'README.md']) cpSync(join(root, file), join(packageFolder, file))
  const licences = licencesOf(chunks.flatMap((chunk) => chunk.moduleIds))
  writeFileSync(join(packageFolder, 'THIRD-PARTY-LICENSES.txt'), licences)
  writeFileSync(join(packageFolder, 'package.json'), `${JSON.stringify(manifest(), null, 2)}\n`)
  const files = readdirSync(packageFolder, { recursive: true, encoding: 'utf8', withFileTypes: false })
  const bytes = files.reduce((sum, file) => sum + sizeOf(join(packageFolder, file)), 0)
  console.log(`build/package: ${files.length} files, ${(bytes / 1e6).toFixed(1)} MB`)
}

/** The package's own manifest: no dependencies, no scripts, nothing of the checkout's. */
function manifest(): object {
  const { name, version, description } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<
    string,
    unknown
  >
  return {
    name,
    version,
    description,
    keywords: ['kubernetes', 'ttl', 'cleanup', 'preview-environments', 'scale-to-zero', 'gitops'],
    homepage: repository,
    repository: { type: 'git', url: `git+${repository}.git` },
    bugs: `${repository}/issues`,
    license: 'Apache-2.0 AND LGPL-3.0-or-later',
    type: 'module',
    engines: { node: '>=26' },
    bin: {
      sojourn: 'dist/cli.js',
      'kubectl-sojourn': 'dist/cli.js',
      'kubectl_complete-sojourn': 'dist/cli.js',
    },
    exports: { './package.json': './package.json' },
    files: ['dist', 'ui', 'crds', 'policies', 'LICENSE', 'THIRD-PARTY-LICENSES.txt'],
    // Told by "sojourn version".
    commit: commit(),
  }
}

/** An image is built without the repository: there the caller tells. */
function commit(): string {
  const { SOJOURN_COMMIT: told } = process.env
  return told ?? execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
}

function copyUi(): void {
  mkdirSync(join(packageFolder, 'ui'), { recursive: true })
  const isShipped = (file: string) => !/tsconfig\.json$|\.d\.ts$/.test(file)
  cpSync(join(root, 'ui'), join(packageFolder, 'ui'), { recursive: true, filter: isShipped })
}

function sizeOf(path: string): number {
  const stats = statSync(path)
  return stats.isFile() ? stats.size : 0
}
