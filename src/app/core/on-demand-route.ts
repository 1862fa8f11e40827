import type { Route, RouteUser } from '../../runtime/http/route.ts'
import type { Activator } from '../../systems/activator/activator.ts'

const maxServices = 200

/** Whether the caller may read the Services of a namespace. */
type MayReadServices = (user: RouteUser, namespace: string) => Promise<boolean>

/** `GET /sojourn/v1alpha1/on-demand?of=NAMESPACE/NAME,…`: the last day of each Service that the caller may read, for charts. */
export function onDemandRoute(activator: Pick<Activator, 'history'>, mayRead: MayReadServices): Route {
  return {
    method: 'GET',
    path: '/sojourn/v1alpha1/on-demand',
    async handle({ query, user }) {
      const names = (query['of'] ?? '').split(',').filter(Boolean).slice(0, maxServices)
      const namespaces = [...new Set(names.map((name) => name.split('/')[0] ?? ''))]
      const readable = new Set<string>()
      for (const namespace of namespaces) if (user && (await mayRead(user, namespace))) readable.add(namespace)
      const items = names
        .filter((name) => readable.has(name.split('/')[0] ?? ''))
        .map((service) => ({ service, steps: activator.history(service) }))
      return { status: 200, body: { items } }
    },
  }
}
