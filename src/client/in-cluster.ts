import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, type ClusterConfig } from './cluster-config.ts'
import { fileToken } from './token-file.ts'

export interface InClusterOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly now: () => number
  /** Where the kubelet mounts the service account. Defaults to Kubernetes' own place. */
  readonly mount?: string
}

/** Whether this process runs in a pod with a service account. */
export function isInCluster({ env }: Pick<InClusterOptions, 'env'>): boolean {
  return Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT)
}

/** The pod's own cluster, as its service account; the token is read again as the kubelet rotates it. */
export function inClusterConfig({
  env,
  now,
  mount = '/var/run/secrets/kubernetes.io/serviceaccount',
}: InClusterOptions): ClusterConfig {
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = env
  if (!host || !port)
    throw new ConfigError('not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set')
  const token = fileToken(join(mount, 'token'), now)
  return {
    server: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    ca: read(join(mount, 'ca.crt')),
    namespace: read(join(mount, 'namespace')).trim(),
    credentials: async () => ({ token: await token.read() }),
    refresh: () => token.forget(),
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`cannot read ${path}: is the service account mounted? (automountServiceAccountToken)`, {
      cause: error,
    })
  }
}
