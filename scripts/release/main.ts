// npm run release: makes everything that a release publishes in build/release and publishes nothing. The release workflow runs the same and then uploads.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { ensureTool, whyUnavailable } from '../reference-cluster/tools.ts'
import { repository } from '../build/repository.ts'
import { krewManifest } from './krew.ts'
import { notesOf } from './notes.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'build/release')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const platform = `${process.platform}-${process.arch}`

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
step('versions agree', checkVersions)
step('package and executable', () => run(process.execPath, 'scripts/build/main.ts', '--binary'))
step('npm package', makePackage)
step('software bill of materials', makeSbom)
step('executable', makeArchive)
await chart()
step('release notes', () => writeFileSync(join(folder, 'notes.md'), notesOf(changelog(), version)))
step('checksums', writeChecksums)
step('krew manifest', writeKrew)
console.log(`\nbuild/release holds:\n  ${readdirSync(folder).join('\n  ')}\nNothing was published.`)

function step(name: string, work: () => void): void {
  console.log(`== ${name}`)
  work()
}

function run(file: string, ...args: readonly string[]): string {
  return execFileSync(file, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}

/** A release is one version everywhere; a tag, when there is one, names it too. */
function checkVersions(): void {
  const chart = parse(readFileSync(join(root, 'deploy/chart/Chart.yaml'), 'utf8')) as Record<string, string>
  const { GITHUB_REF_TYPE: type, GITHUB_REF_NAME: tag } = process.env
  const found = {
    'Chart.yaml version': chart['version'],
    'Chart.yaml appVersion': chart['appVersion'],
    'the newest version in CHANGELOG.md': /^## (\d\S*)/m.exec(changelog())?.[1],
    ...(type === 'tag' ? { 'the tag': tag?.replace(/^v/, '') } : {}),
  }
  for (const [where, its] of Object.entries(found))
    if (its !== version) throw new Error(`package.json says ${version}, ${where} says ${its}`)
}

function changelog(): string {
  return readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
}

function makePackage(): void {
  const source = join(root, 'build/package')
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: source })
  // attw deletes the tarball that it finds, so it gets a copy of the folder.
  const copy = join(root, 'build/attw')
  cpSync(source, copy, { recursive: true })
  run('npx', '--yes', 'publint@0.3.25', '--strict', source)
  run('npx', '--yes', '@arethetypeswrong/cli@0.18.5', '--pack', copy, '--profile', 'esm-only')
  rmSync(copy, { recursive: true })
}

/** The bundle has no dependencies, so the bill is that of the checkout it was made from. */
function makeSbom(): void {
  const options = ['--sbom-format=cyclonedx', '--sbom-type=application', '--omit=dev', '--omit=optional']
  const sbom = JSON.parse(run('npm', 'sbom', ...options)) as { metadata: { component: Record<string, string> } }
  Object.assign(sbom.metadata.component, { name: 'sojourn', version, purl: `pkg:npm/sojourn@${version}` })
  writeFileSync(join(folder, `sojourn-${version}.cdx.json`), JSON.stringify(sbom, null, 2))
}

function makeArchive(): void {
  const parts = join(root, 'build/archive')
  mkdirSync(parts, { recursive: true })
  cpSync(join(root, 'build/binary/sojourn'), join(parts, 'kubectl-sojourn'))
  chmodSync(join(parts, 'kubectl-sojourn'), 0o755)
  // kubectl completes by a program of this name: the same one.
  rmSync(join(parts, 'kubectl_complete-sojourn'), { force: true })
  symlinkSync('kubectl-sojourn', join(parts, 'kubectl_complete-sojourn'))
  for (const file of ['LICENSE', 'package/THIRD-PARTY-LICENSES.txt'].map((name) =>
    name.replace('package/', 'build/package/'),
  ))
    cpSync(join(root, file), join(parts, file.split('/').at(-1) ?? file))
  run('tar', '-czf', join(folder, `sojourn-${version}-${platform}.tar.gz`), '-C', parts, '.')
  rmSync(parts, { recursive: true })
}

async function chart(): Promise<void> {
  const missing = await whyUnavailable('helm')
  if (missing) return console.warn(`*** SKIPPED: the chart was not packaged: ${missing}`)
  const helm = await ensureTool('helm')
  step('chart', () => {
    // Helm would give it the very name of the npm package.
    const place = join(root, 'build/chart')
    const copy = join(place, 'sojourn')
    rmSync(place, { recursive: true, force: true })
    cpSync(join(root, 'deploy/chart'), copy, { recursive: true })
    writeFileSync(join(copy, 'Chart.yaml'), releasedChart(readFileSync(join(copy, 'Chart.yaml'), 'utf8')))
    run(helm, 'lint', '--strict', '--namespace', 'sojourn-system', copy)
    run(helm, 'package', copy, '--destination', place)
    cpSync(join(place, `sojourn-${version}.tgz`), join(folder, `sojourn-chart-${version}.tgz`))
  })
}

/** Chart.yaml with what only a release knows: its repository, and what changed. */
function releasedChart(text: string): string {
  const metadata = parse(text) as Record<string, unknown> & { annotations: Record<string, string> }
  const changes = notesOf(changelog(), version).match(/^- .*/gm) ?? []
  const kinds = changes.map((line) => ({ kind: 'changed', description: line.slice(2) }))
  const links = [{ name: 'Documentation', url: `${repository}/tree/v${version}/docs` }]
  const annotations = {
    ...metadata.annotations,
    'artifacthub.io/changes': JSON.stringify(kinds),
    'artifacthub.io/links': JSON.stringify(links),
  }
  return stringify({ ...metadata, home: repository, sources: [repository], annotations }, { lineWidth: 0 })
}

function writeChecksums(): void {
  const lines = readdirSync(folder).map((name) => `${sha256(join(folder, name))}  ${name}`)
  writeFileSync(join(folder, 'SHA256SUMS'), `${lines.join('\n')}\n`)
}

function writeKrew(): void {
  const archives = readdirSync(folder).filter((name) => name.endsWith('.tar.gz'))
  const sums = Object.fromEntries(archives.map((name) => [name, sha256(join(folder, name))]))
  writeFileSync(join(folder, 'sojourn.krew.yaml'), krewManifest(version, sums))
}

function sha256(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}
