import { sojournNamespace } from '../../apis/group.ts'
import { isAllowed } from '../../client/access-review.ts'
import type { Client } from '../../client/client.ts'
import type { ForecastEvent } from '../../forecast/event.ts'
import { leases } from '../../kube/core-types.ts'
import { groupResource } from '../../kube/object.ts'
import { userOfLeader } from '../core/leadership.ts'

const maxReviews = 200

/**
 * The rights that the running systems lack for the foretold deletions, a sentence each. Empty where the systems run elsewhere, or the
 * caller may not ask: a forecast takes rights for granted.
 */
export async function missingRights(source: Client, events: readonly ForecastEvent[]): Promise<readonly string[]> {
  const running = await source.list(leases, { namespace: sojournNamespace }).catch(() => undefined)
  const asked = new Map<string, string | undefined>()
  for (const { what, system, object } of events) {
    const user = userOfLeader(system, running?.items ?? [])
    const key = JSON.stringify([system, object.apiVersion, object.kind, object.namespace])
    if (what !== 'leaves' || !user || object.cluster || asked.has(key) || asked.size >= maxReviews) continue
    const type = await source.discovery.typeOf(object)
    if (!type) continue
    const { group, plural: resource } = type
    const where = object.namespace === undefined ? {} : { namespace: object.namespace }
    const spec = { user, groups: groupsOf(user), resourceAttributes: { verb: 'delete', group, resource, ...where } }
    const mayDelete = await isAllowed(source, spec).catch(() => true)
    const place = object.namespace === undefined ? '' : ` in namespace ${object.namespace}`
    asked.set(
      key,
      mayDelete ? undefined : `${user} may not delete ${groupResource(type)}${place}: the ${system} will keep them`,
    )
  }
  return [...new Set(asked.values())].filter((sentence) => sentence !== undefined)
}

/** The groups that RBAC may name for a ServiceAccount. */
function groupsOf(user: string): readonly string[] {
  const [, account, namespace] = /^system:(serviceaccount):([^:]+):/.exec(user) ?? []
  return ['system:authenticated', ...(account ? ['system:serviceaccounts', `system:serviceaccounts:${namespace}`] : [])]
}
