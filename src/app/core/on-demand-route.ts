import type { Route } from '../../runtime/http/route.ts'
import type { Activator } from '../../systems/activator/activator.ts'

const maxServices = 200

/** `GET /sojourn/v1alpha1/on-demand?of=NAMESPACE/NAME,…`: the last day of each Service, for charts. */
export function onDemandRoute(activator: Pick<Activator, 'history'>): Route {
  return {
    method: 'GET',
    path: '/sojourn/v1alpha1/on-demand',
    handle({ query }) {
      const names = (query['of'] ?? '').split(',').filter(Boolean).slice(0, maxServices)
      const items = names.map((service) => ({ service, steps: activator.history(service) }))
      return Promise.resolve({ status: 200, body: { items } })
    },
  }
}
