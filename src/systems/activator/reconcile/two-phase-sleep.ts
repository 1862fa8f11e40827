import type { Peers } from '../replicas/peers.ts'
import type { Publisher } from '../feed/publisher.ts'
import type { OnDemandService } from '../model/service-registry.ts'
import type { UsageTracker } from '../decision/usage.ts'

export interface TwoPhaseSleepParts {
  readonly peers: Peers
  readonly publisher: Publisher
  readonly usage: UsageTracker
  readonly now: () => number
}

/** What was known of the use when the sleep was decided, and how long other replicas must have been idle. */
export interface Idleness {
  readonly lastUsedAt: number
  readonly minIdleMs: number
}

/**
 * Sleep without loss. First every thread of every replica holds new requests back, closes idle connections and reports its
 * load; the scale is written only if all are idle. Requests that arrive meanwhile are held, and wake it again or go on.
 */
export class TwoPhaseSleep {
  readonly #parts: TwoPhaseSleepParts

  constructor(parts: TwoPhaseSleepParts) {
    this.#parts = parts
  }

  /**
   * Writes only if none of the routes is in use; returns whether it did. Errors of the write pass through. The other
   * replicas resume by themselves once they see zero replicas; where `write` leaves some, they are told.
   */
  async attempt(
    routes: readonly OnDemandService[],
    idle: Idleness,
    write: () => Promise<'asleep' | 'reduced'>,
  ): Promise<boolean> {
    const { publisher, peers } = this.#parts
    let written: 'asleep' | 'reduced' | undefined
    for (const { id } of routes) publisher.hold(id)
    try {
      if (!(await this.#allIdle(routes, idle))) return false
      written = await write()
      return true
    } finally {
      for (const { id } of routes) {
        if (written !== 'asleep') peers.release(id)
        publisher.release(id)
      }
    }
  }

  async #allIdle(routes: readonly OnDemandService[], { lastUsedAt, minIdleMs }: Idleness): Promise<boolean> {
    const { publisher, usage, now } = this.#parts
    const ids = routes.map(({ id }) => id)
    const loads = await Promise.all(ids.map((id) => publisher.drain(id)))
    if (loads.some(({ busy, waiting }) => busy > 0 || waiting > 0)) return false
    const { inFlight, waiting, lastUsedAt: usedAt } = usage.of(ids, now())
    if (inFlight > 0 || waiting > 0 || usedAt !== lastUsedAt) return false
    for (const id of ids) if (!(await this.#peersIdle(id, minIdleMs))) return false
    return usage.of(ids, now()).waiting === 0
  }

  /** A replica that cannot be asked is not idle: the question rejects, and nothing sleeps. */
  async #peersIdle(id: string, minIdleMs: number): Promise<boolean> {
    const { peers, usage, now } = this.#parts
    for (const { busy, waiting, idleMs } of await peers.drain(id)) {
      if (busy === 0 && waiting === 0 && idleMs >= minIdleMs) continue
      usage.note(id, now() - idleMs, now())
      return false
    }
    return true
  }
}
