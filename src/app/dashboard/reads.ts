import { isAllowed } from '../../client/access-review.ts'
import type { Client } from '../../client/client.ts'
import { percentDecoded } from '../../kube/basics/percent-decoded.ts'
import { namespaces } from '../../kube/core-types.ts'
import { isStatusError } from '../../kube/status-error.ts'
import type { ApiRequest, Transport } from '../../kube/transport.ts'
import type { Route, RouteUser } from '../../runtime/http/route.ts'
import type { PagePorts } from './page-ports.ts'

const signInFirst = { status: 401, body: { message: 'Sign in first.' } }

/** The Kubernetes API with the rights of the user, read-only, without Secrets and subresources such as logs, proxies and tokens. */
export function readRoutes(transportOf: (user: RouteUser) => Transport): readonly Route[] {
  const route = (method: 'GET' | 'POST', path: RegExp): Route => ({
    method,
    path,
    // The API server authorizes the request itself.
    authenticated: false,
    async handle({ url, query: { timeoutSeconds = '60', ...query }, headers: { accept = '' }, body, user }) {
      if (!user) return signInFirst
      const path = url.split('?')[0] ?? ''
      if (method === 'GET' && !isReadable(path))
        return { status: 403, body: { message: 'The dashboard does not pass this on.' } }
      // A watch ends with its timeout, also for a browser that left without a word.
      const limit =
        query.watch === undefined ? {} : { timeoutSeconds: String(Math.min(60, Number(timeoutSeconds) || 60)) }
      const request: ApiRequest = {
        method,
        path,
        query: { ...query, ...limit },
        headers: { accept, 'content-type': 'application/json' },
      }
      const sent = method === 'POST' ? { ...request, body: JSON.parse(body) as unknown } : request
      const { status, stream, body: answer } = await transportOf(user)(sent)
      return {
        status,
        headers: { 'content-type': 'application/json', 'x-accel-buffering': 'no' },
        body: stream ?? answer,
      }
    },
  })
  const reviews = /^\/apis\/auth(?:entication|orization)\.k8s\.io\/v1\/selfsubject(?:access)?reviews$/
  return [route('GET', /^\/apis?(?:\/|$)/), route('POST', reviews)]
}

/** Judges the path as the API server reads it: decoded. */
export function isReadable(path: string): boolean {
  const segments = path.split('/').slice(1).map(percentDecoded)
  if (segments.some((segment) => segment === undefined || /^\.{0,2}$|\//.test(segment))) return false
  const own = segments.slice(segments[0] === 'api' ? 2 : 3)
  const isInside = own[0] === 'namespaces' && own.length > 2
  const [resource = '', , subresource] = isInside ? own.slice(2) : own
  // `watch` is the older way to watch a resource that is named behind it.
  return resource !== 'secrets' && resource !== 'watch' && subresource === undefined
}

const list = { verb: 'list', group: 'sojourn.dev', resource: 'environments' }
/** `GET /sojourn/v1alpha1/namespaces`: those whose environments the user may list. */
export function namespacesRoute({ clientAs, own }: PagePorts): Route {
  return {
    method: 'GET',
    path: '/sojourn/v1alpha1/namespaces',
    authenticated: false,
    async handle({ user }) {
      if (!user) return signInFirst
      const client = clientAs(user)
      const read = (by: Client) => by.list(namespaces, { limit: 500, metadataOnly: true })
      const { items } = await read(client).catch((error: unknown) => {
        if (isStatusError(error, 'Forbidden')) return read(own)
        throw error
      })
      const all = items.map(({ metadata }) => metadata.name)
      const names: string[] = []
      for (let from = 0; from < all.length; from += 20) {
        const some = all.slice(from, from + 20)
        const mayList = await Promise.all(
          some.map((namespace) => isAllowed(client, { resourceAttributes: { ...list, namespace } })),
        )
        names.push(...some.filter((_, index) => mayList[index]))
      }
      return { status: 200, body: { names: names.toSorted() } }
    },
  }
}
