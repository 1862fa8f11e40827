import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseAllDocuments } from 'yaml'
import { Daemon } from '../../scripts/reference-cluster/daemon.ts'
import { freePorts } from '../../scripts/reference-cluster/loopback.ts'
import { startReferenceCluster } from '../../scripts/reference-cluster/reference-cluster.ts'
import { approval as approvalKind } from '../../src/apis/approval.ts'
import { gitopsCluster } from '../../src/apis/gitops-cluster.ts'
import { pipeline as pipelineKind } from '../../src/apis/pipeline.ts'
import { Client } from '../../src/client/client.ts'
import { loadKubeconfig } from '../../src/client/kubeconfig.ts'
import { networkTransport } from '../../src/client/network-transport.ts'
import { customResourceDefinitions } from '../../src/kube/core-types.ts'
import type { KubeObject, ResourceType, StoredObject } from '../../src/kube/object.ts'
import { ignoring } from '../../src/kube/status-error.ts'
import { systemClock } from '../../src/runtime/time/clock.ts'
import { startTestServer } from '../apiserver/test-server.ts'
import { kustomization, namespaces, secrets, type TestCluster } from '../promoter/cluster.ts'
import { definitionFolders, fluxProgram } from './flux-build.ts'
import { startFluxForge, type FluxForge } from './flux-forge.ts'

export const gitRepository: ResourceType = {
  group: 'source.toolkit.fluxcd.io',
  version: 'v1',
  kind: 'GitRepository',
  plural: 'gitrepositories',
  namespaced: true,
}

/** A cluster with Flux's reconcilers at work on it, and a forge with one repository. */
export class FluxWorld {
  readonly client: Client
  readonly kubeconfig: string
  readonly forge: FluxForge
  readonly #closing: (() => Promise<unknown> | void)[]

  private constructor(
    { client, kubeconfig }: { client: Client; kubeconfig: string },
    forge: FluxForge,
    closing: Closing,
  ) {
    this.client = client
    this.kubeconfig = kubeconfig
    this.forge = forge
    this.#closing = closing
  }

  static async start(kind: 'the embedded server' | 'a real kube-apiserver'): Promise<FluxWorld> {
    const directory = mkdtempSync(join(tmpdir(), 'sojourn-flux-'))
    const closing: Closing = [() => rmSync(directory, { recursive: true, force: true })]
    const kubeconfig = await startCluster(kind, directory, closing)
    const network = networkTransport(loadKubeconfig([kubeconfig], { now: Date.now, env: process.env }))
    closing.unshift(() => network.close())
    const client = new Client(network.transport)
    await installKinds(client)
    await startControllers({ directory, kubeconfig, closing })
    const forge = await startFluxForge()
    closing.unshift(() => forge.close())
    const world = new FluxWorld({ client, kubeconfig }, forge, closing)
    for (const name of ['flux', 'team', 'dev', 'staging', 'prod']) await world.namespace(name)
    for (const namespace of ['flux', 'team'])
      await client.create(secrets, {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace, name: 'git' },
        stringData: forge.access,
      } as KubeObject)
    return world
  }

  /** What the promoter's test rig needs of a cluster. */
  get home(): TestCluster {
    return { client: this.client, namespace: (name: string) => this.namespace(name) } as unknown as TestCluster
  }

  async namespace(name: string): Promise<void> {
    await this.client
      .create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
      .catch(ignoring('AlreadyExists'))
  }

  /** A GitRepository that follows the branch, or is pinned to a commit. */
  source(name: string, ref: Record<string, string>): KubeObject {
    return {
      apiVersion: 'source.toolkit.fluxcd.io/v1',
      kind: 'GitRepository',
      metadata: { namespace: 'flux', name },
      spec: { interval: '2s', url: this.forge.url, ref, secretRef: { name: 'git' } },
    } as KubeObject
  }

  async kustomize(place: { namespace: string; name: string }, spec: Record<string, unknown>): Promise<void> {
    await this.client.create(kustomization, {
      apiVersion: 'kustomize.toolkit.fluxcd.io/v1',
      kind: 'Kustomization',
      metadata: place,
      spec: { interval: '10s', retryInterval: '2s', prune: true, wait: true, timeout: '20s', ...spec },
    } as KubeObject)
  }

  /** The revision that an environment's Kustomization has applied, once it is this one. */
  async applied(namespace: string, commit: string): Promise<string> {
    return this.until(async () => {
      const { status } = await this.client.get<StoredObject>(kustomization, { namespace, name: 'app' })
      const { lastAppliedRevision = '' } = (status ?? {}) as { lastAppliedRevision?: string }
      return lastAppliedRevision.endsWith(commit) ? lastAppliedRevision : undefined
    }, `${namespace} on ${commit}`)
  }

  async until<T>(look: () => Promise<T | undefined | false>, what: string): Promise<T> {
    // On a busy machine, sixteen promoters take minutes to start one after the other.
    const deadline = performance.now() + 600_000
    for (;;) {
      const found = await look()
      if (found) return found
      if (performance.now() > deadline) throw new Error(`never: ${what}`)
      await sleep(250)
    }
  }

  async close(): Promise<void> {
    for (const close of this.#closing) await close()
  }
}

type Closing = (() => Promise<unknown> | void)[]

async function startCluster(kind: string, directory: string, closing: Closing): Promise<string> {
  if (kind === 'a real kube-apiserver') {
    const cluster = await startReferenceCluster({ durable: false })
    closing.unshift(() => cluster.stop())
    return cluster.kubeconfig
  }
  const server = await startTestServer({ clock: systemClock })
  closing.unshift(() => server.close())
  const { url } = await server.listen({ port: 0 })
  const file = join(directory, 'kubeconfig')
  writeFileSync(file, server.kubeconfig(url), { mode: 0o600 })
  return file
}

async function installKinds(client: Client): Promise<void> {
  for (const { crd } of [pipelineKind, gitopsCluster, approvalKind]) await client.create(customResourceDefinitions, crd)
  for (const folder of await definitionFolders()) {
    for (const file of readdirSync(folder))
      for (const document of parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
        await client.create(customResourceDefinitions, document.toJSON() as KubeObject)
  }
  const isServed = async () => {
    client.discovery.forget()
    const types = [gitRepository, kustomization, pipelineKind.type]
    const found = await Promise.all(
      types.map(({ group, version, kind }) => client.discovery.typeOf({ apiVersion: `${group}/${version}`, kind })),
    )
    return found.every((type) => type !== undefined)
  }
  while (!(await isServed().catch(() => false))) await sleep(100)
}

async function startControllers(given: { directory: string; kubeconfig: string; closing: Closing }): Promise<void> {
  const { directory, kubeconfig, closing } = given
  const [port] = await freePorts(1)
  const address = `127.0.0.1:${port}`
  const flags = [`--storage-path=${directory}`, `--storage-addr=${address}`, `--storage-adv-addr=${address}`]
  // Daemons inherit the environment; what they need is set for the time of their start.
  const settings = { KUBECONFIG: kubeconfig, RUNTIME_NAMESPACE: 'flux', TMPDIR: directory }
  const before = Object.keys(settings).map((name) => [name, process.env[name]] as const)
  Object.assign(process.env, settings)
  const daemon = new Daemon(fluxProgram, flags, join(directory, 'flux.log'))
  closing.unshift(() => daemon.stop())
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
}
