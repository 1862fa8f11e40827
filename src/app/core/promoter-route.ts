import { isAllowed } from '../../client/access-review.ts'
import { approval } from '../../apis/approval.ts'
import { pipeline } from '../../apis/pipeline.ts'
import type { Kind } from '../../apis/define-kind.ts'
import type { Client } from '../../client/client.ts'
import type { Route, RouteUser } from '../../runtime/http/route.ts'
import type { Promoter } from '../../systems/promoter/controller.ts'

/**
 * Serves a route of the promoter, which checks signatures over the body's bytes. A signed-in user who may create Approvals in the
 * namespace needs no signature; any other user counts as anonymous to the route. Routes for users need the right to get Pipelines there.
 */
export function promoterRoute({ method, path, access, handle }: Promoter['routes'][number], client: Client): Route {
  return {
    method,
    path,
    authenticated: access === 'user',
    async handle({ url, headers, body, remoteAddress, user }) {
      const isForUsers = access === 'user'
      const isEntitled = user && (await mayDo(client, user, { url, ...(isForUsers ? reading : approving) }))
      if (isForUsers && !isEntitled) return { status: 404, body: { message: 'pipeline not found' } }
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

const approving = { verb: 'create', kind: approval }
const reading = { verb: 'get', kind: pipeline }

/** Whether a user may do this in the namespace that the path names. */
async function mayDo(
  client: Client,
  { name: user, groups }: RouteUser,
  { url, verb, kind }: { readonly url: string; readonly verb: string; readonly kind: Kind },
): Promise<boolean> {
  const [, namespace = ''] = /^\/(?:v1\/namespaces|approval)\/([^/?]+)/.exec(url) ?? []
  const { group, plural: resource } = kind
  const resourceAttributes = { group, resource, verb, namespace: decodeURIComponent(namespace) }
  return isAllowed(client, { user, groups, resourceAttributes })
}
