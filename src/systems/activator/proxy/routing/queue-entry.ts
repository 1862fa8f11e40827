import type { ProxyThread } from './proxy-thread.ts'
import { cell } from './counters.ts'
import type { Waiter } from './ports.ts'
import type { Target } from './target.ts'

/** One request's entry in the wait queue of its workload, and what is counted about it. */
export class QueueEntry {
  readonly #thread: ProxyThread
  readonly #waiter: Waiter
  #target: Target | undefined
  #bytes = 0

  constructor(thread: ProxyThread, waiter: Waiter) {
    this.#thread = thread
    this.#waiter = waiter
  }

  /** What it waits for; undefined while it does not. */
  get target(): Target | undefined {
    return this.#target
  }

  /** Enters the queue; false when it is full. The request may already be forwarded when this returns. */
  take(target: Target, bytes: number): boolean {
    const thread = this.#thread
    const { route } = this.#waiter
    const { maxWaiting, maxWaitingBytes } = thread.limits
    if (route.waiting >= route.config.maxWaiting || thread.waiting >= maxWaiting) return false
    if (thread.waitingBytes + bytes > maxWaitingBytes) return false
    this.#target = target
    this.#bytes = bytes
    route.waiting++
    thread.waiting++
    thread.waitingBytes += bytes
    route.cells[cell.waiting]!++
    target.wait(this.#waiter)
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
    const { route } = this.#waiter
    this.#target.waiters.delete(this.#waiter)
    this.#target = undefined
    route.waiting--
    this.#thread.waiting--
    this.#thread.waitingBytes -= this.#bytes
    route.cells[cell.waiting]!--
  }
}
