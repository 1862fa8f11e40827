import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readCa, writeKubeconfig, writeServerSecrets } from './credentials.ts'
import { Daemon } from './daemon.ts'
import { apiServerFlags, controllerManagerFlags, etcdFlags } from './flags.ts'
import { Guard } from './guard.ts'
import { answersOk, freePorts } from './loopback.ts'
import { ensureTool, type Tool } from './tools.ts'

export type ReferenceClusterOptions = {
  /** False trades etcd's fsync for speed, so figures no longer compare. Default true. */
  readonly durable?: boolean
  readonly apiServer?: { readonly flags: readonly string[] }
  /** Runs a kube-controller-manager with only these controllers, e.g. `garbage-collector-controller`. Default none. */
  readonly controllerManager?: { readonly controllers: readonly string[]; readonly flags?: readonly string[] }
}

export type ReferenceCluster = AsyncDisposable & {
  /** Path of a kubeconfig with the admin's token. */
  readonly kubeconfig: string
  readonly url: string
  readonly token: string
  /** PEM of the certificates to trust. */
  readonly ca: string
  readonly pids: Readonly<Partial<Record<Tool, number>>>
  stop(): Promise<void>
}

/**
 * A real etcd and kube-apiserver on loopback, empty and ready. They end, and their data goes, with `stop()` or with this
 * process. The data is under the system's temporary directory: durable only if that is a disk.
 */
export async function startReferenceCluster(options: ReferenceClusterOptions = {}): Promise<ReferenceCluster> {
  // First, because the ports chosen below may not stay free for the minutes of a build.
  for (const tool of toolsFor(options)) await ensureTool(tool)
  const directory = mkdtempSync(join(tmpdir(), 'sojourn-reference-'))
  const guard = new Guard(directory)
  const daemons: Daemon[] = []
  const start = async (tool: Tool, flags: readonly string[]) => {
    const daemon = new Daemon(await ensureTool(tool), flags, join(directory, `${tool}.log`))
    guard.watch(daemon.pid)
    daemons.push(daemon)
    return daemon
  }
  const stop = async () => {
    await Promise.all(daemons.map((daemon) => daemon.stop()))
    rmSync(directory, { recursive: true, force: true })
    guard.dismiss()
  }
  try {
    const access = await startServers({ directory, start, options })
    const pids = Object.fromEntries(daemons.map(({ name, pid }) => [name, pid]))
    return { ...access, pids, stop, [Symbol.asyncDispose]: stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function toolsFor({ controllerManager }: ReferenceClusterOptions): Tool[] {
  return ['etcd', 'kube-apiserver', ...(controllerManager ? (['kube-controller-manager'] as const) : [])]
}

type Site = {
  readonly directory: string
  readonly start: (tool: Tool, flags: readonly string[]) => Promise<Daemon>
  readonly options: ReferenceClusterOptions
}

async function startServers({ directory, start, options: { durable = true, apiServer, controllerManager } }: Site) {
  const [etcdPort = 0, peerPort = 0, apiPort = 0, controllersPort = 0] = await freePorts(4)
  const token = writeServerSecrets(directory)
  const etcd = await start('etcd', etcdFlags({ directory, port: etcdPort, peerPort, durable }))
  await etcd.ready(() => answersOk(`http://127.0.0.1:${etcdPort}/readyz`))

  const url = `https://127.0.0.1:${apiPort}`
  const flags = apiServerFlags({ directory, port: apiPort, etcdPort })
  const server = await start('kube-apiserver', [...flags, ...(apiServer?.flags ?? [])])
  // The server is ready a moment before it has made the namespace that everyone begins with.
  const paths = ['/readyz', '/api/v1/namespaces/default']
  for (const path of paths) await server.ready(() => answersOk(url + path, token))
  const ca = readCa(directory)
  const kubeconfig = writeKubeconfig(directory, { url, ca, token })

  if (controllerManager) {
    const flags = controllerManagerFlags({
      directory,
      port: controllersPort,
      controllers: controllerManager.controllers,
    })
    const manager = await start('kube-controller-manager', [...flags, ...(controllerManager.flags ?? [])])
    await manager.ready(() => answersOk(`https://127.0.0.1:${controllersPort}/healthz`, token))
  }
  return { kubeconfig, url, token, ca }
}
