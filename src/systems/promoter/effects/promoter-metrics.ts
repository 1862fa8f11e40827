import type { ProcessParts } from '../../../runtime/process-parts.ts'
import type { EnvironmentStatus, PipelineStatus, Promotion } from '../../../apis/pipeline-status.ts'
import type { Metrics } from '../../../runtime/observability/metrics.ts'
import { at, type Announcement } from '../decision/draft.ts'
import { maxPollMs } from '../decision/effects.ts'
import { shortRevision } from '../model/revision.ts'
import type { Http } from '../../../runtime/http/http.ts'
import type { Pipeline } from '../../../apis/pipeline.ts'

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
      help: 'Promotions that reached their environment, each once, by result: succeeded, rolled-back, failed (timed out or reverted) (DORA: frequency and change failure rate).',
      labels: ['namespace', 'pipeline', 'environment', 'result'],
    }),
    restoreSeconds: metrics.histogram({
      name: 'sojourn_promoter_restore_seconds',
      help: 'Time an environment was not ready on any revision, roll-outs within their deadline excepted (DORA: time to restore).',
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

/** Two statuses of a pipeline, one written over the other. */
interface StatusChange {
  readonly pipeline: Pipeline
  readonly before: PipelineStatus | undefined
  readonly after: PipelineStatus
  readonly now: number
}

/** Measures what a written status has changed. The status is the only memory, so a restart counts nothing twice. */
export function measureStatus(metrics: PromoterMetrics, { pipeline, before, after, now }: StatusChange): void {
  const { namespace = '', name } = pipeline.metadata
  for (const [environment, state] of Object.entries(after.environments ?? {})) {
    const place = { namespace, pipeline: name, environment }
    const former = before?.environments?.[environment] ?? {}
    measurePromotion(metrics, place, former.promotion, state)
    if (former.unreadySince && !state.unreadySince && !isRollout(former))
      metrics.restoreSeconds.observe(place, Math.max(0, now - at(former.unreadySince)) / 1000)
  }
}

/** Observes the phase that a promotion has left, and counts it once, at its first result: one that is superseded was never deployed. */
function measurePromotion(
  metrics: PromoterMetrics,
  place: Record<'namespace' | 'pipeline' | 'environment', string>,
  before: Promotion | undefined,
  { promotion, history = [] }: EnvironmentStatus,
): void {
  const ended = history.find(({ id }) => id === before?.id)
  const after =
    promotion?.id === before?.id || !before ? promotion : ended && { ...before, ...ended, phaseAt: ended.endedAt }
  if (!after || (before && before.phase === after.phase && before.because === after.because)) return
  if (before && before.phase !== after.phase)
    metrics.phaseSeconds.observe({ phase: before.phase }, Math.max(0, at(after.phaseAt) - at(before.phaseAt)) / 1000)
  const result = resultOf(after)
  if (result && !resultOf(before)) metrics.deployments.inc({ ...place, result })
  if (result === 'succeeded') metrics.leadSeconds.observe(place, after.leadSeconds ?? 0)
}

/** Of a promotion that has reached its environment; one that could not be delivered is no deployment. */
function resultOf(promotion: Pick<Promotion, 'phase' | 'because' | 'direction'> | undefined): string | undefined {
  if (promotion?.phase === 'Succeeded') return promotion.direction === 'Backward' ? 'rolled-back' : 'succeeded'
  return promotion?.because === 'RolloutTimedOut' || promotion?.because === 'ChangeReverted' ? 'failed' : undefined
}

/** Whether an environment was not ready only because its targets changed to the next revision, within the deadline. */
function isRollout({ promotion, unreadySince }: EnvironmentStatus): boolean {
  return (
    promotion?.phase === 'RollingOut' &&
    promotion.because !== 'RolloutTimedOut' &&
    // The deployer may see a merge before a poll of the pull request does.
    at(unreadySince) >= at(promotion.phaseAt) - maxPollMs
  )
}

export interface AnnouncePorts extends Pick<ProcessParts, 'log' | 'events'> {
  readonly metrics: PromoterMetrics
}

/** Publishes announcements as Events of the pipeline, as metrics and as log lines. */
export function publishAnnouncements(
  pipeline: Pipeline,
  announcements: readonly Announcement[],
  { events, metrics, log }: AnnouncePorts,
): void {
  const { namespace, name } = pipeline.metadata
  for (const { type, because, message: text, environment } of announcements) {
    const message = shortRevision(text)
    events.record(pipeline, { type, reason: because, message })
    metrics.announcements.inc({ because })
    const where = { pipeline: `${namespace}/${name}`, ...(environment ? { environment } : {}) }
    log.info('pipeline changed', { ...where, because, message })
  }
}
