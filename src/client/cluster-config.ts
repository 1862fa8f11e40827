import { readFileSync } from 'node:fs'

/** Who we are to a server: at most one of token, password and certificate is in use. */
export interface Credentials {
  readonly token?: string
  readonly username?: string
  readonly password?: string
  /** PEM. */
  readonly certificate?: string
  /** PEM. */
  readonly key?: string
  /** Act as this user, if the user of the other fields may impersonate that one. */
  readonly impersonate?: { readonly user: string; readonly groups: readonly string[] }
}

/** How to reach a cluster, wherever that was written down. */
export interface ClusterConfig {
  readonly server: string
  /** PEM; the machine's own roots when absent. */
  readonly ca?: string
  readonly insecureSkipTlsVerify?: boolean
  readonly tlsServerName?: string
  /** The namespace commands mean when they name none. */
  readonly namespace: string
  /** The context of the kubeconfig that names the cluster. */
  readonly context?: string
  credentials(): Promise<Credentials>
  /** Forgets credentials that the server refused, so that the next ones are fresh. */
  refresh?(): void
}

/** The text of a file that someone named; throws ConfigError. */
export function readNamed(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError(`cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`, {
      cause: error,
    })
  }
}

/** A configuration that cannot be used: says what, where and how to mend it. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}
