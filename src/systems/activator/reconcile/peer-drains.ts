import type { Core } from '../cluster/core.ts'
import type { Publisher } from '../feed/publisher.ts'
import type { DrainReport } from '../replicas/peers.ts'

export interface PeerDrainsParts extends Core {
  readonly publisher: Publisher
}

/** The asking replica may die before it decides; requests held for it go on after this time. */
const drainTimeoutMs = 10_000

/** Routes that this replica drains because another replica wants to put their workload to sleep. */
export class PeerDrains {
  readonly #parts: PeerDrainsParts
  /** Drained routes, each with what cancels its timeout. */
  readonly #timeouts = new Map<string, () => void>()

  constructor(parts: PeerDrainsParts) {
    this.#parts = parts
  }

  /** Holds new requests back, and reports what is still under way here. */
  async drain(id: string): Promise<DrainReport> {
    const { clock, publisher, usage } = this.#parts
    publisher.hold(id)
    this.#timeouts.get(id)?.()
    this.#timeouts.set(
      id,
      clock.after(drainTimeoutMs, () => this.release(id)),
    )
    const { busy, waiting } = await publisher.drain(id)
    const { lastUsedAt } = usage.of([{ id }], clock.now())
    return { busy, waiting, idleMs: clock.now() - lastUsedAt }
  }

  release(id: string): void {
    this.#timeouts.get(id)?.()
    this.#timeouts.delete(id)
    this.#parts.publisher.release(id)
  }

  close(): void {
    for (const cancel of this.#timeouts.values()) cancel()
  }
}
