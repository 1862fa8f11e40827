import { readFileSync } from 'node:fs'
import type { KeyPair } from '../../apiserver/auth/certificates/certificate.ts'
import { loadCredentials } from '../../apiserver/auth/credentials.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { ConfigError } from '../../client/cluster-config.ts'
import { sleep, type Clock } from '../../runtime/time/clock.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import type { Config } from '../config/config.ts'
import { keptCertificate, type KeptCertificatePorts } from '../core/kept-certificate.ts'
import type { ServerCertificate } from './side-server.ts'
import { nameOf, type Component } from '../install/rbac.ts'
import { webhookCertificate } from './webhook-certificate.ts'
import { dashboardSecret, promoterSecret } from '../../admission/webhook-configuration.ts'

/** Provides a server's certificate. */
export interface CertificateSource {
  /** The one to use now. Throws when it cannot be read. */
  readonly current: () => Promise<ServerCertificate>
  /** A self-signed one, for while `current` fails. */
  readonly own?: KeyPair
}

type SourcePorts = Omit<KeptCertificatePorts, 'hosts'>

/** The configured files, or else the certificate in the role's Secret, or else a self-signed one. */
export function certificateSource(config: Config, ports: SourcePorts): CertificateSource {
  const { tlsCert, tlsKey, only } = config
  if (tlsCert !== undefined && tlsKey !== undefined) return fileSource(tlsCert, tlsKey)
  if (tlsCert !== undefined || tlsKey !== undefined)
    throw new ConfigError('--tls-cert and --tls-key must be set together')
  const called = calledRoles.filter((role) => only.includes(role))
  const hosts = ['localhost', '127.0.0.1', ...called.flatMap(namesOf)]
  const { server: own } = loadCredentials({ hosts: [config.host, ...hosts], now: ports.clock.now() })
  const shared = async () => {
    const webhook = called.includes('cleaner') ? await webhookCertificate({ ...ports, hosts }) : undefined
    const secret = called.includes('promoter')
      ? promoterSecret
      : called.includes('dashboard')
        ? dashboardSecret
        : undefined
    const kept = secret === undefined ? undefined : await keptCertificate(secret, { ...ports, hosts })
    // Callers of the promoter trust another authority than the API server does: the name they ask for tells them apart.
    if (webhook && kept) return { ...webhook, byHost: new Map(namesOf('promoter').map((name) => [name, kept.server])) }
    return webhook ?? kept?.server
  }
  return { current: async () => (await shared()) ?? own, own }
}

/** Roles that programs in the cluster call by DNS name: the API server calls the webhook, Flux and CI the promoter, ingresses the dashboard. */
const calledRoles = ['cleaner', 'promoter', 'dashboard'] as const satisfies readonly Component[]

function namesOf(role: Component): readonly string[] {
  const name = `${nameOf(role)}.${sojournNamespace}.svc`
  return [name, `${name}.cluster.local`]
}

/** The certificate at start. Without the Secret only callers by DNS name fail; everything else works. */
export async function firstCertificate({ current, own }: CertificateSource, log: Logger): Promise<ServerCertificate> {
  try {
    return await current()
  } catch (error) {
    if (!own) throw error
    log.error('certificate not available, callers will not trust this server', { error })
    return own
  }
}

/** Certificate files that the administrator renews: read again each time. */
function fileSource(certificate: string, key: string): CertificateSource {
  const read = (path: string) => {
    try {
      return readFileSync(path, 'utf8')
    } catch (error) {
      throw new ConfigError(`cannot read the certificate file ${path}: ${(error as Error).message}`, { cause: error })
    }
  }
  return { current: () => Promise.resolve().then(() => ({ certificate: read(certificate), key: read(key) })) }
}

/** Reads the certificate every minute and uses a new one without a restart. One that cannot be read leaves the current one in use. */
export function followCertificate(
  source: CertificateSource,
  {
    clock,
    log,
    use,
  }: { readonly clock: Clock; readonly log: Logger; readonly use: (certificate: ServerCertificate) => void },
): { start(signal: AbortSignal): Promise<void> } {
  return {
    async start(signal) {
      while (await waited(clock, pollMs, signal))
        await source
          .current()
          .then(use)
          .catch((error: unknown) => log.error('certificate not renewed', { error }))
    },
  }
}

const pollMs = 60_000

function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(clock, ms, signal).then(
    () => true,
    () => false,
  )
}
