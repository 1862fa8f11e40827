import type { Core } from '../cluster/core.ts'
import type { Counter, Gauge, Histogram } from '../../../runtime/observability/metric.ts'
import type { Metrics } from '../../../runtime/observability/metrics.ts'
import type { Decision } from '../decision/decide.ts'
import type { ObjectRef } from '../../../kube/object.ts'
import { workloadId } from '../model/service-registry.ts'
import { wakeFailureOf } from '../model/service-conditions.ts'
import type { DayStep } from './last-day.ts'
import { cell, inFlightOf, tookBucketsMs, waitBucketsMs } from '../proxy/routing/counters.ts'
import type { OwnAnswers } from '../proxy/routing/journal.ts'

const bucketCount = waitBucketsMs.length + 1
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
  readonly #truncated: Counter<'route'>
  readonly #took: Histogram<'route'>
  readonly #wakes: Histogram<'route'>
  readonly #answers: Counter<'because'>
  readonly #failing: Gauge<'route' | 'reason'>
  /** Reasons of failed wakes that the gauge shows, by route. */
  readonly #failures = new Map<string, string>()
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
    this.#truncated = counter('truncated_total', 'Answers that the workload broke off')
    this.#awake = counter('awake_seconds_total', 'Time with at least one replica')
    this.#inFlight = gauge('in_flight', 'Requests under way, waiting ones included')
    this.#waiting = gauge('waiting', 'Requests waiting for their workload')
    const histogram = (name: string, help: string, bucketsMs: readonly number[]) =>
      metrics.histogram({
        name: `sojourn_activator_${name}`,
        help,
        labels,
        buckets: bucketsMs.map((ms) => ms / 1000),
      })
    this.#waited = histogram('wait_seconds', 'Time requests waited for their workload', waitBucketsMs)
    this.#took = histogram(
      'request_duration_seconds',
      'Time from the head of a request to the end of its answer, waiting included',
      tookBucketsMs,
    )
    this.#wakes = histogram(
      'wake_duration_seconds',
      'Time from scaling a workload up to its first ready pod',
      waitBucketsMs,
    )
    this.#answers = metrics.counter({
      name: 'sojourn_activator_own_answers_total',
      help: 'Requests that the proxy answered itself or could not finish, by reason: unknown-host, malformed-request …',
      labels: ['because'],
    })
    this.#failing = metrics.gauge({
      name: 'sojourn_activator_wake_failed',
      help: 'Whether the last attempt to wake the workload failed: 1 until one succeeds',
      labels: ['route', 'reason'],
    })
    this.#decisions = metrics.counter({
      name: 'sojourn_activator_decisions_total',
      help: 'Decisions on workloads',
      labels: ['decision', 'because'],
    })
    this.close = metrics.onCollect(() => {
      if (countsRequests) this.#collect()
      this.#collectFailures()
    })
  }

  decided({ do: decision, because }: Decision): void {
    this.#decisions.inc({ decision, because })
  }

  /** The proxy has answered requests itself. Each 5xx is in the log with its reason. */
  answered(answers: readonly OwnAnswers[]): void {
    const { log } = this.#core
    for (const { because, count: requests, ...about } of answers) {
      this.#answers.inc({ because }, requests)
      const isFailure = about.status >= 500 || because === 'upstream-truncated'
      if (because === 'waking') log.info('showed the waiting page', { because, requests, ...about })
      else if (isFailure) log.error('answered in place of the workload', { because, requests, ...about })
    }
  }

  /** A workload that was woken has a ready pod. */
  woke(routes: readonly { readonly id: string }[], tookMs: number): void {
    for (const { id } of routes) this.#wakes.observe({ route: id }, tookMs / 1000)
  }

  /** This much time has passed, awake or asleep. A workload that several Services lead to is awake once. */
  elapsed(seconds: number, note: (workload: ObjectRef, step: DayStep) => void): void {
    const noted = new Set<string>()
    for (const { id, settings } of this.#core.registry.all()) {
      const { requests, coldStarts } = this.#movedSinceNote(id)
      const [main] = settings.workloads
      const object = main && this.#core.workloads.lastSeen(main)
      const replicas = main && this.#core.workloads.lastSeenReplicas(main)
      if (!object || replicas === undefined) continue
      if (replicas > 0) this.#awake.inc({ route: id }, seconds)
      const isFirst = !noted.has(workloadId(main))
      noted.add(workloadId(main))
      const awakeSeconds = replicas > 0 && isFirst ? seconds : 0
      if (awakeSeconds > 0 || requests > 0) note(main, { requests, coldStarts, awakeSeconds })
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

  /** As the conditions of the Services say, which outlive this process. */
  #collectFailures(): void {
    const { registry, caches } = this.#core
    for (const [route, reason] of this.#failures) this.#failing.remove({ route, reason })
    this.#failures.clear()
    for (const { id: route, namespace, name } of registry.all()) {
      const service = caches.services.get(namespace, name)
      const reason = service && wakeFailureOf(service)?.reason
      if (reason === undefined) continue
      this.#failures.set(route, reason)
      this.#failing.set({ route, reason }, 1)
    }
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
      this.#truncated.inc(route, moved(cell.truncated))
      const counts = (from: number) => Array.from({ length: bucketCount }, (_, index) => moved(from + index))
      this.#waited.add(route, counts(cell.waitBuckets), moved(cell.waitedMs) / 1000)
      this.#took.add(
        route,
        counts(cell.tookBuckets),
        ((cells[cell.tookTenthMs]! - before[cell.tookTenthMs]!) >>> 0) / 10_000,
      )
    }
  }
}
