import { ConfigError } from '../../client/cluster-config.ts'
import type { Settings } from './activator-config.ts'
import { flagsOf } from './flags.ts'

/** How users sign in at the role `dashboard`: metavariable, help and default of each setting. See docs/guide/dashboard.md. */
const settings = {
  'oidc-issuer': ['URL', 'issuer of the OpenID Connect provider (default: none)', ''],
  'oidc-client-id': ['ID', 'its client ID at the provider', ''],
  'oidc-client-secret-file': ['FILE', 'file with the client secret (default: a public client)', ''],
  'oidc-ca-file': ['FILE', 'certificates to trust for the provider, PEM', ''],
  'oidc-scopes': ['SCOPES', 'scopes', 'openid email groups offline_access'],
  'oidc-username-claim': ['CLAIM', 'claim with the user name, for --impersonate', 'email'],
  'oidc-groups-claim': ['CLAIM', 'claim with the groups, for --impersonate', 'groups'],
  'oidc-username-prefix': ['TEXT', 'put before user names, for --impersonate', ''],
  'oidc-groups-prefix': ['TEXT', 'put before groups, for --impersonate', ''],
  'proxy-user-header': [
    'NAME',
    'header in which one of --trusted-proxies names the user, to be impersonated (default: none)',
    '',
  ],
  'proxy-groups-header': ['NAME', 'header with the groups, separated by commas (default: none)', ''],
  'impersonate-groups': ['GROUP,…', 'the only groups to impersonate (default: all but system: ones)', ''],
} as const

type Setting = keyof typeof settings

export interface DashboardConfig {
  /** '' where a setting is absent. */
  readonly texts: Readonly<Record<Setting, string>>
  /** Whether the dashboard's account impersonates users of OpenID Connect; otherwise it passes their ID tokens on. */
  readonly impersonate: boolean
  readonly sessionIdleMs: number
  readonly sessionMaxMs: number
}

const textFlags = Object.fromEntries(
  Object.entries(settings).map(([name, [value, help, otherwise]]) => {
    return [name, `${value}: Dashboard: ${help}${otherwise === '' ? '' : ` (default: ${otherwise})`}`]
  }),
) as Record<Setting, string>

export const dashboardFlags = flagsOf({
  ...textFlags,
  impersonate: 'Dashboard: impersonate users (default: pass their ID tokens on)',
  'session-idle': 'DURATION: Dashboard: end of unused sessions (default: 1h)',
  'session-max': 'DURATION: Dashboard: end of all sessions (default: 12h)',
})

export function readDashboardConfig(given: Settings, publicUrl: string | undefined): DashboardConfig {
  const entries = Object.entries(settings).map(([name, [, , otherwise]]) => [name, given.text(name)?.text ?? otherwise])
  const texts = Object.fromEntries(entries) as Record<Setting, string>
  const issuer = texts['oidc-issuer']
  if (issuer !== '' && (!URL.canParse(issuer) || new URL(issuer).protocol !== 'https:'))
    throw new ConfigError(`--oidc-issuer is ${JSON.stringify(issuer)}: it must be an https URL`)
  if (issuer !== '' && texts['oidc-client-id'] === '') throw new ConfigError('--oidc-issuer needs --oidc-client-id')
  if (issuer !== '' && (publicUrl === undefined || new URL(publicUrl).pathname !== '/'))
    throw new ConfigError('--oidc-issuer needs --public-url, without a path: the provider sends users back there')
  if (texts['proxy-user-header'] !== '' && !given.text('trusted-proxies'))
    throw new ConfigError('--proxy-user-header needs --trusted-proxies: any client could name itself otherwise')
  return {
    texts,
    impersonate: given.boolean('impersonate', false),
    sessionIdleMs: given.duration('session-idle', 3_600_000),
    sessionMaxMs: given.duration('session-max', 43_200_000),
  }
}
