import { isAllowed } from '../../client/access-review.ts'
import { approval } from '../../apis/approval.ts'
import type { Client } from '../../client/client.ts'
import type { Route, RouteUser } from '../../runtime/http/route.ts'
import type { Promoter } from '../../systems/promoter/controller.ts'

/**
 * Serves a route of the promoter, which checks signatures over the body's bytes. A signed-in user who may create Approvals in the
 * namespace needs no signature; any other user counts as anonymous to the route.
 */
export function promoterRoute({ method, path, access, handle }: Promoter['routes'][number], client: Client): Route {
  return {
    method,
    path,
    authenticated: access === 'user',
    async handle({ url, headers, body, remoteAddress, user }) {
      const isEntitled = user && (access === 'user' || (await mayApprove(client, user, url)))
      const answer = await handle({
        method,
        path: url,
        headers,
        body: Buffer.from(body, 'utf8'),
        remoteAddress,
        ...(isEntitled ? { user: user.name } : {}),
      })
      return { body: undefined, ...answer }
    },
  }
}

async function mayApprove(client: Client, { name: user, groups }: RouteUser, url: string): Promise<boolean> {
  const [, namespace = ''] = /^\/(?:v1\/namespaces|approval)\/([^/?]+)/.exec(url) ?? []
  const resourceAttributes = {
    group: approval.group,
    resource: approval.plural,
    verb: 'create',
    namespace: decodeURIComponent(namespace),
  }
  return isAllowed(client, { user, groups, resourceAttributes })
}
