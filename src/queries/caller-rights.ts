import { isAllowed } from '../client/access-review.ts'
import type { Client } from '../client/client.ts'
import type { ObjectRef } from '../kube/object.ts'
import type { RouteUser } from '../runtime/http/route.ts'

/** Asks the cluster what the caller of a route may read. Without an object: whether the caller may read everything. */
export function mayGet(
  client: Client,
): (user: RouteUser, object?: Pick<ObjectRef, 'apiVersion' | 'kind' | 'namespace'>) => Promise<boolean> {
  return async ({ name: user, groups }, object) => {
    const type = object && (await client.discovery.typeOf(object))
    if (object && !type) return false
    const { group, plural: resource } = type ?? { group: '*', plural: '*' }
    const resourceAttributes = { verb: 'get', group, resource, namespace: object?.namespace ?? '' }
    return isAllowed(client, { user, groups, resourceAttributes })
  }
}
