import { AsyncLocalStorage } from 'node:async_hooks'
import { keyFromString, keyOf, keyToString, kindKey, type Key } from '../../kube/key.ts'
import type { StoredObject } from '../../kube/object.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { formatDuration } from '../../kube/time.ts'
import { Alarms, type AlarmSet } from './alarms.ts'
import { Backoff } from '../time/backoff.ts'
import { tracked, type Clock } from '../time/clock.ts'
import type { ControllerOptions } from './controller-options.ts'
import { controllerMetrics, type ReconcileResult } from './controller-metrics.ts'
import { Expectations, type Follower } from './expectations.ts'
import type { Change, Informer } from '../cache/informer.ts'
import type { Logger } from '../observability/log.ts'
import { TerminalError, type Outcome } from './outcome.ts'
import { systemRandom } from '../time/random.ts'
import { WorkQueue, type Priority } from './work-queue.ts'

export type { ClusterPorts, ControllerOptions, ControllerPorts } from './controller-options.ts'

type Source = Follower & Pick<Informer, 'type' | 'cluster'>

/**
 * Reconciles each key that may need it: never two at once for a key. A failing key is retried with backoff and delays
 * no other key.
 */
export class Controller {
  readonly name: string
  readonly #reconcile: ControllerOptions['reconcile']
  readonly #mayAct: () => boolean
  readonly #clock: Clock
  readonly #log: Logger
  readonly #metrics: ReturnType<typeof controllerMetrics>
  readonly #concurrency: number
  readonly #timeoutMs: number
  /** Holds one reference to each handle in it. */
  readonly #queue = new WorkQueue()
  /** When to reconcile again. Also names handles: a key's handle is the same in queue, backoff, expectations and alarms. */
  readonly #alarms: AlarmSet
  /** Failing keys only; each of them is queued, taken or has an alarm. */
  readonly #backoff: Backoff<number>
  /** Holds one reference to each handle in it. */
  readonly #expectations: Expectations
  /** Queued again, but waiting for their expectations. Subset of the expectations' handles. */
  readonly #parked = new Set<number>()
  readonly #sources = new Set<Source>()
  /** Reconciles that are running: aborted when a stop has waited for `graceMs`. */
  readonly #inFlight = new Set<InFlight>()
  #workers = 0
  #running = false
  /** Called when a worker ends or an expectation is met: either may leave the controller idle. */
  #idleWaiters: (() => void)[] = []
  /** Bound at construction: a reconcile must not inherit the asynchronous context of the caller that enqueued its key. */
  readonly #runWorker: () => void

  constructor(options: ControllerOptions) {
    const { name, reconcile, ports } = options
    const { clock, log, metrics, random = systemRandom, alarms = new Alarms(clock), mayAct = () => true } = ports
    this.name = name
    this.#reconcile = reconcile
    this.#mayAct = mayAct
    this.#clock = clock
    this.#log = log.with({ controller: name })
    this.#concurrency = options.concurrency ?? 4
    this.#timeoutMs = options.timeoutMs ?? 120_000
    this.#alarms = alarms.open((handle) => this.#add(handle, 'due'))
    this.#backoff = new Backoff({ ...options.backoff, random })
    this.#expectations = new Expectations(clock, freshnessMs, (handle, inTime) => this.#expectationMet(handle, inTime))
    this.#runWorker = AsyncLocalStorage.bind(() => void this.#work())
    this.#metrics = controllerMetrics(metrics, name, () => ({
      ready: this.#queue.size,
      active: this.#queue.active,
      parked: this.#parked.size,
      failing: this.#backoff.size,
    }))
  }

  /** Nothing is queued, running, or waiting for the cache. Keys that wait for their alarm do not count. */
  get idle(): boolean {
    return this.#queue.size === 0 && this.#queue.active === 0 && this.#parked.size === 0 && this.#workers === 0
  }

  /** Reconciles a key soon. Defaults to priority 'change'. */
  enqueue(key: Key, priority: Priority = 'change'): void {
    const handle = this.#alarms.intern(keyToString(key))
    this.#add(handle, priority)
    this.#alarms.release(handle)
  }

  /** Reconciles a key at this time, or earlier when an earlier alarm is set. The outcome of a reconcile that runs meanwhile can only be earlier. */
  enqueueAt(key: Key, at: number): void {
    const handle = this.#alarms.intern(keyToString(key))
    this.#alarms.setEarliest(handle, at)
    this.#alarms.release(handle)
  }

  /** Turns an informer's changes into keys, by default the changed object's own. Call the result to stop. */
  watch<T extends StoredObject>(
    informer: Informer<T>,
    keysOf: (change: Change<T>) => Iterable<Key> = ({ object }) => [keyOf(object, informer.cluster)],
  ): () => void {
    this.#sources.add(informer)
    const unsubscribe = informer.subscribe((change) => {
      for (const key of keysOf(change)) this.enqueue(key, change.initial ? 'initial' : 'change')
    })
    return () => {
      unsubscribe()
      this.#sources.delete(informer)
    }
  }

  /**
   * Call after a write: the key is not reconciled again before the informer shows this version. The informer
   * defaults to the watched one of the key's kind and cluster.
   */
  expect(key: Key, resourceVersion: string, informer: Follower | undefined = this.#sourceOf(key)): void {
    if (!informer) throw new Error(`controller ${this.name} watches no informer of ${key.kind} to expect a version of`)
    const handle = this.#alarms.intern(keyToString(key))
    const isNew = !this.#expectations.has(handle)
    if (!this.#expectations.add(handle, resourceVersion, informer) || !isNew) this.#alarms.release(handle)
  }

  /** When the key's alarm fires, if one is set. */
  wakesAt(key: Key): number | undefined {
    const handle = this.#alarms.find(keyToString(key))
    return handle < 0 ? undefined : this.#alarms.at(handle)
  }

  /** Reconciles until the signal aborts and the running reconciles have ended. */
  async start(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) {
      this.#running = true
      this.#startWorker()
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    }
    this.#running = false
    const cancelAbort = this.#clock.after(graceMs, () => {
      for (const reconcile of this.#inFlight) reconcile.abort(new Error(`controller ${this.name} is stopping`))
    })
    while (this.#workers > 0) await this.#untilIdle()
    cancelAbort()
    this.#alarms.close()
    this.#expectations.close()
    this.#metrics.close()
  }

  /** Resolves when the controller is idle. */
  async whenIdle(): Promise<void> {
    while (!this.idle) await this.#untilIdle()
  }

  #untilIdle(): Promise<void> {
    return new Promise((resolve) => this.#idleWaiters.push(resolve))
  }

  #sourceOf({ cluster, kind }: Key): Source | undefined {
    return this.#sources.values().find((informer) => informer.cluster === cluster && kindKey(informer.type) === kind)
  }

  #add(handle: number, priority: Priority): void {
    if (!this.#queue.has(handle)) this.#alarms.retain(handle)
    this.#queue.add(handle, priority)
    this.#startWorker()
  }

  #startWorker(): void {
    if (!this.#running || this.#workers >= this.#concurrency || this.#queue.size === 0) return
    this.#workers++
    this.#runWorker()
  }

  /** One worker: takes keys until the queue is empty, and yields to the event loop now and then. */
  async #work(): Promise<void> {
    await Promise.resolve()
    // All workers may run within one turn of the event loop: they share the time it may take.
    const shareMs = sliceMs / this.#concurrency
    let sliceEndsAt = this.#clock.monotonic() + shareMs
    while (this.#running) {
      const handle = this.#queue.take()
      if (handle < 0) break
      await this.#process(handle)
      if (this.#clock.monotonic() < sliceEndsAt) continue
      await this.#clock.breathe()
      sliceEndsAt = this.#clock.monotonic() + shareMs
    }
    this.#workers--
    this.#wakeWaiters()
  }

  async #process(handle: number): Promise<void> {
    if (!this.#mayAct()) {
      this.#alarms.set(handle, this.#clock.now() + mayNotActMs)
      return this.#finish(handle)
    }
    if (!this.#expectations.has(handle))
      return this.#reconcileWithTimeout(handle, keyFromString(this.#alarms.keyOf(handle)))
    this.#parked.add(handle)
    this.#finish(handle)
  }

  /** A reconcile that ignores its signal frees its worker, but keeps its key: it may still be writing. */
  async #reconcileWithTimeout(handle: number, key: Key): Promise<void> {
    const startedAt = this.#clock.monotonic()
    // The outcome replaces it; what is asked for while the reconcile runs stays.
    this.#alarms.delete(handle)
    const work = new InFlight()
    this.#inFlight.add(work)
    const cancelTimeout = this.#clock.after(this.#timeoutMs, () => {
      work.abort(new Error(`the reconcile took longer than ${formatDuration(this.#timeoutMs)}`))
    })
    const run = tracked(this.#clock, async () => this.#reconcile(key, work.signal))
    const result = await Promise.race([run, work.aborted]).then(
      (outcome) => this.#succeeded(handle, outcome),
      (error: unknown) => this.#failed(handle, key, error),
    )
    cancelTimeout()
    this.#inFlight.delete(work)
    this.#metrics.observe(result, this.#clock.monotonic() - startedAt)
    if (work.signal.aborted) void run.catch(() => {}).then(() => this.#finish(handle))
    else this.#finish(handle)
  }

  #succeeded(handle: number, outcome: Outcome): ReconcileResult {
    this.#backoff.reset(handle)
    if (outcome.next === 'change') return 'settled'
    const now = this.#clock.now()
    // A time that has passed means "again", but never in a tight loop.
    this.#alarms.setEarliest(handle, outcome.at > now ? outcome.at : now + minWaitMs)
    return 'waiting'
  }

  #failed(handle: number, key: Key, error: unknown): ReconcileResult {
    if (!this.#running) return 'stopped'
    if (error instanceof TerminalError) {
      this.#forget(handle)
      this.#log.error('reconcile failed for good', { key, error })
      return 'terminal'
    }
    const retryAfterMs = (isStatusError(error) ? (error.details?.retryAfterSeconds ?? 0) : 0) * 1000
    const waitMs = Math.max(this.#backoff.next(handle), retryAfterMs)
    this.#alarms.setEarliest(handle, this.#clock.now() + waitMs)
    const facts = { key, error, failures: this.#backoff.failures(handle), retryInMs: Math.round(waitMs) }
    if (isStatusError(error, 'Conflict')) {
      this.#log.debug('reconcile lost a race', facts)
      return 'conflict'
    }
    this.#log.error('reconcile failed', facts)
    return 'failed'
  }

  #forget(handle: number): void {
    this.#backoff.reset(handle)
    this.#alarms.delete(handle)
  }

  #finish(handle: number): void {
    this.#queue.done(handle)
    if (this.#queue.has(handle)) this.#startWorker()
    else this.#alarms.release(handle)
  }

  #expectationMet(handle: number, inTime: boolean): void {
    if (!inTime) {
      this.#metrics.stale()
      this.#log.debug('cache did not show our write in time', { key: this.#alarms.keyOf(handle) })
    }
    if (this.#parked.delete(handle)) this.#add(handle, 'change')
    this.#alarms.release(handle)
    this.#wakeWaiters()
  }

  #wakeWaiters(): void {
    const waiters = this.#idleWaiters
    this.#idleWaiters = []
    for (const resume of waiters) resume()
  }
}

const sliceMs = 5
const minWaitMs = 10
/** How long a key waits for the cache to show our own write before it goes on without. */
const freshnessMs = 10_000
/** How long a stop waits for what is under way before it aborts it. */
const graceMs = 3000
/** How long a key waits while this process may not act. */
const mayNotActMs = 1000

/** One running reconcile, and the way to end it early. */
class InFlight {
  readonly #control = new AbortController()
  readonly #early = Promise.withResolvers<never>()

  get signal(): AbortSignal {
    return this.#control.signal
  }

  /** Rejects on abort. Never resolves. */
  get aborted(): Promise<never> {
    return this.#early.promise
  }

  abort(reason: Error): void {
    this.#control.abort(reason)
    this.#early.reject(reason)
  }
}
