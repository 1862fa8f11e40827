import type { Promotion } from '../../../apis/pipeline-status.ts'
import type { Metrics } from '../../../runtime/observability/metrics.ts'
import { at } from '../decision/draft.ts'
import type { Http } from '../../../runtime/http/http.ts'

/** What the promoter measures. */
export type PromoterMetrics = ReturnType<typeof promoterMetrics>

/** From a minute to a week, in seconds. */
const waits = [60, 300, 900, 3600, 4 * 3600, 86_400, 7 * 86_400]

export function promoterMetrics(metrics: Metrics) {
  const requests = metrics.counter({
    name: 'sojourn_promoter_forge_requests_total',
    help: 'Requests to forges and git servers, by host, method (over SSH the service) and answer.',
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
      buckets: waits,
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
    budgetLeft: metrics.gauge({
      name: 'sojourn_promoter_forge_budget_left',
      help: 'Requests that a forge may still be sent at once, by host.',
      labels: ['host'],
    }),
    phaseSeconds: metrics.histogram({
      name: 'sojourn_promoter_phase_seconds',
      help: 'How long promotions stayed in a phase they have left.',
      labels: ['phase'],
      buckets: waits,
    }),
    requests,
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

/** Notes how long a promotion was in the phase that it has left. */
export function measurePhase(
  { phaseSeconds }: PromoterMetrics,
  before: Promotion | undefined,
  after: Promotion | undefined,
): void {
  if (!before || before.id !== after?.id || before.phase === after.phase) return
  phaseSeconds.observe({ phase: before.phase }, Math.max(0, at(after.phaseAt) - at(before.phaseAt)) / 1000)
}
