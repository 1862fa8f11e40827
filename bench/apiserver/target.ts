import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parse } from 'yaml'
import {
  startReferenceCluster,
  type ReferenceClusterOptions,
} from '../../scripts/reference-cluster/reference-cluster.ts'
import { factsIn } from '../../test/e2e/activator/sojourn-process.ts'

/** A running API server to be measured. */
export interface Target extends AsyncDisposable {
  readonly name: string
  readonly url: string
  readonly token: string
  readonly ca: string
  /** From the start of its first process to the first answer. */
  readonly readyMs: number
  /** All its processes. */
  readonly pids: readonly number[]
}

/** Ours, as a user starts it: `sojourn up --only api`, durable; with further roles where they are what is measured. */
export async function startOurs(only = 'api'): Promise<Target> {
  const data = mkdtempSync(join(tmpdir(), 'sojourn-bench-'))
  const main = resolve(import.meta.dirname, '../../src/cli/main.ts')
  const startedAt = performance.now()
  const args = [main, 'up', '--only', only, '--data', data, '--port', '0', '--proxy-port', '0']
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    const kubeconfig = await kubeconfigOf(child)
    const readyMs = performance.now() - startedAt
    const stop = async () => {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      rmSync(data, { recursive: true, force: true })
    }
    return { name: 'sojourn', ...accessOf(kubeconfig), readyMs, pids: [child.pid ?? 0], [Symbol.asyncDispose]: stop }
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
}

/** The reference: kube-apiserver and etcd with its fsync, on the same disk. */
export async function startTheirs(options: ReferenceClusterOptions = {}): Promise<Target> {
  const startedAt = performance.now()
  const cluster = await startReferenceCluster(options)
  const readyMs = performance.now() - startedAt
  const { url, token, ca, pids } = cluster
  const all = Object.values(pids).filter((pid) => pid !== undefined)
  return {
    name: 'kube-apiserver + etcd',
    url,
    token,
    ca,
    readyMs,
    pids: all,
    [Symbol.asyncDispose]: () => cluster.stop(),
  }
}

/** Memory of all processes of a target that is its own, in MB. */
export function residentMb({ pids }: Target): number {
  const kilobytes = pids.map((pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0)
  })
  return kilobytes.reduce((sum, each) => sum + each, 0) / 1024
}

/** Reads what it prints to the end: it may have more to say than where it is. */
function kubeconfigOf(child: ChildProcess): Promise<string> {
  const { stdout } = child
  if (!stdout) throw new Error('no output')
  return new Promise((resolve, reject) => {
    const lines = createInterface({ input: stdout })
    lines.on('line', (line) => {
      const { kubeconfig } = line.startsWith('sojourn ready ') ? factsIn(line) : {}
      if (kubeconfig) resolve(readFileSync(kubeconfig, 'utf8'))
    })
    lines.on('close', () => reject(new Error('sojourn ended before it was ready')))
  })
}

interface Kubeconfig {
  readonly clusters: readonly {
    readonly cluster: { readonly server: string; readonly 'certificate-authority-data': string }
  }[]
  readonly users: readonly { readonly user: { readonly token: string } }[]
}

function accessOf(text: string): { url: string; token: string; ca: string } {
  const { clusters, users } = parse(text) as Kubeconfig
  const cluster = clusters[0]?.cluster
  if (!cluster) throw new Error('a kubeconfig without a cluster')
  const ca = Buffer.from(cluster['certificate-authority-data'], 'base64').toString()
  return { url: cluster.server, token: users[0]?.user.token ?? '', ca }
}
