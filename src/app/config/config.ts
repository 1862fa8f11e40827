import { isRecord } from '../../kube/basics/json.ts'
import { readFileSync } from 'node:fs'
import { ConfigError } from '../../client/cluster-config.ts'
import { parseLongDuration } from '../../kube/time.ts'
import { yaml } from '../../kube/yaml.ts'
import { allowedOutgoingProblem } from '../../runtime/http/outgoing.ts'
import { proxlessSettings } from '../../systems/activator/proxless-environment.ts'
import { pricesIn, savingsFlags, type SavingsConfig } from './savings-config.ts'
import {
  activatorFlags,
  checkedList,
  readActivatorConfig,
  type ActivatorConfig,
  type Settings,
} from './activator-config.ts'
import { dashboardFlags, readDashboardConfig, type DashboardConfig } from './dashboard-config.ts'
import { flagsOf } from './flags.ts'
import { readTenancyConfig, tenancyFlags, type TenancyConfig } from './tenancy-config.ts'

/** The roles that a process can run, alone or together. */
export const roles = [
  'api',
  'cleaner',
  'collector',
  'janitor',
  'promoter',
  'activator',
  'environments',
  'workloads',
  'dashboard',
] as const
export type Role = (typeof roles)[number]

/** The configuration of `sojourn up` and `sojourn run`. More than 15 fields, because each is one documented setting. */
export interface Config {
  /** The data directory of the embedded server. Defaults to .sojourn. */
  readonly data: string
  /** The address to listen on. Defaults to 127.0.0.1, which only this machine can reach. */
  readonly host: string
  /** API, dashboard, metrics and health, over HTTPS; 0 picks a free one. Defaults to 7443. */
  readonly port: number
  /** The activator's HTTP proxy; 0 picks a free one. Defaults to 7080. */
  readonly proxyPort: number
  /** Which roles to run. Defaults to all. */
  readonly only: readonly Role[]
  /** Make all decisions; delete nothing, promote nothing. Defaults to false. */
  readonly dryRun: boolean
  /** The minimum log level. Defaults to info. */
  readonly logLevel: 'debug' | 'info' | 'error'
  /** Kubeconfig of the cluster to run against (`sojourn run`). Defaults to KUBECONFIG, then in-cluster. */
  readonly kubeconfig?: string
  /** Context of that kubeconfig. Defaults to its current one. */
  readonly context?: string
  /** The address of Flux's notification controller, for the promoter's events. Defaults to none. */
  readonly eventsAddress?: string
  /** A swabbie.yml whose policies the janitor runs. */
  readonly swabbieConfig?: string
  /** How many deletions open the circuit breaker. */
  readonly maxDeparturesPerMinute?: number
  readonly maxDeparturesPerHour?: number
  readonly maxDeparturesPercent?: number
  readonly namespaceShare?: number
  /** How long departure records are kept, in milliseconds. Defaults to 30 days. */
  readonly keepRecordsMs: number
  /** Whether records keep the data of Secrets, encrypted with the keys in Secret sojourn-record-keys. Defaults to false. */
  readonly recordSecrets: boolean
  /** Whether writes survive a power failure (fsync). Defaults to true. */
  readonly durable: boolean
  /** Certificate and key of the HTTPS port, as files (`sojourn run`). Default to ones it issues itself. */
  readonly tlsCert?: string
  readonly tlsKey?: string
  /** Whether the collector also deletes cycles of owners that nothing else owns. Defaults to false: they are reported. */
  readonly collectCycles: boolean
  /** The name of this cluster in notices. Defaults to the context of the kubeconfig, else to the beginning of kube-system's uid. */
  readonly clusterName?: string
  /** The public URL of this server, for links in notices. Defaults to its own address. */
  readonly publicUrl?: string
  /** Addresses beside public ones that URLs in tenants' objects may lead to. Defaults to none; in `sojourn up` to this machine and private ranges. */
  readonly allowOutgoing?: readonly string[]
  /** Namespaces in which kinds are watched that may not be watched in all. Defaults to those found by access reviews. */
  readonly namespaces?: readonly string[]
  readonly savings: SavingsConfig
  readonly activator: ActivatorConfig
  readonly tenancy: TenancyConfig
  readonly dashboard: DashboardConfig
}

/** The flags of `sojourn up` and `sojourn run`; env and file use the same names (`SOJOURN_PROXY_PORT`, `proxyPort`). */
export const configFlags = flagsOf({
  config: 'FILE: A configuration file (default: sojourn.yaml, if it exists)',
  data: 'DIR: Data directory of the embedded server (default: .sojourn)',
  host: 'ADDRESS: Address to listen on (default: 127.0.0.1)',
  port: 'PORT: HTTPS port of API and dashboard; 0 picks a free one (default: 7443)',
  'proxy-port': 'PORT: HTTP port of the activator; 0 picks a free one (default: 7080)',
  only: {
    type: 'string',
    help: `Run only these roles: ${roles.join(', ')}`,
    value: 'ROLE,…',
    completes: { listOf: roles },
  },
  'dry-run': 'Make all decisions; delete nothing, promote nothing',
  'log-level': {
    type: 'string',
    help: 'debug, info or error (default: info)',
    value: 'LEVEL',
    completes: ['debug', 'info', 'error'],
  },
  kubeconfig: 'FILE: Kubeconfig of the cluster',
  context: { type: 'string', help: 'Context of the kubeconfig', value: 'NAME', completes: 'contexts' },
  ...savingsFlags,
  'events-address': "URL: Address of Flux's notification controller, for events of promotions (default: none)",
  'swabbie-config': 'FILE: A swabbie.yml whose policies the janitor runs',
  'max-departures-per-minute': 'N: Deletions per minute that open the circuit breaker (default: 1000)',
  'max-departures-per-hour': 'N: Deletions of one kind per hour that open the circuit breaker (default: 5000)',
  'max-departures-percent': 'N: Percent of one kind deleted per hour that opens the circuit breaker (default: 50)',
  'namespace-share':
    'N: Percent of the limits per minute and hour that one namespace may use; 100: no limits per namespace (default: 10)',
  'keep-records': 'DURATION: How long departure records are kept (default: 30d)',
  'record-secrets':
    'Keep the data of Secrets in records, encrypted with the keys in Secret sojourn-system/sojourn-record-keys',
  durable: 'Writes survive a power failure (default: true; --no-durable is faster)',
  'tls-cert': 'FILE: Certificate of the HTTPS port of "sojourn run", PEM',
  'tls-key': 'FILE: Its key, PEM; both files are re-read when they change',
  'collect-cycles': 'Delete cycles of owners that nothing else owns (default: report them)',
  'cluster-name': 'NAME: Name of this cluster in notices (default: the context, else from the uid of kube-system)',
  'public-url': 'URL: Public URL of this server, for links in notices',
  'allow-outgoing':
    'DESTINATION,…: What URLs of tenants may reach beside public addresses: CIDR or host[:port], or none (default: none; "up": this machine and private ranges)',
  namespaces:
    'NAME,…: Namespaces to watch where the right to watch a kind in all of them is missing (default: found by access reviews)',
  ...activatorFlags,
  ...tenancyFlags,
  ...dashboardFlags,
})

export interface ConfigSources {
  /** By flag name, as given on the command line. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether the environment may be that of a proxless installation. Defaults to false. */
  readonly proxless?: boolean
}

/** Reads the configuration: flags over environment over file over defaults. Throws ConfigError that names the setting and how to fix it. */
export function readConfig({ flags, env: given, proxless = false }: ConfigSources): Config {
  const env = proxless ? { ...proxlessSettings(given), ...given } : given
  const look = lookupOf(flags, env)
  const settings: Settings = {
    port: (flag) => (look(flag) ? portOf(look(flag), 0) : undefined),
    text: look,
    boolean: (flag, otherwise) => booleanOf(look(flag), otherwise),
    duration: (flag, otherwise) => durationOf(look(flag), otherwise),
    oneOf: (flag, values, otherwise) => oneOf(look(flag), values, otherwise),
    env: proxless ? env : {},
  }
  const outgoing = look('allow-outgoing')
  const allowed = outgoing && { ...outgoing, text: outgoing.text.replace(/^none$/, '') }
  return {
    data: look('data')?.text ?? '.sojourn',
    host: look('host')?.text ?? '127.0.0.1',
    port: portOf(look('port'), 7443),
    proxyPort: portOf(look('proxy-port'), 7080),
    only: rolesOf(look('only')),
    dryRun: booleanOf(look('dry-run'), false),
    logLevel: oneOf(look('log-level'), ['debug', 'info', 'error'] as const, 'info'),
    keepRecordsMs: durationOf(look('keep-records'), 30 * 86_400_000),
    recordSecrets: booleanOf(look('record-secrets'), false),
    durable: booleanOf(look('durable'), true),
    collectCycles: booleanOf(look('collect-cycles'), false),
    activator: readActivatorConfig(settings),
    dashboard: readDashboardConfig(settings, urlOf(look('public-url'))),
    savings: {
      prices: pricesIn(look('prices')),
      horizonMs: durationOf(look('savings-horizon'), 30 * 86_400_000),
      mailChannels: (look('savings-mail')?.text ?? '').split(',').filter(Boolean),
      ...(look('opencost-url') ? { opencostUrl: urlOf(look('opencost-url')) ?? '' } : {}),
    },
    tenancy: readTenancyConfig(settings),
    ...optional(
      (flag) => look(flag)?.text,
      ['kubeconfig', 'context', 'swabbie-config', 'tls-cert', 'tls-key', 'cluster-name'],
    ),
    ...optional((flag) => countOf(look(flag)), countFlags),
    ...optional((flag) => look(flag) && checkedList(look(flag), namespaceProblem), ['namespaces']),
    ...optional(() => allowed && checkedList(allowed, allowedOutgoingProblem), ['allow-outgoing']),
    ...optional((flag) => urlOf(look(flag)), ['public-url', 'events-address']),
  }
}

const countFlags = 'max-departures-per-minute max-departures-per-hour max-departures-percent namespace-share'.split(' ')

/** The fields of these flags, without those that are not set. */
function optional(read: (flag: string) => unknown, flags: readonly string[]): Partial<Config> {
  const entries = flags.map((flag) => [camelCase(flag), read(flag)] as const)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** A setting as it was found, with where: `--port`, `SOJOURN_PORT`, `sojourn.yaml: port`. */
interface Found {
  readonly text: string
  readonly where: string
}

function lookupOf(flags: ConfigSources['flags'], env: ConfigSources['env']): (flag: string) => Found | undefined {
  const file = readFile(typeof flags.config === 'string' ? flags.config : env.SOJOURN_CONFIG)
  return (flag) => {
    const given = flags[flag]
    if (given !== undefined) return { text: String(given), where: `--${flag}` }
    const variable = `SOJOURN_${flag.toUpperCase().replaceAll('-', '_')}`
    const exported = env[variable]
    if (exported !== undefined && exported !== '') return { text: exported, where: variable }
    const field = camelCase(flag)
    const written = file.values[field]
    return written === undefined || written === null
      ? undefined
      : { text: textOf(written), where: `${file.path}: ${field}` }
  }
}

function textOf(written: unknown): string {
  if (Array.isArray(written)) return written.map(textOf).join(',')
  return typeof written === 'object' ? JSON.stringify(written) : String(written as string | number | boolean)
}

function readFile(named: string | undefined): { path: string; values: Record<string, unknown> } {
  const path = named ?? 'sojourn.yaml'
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const absent = (error as NodeJS.ErrnoException).code === 'ENOENT'
    if (absent && named === undefined) return { path, values: {} }
    throw new ConfigError(
      `cannot read the configuration file ${path}: ${absent ? 'it does not exist' : (error as Error).message}`,
      { cause: error },
    )
  }
  return { path, values: checkFile(path, text) }
}

function checkFile(path: string, text: string): Record<string, unknown> {
  let values: unknown
  try {
    values = yaml().parse(text) ?? {}
  } catch (error) {
    throw new ConfigError(`${path} is not YAML: ${(error as Error).message.split('\n')[0]}`, { cause: error })
  }
  if (!isRecord(values)) throw new ConfigError(`${path} must be a map of settings, such as "port: 7443"`)
  const known = Object.keys(configFlags).map(camelCase)
  const unknown = Object.keys(values).find((field) => !known.includes(field))
  if (unknown) throw new ConfigError(`${path}: unknown setting "${unknown}"; known are ${known.join(', ')}`)
  return values
}

/** A setting as a value. Throws ConfigError with `must` where it cannot be read. */
function parsed<T>(found: Found | undefined, must: string, read: (text: string) => T | undefined): T | undefined {
  const value = found && read(found.text)
  if (!found || value !== undefined) return value
  throw new ConfigError(`${found.where} is ${JSON.stringify(found.text)}: ${must}`)
}

function portOf(found: Found | undefined, fallback: number): number {
  const read = (text: string) => (/^\d{1,5}$/.test(text) && Number(text) <= 65_535 ? Number(text) : undefined)
  return parsed(found, 'a port is a number from 0 to 65535', read) ?? fallback
}

function countOf(found: Found | undefined): number | undefined {
  return parsed(found, 'it must be a whole number', (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined))
}

const booleans = new Map(['true', '1', 'yes', 'false', '0', 'no'].map((text, index) => [text, index < 3]))

function booleanOf(found: Found | undefined, fallback: boolean): boolean {
  return parsed(found, 'it must be true or false', (text) => booleans.get(text)) ?? fallback
}

function durationOf(found: Found | undefined, fallback: number): number {
  const read = (text: string) => [parseLongDuration(text)].find((ms) => ms !== undefined && ms >= 0)
  return parsed(found, 'a duration looks like 90m, 36h or 30d', read) ?? fallback
}

function urlOf(found: Found | undefined): string | undefined {
  const isUrl = (text: string) => /^https?:\/\//.test(text) && URL.canParse(text)
  return parsed(found, 'it must be an http(s) URL', (text) => (isUrl(text) ? text.replace(/\/$/, '') : undefined))
}

function namespaceProblem(name: string): string | undefined {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name) ? undefined : 'it is no name of a namespace'
}

function listOf(text: string): readonly string[] {
  return text
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean)
}

function oneOf<T extends string>(found: Found | undefined, values: readonly T[], fallback: T): T {
  const must = `it must be one of ${values.join(', ')}`
  return parsed(found, must, (text) => values.find((value) => value === text)) ?? fallback
}

function rolesOf(found: Found | undefined): readonly Role[] {
  if (!found) return roles
  const names = listOf(found.text)
  const unknown = names.find((name) => !roles.includes(name as Role))
  if (unknown !== undefined)
    throw new ConfigError(`${found.where} names the unknown role "${unknown}"; roles are ${roles.join(', ')}`)
  if (names.length === 0) throw new ConfigError(`${found.where} names no role; roles are ${roles.join(', ')}`)
  return names as Role[]
}

function camelCase(flag: string): string {
  return flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}
