import { isIP } from 'node:net'
import { ConfigError } from '../../client/cluster-config.ts'
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
  /** Serve only domains that a Namespace reserves by its annotation. Defaults to false. */
  readonly requireDomainGrant: boolean
  /** How long a domain stays with its namespace after the last Service has given it up. Defaults to 10 minutes. */
  readonly domainReleaseMs: number
  /** Tools whose sleep rules are read as they are. Defaults to none. */
  readonly compatibility: readonly CompatibleTool[]
  /** What the environment of a proxless installation says. */
  readonly proxless: Pick<ProxlessEnvironment, 'options' | 'limits' | 'unneeded'>
}

export const activatorFlags = {
  'activator-part': {
    type: 'string',
    help: 'What this process does: all, scaler (decide and scale, take no requests) or proxy (take requests, change nothing) (default: all)',
    value: 'PART',
    completes: ['all', 'scaler', 'proxy'],
  },
  'proxy-tls-port': {
    type: 'string',
    help: 'HTTPS port of the activator, with certificates from Secrets (default: none)',
    value: 'PORT',
  },
  'proxy-tls-min-version': {
    type: 'string',
    help: 'Minimum TLS version of clients of the activator: 1.2 or 1.3 (default: 1.2)',
    value: 'VERSION',
  },
  'proxy-tls-ciphers': {
    type: 'string',
    help: "Cipher suites of the activator, in OpenSSL's format (default: Node's)",
    value: 'LIST',
  },
  'proxy-tls-groups': {
    type: 'string',
    help: "Groups for the activator's key exchange, such as X25519:P-256 (default: Node's)",
    value: 'LIST',
  },
  'proxy-protocol': { type: 'boolean', help: 'Connections to the proxy begin with a PROXY protocol header' },
  'proxy-address': {
    type: 'string',
    help: 'Address at which the cluster reaches this replica of the proxy (default: POD_IP)',
    value: 'ADDRESS',
  },
  'peer-port': {
    type: 'string',
    help: 'Port for traffic between replicas of the activator; 0 picks a free one (default: 0)',
    value: 'PORT',
  },
  'peer-lease': {
    type: 'string',
    help: 'How long a killed replica of the activator still counts as alive; the same for all replicas (default: 15s)',
    value: 'DURATION',
  },
  companions: {
    type: 'boolean',
    help: 'Create a Service NAME-proxless for callers inside the cluster (default: where the cluster reaches the proxy)',
  },
  takeover: {
    type: 'boolean',
    help: 'Take over Services annotated with sojourn.dev/takeover (default: where the cluster reaches the proxy)',
  },
  'takeover-ports': {
    type: 'string',
    help: 'The ports at which the proxies listen for Services that are taken over (default: 20000-29999)',
    value: 'FROM-TO',
  },
  'check-port': {
    type: 'string',
    help: 'Port at which other proxies wait until a workload is up: forward auth (default: none)',
    value: 'PORT',
  },
  'trusted-proxies': {
    type: 'string',
    help: 'Proxies in front whose X-Forwarded-* and Forwarded fields are believed; those of other clients are dropped (default: none)',
    value: 'CIDR,…',
  },
  'require-domain-grant': {
    type: 'boolean',
    help: 'Serve only domains that the annotation sojourn.dev/domains of a Namespace reserves for it',
  },
  'domain-release-after': {
    type: 'string',
    help: 'How long a domain stays reserved for its namespace after the last Service has given it up (default: 10m)',
    value: 'DURATION',
  },
  compatibility: {
    type: 'string',
    help: 'Read the sleep rules of these tools, whose own controllers must not run any more: downscaler, kube-green (default: none)',
    value: 'TOOL,…',
  },
  drain: { type: 'string', help: 'How long requests may take to end when stopping (default: 3s)', value: 'DURATION' },
  'drain-delay': {
    type: 'string',
    help: 'How long requests are still accepted after becoming unready, when stopping (default: 0s)',
    value: 'DURATION',
  },
} as const

/** How settings are looked up and checked. */
export interface Settings {
  port(flag: string): number | undefined
  text(flag: string): { readonly text: string; readonly where: string } | undefined
  boolean(flag: string, otherwise: boolean): boolean
  duration(flag: string, otherwise: number): number
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Reads the activator's settings; `env` may be that of a proxless installation. */
export function readActivatorConfig(settings: Settings): ActivatorConfig {
  const { env } = settings
  const address = addressOf(settings)
  const tlsPort = settings.port('proxy-tls-port')
  const checkPort = settings.port('check-port')
  return {
    part: partOf(settings.text('activator-part')),
    tlsPolicy: tlsPolicyOf(settings),
    proxyProtocol: settings.boolean('proxy-protocol', false),
    peerPort: settings.port('peer-port') ?? 0,
    peerLeaseMs: peerLeaseOf(settings),
    companions: settings.boolean('companions', address !== undefined && !isLoopback(address)),
    trustedProxies: trustedProxiesOf(settings.text('trusted-proxies')),
    requireDomainGrant: settings.boolean('require-domain-grant', false),
    domainReleaseMs: settings.duration('domain-release-after', 600_000),
    compatibility: compatibilityOf(settings.text('compatibility')),
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

function compatibilityOf(found: ReturnType<Settings['text']>): readonly CompatibleTool[] {
  const names = (found?.text ?? '').split(',').flatMap((name) => name.trim() || [])
  return names.map((name) => {
    const tool = compatibleTools.find((each) => each === name)
    if (tool) return tool
    throw new ConfigError(`${found?.where} is ${JSON.stringify(name)}: it must be ${compatibleTools.join(' or ')}`)
  })
}

function partOf(found: ReturnType<Settings['text']>): Part {
  const part = (['all', 'scaler', 'proxy'] as const).find((each) => each === (found?.text ?? 'all'))
  if (!part) throw new ConfigError(`${found?.where} is ${JSON.stringify(found?.text)}: it must be all, scaler or proxy`)
  return part
}

function trustedProxiesOf(found: ReturnType<Settings['text']>): readonly string[] {
  const ranges = (found?.text ?? '').split(',').flatMap((range) => range.trim() || [])
  for (const range of ranges) {
    const problem = trustedProxyProblem(range)
    if (problem !== undefined)
      throw new ConfigError(`${found?.where}: ${JSON.stringify(range)} cannot be used: ${problem}`)
  }
  return ranges
}

/** Lease durations are whole seconds, and a holder needs a few attempts to renew. */
function peerLeaseOf(settings: Settings): number {
  const leaseMs = settings.duration('peer-lease', 15_000)
  if (leaseMs >= 3000 && leaseMs % 1000 === 0) return leaseMs
  const { text, where } = settings.text('peer-lease') ?? { text: '', where: '' }
  throw new ConfigError(`${where} is ${JSON.stringify(text)}: it must be at least 3s, in whole seconds`)
}

function tlsPolicyOf(settings: Settings): TlsPolicy {
  const version = settings.text('proxy-tls-min-version')
  if (version && version.text !== '1.2' && version.text !== '1.3')
    throw new ConfigError(`${version.where} is ${JSON.stringify(version.text)}: it must be 1.2 or 1.3`)
  const ciphers = settings.text('proxy-tls-ciphers')
  const groups = settings.text('proxy-tls-groups')
  const lists = [
    ciphers && { where: ciphers.where, terms: { ciphers: ciphers.text } },
    groups && { where: groups.where, terms: { ecdhCurve: groups.text } },
  ]
  for (const list of lists) {
    const fault = list && tlsPolicyError(list.terms)
    if (list && fault !== undefined) throw new ConfigError(`${list.where} cannot be used: ${fault}`)
  }
  return {
    ...(version ? { minVersion: version.text === '1.3' ? 'TLSv1.3' : 'TLSv1.2' } : {}),
    ...lists.reduce((all, list) => ({ ...all, ...list?.terms }), {}),
  }
}

function addressOf(settings: Settings): string | undefined {
  const { POD_IP: podIp } = settings.env
  const found = settings.text('proxy-address') ?? (podIp ? { text: podIp, where: 'POD_IP' } : undefined)
  if (!found || isIP(found.text) !== 0) return found?.text
  throw new ConfigError(`${found.where} is ${JSON.stringify(found.text)}: it must be an IP address`)
}

function portRangeOf(found: { readonly text: string; readonly where: string } | undefined): {
  readonly from: number
  readonly to: number
} {
  const { text, where } = found ?? { text: '20000-29999', where: '' }
  const [, from = 0, to = 0] = (/^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []).map(Number)
  if (from > 0 && from <= to && to <= 65_535) return { from, to }
  throw new ConfigError(`${where} is ${JSON.stringify(text)}: it must be two ports such as 20000-29999`)
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}
