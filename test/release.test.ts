import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { krewManifest } from '../scripts/release/krew.ts'
import { notesOf } from '../scripts/release/notes.ts'
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

  it('names each archive with platform and checksum for krew', () => {
    const manifest = parse(krewManifest('0.2.0', { 'sojourn-0.2.0-linux-x64.tar.gz': 'abc' })) as {
      spec: { version: string; platforms: readonly object[] }
    }
    expect(manifest.spec.version).toBe('v0.2.0')
    expect(manifest.spec.platforms).toMatchObject([
      { selector: { matchLabels: { os: 'linux', arch: 'amd64' } }, sha256: 'abc', bin: 'kubectl-sojourn' },
    ])
  })

  it('is made by a workflow that runs the script which can be tried here', () => {
    const workflow = read('.github/workflows/release.yml')
    expect(workflow).toContain('npm run --silent release')
    expect(workflow).toContain('npm publish')
    expect(parse(workflow)).toMatchObject({ permissions: {} })
  })
})
