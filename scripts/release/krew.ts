import { stringify } from 'yaml'
import { repository } from '../build/repository.ts'

/** The manifest by which `kubectl krew install sojourn` finds the archives; `sums` has their SHA-256 by file name. */
export function krewManifest(version: string, sums: Readonly<Record<string, string>>): string {
  const platforms = Object.entries(sums).map(([name, sha256]) => {
    const [, os = '', arch = ''] = /-(linux|darwin)-(x64|arm64)\.tar\.gz$/.exec(name) ?? []
    return {
      selector: { matchLabels: { os, arch: arch === 'x64' ? 'amd64' : arch } },
      uri: `${repository}/releases/download/v${version}/${name}`,
      sha256,
      bin: 'kubectl-sojourn',
      files: [
        { from: 'kubectl-sojourn', to: '.' },
        { from: 'LICENSE', to: '.' },
      ],
    }
  })
  return stringify({
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'sojourn' },
    spec: {
      version: `v${version}`,
      homepage: repository,
      shortDescription: 'Manage how long things stay on a cluster',
      description:
        'Shows what Sojourn manages, what happens to it next and why; wakes, keeps, restores and forecasts.\n',
      platforms,
    },
  })
}
