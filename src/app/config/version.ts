import { execFileSync } from 'node:child_process'
import { isSource, packageRoot, readPackageFile } from '../../packaging/package-files.ts'

interface Manifest {
  readonly version: string
  /** The commit that the package was built from; the checkout's manifest has none. */
  readonly commit?: string
}

/** The version of what is installed here. */
export function ownVersion(): string {
  return manifest().version
}

/** The commit that this program was built from, or is checked out at; `unknown` where neither can be told. */
export function ownCommit(): string {
  const { commit } = manifest()
  if (commit !== undefined || !isSource) return commit ?? 'unknown'
  try {
    return execFileSync('git', ['-C', packageRoot(), 'rev-parse', '--short=12', 'HEAD'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim()
  } catch {
    return 'unknown'
  }
}

/** The minor versions of Kubernetes that `sojourn run` supports; the chart's `kubeVersion` has the lower one. */
export const supportedKubernetes = { oldest: '1.30', newest: '1.36' } as const

function manifest(): Manifest {
  return JSON.parse(readPackageFile('package.json').toString()) as Manifest
}
