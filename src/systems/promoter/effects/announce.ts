import type { Pipeline } from '../../../apis/pipeline.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import type { Logger } from '../../../runtime/observability/log.ts'
import type { Announcement } from '../decision/draft.ts'
import type { PromoterMetrics } from './promoter-metrics.ts'

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
