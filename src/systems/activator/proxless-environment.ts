import { ConfigError } from '../../client/cluster-config.ts'
import type { ActivatorOptions } from './activator-parts.ts'
import { settingDefaults } from './model/service-settings.ts'
import type { ProxyLimits } from './proxy/routing/ports.ts'

/** What proxless's environment variables say, in our words. */
export interface ProxlessEnvironment {
  readonly options: Pick<ActivatorOptions, 'namespace' | 'defaults'>
  readonly limits: Partial<ProxyLimits>
  readonly proxyPort: number | undefined
  readonly kubeconfig: string | undefined
  readonly logLevel: 'debug' | 'info' | 'error' | undefined
  /** Variables that are set and no longer needed: state is shared through the API, and changes are watched. */
  readonly unneeded: readonly string[]
}

const unneeded = [
  'PROXLESS_SERVICE',
  'REDIS_URL',
  'SCALE_DOWN_CHECK_INTERVAL_SECONDS',
  'SERVICES_INFORMER_RESYNC_INTERVAL_SECONDS',
]

/** Reads the environment of a proxless installation. A number that is none is refused by the name of its variable. */
export function proxlessEnvironment(env: Readonly<Record<string, string | undefined>>): ProxlessEnvironment {
  const ttl = wholeNumber(env, 'SERVERLESS_TTL_SECONDS', 1)
  const readiness = wholeNumber(env, 'DEPLOYMENT_READINESS_TIMEOUT_SECONDS', 0)
  const connections = wholeNumber(env, 'MAX_CONS_PER_HOST', 1)
  const namespace = scopeOf(env)
  return {
    options: {
      ...(namespace === undefined ? {} : { namespace }),
      defaults: {
        ttlMs: ttl === undefined ? settingDefaults.ttlMs : ttl * 1000,
        readinessTimeoutMs: readiness === undefined ? settingDefaults.readinessTimeoutMs : readiness * 1000,
      },
    },
    limits: connections === undefined ? {} : { maxConnectionsPerPod: connections },
    proxyPort: wholeNumber(env, 'PORT', 0),
    kubeconfig: env['KUBE_CONFIG_PATH'] || undefined,
    logLevel: levelOf(env['LOG_LEVEL']),
    unneeded: unneeded.filter((name) => env[name] !== undefined && env[name] !== ''),
  }
}

/** The variables of proxless that say what settings of ours say, under the names of ours. */
export function proxlessSettings(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const { proxyPort, logLevel } = proxlessEnvironment(env)
  return {
    ...(proxyPort === undefined ? {} : { SOJOURN_PROXY_PORT: String(proxyPort) }),
    ...(logLevel === undefined ? {} : { SOJOURN_LOG_LEVEL: logLevel }),
  }
}

/** `NAMESPACE` by itself names the one namespace to look after; later versions split it in two. */
function scopeOf(env: Readonly<Record<string, string | undefined>>): string | undefined {
  if (env['NAMESPACE']) return env['NAMESPACE']
  const scoped = env['NAMESPACE_SCOPED']?.toLowerCase()
  if (scoped === undefined || scoped === '') return undefined
  if (!['true', 'false', '1', '0', 't', 'f'].includes(scoped))
    throw new ConfigError(`NAMESPACE_SCOPED: "${scoped}" is neither true nor false`)
  return scoped.startsWith('t') || scoped === '1' ? env['PROXLESS_NAMESPACE'] || 'proxless' : undefined
}

function wholeNumber(
  env: Readonly<Record<string, string | undefined>>,
  name: string,
  least: number,
): number | undefined {
  const text = env[name]?.trim()
  if (text === undefined || text === '') return undefined
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= least) return value
  throw new ConfigError(`${name}: "${text}" is not a whole number of at least ${least}`)
}

function levelOf(text: string | undefined): 'debug' | 'info' | 'error' | undefined {
  if (text === undefined || text === '') return undefined
  const level = text.toUpperCase()
  if (level === 'DEBUG' || level === 'VERBOSE') return 'debug'
  return level === 'ERROR' || level === 'FATAL' || level === 'PANIC' ? 'error' : 'info'
}
