import type { Route } from '../../runtime/http/route.ts'
import type { Activator } from './activator.ts'

/** The last day of one Service's route in steps of five minutes, and how it stands at this moment in this replica. */
export function historyRoute(activator: Pick<Activator, 'history' | 'rows'>): Route {
  return {
    method: 'GET',
    path: '/sojourn/v1alpha1/on-demand/:namespace/:name',
    handle({ params }) {
      const id = `${params['namespace']}/${params['name']}`
      const row = activator.rows().find(({ service }) => service.id === id)
      if (!row) return Promise.resolve({ status: 404, body: { message: `Service ${id} is not on demand` } })
      const { decision, inFlight, waiting, lastUsedAt } = row
      return Promise.resolve({
        status: 200,
        body: { inFlight, waiting, lastUsedAt, decision, stepMs: 300_000, history: activator.history(id) },
      })
    },
  }
}
