import { isIP } from 'node:net'
import { tlsPolicyError, type TlsPolicy } from '../../systems/activator/proxy/tls/tls-policy.ts'
import { compatibleTools, type CompatibleTool } from '../../systems/activator/cluster/sleep-rules.ts'
import { trustedProxyProblem } from '../../systems/activator/proxy/routing/trusted-proxies.ts'
import { proxlessEnvironment } from '../../systems/activator/proxless-environment.ts'
import { ConfigError } from '../../client/cluster-config.ts'
import { parseLongDuration } from '../../kube/time.ts'
import { duration, list, oneOf, parsed, port, readAll, setting, toggle, type Found, type Lookup } from './settings.ts'

/** The settings of the activator. */
export const activatorSettings = {
  'activator-part': oneOf(
    'PART: What this process does: all, scaler (decide and scale, take no requests) or proxy (take requests, change nothing)',
    ['all', 'scaler', 'proxy'],
    'all',
  ),
  'proxy-tls-port': port('PORT: HTTPS port of the activator, with certificates from Secrets (default: none)'),
  'proxy-tls-min-version': setting(
    'VERSION: Minimum TLS version of clients of the activator: 1.2 or 1.3 (default: 1.2)',
    (found): TlsPolicy => {
      const version = parsed(found, 'it must be one of 1.2, 1.3', (text) => tlsVersions.get(text))
      return version ? { minVersion: version } : {}
    },
  ),
  'proxy-tls-ciphers': setting(
    "LIST: Cipher suites of the activator, in OpenSSL's format (default: Node's)",
    tlsTerm('ciphers'),
  ),
  'proxy-tls-groups': setting(
    "LIST: Groups for the activator's key exchange, such as X25519:P-256 (default: Node's)",
    tlsTerm('ecdhCurve'),
  ),
  'proxy-protocol': toggle('Connections to the proxy begin with a PROXY protocol header', false),
  'proxy-address': setting(
    'ADDRESS: Address at which the cluster reaches this replica of the proxy (default: POD_IP)',
    addressIn,
  ),
  'peer-port': port('PORT: Port for traffic between replicas of the activator; 0 picks a free one', 0),
  'peer-lease': {
    ...setting(
      'DURATION: How long a killed replica of the activator still counts as alive; the same for all replicas (default: 15s)',
      peerLeaseIn,
    ),
    unit: 'Ms' as const,
  },
  companions: toggle(
    'Create a Service NAME-proxless for callers inside the cluster (default: where the cluster reaches the proxy)',
    undefined,
  ),
  takeover: toggle(
    'Take over Services annotated with sojourn.dev/takeover (default: where the cluster reaches the proxy)',
    undefined,
  ),
  'takeover-ports': setting(
    'FROM-TO: The ports at which the proxies listen for Services that are taken over (default: 20000-29999)',
    portRangeIn,
  ),
  'check-port': port('PORT: Port at which other proxies wait until a workload is up: forward auth (default: none)'),
  'trusted-proxies': list(
    'CIDR,…: Proxies in front whose X-Forwarded-*, Forwarded and --proxy-*-header fields are believed; those of other clients are dropped (default: none)',
    trustedProxyProblem,
  ),
  'access-log': toggle(
    'Write a line of JSON for every request to the standard output: client, host, path without query, status, bytes, seconds',
    false,
  ),
  'require-domain-grant': toggle(
    'Serve only domains that the annotation sojourn.dev/domains of a Namespace reserves for it',
    false,
  ),
  'domain-release-after': duration(
    'DURATION: How long a domain stays reserved for its namespace after the last Service has given it up',
    '10m',
  ),
  compatibility: list<CompatibleTool>(
    'TOOL,…: Read the sleep rules of these tools, whose own controllers must not run any more: downscaler, kube-green (default: none)',
    toolProblem,
  ),
  drain: duration('DURATION: How long requests may take to end when stopping', '3s'),
  'drain-delay': duration('DURATION: How long requests are still accepted after becoming unready, when stopping', '0s'),
}

/** Reads the activator's settings; `env` may be that of a proxless installation. */
export function readActivatorConfig(look: Lookup, env: Readonly<Record<string, string | undefined>>) {
  const { proxyTlsMinVersion, proxyTlsCiphers, proxyTlsGroups, ...values } = readAll(activatorSettings, look)
  const { POD_IP: podIp, POD_NAME: name } = env
  const proxyAddress = values.proxyAddress ?? addressIn(podIp ? { text: podIp, where: 'POD_IP' } : undefined)
  return {
    ...values,
    tlsPolicy: { ...proxyTlsMinVersion, ...proxyTlsCiphers, ...proxyTlsGroups },
    /** The address at which the cluster reaches this replica; undefined where it cannot. */
    proxyAddress,
    companions: values.companions ?? (proxyAddress !== undefined && !isLoopback(proxyAddress)),
    /** The name of this replica. Defaults to host and process. */
    name: name || undefined,
    /** What the environment of a proxless installation says. */
    proxless: proxlessEnvironment(env),
  }
}

const tlsVersions = new Map<string, 'TLSv1.2' | 'TLSv1.3'>([
  ['1.2', 'TLSv1.2'],
  ['1.3', 'TLSv1.3'],
])

function tlsTerm(term: 'ciphers' | 'ecdhCurve') {
  return (found: Found | undefined): TlsPolicy => {
    if (!found) return {}
    const policy = { [term]: found.text }
    const fault = tlsPolicyError(policy)
    if (fault !== undefined) throw new ConfigError(`${found.where} cannot be used: ${fault}`)
    return policy
  }
}

function toolProblem(name: string): string | undefined {
  return compatibleTools.some((each) => each === name) ? undefined : `it must be ${compatibleTools.join(' or ')}`
}

/** Lease durations are whole seconds, and a holder needs a few attempts to renew. */
function peerLeaseIn(found: Found | undefined): number {
  const read = (text: string) => [parseLongDuration(text) ?? 0].find((ms) => ms >= 3000 && ms % 1000 === 0)
  return parsed(found, 'it must be at least 3s, in whole seconds', read) ?? 15_000
}

function addressIn(found: Found | undefined): string | undefined {
  return parsed(found, 'it must be an IP address', (text) => (isIP(text) === 0 ? undefined : text))
}

function portRangeIn(found: Found | undefined): { readonly from: number; readonly to: number } {
  const read = (text: string) => {
    const [, from = 0, to = 0] = (/^(\d{1,5})-(\d{1,5})$/.exec(text) ?? []).map(Number)
    return from > 0 && from <= to && to <= 65_535 ? { from, to } : undefined
  }
  return parsed(found, 'it must be two ports such as 20000-29999', read) ?? { from: 20_000, to: 29_999 }
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}
