import { leases } from '../../kube/core-types.ts'
import { sleep, tracked } from '../time/clock.ts'
import { jittered, systemRandom } from '../time/random.ts'
import { Lease, type LeaseObject, type LeasePorts, type LeaseTimes } from './lease.ts'
import type { Informer } from '../cache/informer.ts'
import { Informers } from '../cache/informers.ts'

export interface LeaseMembershipOptions extends LeaseTimes {
  readonly namespace: string
  /** The name of the group; part of its Leases' names. */
  readonly group: string
  /** This member's name, unique in the group. */
  readonly identity: string
  /** Whether this member may lead. Defaults to true. */
  readonly mayLead?: boolean
}

/**
 * The replicas of one group, and which of them leads. Each member holds a Lease of its own, a seat: their number is
 * fixed, so that no Lease has to be cleaned up. One more Lease elects the leader among the seated members; the leader's seat renews it.
 */
export class LeaseMembership {
  readonly #options: LeaseMembershipOptions
  readonly #ports: LeasePorts
  readonly #leader: Lease
  readonly #seats: readonly Lease[]
  readonly #followed: FollowedLeases
  /** The seat this member holds or tries to hold. */
  #seat: Lease | undefined

  constructor(options: LeaseMembershipOptions, ports: LeasePorts) {
    this.#options = options
    this.#ports = ports
    const { namespace, group } = options
    this.#followed = new FollowedLeases(ports, { namespace, labelSelector: `${groupLabel}=${group}` }, (name) =>
      this.#find(name),
    )
    this.#leader = this.#lease(leaderPart)
    this.#seats = Array.from({ length: maxMembers }, (_, seat) => this.#lease(seatPart(seat)))
  }

  /** Whether this member leads now. Ask before each act: a lease that is not renewed in time is lost. */
  get isLeader(): boolean {
    return this.#leader.held
  }

  /** The members that are alive, this one included, sorted. */
  get members(): readonly string[] {
    const holders = this.#seats.map(({ holder }) => holder).filter((holder) => holder !== '')
    return [...new Set(this.#seat?.held ? [...holders, this.#options.identity] : holders)].toSorted()
  }

  /** Takes part until the signal aborts, then releases its Leases. */
  async start(signal: AbortSignal): Promise<void> {
    const { clock, log, random = systemRandom } = this.#ports
    const { retryMs = 2000, group } = this.#options
    await this.#followed.start(signal)
    while (!signal.aborted) {
      try {
        await this.#round(signal)
      } catch (error) {
        if (!signal.aborted) log.error('membership could not be renewed', { group, error })
      }
      await sleep(clock, jittered(retryMs, 0.1, random), signal).catch(() => {})
    }
    await this.#leader.release().catch(() => {})
    await this.#seat?.release().catch(() => {})
  }

  /** Reads the group's Leases now, with one list. */
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
    this.#leader.observe(seen.get(this.#nameOf(leaderPart)))
    this.#seats.forEach((lease, seat) => lease.observe(seen.get(this.#nameOf(seatPart(seat)))))
  }

  #find(name: string): Lease | undefined {
    if (name === this.#nameOf(leaderPart)) return this.#leader
    return this.#seats.find((_, seat) => name === this.#nameOf(seatPart(seat)))
  }

  async #round(signal: AbortSignal): Promise<void> {
    if (!this.#followed.isCurrent) await this.look(signal)
    await this.#takeSeat(signal)
    if (this.#seat?.held && (this.#options.mayLead ?? true)) await this.#leader.contend(signal, this.#seat)
  }

  /** Renews this member's seat, or takes the first free one. */
  async #takeSeat(signal: AbortSignal): Promise<void> {
    const { identity } = this.#options
    const ours = this.#seats.find(({ holder }) => holder === identity)
    const candidates = ours ? [ours] : this.#seats.filter(({ holder }) => holder === '')
    for (const seat of candidates) {
      this.#seat = seat
      if (await seat.contend(signal)) return
    }
  }

  #nameOf(part: string): string {
    return `${this.#options.group}-${part}`
  }

  #lease(part: string): Lease {
    const { mayLead: _, group, ...options } = this.#options
    const labels = { [groupLabel]: group }
    const find = (name: string) => this.#find(name)
    const isFollowed = () => this.#followed.isCurrent
    return new Lease({ ...options, name: this.#nameOf(part), labels, find, isFollowed }, this.#ports)
  }
}

/** Older versions elect their leader by the same Lease: it keeps its name. */
const leaderPart = 'slot-0'
const groupLabel = 'sojourn.dev/shard-group'

/** The name of the Lease that the leader of a group holds. */
export function leaderLease(group: string): string {
  return `${group}-${leaderPart}`
}

/** How many members a group can have. */
export const maxMembers = 64

/** The name of the Lease of a group's member. */
export function memberLease(group: string, seat: number): string {
  return `${group}-${seatPart(seat)}`
}

function seatPart(seat: number): string {
  return `member-${seat}`
}

/** Tells Leases what happens to them by one watch, so that those who wait for one ask for nothing. */
export class FollowedLeases {
  readonly #ports: LeasePorts
  readonly #where: { readonly namespace: string; readonly labelSelector: string }
  readonly #find: (name: string) => Lease | undefined
  #informer: Informer<LeaseObject> | undefined

  constructor(
    ports: LeasePorts,
    where: { readonly namespace: string; readonly labelSelector: string },
    find: (name: string) => Lease | undefined,
  ) {
    this.#ports = ports
    this.#where = where
    this.#find = find
  }

  /** Whether every change arrives. While it does not, for example for want of the right to watch, Leases are read. */
  get isCurrent(): boolean {
    return this.#informer !== undefined && this.#informer.synced && this.#informer.lastError === undefined
  }

  /** Follows them until the signal aborts; resolves when they are known, or cannot be followed. */
  async start(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const { client, clock, random } = this.#ports
    const informers = new Informers({ clock, ...(random ? { random } : {}) })
    const informer = informers.open<LeaseObject>(client, leases, this.#where)
    this.#informer = informer
    informer.subscribe(({ type, object }) =>
      this.#find(object.metadata.name)?.observe(type === 'deleted' ? undefined : object),
    )
    signal.addEventListener('abort', () => informers.close(), { once: true })
    await informer.whenListed(signal).catch(() => {})
  }
}
