import { isRecord } from '../kube/basics/json.ts'
import { X509Certificate } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { ConfigError, readNamed, type ClusterConfig, type Credentials } from './cluster-config.ts'
import { execCredentials, type ExecPlugin } from './exec-credentials.ts'
import { fileToken } from './token-file.ts'
import { limits } from '../parsing/limits.ts'
import { ParseRefusal } from '../parsing/parse-refusal.ts'
import { parsingThread } from '../parsing/parsing-thread.ts'
import { readYaml } from '../parsing/yaml-text.ts'

export interface KubeconfigOptions {
  /** Which context; the file's current one when absent. */
  readonly context?: string
  /** Now, in epoch milliseconds: exec credentials expire. */
  readonly now: () => number
  /** The environment exec plugins inherit. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Reads kubeconfig files; as with kubectl, the first file that defines a name wins. Throws ConfigError. */
export function loadKubeconfig(paths: readonly string[], options: KubeconfigOptions): ClusterConfig {
  return clusterConfig(merge(paths.map(readKubeconfig)), options, paths.join(', '))
}

/** The names of all contexts in these files. */
export function kubeconfigContexts(paths: readonly string[]): readonly string[] {
  return (merge(paths.map(readKubeconfig)).contexts ?? []).map(({ name }) => name)
}

/** A kubeconfig that is not in a file, such as a Secret's. File paths, exec plugins and proxies in it are refused: it is other people's. */
export async function parseKubeconfig(
  text: string,
  options: KubeconfigOptions & { readonly origin: string },
): Promise<ClusterConfig> {
  const { origin } = options
  const config = await readForeign(text, origin)
  for (const { user } of config.users ?? []) {
    if (user?.exec)
      throw new ConfigError(
        `${origin}: exec plugins are not run from a kubeconfig that is not a file of ours; use a token or a certificate`,
      )
    if (user?.tokenFile || user?.['client-certificate'] || user?.['client-key']) {
      throw new ConfigError(
        `${origin}: file paths are not read from a kubeconfig that is not a file of ours; use the …-data fields`,
      )
    }
  }
  for (const { cluster } of config.clusters ?? []) {
    if (cluster?.['certificate-authority'])
      throw new ConfigError(`${origin}: use certificate-authority-data instead of a file path`)
    if (cluster?.['proxy-url'])
      throw new ConfigError(
        `${origin}: proxy-url is not used from a kubeconfig that is not a file of ours; leave it out`,
      )
  }
  return clusterConfig(config, options, origin)
}

interface Kubeconfig {
  readonly 'current-context'?: string
  readonly contexts?: readonly {
    readonly name: string
    readonly context?: { readonly cluster: string; readonly user?: string; readonly namespace?: string }
  }[]
  readonly clusters?: readonly { readonly name: string; readonly cluster?: KubeconfigCluster }[]
  readonly users?: readonly { readonly name: string; readonly user?: KubeconfigUser }[]
}

interface KubeconfigCluster {
  readonly server?: string
  readonly 'certificate-authority'?: string
  readonly 'certificate-authority-data'?: string
  readonly 'insecure-skip-tls-verify'?: boolean
  readonly 'tls-server-name'?: string
  readonly 'proxy-url'?: string
}

interface KubeconfigUser {
  readonly token?: string
  readonly tokenFile?: string
  readonly username?: string
  readonly password?: string
  readonly 'client-certificate'?: string
  readonly 'client-certificate-data'?: string
  readonly 'client-key'?: string
  readonly 'client-key-data'?: string
  readonly exec?: ExecPlugin
}

function readKubeconfig(path: string): Kubeconfig {
  const config = parseText(readNamed(path), path)
  const beside = (file: string | undefined) => (file === undefined ? undefined : resolve(dirname(path), file))
  return {
    ...config,
    clusters: (config.clusters ?? []).map(({ name, cluster }) => ({
      name,
      cluster: compact({ ...cluster, 'certificate-authority': beside(cluster?.['certificate-authority']) }),
    })),
    users: (config.users ?? []).map(({ name, user }) => ({
      name,
      user: compact({
        ...user,
        tokenFile: beside(user?.tokenFile),
        'client-certificate': beside(user?.['client-certificate']),
        'client-key': beside(user?.['client-key']),
      }),
    })),
  }
}

function merge(configs: readonly Kubeconfig[]): Kubeconfig {
  const first = <T extends { readonly name: string }>(lists: readonly (readonly T[] | undefined)[]) => {
    const byName = new Map<string, T>()
    for (const item of lists.flatMap((list) => list ?? [])) if (!byName.has(item.name)) byName.set(item.name, item)
    return [...byName.values()]
  }
  const current = configs.map((config) => config['current-context']).find(Boolean)
  return {
    ...(current ? { 'current-context': current } : {}),
    contexts: first(configs.map(({ contexts }) => contexts)),
    clusters: first(configs.map(({ clusters }) => clusters)),
    users: first(configs.map(({ users }) => users)),
  }
}

function clusterConfig(config: Kubeconfig, options: KubeconfigOptions, origin: string): ClusterConfig {
  const contextName = options.context ?? config['current-context']
  if (!contextName) throw new ConfigError(`${origin}: no current-context is set; name one with --context`)
  const context = config.contexts?.find(({ name }) => name === contextName)?.context
  if (!context)
    throw new ConfigError(`${origin}: there is no context "${contextName}"; it has ${names(config.contexts)}`)
  const cluster = config.clusters?.find(({ name }) => name === context.cluster)?.cluster
  if (!cluster)
    throw new ConfigError(
      `${origin}: context "${contextName}" names cluster "${context.cluster}", which is not there; it has ${names(config.clusters)}`,
    )
  const user = context.user ? config.users?.find(({ name }) => name === context.user)?.user : {}
  if (!user)
    throw new ConfigError(
      `${origin}: context "${contextName}" names user "${context.user}", which is not there; it has ${names(config.users)}`,
    )
  const ca = pem(cluster['certificate-authority-data'], cluster['certificate-authority'])
  return {
    server: checkServer(cluster.server, origin),
    namespace: context.namespace ?? 'default',
    context: contextName,
    ...(ca ? { ca } : {}),
    ...(cluster['insecure-skip-tls-verify'] ? { insecureSkipTlsVerify: true } : {}),
    ...(cluster['tls-server-name'] ? { tlsServerName: cluster['tls-server-name'] } : {}),
    ...credentialsOf(user, options, `${origin}: user "${context.user}"`),
  }
}

function credentialsOf(
  user: KubeconfigUser,
  { now, env }: KubeconfigOptions,
  whose: string,
): Pick<ClusterConfig, 'credentials' | 'refresh'> {
  if (user.exec) return execCredentials(user.exec, { now, env })
  const certificate = pem(user['client-certificate-data'], user['client-certificate'])
  const key = pem(user['client-key-data'], user['client-key'])
  const isAllThereIs = !user.token && !user.tokenFile && user.username === undefined
  if (certificate && isAllThereIs) checkValidity(certificate, now(), whose)
  const fixed: Credentials = {
    ...(user.token ? { token: user.token } : {}),
    ...(user.username === undefined ? {} : { username: user.username, password: user.password ?? '' }),
    ...(certificate && key ? { certificate, key } : {}),
  }
  if (!user.tokenFile || user.token) return { credentials: () => Promise.resolve(fixed) }
  const file = fileToken(user.tokenFile, now)
  return { credentials: async () => ({ ...fixed, token: await file.read() }), refresh: () => file.forget() }
}

/** Servers say of an expired certificate no more than of none at all. */
function checkValidity(certificate: string, now: number, whose: string): void {
  let endsAt: Date
  try {
    endsAt = new X509Certificate(certificate).validToDate
  } catch (error) {
    throw new ConfigError(`${whose}: its client certificate cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
  if (endsAt.getTime() <= now)
    throw new ConfigError(
      `${whose}: its client certificate expired on ${endsAt.toISOString()}: get a new kubeconfig from the administrator of the cluster`,
    )
}

function checkServer(server: string | undefined, origin: string): string {
  if (server && /^https?:\/\//.test(server) && URL.canParse(server)) return server
  throw new ConfigError(`${origin}: the cluster's server is ${JSON.stringify(server ?? '')}, not an http(s) URL`)
}

function pem(data: string | undefined, path: string | undefined): string | undefined {
  if (data) return Buffer.from(data, 'base64').toString('utf8')
  return path === undefined ? undefined : readNamed(path)
}

async function readForeign(text: string, origin: string): Promise<Kubeconfig> {
  const { timeMs } = limits.kubeconfig
  const [value] = await parsingThread
    .read<readonly unknown[]>({ reader: 'kubeconfig', input: text, timeMs })
    .catch((error: unknown) => {
      throw error instanceof ParseRefusal ? notYaml(origin, error) : error
    })
  return checked(value, origin)
}

function parseText(text: string, origin: string): Kubeconfig {
  try {
    return checked(readYaml(text, limits.ownFile).documents[0], origin)
  } catch (error) {
    throw error instanceof ParseRefusal ? notYaml(origin, error) : error
  }
}

function notYaml(origin: string, cause: ParseRefusal): ConfigError {
  const fault = cause.because === 'syntax' ? 'is not YAML' : 'is not read'
  return new ConfigError(`${origin} ${fault}: ${cause.message}`, { cause })
}

function checked(value: unknown, origin: string): Kubeconfig {
  if (!isRecord(value)) throw new ConfigError(`${origin} is not a kubeconfig: it holds no mapping`)
  for (const field of ['contexts', 'clusters', 'users'] as const) {
    const list = value[field] ?? []
    if (!Array.isArray(list)) throw new ConfigError(`${origin}: ${field} is not a list`)
    const content = field.slice(0, -1)
    if (!list.every((item) => isRecord(item) && isRecord(item[content] ?? {}) && hasTexts(item[content] ?? {})))
      throw new ConfigError(`${origin}: ${field} has an entry that is not a ${content}`)
  }
  return value
}

/** Whether all fields but those of an exec plugin, extensions and switches are texts. */
function hasTexts(value: object): boolean {
  return Object.entries(value).every(
    ([name, field]) =>
      ['string', 'boolean', 'undefined'].includes(typeof field) ||
      field === null ||
      ['exec', 'extensions', 'auth-provider', 'as-groups', 'as-user-extra'].includes(name),
  )
}

function names(items: readonly { readonly name: string }[] | undefined): string {
  return items && items.length > 0 ? items.map(({ name }) => `"${name}"`).join(', ') : 'none'
}

function compact<T extends object>(value: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as {
    [K in keyof T]: Exclude<T[K], undefined>
  }
}
