import { isIP } from 'node:net'
import { ConfigError } from '../client/cluster-config.ts'
import { proxlessEnvironment, type ProxlessEnvironment } from '../systems/activator/environment.ts'

/** What the activator alone can be told. */
export interface ActivatorConfig {
  /** The proxy's HTTPS port, with certificates from Secrets; 0 picks a free one. Defaults to none. */
  readonly tlsPort?: number
  /** Connections to the proxy begin with a PROXY protocol header. Defaults to false. */
  readonly proxyProtocol: boolean
  /** Where replicas talk to each other; 0 picks a free one. Defaults to 0. */
  readonly peerPort: number
  /** Where the cluster reaches this replica. Defaults to POD_IP, then to the address it listens on. */
  readonly address?: string
  /** What this replica is called. Defaults to POD_NAME, then to host and process. */
  readonly name?: string
  /** Make companion Services for callers inside the cluster. Defaults to true where the cluster can reach this replica. */
  readonly companions: boolean
  /** How long requests under way may take to end when the process stops. Defaults to 3 s. */
  readonly drainMs: number
  /** How long the proxy still takes requests after it has said that it will stop. Defaults to 0. */
  readonly drainDelayMs: number
  /** What the environment of a proxless installation says. */
  readonly proxless: Pick<ProxlessEnvironment, 'options' | 'limits' | 'unneeded'>
}

export const activatorFlags = {
  'proxy-tls-port': {
    type: 'string',
    help: 'HTTPS port of the activator, with certificates from Secrets (default: none)',
    value: 'PORT',
  },
  'proxy-protocol': { type: 'boolean', help: 'Connections to the proxy begin with a PROXY protocol header' },
  'proxy-address': {
    type: 'string',
    help: 'Where the cluster reaches this replica of the proxy (default: POD_IP)',
    value: 'ADDRESS',
  },
  'peer-port': {
    type: 'string',
    help: 'Where replicas of the activator talk to each other; 0 picks a free one (default: 0)',
    value: 'PORT',
  },
  companions: {
    type: 'boolean',
    help: 'Make a Service NAME-proxless for callers inside the cluster (default: where the cluster reaches the proxy)',
  },
  drain: { type: 'string', help: 'How long requests may take to end when stopping (default: 3s)', value: 'DURATION' },
  'drain-delay': {
    type: 'string',
    help: 'How long requests are still taken when stopping, not ready any more (default: 0s)',
    value: 'DURATION',
  },
} as const

/** How settings are looked up and checked; the configuration's own ways. */
export interface Settings {
  port(flag: string): number | undefined
  text(flag: string): { readonly text: string; readonly where: string } | undefined
  boolean(flag: string, otherwise: boolean): boolean
  duration(flag: string, otherwise: number): number
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Reads what the activator alone can be told; `env` is that of proxless too. */
export function readActivatorConfig(settings: Settings): ActivatorConfig {
  const { env } = settings
  const address = addressOf(settings)
  const tlsPort = settings.port('proxy-tls-port')
  return {
    proxyProtocol: settings.boolean('proxy-protocol', false),
    peerPort: settings.port('peer-port') ?? 0,
    companions: settings.boolean('companions', address !== undefined && !isLoopback(address)),
    drainMs: settings.duration('drain', 3000),
    drainDelayMs: settings.duration('drain-delay', 0),
    proxless: proxlessEnvironment(env),
    ...(tlsPort === undefined ? {} : { tlsPort }),
    ...(address === undefined ? {} : { address }),
    ...(env.POD_NAME ? { name: env.POD_NAME } : {}),
  }
}

function addressOf(settings: Settings): string | undefined {
  const { POD_IP: podIp } = settings.env
  const found = settings.text('proxy-address') ?? (podIp ? { text: podIp, where: 'POD_IP' } : undefined)
  if (!found || isIP(found.text) !== 0) return found?.text
  throw new ConfigError(`${found.where} is ${JSON.stringify(found.text)}: it must be an IP address`)
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}
