import type { Core } from '../cluster/core.ts'
import type { Counter, Gauge, Histogram } from '../../../runtime/observability/metric.ts'
import type { Metrics } from '../../../runtime/observability/metrics.ts'
import type { Decision } from '../decision/decide.ts'
import type { HistoryStep } from './history.ts'
import { cell, inFlightOf, waitBucketsMs } from '../proxy/routing/counters.ts'

const codes = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

/** What the proxy counted in shared memory, and what its controllers did, as metrics. */
export class ActivatorMetrics {
  readonly #core: Core
  readonly #requests: Counter<'route' | 'code'>
  readonly #coldStarts: Counter<'route'>
  readonly #refused: Counter<'route'>
  readonly #clientLeft: Counter<'route'>
  readonly #waited: Histogram<'route'>
  readonly #inFlight: Gauge<'route'>
  readonly #waiting: Gauge<'route'>
  readonly #awake: Counter<'route'>
  readonly #decisions: Counter<'decision' | 'because'>
  /** Cells as they were when last read: the difference is what is counted. */
  readonly #before = new Map<string, Int32Array>()
  readonly #noted = new Map<string, Int32Array>()
  readonly close: () => void

  /** `countsRequests`: whether requests are metrics of this process; where proxies report them, they are metrics of the proxies. */
  constructor(metrics: Metrics, core: Core, countsRequests: boolean) {
    this.#core = core
    const labels = ['route'] as const
    const counter = (name: string, help: string) => metrics.counter({ name: `sojourn_activator_${name}`, help, labels })
    const gauge = (name: string, help: string) => metrics.gauge({ name: `sojourn_activator_${name}`, help, labels })
    this.#requests = metrics.counter({
      name: 'sojourn_activator_requests_total',
      help: 'Answers by class of status',
      labels: ['route', 'code'],
    })
    this.#coldStarts = counter('cold_starts_total', 'Requests that waited for their workload')
    this.#refused = counter('refused_total', 'Requests refused instead of held')
    this.#clientLeft = counter('client_left_total', 'Requests whose client left before the answer')
    this.#awake = counter('awake_seconds_total', 'Time with at least one replica')
    this.#inFlight = gauge('in_flight', 'Requests under way, waiting ones included')
    this.#waiting = gauge('waiting', 'Requests waiting for their workload')
    this.#waited = metrics.histogram({
      name: 'sojourn_activator_wait_seconds',
      help: 'Time requests waited for their workload',
      labels,
      buckets: waitBucketsMs.map((ms) => ms / 1000),
    })
    this.#decisions = metrics.counter({
      name: 'sojourn_activator_decisions_total',
      help: 'Decisions on workloads',
      labels: ['decision', 'because'],
    })
    this.close = countsRequests ? metrics.onCollect(() => this.#collect()) : () => {}
  }

  decided({ do: decision, because }: Decision): void {
    this.#decisions.inc({ decision, because })
  }

  /** This much time has passed, awake or asleep. */
  elapsed(seconds: number, note: (route: string, step: Omit<HistoryStep, 'at'>) => void): void {
    for (const { id, settings } of this.#core.registry.all()) {
      const { requests, coldStarts } = this.#movedSinceNote(id)
      const [main] = settings.workloads
      const object = main && this.#core.workloads.lastSeen(main)
      const replicas = main && this.#core.workloads.lastSeenReplicas(main)
      if (!object || replicas === undefined) continue
      if (replicas > 0) this.#awake.inc({ route: id }, seconds)
      if (replicas > 0 || requests > 0) note(id, { requests, coldStarts, awakeSeconds: replicas > 0 ? seconds : 0 })
    }
  }

  #movedSinceNote(id: string): { readonly requests: number; readonly coldStarts: number } {
    const cells = this.#core.usage.cellsOf(id)
    const before = this.#noted.get(id)
    if (!cells) return { requests: 0, coldStarts: 0 }
    this.#noted.set(id, cells)
    const moved = (index: number) => Math.max(0, (cells[index]! - (before?.[index] ?? 0)) | 0)
    return { requests: moved(cell.started), coldStarts: moved(cell.coldStarts) }
  }

  #collect(): void {
    for (const { id } of this.#core.registry.all()) {
      const cells = this.#core.usage.cellsOf(id)
      if (!cells) continue
      const before = this.#before.get(id) ?? new Int32Array(cells.length)
      this.#before.set(id, cells)
      const moved = (index: number) => Math.max(0, (cells[index]! - before[index]!) | 0)
      const route = { route: id }
      codes.forEach((code, index) => this.#requests.inc({ route: id, code }, moved(cell.informational + index)))
      this.#coldStarts.inc(route, moved(cell.coldStarts))
      this.#refused.inc(route, moved(cell.refused))
      this.#clientLeft.inc(route, moved(cell.clientLeft))
      this.#inFlight.set(route, Math.max(0, inFlightOf(cells)))
      this.#waiting.set(route, Math.max(0, cells[cell.waiting]!))
      for (let bucket = 0; bucket <= waitBucketsMs.length; bucket++) {
        const seconds = (waitBucketsMs[bucket] ?? 120_000) / 1000
        for (let count = moved(cell.waitBuckets + bucket); count > 0; count--) this.#waited.observe(route, seconds)
      }
    }
  }
}
