import { StatusError } from '../../../kube/status-error.ts'
import { forbidden, type Access } from '../../auth/access.ts'
import {
  authenticated,
  parseServiceAccountUser,
  serviceAccountUser,
  unauthenticatedGroup,
  type User,
} from '../../auth/user.ts'
import type { EdgeRequest } from './edge-request.ts'

/** How impersonation is authorized. */
export interface ImpersonationCheck {
  /** Whether RBAC allows the sender this access. */
  readonly isAllowed: (access: Access) => boolean
  /** The access that the request itself asks for; errors name it. */
  readonly wanted: Access
}

/**
 * The request as the user named by its Impersonate headers. Throws Forbidden unless the sender may impersonate every
 * part of that identity: name, uid, groups and extras.
 */
export function applyImpersonation<R extends Pick<EdgeRequest, 'user' | 'headers'>>(
  request: R,
  { isAllowed, wanted }: ImpersonationCheck,
): R {
  const user = wantedUser(request.headers)
  if (!user) return request
  if (requiredAccess(user).every(isAllowed)) return { ...request, user: withOwnGroups(user) }
  const mode = parseServiceAccountUser(user.name) ? 'serviceaccount' : 'user-info'
  throw forbidden(request.user, { ...wanted, verb: `impersonate-on:${mode}:${wanted.verb}` })
}

function wantedUser(headers: Readonly<Record<string, string>>): User | undefined {
  const name = headers['impersonate-user'] ?? ''
  const uid = headers['impersonate-uid'] ?? ''
  const groups = listHeader(headers['impersonate-group'])
  const extra = extraHeaders(headers)
  const hasExtra = Object.keys(extra).length > 0
  if (name) return { name, groups, ...(uid ? { uid } : {}), ...(hasExtra ? { extra } : {}) }
  if (uid || groups.length > 0 || hasExtra) {
    const list = groups.map((group) => JSON.stringify(group)).join(', ')
    throw new StatusError(
      'BadRequest',
      `requested &user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:[]string{${list}}, Extra:map[string][]string(nil)} without impersonating a user name`,
    )
  }
  return undefined
}

function requiredAccess({ name, uid, groups, extra = {} }: User): Access[] {
  const impersonate = { verb: 'impersonate', subresource: '', namespace: '' }
  const account = parseServiceAccountUser(name)
  const authentication = { ...impersonate, group: 'authentication.k8s.io' }
  return [
    account
      ? { ...impersonate, group: '', resource: 'serviceaccounts', namespace: account.namespace, name: account.name }
      : { ...impersonate, group: '', resource: 'users', name },
    ...groups.map((group) => ({ ...impersonate, group: '', resource: 'groups', name: group })),
    ...(uid ? [{ ...authentication, resource: 'uids', name: uid }] : []),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => ({ ...authentication, resource: 'userextras', subresource: key, name: value })),
    ),
  ]
}

/** Adds the groups that follow from the user name; clients do not name them. */
function withOwnGroups(user: User): User {
  if (user.name === 'system:anonymous') {
    return user.groups.includes(unauthenticatedGroup)
      ? user
      : { ...user, groups: [...user.groups, unauthenticatedGroup] }
  }
  const account = parseServiceAccountUser(user.name)
  if (!account || user.groups.length > 0) return authenticated(user)
  return { ...user, groups: serviceAccountUser(account).groups }
}

/** Splits a header; repeated headers arrive joined by commas. */
function listHeader(value: string | undefined): string[] {
  return (value ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter(Boolean)
}

const extraPrefix = 'impersonate-extra-'

function extraHeaders(headers: Readonly<Record<string, string>>): Record<string, string[]> {
  const extra: Record<string, string[]> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith(extraPrefix)) extra[decodeKey(name.slice(extraPrefix.length))] = listHeader(value)
  }
  return extra
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key)
  } catch {
    return key
  }
}
