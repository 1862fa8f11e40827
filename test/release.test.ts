import { spawnSync } from 'node:child_process'
import { hash } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { releasedChart, releasedValues } from '../scripts/release/chart.ts'
import { notesOf } from '../scripts/release/notes.ts'
import { writeSums } from '../scripts/release/sums.ts'
import { supportedKubernetes } from '../src/app/config/version.ts'

const root = resolve(import.meta.dirname, '..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }

describe('a release', () => {
  it('has one version in package, lock file, chart and changelog', () => {
    const chart = parse(read('deploy/chart/Chart.yaml')) as Record<string, string>
    const lock = JSON.parse(read('package-lock.json')) as { version: string }
    expect([lock.version, chart['version'], chart['appVersion']]).toEqual([version, version, version])
    expect(notesOf(read('CHANGELOG.md'), version).length).toBeGreaterThan(20)
  })

  it('supports the Kubernetes versions that the chart accepts', () => {
    const { kubeVersion } = parse(read('deploy/chart/Chart.yaml')) as { kubeVersion: string }
    expect(kubeVersion).toBe(`>=${supportedKubernetes.oldest}.0-0`)
  })

  it('is refused without notes', () => {
    expect(() => notesOf('# Changelog\n\n## 0.1.0\n\n- a\n', '0.2.0')).toThrow('no heading "## 0.2.0"')
    expect(notesOf('# Changelog\n\n## 0.2.0\n\n- b\n\n## 0.1.0\n\n- a\n', '0.2.0')).toBe('- b\n')
  })

  it('has checksums of all files and a krew manifest of all platforms, whichever machine made each', () => {
    const folder = mkdtempSync(join(tmpdir(), 'release-'))
    try {
      for (const platform of ['linux-x64', 'darwin-arm64'])
        writeFileSync(join(folder, `sojourn-0.2.0-${platform}.tar.gz`), platform)
      // What one of those machines wrote when it knew only its own.
      for (const file of ['SHA256SUMS', 'sojourn.krew.yaml']) writeFileSync(join(folder, file), 'old')
      writeSums(folder, '0.2.0')
      const manifest = parse(readFileSync(join(folder, 'sojourn.krew.yaml'), 'utf8')) as {
        spec: { version: string; platforms: readonly object[] }
      }
      expect(manifest.spec.version).toBe('v0.2.0')
      expect(manifest.spec.platforms).toMatchObject([
        { selector: { matchLabels: { os: 'darwin', arch: 'arm64' } }, bin: 'kubectl-sojourn' },
        {
          selector: { matchLabels: { os: 'linux', arch: 'amd64' } },
          uri: expect.stringMatching(/linux-x64\.tar\.gz$/),
        },
      ])
      const sums = readFileSync(join(folder, 'SHA256SUMS'), 'utf8').trim().split('\n')
      for (const [sum, name = ''] of sums.map((line) => line.split('  ')))
        expect(hash('sha256', readFileSync(join(folder, name)))).toBe(sum)
      expect(sums.map((line) => line.split('  ')[1])).toEqual([
        'sojourn-0.2.0-darwin-arm64.tar.gz',
        'sojourn-0.2.0-linux-x64.tar.gz',
        'sojourn.krew.yaml',
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('has a chart that runs exactly the image of this release', () => {
    const digest = `sha256:${'0a'.repeat(32)}`
    const values = releasedValues(read('deploy/chart/values.yaml'), `registry.example/acme/sojourn@${digest}`)
    expect(parse(values)).toMatchObject({ image: { repository: 'registry.example/acme/sojourn', tag: '', digest } })
    expect(releasedValues(read('deploy/chart/values.yaml'), undefined)).toBe(read('deploy/chart/values.yaml'))
    const metadata = parse(releasedChart(read('deploy/chart/Chart.yaml'), read('CHANGELOG.md'), version)) as {
      annotations: Record<string, string>
    }
    expect(JSON.parse(metadata.annotations['artifacthub.io/changes'] ?? '')).not.toEqual([])
  })

  it('runs on no Node older than the one that the tests run on', () => {
    const folder = mkdtempSync(join(tmpdir(), 'old-node-'))
    try {
      cpSync(join(root, 'bin'), join(folder, 'bin'), { recursive: true })
      writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
      const pinned = Number(process.versions.node.split('.')[0])
      writeFileSync(
        join(folder, 'old.js'),
        `Object.defineProperty(process.versions, 'node', { value: '${pinned - 1}.9.0' })
         const { pinnedNode } = await import('./bin/pinned-node.js')
         pinnedNode()`,
      )
      const { status, stderr } = spawnSync(process.execPath, [join(folder, 'old.js')], { encoding: 'utf8' })
      expect({ status, stderr }).toMatchObject({
        status: 1,
        stderr: expect.stringContaining(`needs Node ${pinned} or newer`),
      })
      expect(read('scripts/build/main.ts')).toContain(`engines: { node: '>=${pinned}' }`)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})

interface Workflow {
  readonly permissions: object
  readonly jobs: Readonly<Record<string, Job>>
}
interface Job {
  readonly needs?: string | readonly string[]
  readonly permissions?: Readonly<Record<string, string>>
  readonly steps: readonly { readonly uses?: string; readonly run?: string; readonly with?: object }[]
}
const workflows = ['ci', 'release'].map((name) => [name, read(`.github/workflows/${name}.yml`)] as const)
const { jobs } = parse(read('.github/workflows/release.yml')) as Workflow
const commandsOf = (job: Job | undefined) => (job?.steps ?? []).map(({ run = '' }) => run).join('\n')

describe.each(workflows)('the workflow %s', (_, text) => {
  const workflow = parse(text) as Workflow
  const steps = Object.values(workflow.jobs).flatMap((job) => job.steps)

  it('names each action by its commit, with the version beside it', () => {
    const uses = text.match(/uses: .*/g) ?? []
    expect(uses.length).toBeGreaterThan(3)
    expect(uses.filter((line) => !/^uses: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.test(line))).toEqual([])
  })

  it('gives no job more than reading, but for those that publish', () => {
    expect(Object.values({ ...workflow.permissions, contents: 'read' })).toEqual(['read'])
    for (const [name, job] of Object.entries(workflow.jobs))
      if (!['image', 'publish'].includes(name))
        expect(job.permissions ?? { contents: 'read' }).toEqual({ contents: 'read' })
  })

  it('leaves no token in a checkout', () => {
    for (const { uses = '', with: given } of steps)
      if (uses.startsWith('actions/checkout@')) expect(given).toMatchObject({ 'persist-credentials': false })
  })
})

describe('the release workflow', () => {
  it('runs the script which can be tried here', () => {
    expect(commandsOf(jobs['artefacts'])).toContain('npm run --silent release -- --parts')
    expect(commandsOf(jobs['bundle'])).toContain('npm run --silent release -- --finish')
  })

  it('publishes nothing before the tests have passed and the executables exist', () => {
    const before = (name: string): readonly string[] =>
      [jobs[name]?.needs ?? []].flat().flatMap((needed) => [needed, ...before(needed)])
    expect(before('image')).toEqual(expect.arrayContaining(['test', 'artefacts']))
    expect(before('publish')).toEqual(expect.arrayContaining(['test', 'artefacts', 'image', 'bundle']))
  })

  it('tags the image as the chart looks for it', () => {
    expect(commandsOf(jobs['image'])).toContain('version=${GITHUB_REF_NAME#v}')
    expect(JSON.stringify(jobs['image']?.steps)).toContain('}}:${{ steps.names.outputs.version }}')
  })
})
