import { trustedProxies } from '../../systems/activator/proxy/routing/trusted-proxies.ts'
import type { Config } from '../config/config.ts'
import type { DashboardConfig } from '../config/dashboard-config.ts'

/** A user as another server names it, to be impersonated; a text says why there is none. */
export type Named = { readonly user: string; readonly groups: readonly string[] } | string

/** The user that a provider's claims name. */
export function userInClaims(claims: Readonly<Record<string, unknown>>, texts: DashboardConfig['texts']): Named {
  const claim = texts['oidc-username-claim']
  const [name, found = []] = [claims[claim], claims[texts['oidc-groups-claim']]]
  if (typeof name !== 'string' || name === '') return `The provider sent no claim "${claim}".`
  if (claim === 'email' && ![undefined, true, 'true'].includes(claims.email_verified as boolean))
    return `The provider has not verified ${name}.`
  const groups: readonly unknown[] = Array.isArray(found) ? found : [found]
  if (!groups.every((group) => typeof group === 'string')) return 'The provider sent groups that are not texts.'
  const prefixed = groups.map((group) => texts['oidc-groups-prefix'] + group)
  return checked(texts['oidc-username-prefix'] + name, prefixed, texts)
}

/** A request as it arrived. */
export interface Arrival {
  /** Of the connection. */
  readonly remoteAddress: string
  readonly rawHeaders: readonly string[]
}

/** The user whom an authenticating proxy names; undefined for requests of anyone but `--trusted-proxies`, whose headers are not read. */
export function userOfProxy({ dashboard: { texts }, activator }: Config): (request: Arrival) => Named | undefined {
  const [userHeader, groupsHeader] = [texts['proxy-user-header'], texts['proxy-groups-header']]
  const isTrusted = trustedProxies(userHeader === '' ? [] : activator.trustedProxies)
  return ({ remoteAddress, rawHeaders }) => {
    if (!isTrusted(remoteAddress)) return undefined
    const valuesOf = (name: string) =>
      rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name.toLowerCase())
    const [users, groups] = [valuesOf(userHeader), groupsHeader === '' ? [] : valuesOf(groupsHeader)]
    // A proxy that adds its header behind one of the client's would let the client choose.
    if (users.length > 1 || groups.length > 1) return 'The proxy sent a header with the user or the groups twice.'
    if (!users[0]) return `The proxy sent no header ${userHeader}.`
    const named = (groups[0] ?? '').split(',').map((group) => group.trim())
    return checked(users[0], named.filter(Boolean), texts)
  }
}

/** Only names that Kubernetes does not reserve, and that a header can carry unchanged. */
function checked(user: string, given: readonly string[], texts: DashboardConfig['texts']): Named {
  const allowed = texts['impersonate-groups'].split(',').filter(Boolean)
  const groups = [...new Set(given)].filter((group) => allowed.length === 0 || allowed.includes(group))
  const reserved = [user, ...groups].find((name) => /^\s*system:/i.test(name))
  if (reserved !== undefined) return `"${reserved}" is a name that Kubernetes reserves: it is never impersonated.`
  const odd = [user, ...groups].find((name) => !/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(name))
  return odd === undefined ? { user, groups } : `The name ${JSON.stringify(odd)} cannot be impersonated.`
}
