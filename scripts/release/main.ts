// npm run release: makes everything that a release publishes in build/release and publishes nothing. The release workflow runs the same and then uploads:
// "-- --parts" on each platform, then "-- --finish" where all their files are.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { ensureTool, whyUnavailable } from '../reference-cluster/tools.ts'
import { releasedChart, releasedValues } from './chart.ts'
import { notesOf } from './notes.ts'
import { writeSums } from './sums.ts'

const root = join(import.meta.dirname, '../..')
const folder = join(root, 'build/release')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const platform = `${process.platform}-${process.arch}`

const onlyParts = process.argv.includes('--parts')
const onlyFinish = process.argv.includes('--finish')

step('versions agree', checkVersions)
if (!onlyFinish) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  step('package and executable', () => run(process.execPath, 'scripts/build/main.ts', '--binary'))
  step('npm package', makePackage)
  step('software bill of materials', makeSbom)
  step('executable', makeArchive)
}
if (!onlyParts) {
  await chart()
  step('release notes', () => writeFileSync(join(folder, 'notes.md'), notesOf(changelog(), version)))
  step('checksums and krew manifest', () => writeSums(folder, version))
}
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
  rmSync(parts, { recursive: true, force: true })
  mkdirSync(parts, { recursive: true })
  cpSync(join(root, 'build/binary/sojourn'), join(parts, 'kubectl-sojourn'))
  chmodSync(join(parts, 'kubectl-sojourn'), 0o755)
  // One program: by its own name, as a plugin, and by the name that kubectl looks for to complete.
  for (const name of ['sojourn', 'kubectl_complete-sojourn']) symlinkSync('kubectl-sojourn', join(parts, name))
  cpSync(join(root, 'LICENSE'), join(parts, 'LICENSE'))
  cpSync(join(root, 'build/package/THIRD-PARTY-LICENSES.txt'), join(parts, 'THIRD-PARTY-LICENSES.txt'))
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
    const rewrite = (name: string, change: (text: string) => string) =>
      writeFileSync(join(copy, name), change(readFileSync(join(copy, name), 'utf8')))
    rewrite('Chart.yaml', (text) => releasedChart(text, changelog(), version))
    rewrite('values.yaml', (text) => releasedValues(text, process.env['SOJOURN_IMAGE']))
    run(helm, 'lint', '--strict', '--namespace', 'sojourn-system', copy)
    run(helm, 'package', copy, '--destination', place)
    cpSync(join(place, `sojourn-${version}.tgz`), join(folder, `sojourn-chart-${version}.tgz`))
  })
}
