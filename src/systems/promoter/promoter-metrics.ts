import type { Metrics } from '../../runtime/metrics.ts'
import type { Http } from './http.ts'

/** What the promoter measures. */
export type PromoterMetrics = ReturnType<typeof promoterMetrics>

export function promoterMetrics(metrics: Metrics) {
  const requests = metrics.counter({
    name: 'sojourn_promoter_forge_requests_total',
    help: 'Requests to forges and git servers, by host, method and answer.',
    labels: ['host', 'method', 'code'],
  })
  return {
    announcements: metrics.counter({
      name: 'sojourn_promoter_transitions_total',
      help: 'What happened to runs and promotions, by reason.',
      labels: ['because'],
    }),
    effects: metrics.counter({
      name: 'sojourn_promoter_effects_total',
      help: 'Things done outside, by what and how it went.',
      labels: ['do', 'result'],
    }),
    effectSeconds: metrics.histogram({
      name: 'sojourn_promoter_effect_seconds',
      help: 'How long things done outside took.',
      labels: ['do'],
    }),
    leadSeconds: metrics.histogram({
      name: 'sojourn_promoter_lead_time_seconds',
      help: 'From the start of a run to its arrival in an environment.',
      labels: ['environment'],
      buckets: [60, 300, 900, 3600, 4 * 3600, 86_400, 7 * 86_400],
    }),
    approvals: metrics.counter({
      name: 'sojourn_promoter_approvals_total',
      help: 'Approvals and refusals that came in, by what became of them.',
      labels: ['result'],
    }),
    sources: metrics.gauge({
      name: 'sojourn_promoter_target_caches',
      help: 'Caches of application objects that are open.',
    }),
    /** The same requests, counted. */
    counted:
      (http: Http): Http =>
      async (request) => {
        const { host } = new URL(request.url)
        try {
          const response = await http(request)
          requests.inc({ host, method: request.method, code: String(response.status) })
          return response
        } catch (error) {
          requests.inc({ host, method: request.method, code: 'none' })
          throw error
        }
      },
  }
}
