import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'

/** The release whose interface the table states. */
export const release = { api: 'v0.36.4', kubernetes: 'v1.36.4' } as const

/** Folders of the Go modules the facts are read from. */
export interface Modules {
  readonly api: string
  readonly apimachinery: string
  readonly apiextensions: string
  readonly aggregator: string
  readonly kubernetes: string
}

/** Whether a Go toolchain is at hand; without one nothing can be generated. */
export function hasGo(): boolean {
  try {
    execFileSync('go', ['version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/** Fetches the modules into Go's own cache, once, and says where they are. */
export function fetchModules(): Modules {
  return {
    api: download(`k8s.io/api@${release.api}`),
    apimachinery: download(`k8s.io/apimachinery@${release.api}`),
    apiextensions: download(`k8s.io/apiextensions-apiserver@${release.api}`),
    aggregator: download(`k8s.io/kube-aggregator@${release.api}`),
    kubernetes: download(`k8s.io/kubernetes@${release.kubernetes}`),
  }
}

function download(module: string): string {
  const answer = execFileSync('go', ['mod', 'download', '-json', module], { cwd: tmpdir(), encoding: 'utf8' })
  return (JSON.parse(answer) as { Dir: string }).Dir
}
