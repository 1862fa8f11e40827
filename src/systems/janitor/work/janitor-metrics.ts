import type { Counter, Gauge } from '../../../runtime/observability/metric.ts'
import type { Metrics } from '../../../runtime/observability/metrics.ts'

/** What the janitor counts. */
export interface JanitorMetrics {
  /** Marks made, lifted, announced, ended, by policy and word. */
  readonly turns: Counter<'policy' | 'phase' | 'because'>
  readonly visited: Gauge<'policy' | 'location' | 'verdict'>
  readonly notices: Counter<'policy' | 'channel' | 'result'>
  readonly troubles: Counter<'policy' | 'action'>
  readonly circuits: Gauge<'policy' | 'location'>
}

export function janitorMetrics(metrics: Metrics): JanitorMetrics {
  return {
    turns: metrics.counter({
      name: 'sojourn_janitor_turns_total',
      help: 'Marks that came into a phase, by why.',
      labels: ['policy', 'phase', 'because'],
    }),
    visited: metrics.gauge({
      name: 'sojourn_janitor_resources',
      help: 'Resources at the last look, by verdict.',
      labels: ['policy', 'location', 'verdict'],
    }),
    notices: metrics.counter({
      name: 'sojourn_janitor_notices_total',
      help: 'Notices tried, by how they ended.',
      labels: ['policy', 'channel', 'result'],
    }),
    troubles: metrics.counter({
      name: 'sojourn_janitor_troubles_total',
      help: 'Work that could not be done, by action.',
      labels: ['policy', 'action'],
    }),
    circuits: metrics.gauge({
      name: 'sojourn_janitor_circuit_open',
      help: '1 while a human has to look.',
      labels: ['policy', 'location'],
    }),
  }
}
