import type { Metrics } from '../observability/metrics.ts'

/** How a reconcile ended, as the metric names it. */
export type ReconcileResult = 'settled' | 'waiting' | 'conflict' | 'failed' | 'terminal' | 'stopped'

export interface ControllerGauges {
  readonly ready: number
  readonly active: number
  readonly parked: number
  readonly failing: number
}

/** What every controller measures; `close` takes its gauges away. */
export function controllerMetrics(metrics: Metrics, controller: string, read: () => ControllerGauges) {
  const total = metrics.counter({
    name: 'sojourn_reconcile_total',
    help: 'Reconciles by controller and how they ended.',
    labels: ['controller', 'result'],
  })
  const duration = metrics.histogram({
    name: 'sojourn_reconcile_duration_seconds',
    help: 'How long reconciles took.',
    labels: ['controller'],
  })
  const keys = metrics.gauge({
    name: 'sojourn_controller_keys',
    help: 'Keys by controller and state: ready, active, parked until the cache shows our write, failing.',
    labels: ['controller', 'state'],
  })
  const unseen = metrics.counter({
    name: 'sojourn_unseen_writes_total',
    help: 'Own writes that the cache did not show in time.',
    labels: ['controller'],
  })
  const stopCollecting = metrics.onCollect(() => {
    for (const [state, count] of Object.entries(read())) keys.set({ controller, state }, count as number)
  })
  return {
    observe(result: ReconcileResult, tookMs: number): void {
      total.inc({ controller, result })
      duration.observe({ controller }, tookMs / 1000)
    },
    stale: () => unseen.inc({ controller }),
    close: stopCollecting,
  }
}
