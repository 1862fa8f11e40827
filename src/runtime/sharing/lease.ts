import { leases } from '../../kube/core-types.ts'
import type { Client } from '../../client/client.ts'
import type { OwnerReference, StoredObject } from '../../kube/object.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { formatMicroTime } from '../../kube/time.ts'
import { isAtLeast } from '../cache/resource-version.ts'
import { Attempt } from '../time/attempt.ts'
import { tracked, type Clock } from '../time/clock.ts'
import type { Logger } from '../observability/log.ts'
import type { Random } from '../time/random.ts'

export interface LeasePorts {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly random?: Random
}

export interface LeaseTimes {
  /** How long a lease lasts after its last renewal, for those who watch it. Defaults to 15 s. */
  readonly durationMs?: number
  /** How long its holder may act after its last renewal; shorter than the duration. Defaults to 10 s. */
  readonly renewDeadlineMs?: number
  /** How often the holder renews and the others look. Defaults to 2 s. */
  readonly retryMs?: number
}

export interface LeaseOptions extends LeaseTimes {
  readonly namespace: string
  readonly name: string
  /** Who we are; unlike every other member. */
  readonly identity: string
  /** Labels a new Lease gets. */
  readonly labels?: Readonly<Record<string, string>>
  /** What a new Lease is deleted with. */
  readonly owner?: OwnerReference
  /** What its holder says about itself. */
  readonly annotations?: Readonly<Record<string, string>>
  /** Finds the Lease that renews another one, by name. Defaults to none: each is renewed by itself. */
  readonly find?: (name: string) => Lease | undefined
  /** Whether `observe` is told of every change now, so that nothing needs to be read. Defaults to never. */
  readonly isFollowed?: () => boolean
}

/** On a Lease that is not renewed itself: the Lease of the same holder whose renewals stand for it. */
const renewedWith = 'sojourn.dev/renewed-with'

/** A Lease as the API stores it. */
export interface LeaseObject extends StoredObject {
  readonly spec?: {
    readonly holderIdentity?: string | null
    readonly leaseDurationSeconds?: number
    readonly acquireTime?: string | null
    readonly renewTime?: string | null
    readonly leaseTransitions?: number
  }
}

/**
 * One `coordination.k8s.io` Lease that at most one member holds. No member's wall clock counts: its holder acts only for
 * the renew deadline after it began its last renewal, the others wait for its whole duration after they saw it change.
 * One renewal can stand for several Leases of a holder: the others name that Lease, their anchor, and are written only when they change hands.
 */
export class Lease {
  readonly #options: LeaseOptions & Required<LeaseTimes>
  readonly #ports: LeasePorts
  /** The Lease as last seen. */
  #seen: LeaseObject | undefined
  /** When it last looked different, on the monotonic clock. */
  #changedAt = 0
  /** When our last successful renewal began, on the monotonic clock; undefined while it is not ours. */
  #renewedAt: number | undefined
  /** Counts how often this member began to hold it: what was written during an earlier term has to be written again. */
  #term = 0
  /** The Lease whose renewals stand for ours, in the term in which it was claimed. */
  #anchor: { readonly lease: Lease; readonly term: number } | undefined
  readonly #anchors = new Set<Lease>()
  #told = false
  readonly #handlers = new Set<(held: boolean) => void>()
  readonly #holderHandlers = new Set<(holder: string) => void>()
  #stopTimer = () => {}

  constructor(options: LeaseOptions, ports: LeasePorts) {
    this.#options = { durationMs: 15_000, renewDeadlineMs: 10_000, retryMs: 2000, ...options }
    if (this.#options.renewDeadlineMs >= this.#options.durationMs)
      throw new RangeError('a lease must last longer than its holder may act on it')
    this.#ports = ports
  }

  /** Ours, and renewed recently enough by our own clock to act on it. Ask before each act. */
  get held(): boolean {
    if (this.#renewedAt === undefined) return false
    if (this.#anchor) return this.#anchor.term === this.#anchor.lease.#term && this.#anchor.lease.held
    return this.#ports.clock.monotonic() - this.#renewedAt < this.#options.renewDeadlineMs
  }

  /** Who holds it as far as we have seen; '' when it is free or has expired. */
  get holder(): string {
    const { holderIdentity, leaseDurationSeconds = 0 } = this.#seen?.spec ?? {}
    if (!holderIdentity || holderIdentity === this.#options.identity) return holderIdentity ?? ''
    const anchor = this.#seenAnchor
    if (anchor) return anchor.holder === holderIdentity ? holderIdentity : ''
    const isExpired = this.#ports.clock.monotonic() - this.#changedAt >= leaseDurationSeconds * 1000
    return isExpired ? '' : holderIdentity
  }

  /** Whether another Lease's renewals stand for this one. */
  get isAnchored(): boolean {
    return this.#anchor !== undefined
  }

  /** What its last holder said about itself. */
  get annotations(): Readonly<Record<string, string>> {
    return this.#seen?.metadata.annotations ?? {}
  }

  get #seenAnchor(): Lease | undefined {
    const name = this.annotations[renewedWith]
    return name === undefined ? undefined : this.#options.find?.(name)
  }

  /** How often it has changed hands: goes into writes as a soft fence. */
  get transitions(): number {
    return this.#seen?.spec?.leaseTransitions ?? 0
  }

  /** Tells when `held` changes. The result ends it. */
  onChange(handler: (held: boolean) => void): () => void {
    this.#handlers.add(handler)
    return () => void this.#handlers.delete(handler)
  }

  /** Tells when another member is seen to hold it. */
  onHolder(handler: (holder: string) => void): void {
    this.#holderHandlers.add(handler)
  }

  /** Notes what the Lease looks like now. */
  observe(object: LeaseObject | undefined): void {
    const { uid, resourceVersion = '' } = this.#seen?.metadata ?? {}
    if (object ? object.metadata.uid === uid && isAtLeast(resourceVersion, object.metadata.resourceVersion) : !uid)
      return
    this.#seen = object
    this.#changedAt = this.#ports.clock.monotonic()
    const holder = object?.spec?.holderIdentity ?? ''
    if (holder !== this.#options.identity) this.#renewedAt = undefined
    this.#tell()
    if (holder !== this.#options.identity) for (const handler of this.#holderHandlers) handler(holder)
  }

  /** One try to get or keep the lease, by the renewals of another Lease of ours where one is given; whether it is ours now. */
  async contend(signal: AbortSignal, anchor?: Lease): Promise<boolean> {
    if (anchor && this.#anchor?.lease === anchor && this.held) return true
    if (this.#seen === undefined || (this.#renewedAt === undefined && !this.#options.isFollowed?.()))
      this.observe(await this.#read(signal))
    if (!this.#isFree) return false
    // A Lease does not change while another one renews it: only that one, read now, shows that its holder is gone.
    const seenAnchor = this.#seenAnchor
    if (seenAnchor && this.#seen?.spec?.holderIdentity !== this.#options.identity)
      seenAnchor.observe(await seenAnchor.#read(signal))
    if (!this.#isFree) return false
    const startedAt = this.#ports.clock.monotonic()
    const term = anchor ? anchor.#term : 0
    const written = await this.#write(signal, this.#options.identity, anchor)
    this.observe(written)
    if (!written) return false
    if (!this.held) this.#term++
    this.#renewedAt = startedAt
    this.#anchor = anchor && { lease: anchor, term }
    if (anchor && !this.#anchors.has(anchor)) anchor.onChange(() => this.#tell())
    if (anchor) this.#anchors.add(anchor)
    this.#tell()
    return true
  }

  get #isFree(): boolean {
    return this.holder === '' || this.holder === this.#options.identity
  }

  /** Gives the lease back, so that the next one need not wait. */
  async release(signal: AbortSignal = new AbortController().signal): Promise<void> {
    const wasOurs = this.#renewedAt !== undefined
    this.#renewedAt = undefined
    this.#anchor = undefined
    this.#tell('lease released')
    if (wasOurs) this.observe(await this.#write(signal, ''))
  }

  #read(signal: AbortSignal): Promise<LeaseObject | undefined> {
    const { namespace, name } = this.#options
    return this.#request(signal, (inTime) =>
      this.#ports.client.get<LeaseObject>(leases, { namespace, name }, { signal: inTime }).catch(ignoring('NotFound')),
    )
  }

  /** The Lease as written, or undefined when someone else was faster. */
  async #write(signal: AbortSignal, holderIdentity: string, anchor?: Lease): Promise<LeaseObject | undefined> {
    const { client } = this.#ports
    const object = this.#claim(holderIdentity, anchor)
    try {
      return await this.#request(signal, (inTime) =>
        this.#seen
          ? client.update<LeaseObject>(leases, object, { signal: inTime })
          : client.create<LeaseObject>(leases, object, { signal: inTime }),
      )
    } catch (error) {
      if (isStatusError(error, 'Conflict', 'AlreadyExists', 'NotFound')) return undefined
      throw error
    }
  }

  #claim(holderIdentity: string, anchor: Lease | undefined): LeaseObject {
    const { namespace, name, durationMs, labels, annotations, owner } = this.#options
    const { [renewedWith]: _, ...noted } = { ...this.annotations, ...annotations }
    const now = formatMicroTime(this.#ports.clock.now())
    const former = this.#seen?.spec
    const isSame = former?.holderIdentity === holderIdentity
    const isTaken = !isSame && holderIdentity !== ''
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: {
        ...(this.#seen?.metadata ?? {
          namespace,
          name,
          ...(labels ? { labels } : {}),
          ...(owner ? { ownerReferences: [owner] } : {}),
        }),
        annotations: { ...noted, ...(anchor ? { [renewedWith]: anchor.#options.name } : {}) },
      } as LeaseObject['metadata'],
      spec: {
        holderIdentity,
        leaseDurationSeconds: holderIdentity === '' ? 1 : Math.ceil(durationMs / 1000),
        acquireTime: isTaken ? now : (former?.acquireTime ?? now),
        renewTime: now,
        leaseTransitions: (former?.leaseTransitions ?? 0) + (isTaken && this.#seen ? 1 : 0),
      },
    }
  }

  /** A request that outlasts the deadline would be of no use. */
  async #request<R>(signal: AbortSignal, send: (signal: AbortSignal) => Promise<R>): Promise<R> {
    const { clock } = this.#ports
    const attempt = new Attempt(clock, this.#options.renewDeadlineMs / 2, signal)
    try {
      return await attempt.run((inTime) => tracked(clock, () => send(inTime)))
    } finally {
      attempt.end()
    }
  }

  /** Tells those who listen, now and when the deadline passes. */
  #tell(ended = 'lease lost'): void {
    this.#stopTimer()
    const { held } = this
    if (held && this.#renewedAt !== undefined && !this.#anchor) {
      const leftMs = this.#renewedAt + this.#options.renewDeadlineMs - this.#ports.clock.monotonic()
      this.#stopTimer = this.#ports.clock.after(Math.max(1, Math.ceil(leftMs)), () => this.#tell())
    }
    if (held === this.#told) return
    this.#told = held
    this.#ports.log.info(held ? 'lease gained' : ended, { lease: this.#options.name })
    for (const handler of this.#handlers) handler(held)
  }
}
