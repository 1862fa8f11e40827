import { readFileSync } from 'node:fs'
import type { KeyPair } from '../apiserver/auth/certificate.ts'
import { loadCredentials } from '../apiserver/auth/credentials.ts'
import { sojournNamespace } from '../apis/group.ts'
import { ConfigError } from '../client/cluster-config.ts'
import { sleep, type Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Config } from './config.ts'
import { WebhookCertificate, type WebhookCertificatePorts } from './webhook-certificate.ts'
import { webhookService } from './webhook-configuration.ts'

/** Where the certificate of a server comes from. */
export interface CertificateSource {
  /** The one to use now. Throws when that cannot be known. */
  readonly current: () => Promise<KeyPair>
  /** What will do while nothing better can be had. */
  readonly own?: KeyPair
}

type SourcePorts = Omit<WebhookCertificatePorts, 'hosts'>

/** The files that are named, or else the certificate that the cluster trusts for its webhook, or else one of our own. */
export function certificateSource(config: Config, ports: SourcePorts): CertificateSource {
  const { tlsCert, tlsKey } = config
  if (tlsCert !== undefined && tlsKey !== undefined) return fileSource(tlsCert, tlsKey)
  if (tlsCert !== undefined || tlsKey !== undefined) throw new ConfigError('--tls-cert and --tls-key go together')
  const { server: own } = loadCredentials({ hosts: [config.host, ...hosts], now: ports.clock.now() })
  if (!config.only.includes('cleaner')) return { current: () => Promise.resolve(own) }
  const webhook = new WebhookCertificate({ ...ports, hosts })
  return { current: async () => (await webhook.current()) ?? own, own }
}

/** The certificate to begin with. A cluster that keeps its webhook from us loses the webhook, and nothing else. */
export async function firstCertificate({ current, own }: CertificateSource, log: Logger): Promise<KeyPair> {
  try {
    return await current()
  } catch (error) {
    if (!own) throw error
    log.error('webhook not available', { error })
    return own
  }
}

/** What every replica is called, wherever it listens. */
const hosts = ['localhost', '127.0.0.1', `${webhookService}.${sojournNamespace}.svc`]

/** A certificate that somebody else renews: read again each time. */
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

/** Looks for a new certificate every minute, and has it used without a restart. What cannot be read, or is half renewed, leaves the one in use. */
export function followCertificate(
  source: CertificateSource,
  { clock, log, use }: { readonly clock: Clock; readonly log: Logger; readonly use: (pair: KeyPair) => void },
): { start(signal: AbortSignal): Promise<void> } {
  return {
    async start(signal) {
      while (await waited(clock, lookMs, signal))
        await source
          .current()
          .then(use)
          .catch((error: unknown) => log.error('certificate not renewed', { error }))
    },
  }
}

const lookMs = 60_000

function waited(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
  return sleep(clock, ms, signal).then(
    () => true,
    () => false,
  )
}
