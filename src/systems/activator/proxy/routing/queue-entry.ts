import { fallbackTarget, type ProxyThread } from './proxy-thread.ts'
import { cell, noteWait } from './counters.ts'
import type { Waiter } from './ports.ts'
import type { Target } from './target.ts'

/** One request's entry in the wait queue of its workload, and what is counted about it. */
export class QueueEntry {
  readonly #thread: ProxyThread
  readonly waiter: Waiter
  #target: Target | undefined
  #bytes = 0
  /** When it began to wait; 0 before. */
  #since = 0
  deadlineAt = Infinity
  /** Its workload was asleep or unreachable while it waited. */
  cold = false
  /** The request was sent to the fallback, so there is no further one. */
  #fellBack = false

  constructor(thread: ProxyThread, waiter: Waiter) {
    this.#thread = thread
    this.waiter = waiter
  }

  /** The same connection carries another request, which has not waited yet. */
  renew(): void {
    this.#since = 0
    this.cold = false
    this.#fellBack = false
  }

  /** What it waits for; undefined while it does not. */
  get target(): Target | undefined {
    return this.#target
  }

  /** How long the pod or the fallback may take to begin its answer. */
  get patienceMs(): number {
    const { fallbackTimeoutMs, responseTimeoutMs } = this.waiter.route.config
    return this.#fellBack ? fallbackTimeoutMs : responseTimeoutMs
  }

  /** Waits for the workload of its route; false when the queue is full. The request may already be forwarded when this returns. */
  take(bytes: number): boolean {
    const { target, config } = this.waiter.route
    const { ports, limits } = this.#thread
    if (this.#since === 0) this.#since = ports.clock.monotonic()
    this.deadlineAt = this.#since + (config.readinessTimeoutMs || limits.maxWaitMs)
    this.cold ||= target.isCold
    return this.#enter(target, bytes)
  }

  /** Whether its time is over. Then it turns to the fallback of its route, if there is one that it has not tried, or is refused. */
  isLate(now: number): boolean {
    if (now < this.deadlineAt) return false
    const { fallback } = this.waiter.route.config
    const bytes = this.#bytes
    this.leave()
    if (!fallback || this.#fellBack) {
      this.waiter.refuse('not-ready-in-time', 1)
      return true
    }
    this.#fellBack = true
    this.deadlineAt = now + this.#thread.limits.dialTimeoutMs
    if (!this.#enter(fallbackTarget(this.#thread, fallback), bytes)) this.waiter.refuse('queue-full', 1)
    return true
  }

  /** Whether a browser has waited for long enough to be shown the waiting page. */
  isPageDue(now: number): boolean {
    return this.cold && now - this.#since >= this.#thread.limits.waitingPageAfterMs
  }

  /** Counts its cold start; answers for how long it waited. */
  noteColdStart(): number {
    const waitedMs = Math.max(1, Math.round(this.#thread.ports.clock.monotonic() - this.#since))
    noteWait(this.waiter.route.cells, waitedMs)
    return waitedMs
  }

  #enter(target: Target, bytes: number): boolean {
    const thread = this.#thread
    const { route } = this.waiter
    const { maxWaiting, maxWaitingBytes } = thread.limits
    if (route.waiting >= route.config.maxWaiting || thread.waiting >= maxWaiting) return false
    if (thread.waitingBytes + bytes > maxWaitingBytes) return false
    this.#target = target
    this.#bytes = bytes
    route.waiting++
    thread.waiting++
    thread.waitingBytes += bytes
    route.cells[cell.waiting]!++
    target.wait(this)
    return true
  }

  /** More of the request has arrived and is held. */
  grow(bytes: number): void {
    if (!this.#target) return
    this.#bytes += bytes
    this.#thread.waitingBytes += bytes
  }

  leave(): void {
    if (!this.#target) return
    const { route } = this.waiter
    this.#target.waiters.delete(this)
    this.#target = undefined
    route.waiting--
    this.#thread.waiting--
    this.#thread.waitingBytes -= this.#bytes
    route.cells[cell.waiting]!--
  }
}
