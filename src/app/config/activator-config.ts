import { isIP } from 'node:net'
import { ConfigError } from '../../client/cluster-config.ts'
import { flagsOf } from './flags.ts'
import { tlsPolicyError, type TlsPolicy } from '../../systems/activator/proxy/tls/tls-policy.ts'
import { compatibleTools, type CompatibleTool } from '../../systems/activator/cluster/sleep-rules.ts'
import { trustedProxyProblem } from '../../systems/activator/proxy/routing/trusted-proxies.ts'
import type { Part } from '../../systems/activator/replicas/peers.ts'
import { proxlessEnvironment, type ProxlessEnvironment } from '../../systems/activator/proxless-environment.ts'

/** The settings of the activator. */
export interface ActivatorConfig {
  /** What this process does of the activator's work. Defaults to all. */
  readonly part: Part
  /** The proxy's HTTPS port, with certificates from Secrets; 0 picks a free one. Defaults to none. */
  readonly tlsPort?: number
  /** What clients' TLS must meet. Defaults to TLS 1.2 and Node's own ciphers and groups. */
  readonly tlsPolicy: TlsPolicy
  /** Connections to the proxy begin with a PROXY protocol header. Defaults to false. */
  readonly proxyProtocol: boolean
  /** The port for traffic between replicas; 0 picks a free one. Defaults to 0. */
  readonly peerPort: number
  /** How long a killed replica still counts as alive. Defaults to 15 s. */
  readonly peerLeaseMs: number
  /** The address at which the cluster reaches this replica. Defaults to POD_IP, then to the address it listens on. */
  readonly address?: string
  /** The name of this replica. Defaults to POD_NAME, then to host and process. */
  readonly name?: string
  /** Create companion Services for callers inside the cluster. Defaults to true where the cluster can reach this replica. */
  readonly companions: boolean
  /** Take over Services with the annotation sojourn.dev/takeover. Defaults to true where the cluster can reach this replica. */
  readonly takeover?: boolean
  /** The ports at which proxies listen for Services that are taken over. Defaults to 20000-29999. */
  readonly takeoverPorts: { readonly from: number; readonly to: number }
  /** Where other proxies ask whether a workload is up; 0 picks a free one. Defaults to none. */
  readonly checkPort?: number
  /** How long requests under way may take to end when the process stops. Defaults to 3 s. */
  readonly drainMs: number
  /** How long the proxy still accepts requests after it has become unready. Defaults to 0. */
  readonly drainDelayMs: number
  /** Addresses and CIDR ranges of proxies in front, whose X-Forwarded fields are believed. Defaults to none. */
  readonly trustedProxies: readonly string[]
  /** Write a line for every request to the standard output. Defaults to false. */
  readonly accessLog: boolean
  /** Serve only domains that a Namespace reserves by its annotation. Defaults to false. */
  readonly requireDomainGrant: boolean
  /** How long a domain stays with its namespace after the last Service has given it up. Defaults to 10 minutes. */
  readonly domainReleaseMs: number
  /** Tools whose sleep rules are read as they are. Defaults to none. */
  readonly compatibility: readonly CompatibleTool[]
  /** What the environment of a proxless installation says. */
  readonly proxless: Pick<ProxlessEnvironment, 'options' | 'limits' | 'unneeded'>
}

export const activatorFlags = flagsOf({
  'activator-part': {
    type: 'string',
    help: 'What this process does: all, scaler (decide and scale, take no requests) or proxy (take requests, change nothing) (default: all)',
    value: 'PART',
    completes: ['all', 'scaler', 'proxy'],
  },
  'proxy-tls-port': 'PORT: HTTPS port of the activator, with certificates from Secrets (default: none)',
  'proxy-tls-min-version': 'VERSION: Minimum TLS version of clients of the activator: 1.2 or 1.3 (default: 1.2)',
  'proxy-tls-ciphers': "LIST: Cipher suites of the activator, in OpenSSL's format (default: Node's)",
  'proxy-tls-groups': "LIST: Groups for the activator's key exchange, such as X25519:P-256 (default: Node's)",
  'proxy-protocol': 'Connections to the proxy begin with a PROXY protocol header',
  'proxy-address': 'ADDRESS: Address at which the cluster reaches this replica of the proxy (default: POD_IP)',
  'peer-port': 'PORT: Port for traffic between replicas of the activator; 0 picks a free one (default: 0)',
  'peer-lease':
    'DURATION: How long a killed replica of the activator still counts as alive; the same for all replicas (default: 15s)',
  companions:
    'Create a Service NAME-proxless for callers inside the cluster (default: where the cluster reaches the proxy)',
  takeover: 'Take over Services annotated with sojourn.dev/takeover (default: where the cluster reaches the proxy)',
  'takeover-ports':
    'FROM-TO: The ports at which the proxies listen for Services that are taken over (default: 20000-29999)',
  'check-port': 'PORT: Port at which other proxies wait until a workload is up: forward auth (default: none)',
  'trusted-proxies':
    'CIDR,…: Proxies in front whose X-Forwarded-*, Forwarded and --proxy-*-header fields are believed; those of other clients are dropped (default: none)',
  'access-log':
    'Write a line of JSON for every request to the standard output: client, host, path without query, status, bytes, seconds',
  'require-domain-grant': 'Serve only domains that the annotation sojourn.dev/domains of a Namespace reserves for it',
  'domain-release-after':
    'DURATION: How long a domain stays reserved for its namespace after the last Service has given it up (default: 10m)',
  compatibility:
    'TOOL,…: Read the sleep rules of these tools, whose own controllers must not run any more: downscaler, kube-green (default: none)',
  drain: 'DURATION: How long requests may take to end when stopping (default: 3s)',
  'drain-delay': 'DURATION: How long requests are still accepted after becoming unready, when stopping (default: 0s)',
})

/** How settings are looked up and checked. */
export interface Settings {
  readonly port: (flag: string) => number | undefined
  readonly text: (flag: string) => { readonly text: string; readonly where: string } | undefined
  readonly boolean: (flag: string, otherwise: boolean) => boolean
  readonly duration: (flag: string, otherwise: number) => number
  readonly oneOf: <T extends string>(flag: string, values: readonly T[], otherwise: T) => T
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Reads the activator's settings; `env` may be that of a proxless installation. */
export function readActivatorConfig(settings: Settings): ActivatorConfig {
  const { env } = settings
  const address = addressOf(settings)
  const tlsPort = settings.port('proxy-tls-port')
  const checkPort = settings.port('check-port')
  return {
    part: settings.oneOf('activator-part', ['all', 'scaler', 'proxy'] as const, 'all'),
    tlsPolicy: tlsPolicyOf(settings),
    proxyProtocol: settings.boolean('proxy-protocol', false),
    peerPort: settings.port('peer-port') ?? 0,
    peerLeaseMs: peerLeaseOf(settings),
    companions: settings.boolean('companions', address !== undefined && !isLoopback(address)),
    trustedProxies: checkedList(settings.text('trusted-proxies'), trustedProxyProblem),
    accessLog: settings.boolean('access-log', false),
    requireDomainGrant: settings.boolean('require-domain-grant', false),
    domainReleaseMs: settings.duration('domain-release-after', 600_000),
    compatibility: checkedList(settings.text('compatibility'), toolProblem) as readonly CompatibleTool[],
    drainMs: settings.duration('drain', 3000),
    drainDelayMs: settings.duration('drain-delay', 0),
    proxless: proxlessEnvironment(env),
    takeoverPorts: portRangeOf(settings.text('takeover-ports')),
    ...(settings.text('takeover') ? { takeover: settings.boolean('takeover', false) } : {}),
    ...(checkPort === undefined ? {} : { checkPort }),
    ...(tlsPort === undefined ? {} : { tlsPort }),
    ...(address === undefined ? {} : { address }),
    ...(env.POD_NAME ? { name: env.POD_NAME } : {}),
  }
}

function toolProblem(name: string): string | undefined {
  return compatibleTools.some((each) => each === name) ? undefined : `it must be ${compatibleTools.join(' or ')}`
}

/** The entries of a list, each of which must be usable. */
export function checkedList(
  found: ReturnType<Settings['text']>,
  problemOf: (entry: string) => string | undefined,
): readonly string[] {
  const entries = (found?.text ?? '').split(',').flatMap((entry) => entry.trim() || [])
  for (const entry of entries) {
    const problem = problemOf(entry)
    if (problem !== undefined)
      throw new ConfigError(`${found?.where}: ${JSON.stringify(entry)} cannot be used: ${problem}`)
  }
  return entries
}

/** Lease durations are whole seconds, and a holder needs a few attempts to renew. */
function peerLeaseOf(settings: Settings): number {
  const leaseMs = settings.duration('peer-lease', 15_000)
  if (leaseMs >= 3000 && leaseMs % 1000 === 0) return leaseMs
  const { text, where } = settings.text('peer-lease') ?? { text: '', where: '' }
  throw new ConfigError(`${where} is ${JSON.stringify(text)}: it must be at least 3s, in whole seconds`)
}

function tlsPolicyOf({ text, oneOf }: Settings): TlsPolicy {
  const policy: TlsPolicy = text('proxy-tls-min-version')
    ? { minVersion: `TLSv${oneOf('proxy-tls-min-version', ['1.2', '1.3'] as const, '1.2')}` }
    : {}
  const lists = [['proxy-tls-ciphers', 'ciphers'] as const, ['proxy-tls-groups', 'ecdhCurve'] as const]
  return lists.reduce((all, [flag, term]) => {
    const found = text(flag)
    const fault = found && tlsPolicyError({ [term]: found.text })
    if (fault !== undefined) throw new ConfigError(`${found?.where} cannot be used: ${fault}`)
    return found ? { ...all, [term]: found.text } : all
  }, policy)
}

function addressOf(settings: Settings): string | undefined {
  const { POD_IP: podIp } = settings.env
  const found = settings.text('proxy-address') ?? (podIp ? { text: podIp, where: 'POD_IP' } : undefined)
  if (!found || isIP(found.text) !== 0) return found?.text
  throw new ConfigError(`${found.where} is ${JSON.stringify(found.text)}: it must be an IP address`)
}

function portRangeOf(found: ReturnType<Settings['text']>): ActivatorConfig['takeoverPorts'] {
  const { text, where } = found ?? { text: '20000-29999', where: '' }
  const [, from = 0, to = 0] = (/^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []).map(Number)
  if (from > 0 && from <= to && to <= 65_535) return { from, to }
  throw new ConfigError(`${where} is ${JSON.stringify(text)}: it must be two ports such as 20000-29999`)
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}
