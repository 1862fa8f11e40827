import type { Counter, Gauge } from '../../../runtime/observability/metric.ts'
import type { Metrics } from '../../../runtime/observability/metrics.ts'

/** The janitor's metrics. */
export interface JanitorMetrics {
  /** Marks that entered a phase. */
  readonly phaseChanges: Counter<'policy' | 'phase' | 'because'>
  readonly visited: Gauge<'policy' | 'location' | 'verdict'>
  readonly notices: Counter<'policy' | 'channel' | 'result'>
  readonly failures: Counter<'policy' | 'action'>
  readonly circuits: Gauge<'policy' | 'location'>
}

export function janitorMetrics(metrics: Metrics): JanitorMetrics {
  return {
    phaseChanges: metrics.counter({
      name: 'sojourn_janitor_turns_total',
      help: 'Marks that entered a phase, by reason.',
      labels: ['policy', 'phase', 'because'],
    }),
    visited: metrics.gauge({
      name: 'sojourn_janitor_resources',
      help: 'Resources of the last inventory, by verdict.',
      labels: ['policy', 'location', 'verdict'],
    }),
    notices: metrics.counter({
      name: 'sojourn_janitor_notices_total',
      help: 'Notices sent, by result.',
      labels: ['policy', 'channel', 'result'],
    }),
    failures: metrics.counter({
      name: 'sojourn_janitor_troubles_total',
      help: 'Cycles that could not be carried out, by action.',
      labels: ['policy', 'action'],
    }),
    circuits: metrics.gauge({
      name: 'sojourn_janitor_circuit_open',
      help: '1 while the circuit is open and waits for a human.',
      labels: ['policy', 'location'],
    }),
  }
}
