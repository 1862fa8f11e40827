import { ConfigError } from '../../client/cluster-config.ts'
import { duration, readAll, text, toggle, type Lookup } from './settings.ts'

/** How users sign in at the role `dashboard`: see docs/guide/dashboard.md. '' where a setting is absent. */
const textSettings = {
  'oidc-issuer': text('URL: Dashboard: issuer of the OpenID Connect provider (default: none)', ''),
  'oidc-client-id': text('ID: Dashboard: its client ID at the provider', ''),
  'oidc-client-secret-file': text('FILE: Dashboard: file with the client secret (default: a public client)', ''),
  'oidc-ca-file': text('FILE: Dashboard: certificates to trust for the provider, PEM', ''),
  'oidc-scopes': text('SCOPES: Dashboard: scopes', 'openid email groups offline_access'),
  'oidc-username-claim': text('CLAIM: Dashboard: claim with the user name, for --impersonate', 'email'),
  'oidc-groups-claim': text('CLAIM: Dashboard: claim with the groups, for --impersonate', 'groups'),
  'oidc-username-prefix': text('TEXT: Dashboard: put before user names, for --impersonate', ''),
  'oidc-groups-prefix': text('TEXT: Dashboard: put before groups, for --impersonate', ''),
  'proxy-user-header': text(
    'NAME: Dashboard: header in which one of --trusted-proxies names the user, to be impersonated (default: none)',
    '',
  ),
  'proxy-groups-header': text('NAME: Dashboard: header with the groups, separated by commas (default: none)', ''),
  'impersonate-groups': text('GROUP,…: Dashboard: the only groups to impersonate (default: all but system: ones)', ''),
}

const otherSettings = {
  /** Whether the dashboard's account impersonates users of OpenID Connect; otherwise it passes their ID tokens on. */
  impersonate: toggle('Dashboard: impersonate users (default: pass their ID tokens on)', false),
  'session-idle': duration('DURATION: Dashboard: end of unused sessions', '1h'),
  'session-max': duration('DURATION: Dashboard: end of all sessions', '12h'),
}

export const dashboardSettings = { ...textSettings, ...otherSettings }

export type DashboardConfig = ReturnType<typeof readDashboardConfig>

export function readDashboardConfig(look: Lookup, publicUrl: string | undefined) {
  const entries = Object.entries(textSettings).map(([flag, { read }]) => [flag, read(look(flag))])
  const texts = Object.fromEntries(entries) as Readonly<Record<keyof typeof textSettings, string>>
  const issuer = texts['oidc-issuer']
  if (issuer !== '' && (!URL.canParse(issuer) || new URL(issuer).protocol !== 'https:'))
    throw new ConfigError(`--oidc-issuer is ${JSON.stringify(issuer)}: it must be an https URL`)
  if (issuer !== '' && texts['oidc-client-id'] === '') throw new ConfigError('--oidc-issuer needs --oidc-client-id')
  if (issuer !== '' && (publicUrl === undefined || new URL(publicUrl).pathname !== '/'))
    throw new ConfigError('--oidc-issuer needs --public-url, without a path: the provider sends users back there')
  if (texts['proxy-user-header'] !== '' && !look('trusted-proxies'))
    throw new ConfigError('--proxy-user-header needs --trusted-proxies: any client could name itself otherwise')
  return { texts, ...readAll(otherSettings, look) }
}
