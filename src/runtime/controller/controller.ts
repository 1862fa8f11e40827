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

export type { ControllerOptions, ControllerPorts } from './controller-options.ts'

type Source = Follower & Pick<Informer, 'type' | 'cluster'>

/** Runs a reconcile for each key that may need one: never two at once for a key, failures backed off and kept apart. */
export class Controller {
  readonly name: string
  readonly #reconcile: ControllerOptions['reconcile']
  readonly #mine: (key: Key) => boolean
  readonly #clock: Clock
  readonly #log: Logger
  readonly #metrics: ReturnType<typeof controllerMetrics>
  readonly #concurrency: number
  readonly #timeoutMs: number
  readonly #graceMs: number
  /** Holds one reference to each handle in it. */
  readonly #queue = new WorkQueue()
  /** When to look again. Also names handles: a key's handle is the same in queue, backoff, expectations and alarms. */
  readonly #alarms: AlarmSet
  /** Failing keys only; each of them is queued, taken or has an alarm. */
  readonly #backoff: Backoff<number>
  /** Holds one reference to each handle in it. */
  readonly #expectations: Expectations
  /** Wanted, but waiting for their expectations. Subset of the expectations' handles. */
  readonly #parked = new Set<number>()
  readonly #sources = new Set<Source>()
  /** What is under way: aborted when a stop has waited long enough. */
  readonly #underWay = new Set<UnderWay>()
  #workers = 0
  #running = false
  /** Called when the controller comes to rest. */
  #resting: (() => void)[] = []
  /** A reconcile must not inherit the asynchronous context of whoever enqueued its key. */
  readonly #startWorker: () => void

  constructor(options: ControllerOptions) {
    const { name, reconcile, ports, mine = () => true, freshnessMs = 10_000 } = options
    const { clock, log, metrics, random = systemRandom, alarms = new Alarms(clock) } = ports
    this.name = name
    this.#reconcile = reconcile
    this.#mine = mine
    this.#clock = clock
    this.#log = log.with({ controller: name })
    this.#concurrency = options.concurrency ?? 4
    this.#timeoutMs = options.timeoutMs ?? 120_000
    this.#graceMs = options.graceMs ?? 3000
    this.#alarms = alarms.open((handle) => this.#add(handle, 'due'))
    this.#backoff = new Backoff({ ...options.backoff, random })
    this.#expectations = new Expectations(clock, freshnessMs, (handle, inTime) => this.#met(handle, inTime))
    this.#startWorker = AsyncLocalStorage.bind(() => void this.#work())
    this.#metrics = controllerMetrics(metrics, name, () => ({
      ready: this.#queue.size,
      active: this.#queue.active,
      parked: this.#parked.size,
      failing: this.#backoff.size,
    }))
  }

  /** Nothing is ready, under way, or waiting for the cache. What waits for its time does not count. */
  get idle(): boolean {
    return this.#queue.size === 0 && this.#queue.active === 0 && this.#parked.size === 0 && this.#workers === 0
  }

  /** Looks at a key soon. Defaults to priority 'change'. */
  enqueue(key: Key, priority: Priority = 'change'): void {
    const handle = this.#alarms.intern(keyToString(key))
    this.#add(handle, priority)
    this.#alarms.release(handle)
  }

  /** Looks at a key at this time, or earlier if it was to be looked at earlier. */
  enqueueAt(key: Key, at: number): void {
    const handle = this.#alarms.intern(keyToString(key))
    this.#alarms.setEarliest(handle, at)
    this.#alarms.release(handle)
  }

  /** Turns an informer's changes into keys, by default the changed object's own. The result ends it. */
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
   * The key was written at this version: not reconciled again before the informer shows it. Without an informer, the
   * watched one of the key's kind and cluster.
   */
  expect(key: Key, resourceVersion: string, informer: Follower | undefined = this.#sourceOf(key)): void {
    if (!informer) throw new Error(`controller ${this.name} watches no informer of ${key.kind} to expect a version of`)
    const handle = this.#alarms.intern(keyToString(key))
    const isNew = !this.#expectations.has(handle)
    if (!this.#expectations.add(handle, resourceVersion, informer) || !isNew) this.#alarms.release(handle)
  }

  /** When the key is to be looked at again, if a time is set. */
  wakesAt(key: Key): number | undefined {
    const handle = this.#alarms.find(keyToString(key))
    return handle < 0 ? undefined : this.#alarms.at(handle)
  }

  /** Works until the signal aborts and what is under way has ended. */
  async start(signal: AbortSignal): Promise<void> {
    if (!signal.aborted) {
      this.#running = true
      this.#employ()
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
    }
    this.#running = false
    const hurry = this.#clock.after(this.#graceMs, () => {
      for (const work of this.#underWay) work.abort(new Error(`controller ${this.name} stops`))
    })
    while (this.#workers > 0) await this.#rest()
    hurry()
    this.#alarms.close()
    this.#expectations.close()
    this.#metrics.close()
  }

  /** Resolves when the controller is idle. */
  async whenIdle(): Promise<void> {
    while (!this.idle) await this.#rest()
  }

  #rest(): Promise<void> {
    return new Promise((resolve) => this.#resting.push(resolve))
  }

  #sourceOf({ cluster, kind }: Key): Source | undefined {
    return this.#sources.values().find((informer) => informer.cluster === cluster && kindKey(informer.type) === kind)
  }

  #add(handle: number, priority: Priority): void {
    if (!this.#queue.has(handle)) this.#alarms.retain(handle)
    this.#queue.add(handle, priority)
    this.#employ()
  }

  #employ(): void {
    if (!this.#running || this.#workers >= this.#concurrency || this.#queue.size === 0) return
    this.#workers++
    this.#startWorker()
  }

  /** One worker: takes what is ready until nothing is, and gives way to the rest of the process now and then. */
  async #work(): Promise<void> {
    await Promise.resolve()
    // All workers run within one turn of the event loop: they share the time it may take.
    const shareMs = sliceMs / this.#concurrency
    let sliceEndsAt = this.#clock.monotonic() + shareMs
    while (this.#running) {
      const handle = this.#queue.take()
      if (handle < 0) break
      await this.#attend(handle)
      if (this.#clock.monotonic() < sliceEndsAt) continue
      await this.#clock.breathe()
      sliceEndsAt = this.#clock.monotonic() + shareMs
    }
    this.#workers--
    this.#wakeWaiters()
  }

  async #attend(handle: number): Promise<void> {
    const key = keyFromString(this.#alarms.keyOf(handle))
    if (this.#expectations.has(handle)) this.#parked.add(handle)
    else if (this.#mine(key)) return this.#reconcileInTime(handle, key)
    else this.#forget(handle)
    this.#finish(handle)
  }

  /** A reconcile that does not heed its signal keeps its key, and no worker. */
  async #reconcileInTime(handle: number, key: Key): Promise<void> {
    const startedAt = this.#clock.monotonic()
    const work = new UnderWay()
    this.#underWay.add(work)
    const keepTime = this.#clock.after(this.#timeoutMs, () => {
      work.abort(new Error(`the reconcile took longer than ${formatDuration(this.#timeoutMs)}`))
    })
    const run = tracked(this.#clock, async () => this.#reconcile(key, work.signal))
    const result = await Promise.race([run, work.aborted]).then(
      (outcome) => this.#succeeded(handle, outcome),
      (error: unknown) => this.#failed(handle, key, error),
    )
    keepTime()
    this.#underWay.delete(work)
    this.#metrics.observe(result, this.#clock.monotonic() - startedAt)
    if (work.signal.aborted) void run.catch(() => {}).then(() => this.#finish(handle))
    else this.#finish(handle)
  }

  #succeeded(handle: number, outcome: Outcome): ReconcileResult {
    this.#backoff.reset(handle)
    if (outcome.next === 'change') {
      this.#alarms.delete(handle)
      return 'settled'
    }
    const now = this.#clock.now()
    // A time that has passed means "again", but never in a tight loop.
    this.#alarms.set(handle, outcome.at > now ? outcome.at : now + leastWaitMs)
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
    this.#alarms.set(handle, this.#clock.now() + waitMs)
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
    if (this.#queue.has(handle)) this.#employ()
    else this.#alarms.release(handle)
  }

  #met(handle: number, inTime: boolean): void {
    if (!inTime) {
      this.#metrics.stale()
      this.#log.debug('cache did not show our write in time', { key: this.#alarms.keyOf(handle) })
    }
    if (this.#parked.delete(handle)) this.#add(handle, 'change')
    this.#alarms.release(handle)
    this.#wakeWaiters()
  }

  #wakeWaiters(): void {
    const resting = this.#resting
    this.#resting = []
    for (const resume of resting) resume()
  }
}

const sliceMs = 5
const leastWaitMs = 10

/** One reconcile under way, and what ends it early. */
class UnderWay {
  readonly #control = new AbortController()
  readonly #early = Promise.withResolvers<never>()

  get signal(): AbortSignal {
    return this.#control.signal
  }

  /** Rejects when it is aborted. */
  get aborted(): Promise<never> {
    return this.#early.promise
  }

  abort(reason: Error): void {
    this.#control.abort(reason)
    this.#early.reject(reason)
  }
}
