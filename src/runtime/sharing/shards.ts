import { leases } from '../../kube/core-types.ts'
import { sleep, tracked } from '../time/clock.ts'
import { Lease, type LeaseObject, type LeasePorts, type LeaseTimes } from './lease.ts'
import { jittered, systemRandom } from '../time/random.ts'
import { rendezvous, Slots } from './slots.ts'

export interface ShardsOptions extends LeaseTimes {
  readonly namespace: string
  /** What is shared out; part of the Leases' names. */
  readonly group: string
  /** Who we are; unlike every other member. */
  readonly identity: string
  /** How many parts there are, the same for all members and for good. Defaults to 16; 1 is leader election. */
  readonly slots?: number
  /** How many members there can be at once. Defaults to 64. */
  readonly seats?: number
  /** Called when we stop acting on a slot that goes to another member; the slot goes when it resolves. */
  readonly release?: (slot: number) => Promise<void>
}

/**
 * Shares work among members: fixed slots by hash, each held through a Lease by the member that rendezvous hashing names.
 * Members know each other by seats, Leases of their own: a fixed number, so that none has to be cleaned up.
 */
export class Shards {
  readonly #options: ShardsOptions
  readonly #ports: LeasePorts
  readonly #slots: Slots
  readonly #leases: readonly Lease[]
  readonly #seats: readonly Lease[]
  /** The seat we hold or try to hold. */
  #seat: Lease | undefined
  /** Slots on their way to another member: still ours by lease, no longer acted on. */
  readonly #leaving = new Set<number>()
  /** As last told. */
  #told: ReadonlySet<number> = new Set()
  readonly #handlers = new Set<(change: { gained: readonly number[]; lost: readonly number[] }) => void>()

  constructor(options: ShardsOptions, ports: LeasePorts) {
    this.#options = options
    this.#ports = ports
    this.#slots = new Slots(options.slots ?? 16)
    this.#leases = Array.from({ length: this.#slots.count }, (_, slot) => this.#lease(`slot-${slot}`))
    this.#seats = Array.from({ length: options.seats ?? 64 }, (_, seat) => this.#lease(`member-${seat}`))
  }

  get slots(): number {
    return this.#slots.count
  }

  /** The slots we may act on now. */
  get held(): ReadonlySet<number> {
    return new Set(this.#leases.flatMap((lease, slot) => (lease.held && !this.#leaving.has(slot) ? [slot] : [])))
  }

  /** Those who are alive, ourselves included, sorted. */
  get members(): readonly string[] {
    const holders = this.#seats.map(({ holder }) => holder).filter((holder) => holder !== '')
    return [...new Set(this.#seat?.held ? [...holders, this.#options.identity] : holders)].toSorted()
  }

  slotOf(text: string): number {
    return this.#slots.slotOf(text)
  }

  /** A slot's hashes, for servers that can filter by them. */
  rangeOf(slot: number): { readonly from: string; readonly to: string | undefined } {
    return this.#slots.rangeOf(slot)
  }

  /** Whether we may act now on what has this uid or namespace. */
  owns(text: string): boolean {
    const slot = this.slotOf(text)
    return !this.#leaving.has(slot) && this.#leases[slot]?.held === true
  }

  /** Tells when slots come and go. The result ends it. */
  onChange(
    handler: (change: { readonly gained: readonly number[]; readonly lost: readonly number[] }) => void,
  ): () => void {
    this.#handlers.add(handler)
    return () => void this.#handlers.delete(handler)
  }

  /** Takes part until the signal aborts, then gives everything back. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, log, random = systemRandom } = this.#ports
    const { retryMs = 2000, group } = this.#options
    while (!signal.aborted) {
      try {
        await this.#round(signal)
      } catch (error) {
        if (!signal.aborted) log.error('shards could not be agreed on', { group, error })
      }
      this.#tell()
      await sleep(clock, jittered(retryMs, 0.1, random), signal).catch(() => {})
    }
    await Promise.allSettled(this.#leases.map((_, slot) => this.#giveAway(slot)))
    await this.#seat?.release().catch(() => {})
    this.#tell()
  }

  async #round(signal: AbortSignal): Promise<void> {
    await this.look(signal)
    await this.#takeSeat(signal)
    const { members } = this
    if (!members.includes(this.#options.identity)) return
    await Promise.all(
      this.#leases.map(async (lease, slot) => {
        if (rendezvous(slot, members) === this.#options.identity) await lease.contend(signal)
        else await this.#giveAway(slot)
      }),
    )
  }

  /** Looks again who holds what, at once: one list shows every slot and seat. */
  async look(signal?: AbortSignal): Promise<void> {
    const { client, clock } = this.#ports
    const { namespace, group } = this.#options
    const seen = new Map<string, LeaseObject>()
    await tracked(clock, async () => {
      const pages = client.listAll<LeaseObject>(leases, {
        namespace,
        labelSelector: `${groupLabel}=${group}`,
        ...(signal ? { signal } : {}),
      })
      for await (const page of pages) for (const object of page.items) seen.set(object.metadata.name, object)
    })
    this.#leases.forEach((lease, slot) => lease.observe(seen.get(this.#nameOf(`slot-${slot}`))))
    this.#seats.forEach((lease, seat) => lease.observe(seen.get(this.#nameOf(`member-${seat}`))))
  }

  /** Keeps our seat, or takes the first free one. */
  async #takeSeat(signal: AbortSignal): Promise<void> {
    const { identity } = this.#options
    const ours = this.#seats.find(({ holder }) => holder === identity)
    const candidates = ours ? [ours] : this.#seats.filter(({ holder }) => holder === '')
    for (const seat of candidates) {
      this.#seat = seat
      if (await seat.contend(signal)) return
    }
  }

  async #giveAway(slot: number): Promise<void> {
    const lease = this.#leases[slot]
    if (!lease?.held || this.#leaving.has(slot)) return
    this.#leaving.add(slot)
    this.#tell()
    try {
      await this.#options.release?.(slot)
      await lease.release()
    } finally {
      this.#leaving.delete(slot)
    }
  }

  #tell(): void {
    const { held } = this
    const gained = [...held].filter((slot) => !this.#told.has(slot))
    const lost = [...this.#told].filter((slot) => !held.has(slot))
    this.#told = held
    if (gained.length + lost.length === 0) return
    for (const handler of this.#handlers) handler({ gained, lost })
  }

  #nameOf(part: string): string {
    return `${this.#options.group}-${part}`
  }

  #lease(part: string): Lease {
    const { release: _, slots: __, seats: ___, group, ...times } = this.#options
    return new Lease({ ...times, name: this.#nameOf(part), labels: { [groupLabel]: group } }, this.#ports)
  }
}

const groupLabel = 'sojourn.dev/shard-group'
