import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '../../client/client.ts'
import { ConfigError, type ClusterConfig } from '../../client/cluster-config.ts'
import { inClusterConfig, isInCluster } from '../../client/in-cluster.ts'
import { kubeconfigContexts, loadKubeconfig } from '../../client/kubeconfig.ts'
import { networkTransport } from '../../client/network-transport.ts'
import { pacedTransport } from '../../client/paced-transport.ts'
import { textFlag, type Call, type Io } from './command.ts'
import { pause } from './pause.ts'

/** The cluster of a command, and its namespace. */
export interface Connection extends Disposable {
  readonly client: Client
  readonly config: ClusterConfig
  /** The namespace asked for; undefined for all. */
  readonly namespace: string | undefined
  close(): void
}

/** Finds the API: --kubeconfig, KUBECONFIG, a running `sojourn up`, in-cluster; in this order. */
export function connect({ flags, io }: Call): Connection {
  const config = findConfig({ flags, io })
  const network = networkTransport(config, { userAgent: 'sojourn-cli' })
  // A server that is starting or busy says when to retry: within seconds, so the command waits.
  const transport = pacedTransport(network.transport, { sleep: (ms) => pause(ms, io.signal), random: () => 0 })
  return {
    client: new Client(transport, { fieldManager: 'sojourn-cli' }),
    config,
    namespace: flags['all-namespaces'] ? undefined : (textFlag(flags, 'namespace') ?? config.namespace),
    close: () => network.close(),
    [Symbol.dispose]: () => network.close(),
  }
}

/** The configuration `connect` would use. `other` is the kubeconfig when neither the flag nor KUBECONFIG names one. */
export function findConfig({ flags, io }: Pick<Call, 'flags' | 'io'>, other?: string): ClusterConfig {
  const context = textFlag(flags, 'context')
  const files = findFiles({ flags, io }, other)
  if (files.length > 0) return loadKubeconfig(files, { now: io.now, env: io.env, ...(context ? { context } : {}) })
  if (isInCluster(io)) return inClusterConfig(io)
  throw new ConfigError(
    `no cluster found: start one here with "sojourn up", or name one with --kubeconfig or KUBECONFIG (${ownFile(io)} does not exist either)`,
  )
}

/** The contexts of the kubeconfig, for completion. */
export function contextsFor(call: Pick<Call, 'flags' | 'io'>): readonly string[] {
  return kubeconfigContexts(findFiles(call))
}

function findFiles({ flags, io }: Pick<Call, 'flags' | 'io'>, other?: string): readonly string[] {
  const named = textFlag(flags, 'kubeconfig')
  if (named !== undefined) return [named]
  const listed = (io.env.KUBECONFIG ?? '').split(':').filter((path) => path !== '' && existsSync(path))
  if (listed.length > 0) return listed
  if (io.env.KUBECONFIG)
    throw new ConfigError(
      `KUBECONFIG names ${io.env.KUBECONFIG}, which does not exist: correct it, or unset it to use a running "sojourn up"`,
    )
  if (other) return [other]
  const own = ownFile(io)
  return existsSync(own) ? [own] : []
}

function ownFile({ env }: Pick<Io, 'env'>): string {
  return join(env.SOJOURN_DATA ?? '.sojourn', 'kubeconfig')
}
