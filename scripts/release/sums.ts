import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { repository } from '../build/repository.ts'

/** Writes what names all files of a release, whichever machines made them: the krew manifest and SHA256SUMS. */
export function writeSums(folder: string, version: string): void {
  for (const name of ['SHA256SUMS', 'sojourn.krew.yaml']) rmSync(join(folder, name), { force: true })
  const sha256 = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex')
  const archives = readdirSync(folder).filter((name) => name.endsWith('.tar.gz'))
  const sums = Object.fromEntries(archives.toSorted().map((name) => [name, sha256(name)]))
  writeFileSync(join(folder, 'sojourn.krew.yaml'), krewManifest(version, sums))
  const lines = readdirSync(folder)
    .toSorted()
    .map((name) => `${sha256(name)}  ${name}`)
  writeFileSync(join(folder, 'SHA256SUMS'), `${lines.join('\n')}\n`)
}

/** The manifest by which `kubectl krew install sojourn` finds the archives; `sums` has their SHA-256 by file name. */
function krewManifest(version: string, sums: Readonly<Record<string, string>>): string {
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
