import { execFile } from 'node:child_process'
import { parseTime } from '../kube/time.ts'
import { ConfigError, type ClusterConfig, type Credentials } from './cluster-config.ts'

/** The `exec` part of a kubeconfig's user. */
export interface ExecPlugin {
  readonly apiVersion?: string
  readonly command: string
  readonly args?: readonly string[] | null
  readonly env?: readonly { readonly name: string; readonly value: string }[] | null
  readonly installHint?: string
}

interface Context {
  readonly now: () => number
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Credentials that a program prints, kept until they expire or the server refuses them. */
export function execCredentials(plugin: ExecPlugin, context: Context): Pick<ClusterConfig, 'credentials' | 'refresh'> {
  let kept: { readonly credentials: Credentials; readonly expiresAt: number } | undefined
  let running: Promise<Credentials> | undefined
  return {
    credentials() {
      if (kept && context.now() < kept.expiresAt) return Promise.resolve(kept.credentials)
      running ??= run(plugin, context)
        .then((result) => {
          kept = result
          return result.credentials
        })
        .finally(() => (running = undefined))
      return running
    },
    refresh() {
      kept = undefined
    },
  }
}

async function run(plugin: ExecPlugin, { env }: Context): Promise<{ credentials: Credentials; expiresAt: number }> {
  const apiVersion = plugin.apiVersion ?? 'client.authentication.k8s.io/v1'
  const execInfo = JSON.stringify({ apiVersion, kind: 'ExecCredential', spec: { interactive: false } })
  const own = Object.fromEntries((plugin.env ?? []).map(({ name, value }) => [name, value]))
  const output = await new Promise<string>((resolve, reject) => {
    execFile(
      plugin.command,
      [...(plugin.args ?? [])],
      { env: { ...env, ...own, KUBERNETES_EXEC_INFO: execInfo }, timeout: 60_000 },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout)
        const hint = plugin.installHint ? ` (${plugin.installHint.trim()})` : ''
        reject(
          new ConfigError(
            `the credential plugin ${plugin.command} failed: ${stderr.trim().split('\n')[0] || error.message}${hint}`,
            { cause: error },
          ),
        )
      },
    )
  })
  return parseCredential(output, plugin.command)
}

function parseCredential(output: string, command: string): { credentials: Credentials; expiresAt: number } {
  let status: Record<string, unknown> | undefined
  try {
    status = (JSON.parse(output) as { status?: Record<string, unknown> }).status
  } catch (error) {
    throw new ConfigError(`the credential plugin ${command} printed something that is not JSON`, { cause: error })
  }
  const { token, clientCertificateData, clientKeyData, expirationTimestamp } = status ?? {}
  if (typeof token !== 'string' && typeof clientCertificateData !== 'string') {
    throw new ConfigError(`the credential plugin ${command} gave neither a token nor a certificate`)
  }
  const expiresAt = typeof expirationTimestamp === 'string' ? parseTime(expirationTimestamp) : undefined
  return {
    credentials: {
      ...(typeof token === 'string' ? { token } : {}),
      ...(typeof clientCertificateData === 'string' && typeof clientKeyData === 'string'
        ? { certificate: clientCertificateData, key: clientKeyData }
        : {}),
    },
    expiresAt: expiresAt === undefined ? Infinity : expiresAt - 10_000,
  }
}
