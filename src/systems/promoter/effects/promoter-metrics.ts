import type { Promotion } from '../../../apis/pipeline-status.ts'
import type { Metrics } from '../../../runtime/observability/metrics.ts'
import { at, type Announcement } from '../decision/draft.ts'
import type { Http } from '../../../runtime/http/http.ts'
import type { Pipeline } from '../../../apis/pipeline.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import type { Logger } from '../../../runtime/observability/log.ts'

/** The metrics of the promoter. */
export type PromoterMetrics = ReturnType<typeof promoterMetrics>

/** Histogram buckets in seconds, from a minute to a week. */
const waitBuckets = [60, 300, 900, 3600, 4 * 3600, 86_400, 7 * 86_400]

export function promoterMetrics(metrics: Metrics) {
  const requests = metrics.counter({
    name: 'sojourn_promoter_forge_requests_total',
    help: 'Requests to forges and git servers, by host, method (for SSH the git service) and status code.',
    labels: ['host', 'method', 'code'],
  })
  return {
    announcements: metrics.counter({
      name: 'sojourn_promoter_transitions_total',
      help: 'Transitions of runs and promotions, by reason.',
      labels: ['because'],
    }),
    effects: metrics.counter({
      name: 'sojourn_promoter_effects_total',
      help: 'Effects carried out, by kind and result.',
      labels: ['do', 'result'],
    }),
    effectSeconds: metrics.histogram({
      name: 'sojourn_promoter_effect_seconds',
      help: 'Duration of effects, by kind.',
      labels: ['do'],
    }),
    leadSeconds: metrics.histogram({
      name: 'sojourn_promoter_lead_time_seconds',
      help: 'Time from when a revision was ready in the first environment until it was ready in this one (DORA: lead time).',
      labels: ['namespace', 'pipeline', 'environment'],
      buckets: waitBuckets,
    }),
    deployments: metrics.counter({
      name: 'sojourn_promoter_deployments_total',
      help: 'Promotions that ended or timed out, by result: succeeded, rolled-back, failed (DORA: frequency and change failure rate).',
      labels: ['namespace', 'pipeline', 'environment', 'result'],
    }),
    restoreSeconds: metrics.histogram({
      name: 'sojourn_promoter_restore_seconds',
      help: 'Time an environment was not ready on any revision (DORA: time to restore).',
      labels: ['namespace', 'pipeline', 'environment'],
      buckets: waitBuckets,
    }),
    approvals: metrics.counter({
      name: 'sojourn_promoter_approvals_total',
      help: 'Approvals and rejections received over HTTP, by outcome.',
      labels: ['result'],
    }),
    sources: metrics.gauge({
      name: 'sojourn_promoter_target_caches',
      help: 'Open caches of application objects.',
    }),
    budgetLeft: metrics.gauge({
      name: 'sojourn_promoter_forge_budget_left',
      help: 'Requests that may still be sent to a forge at once, by host.',
      labels: ['host'],
    }),
    phaseSeconds: metrics.histogram({
      name: 'sojourn_promoter_phase_seconds',
      help: 'Time promotions spent in a phase, observed when they leave it.',
      labels: ['phase'],
      buckets: waitBuckets,
    }),
    requests,
    /** Wraps an `Http` so that every request is counted. */
    countRequests:
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

/** Observes how long a promotion was in the phase it has left. */
export function measurePhase(
  { phaseSeconds }: PromoterMetrics,
  before: Promotion | undefined,
  after: Promotion | undefined,
): void {
  if (!before || before.id !== after?.id || before.phase === after.phase) return
  phaseSeconds.observe({ phase: before.phase }, Math.max(0, at(after.phaseAt) - at(before.phaseAt)) / 1000)
}

interface Place extends Record<string, string> {
  readonly namespace: string
  readonly pipeline: string
  readonly environment: string
}

/** Counts a promotion once, when it ends; one that is superseded was never deployed. */
export function measureDeployment(
  metrics: Pick<PromoterMetrics, 'deployments' | 'leadSeconds'>,
  place: Place,
  { before, after }: { readonly before: Promotion | undefined; readonly after: Promotion | undefined },
): void {
  const result = resultOf(after)
  if (!after || !result || (before?.id === after.id && resultOf(before) === result)) return
  metrics.deployments.inc({ ...place, result })
  if (result === 'succeeded') metrics.leadSeconds.observe(place, after.leadSeconds ?? 0)
}

function resultOf(promotion: Promotion | undefined): string | undefined {
  if (promotion?.phase === 'Succeeded') return promotion.direction === 'Backward' ? 'rolled-back' : 'succeeded'
  const isFailure = promotion?.phase === 'Failed' || promotion?.because === 'RolloutTimedOut'
  return isFailure || promotion?.because === 'ChangeReverted' ? 'failed' : undefined
}

export interface AnnouncePorts {
  readonly events: EventRecorder
  readonly metrics: PromoterMetrics
  readonly log: Logger
}

/** Publishes announcements as Events of the pipeline, as metrics and as log lines. */
export function publishAnnouncements(
  pipeline: Pipeline,
  announcements: readonly Announcement[],
  { events, metrics, log }: AnnouncePorts,
): void {
  const { namespace, name } = pipeline.metadata
  for (const { type, because, message, environment } of announcements) {
    events.record(pipeline, { type, reason: because, message })
    metrics.announcements.inc({ because })
    const where = { pipeline: `${namespace}/${name}`, ...(environment ? { environment } : {}) }
    log.info('pipeline changed', { ...where, because, message })
  }
}
