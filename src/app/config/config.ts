import { readFileSync } from 'node:fs'
import { ConfigError } from '../../client/cluster-config.ts'
import { isRecord } from '../../kube/basics/json.ts'
import { yaml } from '../../kube/yaml.ts'
import { allowedOutgoingProblem } from '../../runtime/http/outgoing.ts'
import { proxlessSettings } from '../../systems/activator/proxless-environment.ts'
import { activatorSettings, readActivatorConfig } from './activator-config.ts'
import { dashboardSettings, readDashboardConfig } from './dashboard-config.ts'
import { flagOf, type ConfigFlag } from './flags.ts'
import { savingsSettings } from './savings-config.ts'
import {
  camelCase,
  count,
  duration,
  entriesOf,
  flagsIn,
  oneOf,
  port,
  readAll,
  setting,
  text,
  toggle,
  url,
  wordsIn,
  type Found,
  type Lookup,
} from './settings.ts'
import { readTenancyConfig, tenancySettings } from './tenancy-config.ts'

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

/** The settings of `sojourn up` and `sojourn run`, each of which is documented; env and file use the same names (`SOJOURN_PROXY_PORT`, `proxyPort`). */
const settings = {
  data: text('DIR: Data directory of the embedded server', '.sojourn'),
  host: text('ADDRESS: Address to listen on', '127.0.0.1'),
  port: port('PORT: HTTPS port of API and dashboard; 0 picks a free one', 7443),
  'proxy-port': port('PORT: HTTP port of the activator; 0 picks a free one', 7080),
  only: setting(
    {
      type: 'string',
      help: `Run only these roles: ${roles.join(', ')}`,
      value: 'ROLE,…',
      completes: { listOf: roles },
    },
    rolesIn,
  ),
  'dry-run': toggle('Make all decisions; delete nothing, promote nothing', false),
  'log-level': oneOf('LEVEL: debug, info or error', ['debug', 'info', 'error'], 'info'),
  kubeconfig: text('FILE: Kubeconfig of the cluster'),
  context: setting(
    { type: 'string', help: 'Context of the kubeconfig', value: 'NAME', completes: 'contexts' },
    (found) => found?.text,
  ),
  'events-address': url("URL: Address of Flux's notification controller, for events of promotions (default: none)"),
  'swabbie-config': text('FILE: A swabbie.yml whose policies the janitor runs'),
  'max-departures-per-minute': count('N: Deletions per minute that open the circuit breaker (default: 1000)'),
  'max-departures-per-hour': count('N: Deletions of one kind per hour that open the circuit breaker (default: 5000)'),
  'max-departures-percent': count(
    'N: Percent of one kind deleted per hour that opens the circuit breaker (default: 50)',
  ),
  'namespace-share': count(
    'N: Percent of the limits per minute and hour that one namespace may use; 100: no limits per namespace (default: 10)',
  ),
  'keep-records': duration('DURATION: How long departure records are kept', '30d'),
  'record-secrets': toggle(
    'Keep the data of Secrets in records, encrypted with the keys in Secret sojourn-system/sojourn-record-keys',
    false,
  ),
  durable: toggle('Writes survive a power failure (default: true; --no-durable is faster)', true),
  'tls-cert': text('FILE: Certificate of the HTTPS port of "sojourn run", PEM'),
  'tls-key': text('FILE: Its key, PEM; both files are re-read when they change'),
  'collect-cycles': toggle('Delete cycles of owners that nothing else owns (default: report them)', false),
  'cluster-name': text(
    'NAME: Name of this cluster in notices (default: the context, else from the uid of kube-system)',
  ),
  'public-url': url('URL: Public URL of this server, for links in notices'),
  'allow-outgoing': setting(
    'DESTINATION,…: What URLs of tenants may reach beside public addresses: CIDR or host[:port], or none (default: none; "up": this machine and private ranges)',
    (found) => found && (found.text === 'none' ? [] : entriesOf(found, allowedOutgoingProblem)),
  ),
  namespaces: setting(
    'NAME,…: Namespaces to watch where the right to watch a kind in all of them is missing (default: found by access reviews)',
    (found) => found && entriesOf(found, namespaceProblem),
  ),
}

/** The flags of `sojourn up` and `sojourn run`. */
export const configFlags: Readonly<Record<string, ConfigFlag>> = {
  config: flagOf('FILE: A configuration file (default: sojourn.yaml, if it exists)'),
  ...flagsIn({ ...settings, ...savingsSettings, ...activatorSettings, ...tenancySettings, ...dashboardSettings }),
}

export type Config = ReturnType<typeof readConfig>

export interface ConfigSources {
  /** By flag name, as given on the command line. */
  readonly flags: Readonly<Record<string, string | boolean | undefined>>
  readonly env: Readonly<Record<string, string | undefined>>
  /** Whether the environment may be that of a proxless installation. Defaults to false. */
  readonly proxless?: boolean
}

/** Reads the configuration: flags over environment over file over defaults. Throws ConfigError that names the setting and how to fix it. */
export function readConfig({ flags, env: given, proxless = false }: ConfigSources) {
  const env = proxless ? { ...proxlessSettings(given), ...given } : given
  const look = lookupOf(flags, env)
  const values = readAll(settings, look)
  return {
    ...values,
    savings: readAll(savingsSettings, look),
    activator: readActivatorConfig(look, proxless ? env : {}),
    dashboard: readDashboardConfig(look, values.publicUrl),
    tenancy: readTenancyConfig(look),
  }
}

function lookupOf(flags: ConfigSources['flags'], env: ConfigSources['env']): Lookup {
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

function namespaceProblem(name: string): string | undefined {
  return /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name) ? undefined : 'it is no name of a namespace'
}

function rolesIn(found: Found | undefined): readonly Role[] {
  if (!found) return roles
  const names = wordsIn(found.text)
  const unknown = names.find((name) => !roles.includes(name as Role))
  if (unknown !== undefined)
    throw new ConfigError(`${found.where} names the unknown role "${unknown}"; roles are ${roles.join(', ')}`)
  if (names.length === 0) throw new ConfigError(`${found.where} names no role; roles are ${roles.join(', ')}`)
  return names as Role[]
}
