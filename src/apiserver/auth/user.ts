import type { Place } from '../../kube/object.ts'
import type { User } from '../objects/contract/request.ts'

export type { User }

/** Members of this group may do everything, regardless of roles. */
export const mastersGroup = 'system:masters'
/** Every authenticated user is a member. */
export const authenticatedGroup = 'system:authenticated'
/** The group of requests without credentials. */
export const unauthenticatedGroup = 'system:unauthenticated'

/** The user of requests without credentials. */
export const anonymous: User = { name: 'system:anonymous', groups: [unauthenticatedGroup] }

/** The user, with the group of all authenticated users added. */
export function authenticated(user: User): User {
  return user.groups.includes(authenticatedGroup) ? user : { ...user, groups: [...user.groups, authenticatedGroup] }
}

/** The user of a ServiceAccount: `system:serviceaccount:NAMESPACE:NAME`. */
export function serviceAccountUser({ namespace, name, uid }: Required<Place> & { readonly uid?: string }): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    ...(uid === undefined ? {} : { uid }),
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, authenticatedGroup],
  }
}

/** Namespace and name of a ServiceAccount's user name; undefined for any other user. */
export function parseServiceAccountUser(userName: string): Required<Place> | undefined {
  const [system, serviceaccount, namespace, name, ...rest] = userName.split(':')
  if (system !== 'system' || serviceaccount !== 'serviceaccount' || !namespace || !name || rest.length > 0)
    return undefined
  return { namespace, name }
}
