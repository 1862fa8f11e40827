import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { buildGo, whyNoGo, type GoBuild } from './go-build.ts'
import { withLock } from './lock.ts'

const modules = join(import.meta.dirname, 'modules')
const kubernetes = versionOf('kubernetes', 'k8s.io/kubernetes')
const etcd = versionOf('kubernetes', 'go.etcd.io/etcd/server/v3')
const helm = versionOf('helm', 'helm.sh/helm/v4')

/** Where the binaries are kept. It outlives clones, and it changes with the versions, so that a new one is built. */
export const toolsDirectory = join(
  process.env['SOJOURN_TOOLS'] ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sojourn', 'tools'),
  `k8s-${kubernetes}-etcd-${etcd}-helm-${helm}`,
  'bin',
)

const tools = {
  kubectl: kubernetesTool('kubectl'),
  helm: {
    module: join(modules, 'helm'),
    package: 'helm.sh/helm/v4/cmd/helm',
    ldflags: `-s -w -X helm.sh/helm/v4/internal/version.version=v${helm}`,
  },
  kstatus: { module: join(modules, 'helm'), package: './kstatus', ldflags: '-s -w' },
  etcd: { module: join(modules, 'kubernetes'), package: 'go.etcd.io/etcd/server/v3', ldflags: '-s -w' },
  'kube-apiserver': kubernetesTool('kube-apiserver'),
  'kube-controller-manager': kubernetesTool('kube-controller-manager'),
} as const satisfies Record<string, Omit<GoBuild, 'output'>>

export type Tool = keyof typeof tools
export const toolNames = Object.keys(tools) as readonly Tool[]

/** The path of a binary, built first (minutes, told on stderr) if this machine has none; throws `Unavailable` without Go. */
export async function ensureTool(tool: Tool): Promise<string> {
  const output = toolPath(tool)
  if (existsSync(output)) return output
  mkdirSync(toolsDirectory, { recursive: true })
  await withLock(`${output}.lock`, async () => {
    if (!existsSync(output)) await buildGo({ ...tools[tool], output })
  })
  return output
}

/** Why one of these can be neither found nor built here, or undefined when `ensureTool` may be asked for each. */
export async function whyUnavailable(...wanted: readonly Tool[]): Promise<string | undefined> {
  const missing = wanted.filter((tool) => !existsSync(toolPath(tool)))
  for (const tool of missing) {
    const reason = await whyNoGo(tools[tool].module)
    if (reason) return `${missing.join(', ')} must be built, and ${reason}`
  }
  return undefined
}

function toolPath(tool: Tool): string {
  return join(toolsDirectory, tool)
}

function kubernetesTool(name: string): Omit<GoBuild, 'output'> {
  const [major, minor] = kubernetes.split('.')
  const version = 'k8s.io/component-base/version'
  return {
    module: join(modules, 'kubernetes'),
    package: `k8s.io/kubernetes/cmd/${name}`,
    // Without these, /version says v0.0.0 and clients that look at it misbehave.
    ldflags: `-s -w -X ${version}.gitVersion=v${kubernetes} -X ${version}.gitMajor=${major} -X ${version}.gitMinor=${minor}`,
  }
}

function versionOf(module: string, path: string): string {
  const goMod = readFileSync(join(modules, module, 'go.mod'), 'utf8')
  const version = goMod.split(/\s+/).find((_, at, words) => words[at - 1] === path && /^v\d/.test(words[at] ?? ''))
  if (!version) throw new Error(`modules/${module}/go.mod does not require ${path}`)
  return version.slice(1)
}
