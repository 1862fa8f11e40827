import { globalAgent } from 'node:http'
import { send } from '../../../runtime/http/http.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { DrainReport, Part, Peers } from './peers.ts'
import type { UseReport } from './reported-use.ts'
import type { SenderIndex } from '../proxy/routing/shares.ts'

/** The replicas of this fleet; a `LeaseMembership` is one. */
export interface Membership {
  /** Those who are alive, ourselves included, each as `peerIdentity` writes it. */
  readonly members: readonly string[]
  readonly isLeader: boolean
  /** Looks again, at once. */
  look(): Promise<void>
}

export interface HttpPeersOptions {
  /** Ourselves, as `peerIdentity` writes it. */
  readonly identity: string
  /** Shared by all replicas: only they may ask. */
  readonly token: string
  readonly membership: Membership
  readonly clock: Clock
}

const askMs = 2000
const lookMs = 1000
/** How long a replica that left without a word is still asked, should it be only cut off from the API. */
const graceMs = 60_000

/** A replica's name in the membership, with the address at which the others reach it. */
export function peerIdentity({
  name,
  host,
  port,
  part = 'all',
}: {
  readonly name: string
  readonly host: string
  readonly port: number
  readonly part?: Part
}): string {
  return `${name}@${host}:${port}${part === 'all' ? '' : `#${part}`}`
}

/** What the replica of this identity does. */
function partOf(identity: string): Part {
  return identity.endsWith('#scaler') ? 'scaler' : identity.endsWith('#proxy') ? 'proxy' : 'all'
}

const takesRequests = (identity: string) => partOf(identity) !== 'scaler'
const scales = (identity: string) => partOf(identity) !== 'proxy'

/** The other replicas, asked over HTTP. A replica that cannot be asked counts as busy. */
export class HttpPeers implements Peers {
  readonly #options: HttpPeersOptions
  readonly #handlers = new Set<(change: { readonly lost: boolean }) => void>()
  /** Replicas that announced themselves before the membership shows them, and until when that counts. */
  readonly #announced = new Map<string, number>()
  /** Replicas that the membership no longer shows, and since when. They may be cut off, and busy. */
  readonly #missing = new Map<string, number>()
  readonly #left = new Set<string>()
  /** Replicas that are about to leave, ourselves perhaps: still asked, no longer led to. */
  readonly #retiring = new Set<string>()
  /** Members whose address refuses connections: callers are not sent there, but they are still asked before a scale-down. */
  #silent: ReadonlySet<string> = new Set()
  #known: readonly string[] = []
  #wasLeading = false
  #joined = false
  #closed = false
  #cancelLook: () => void

  constructor(options: HttpPeersOptions) {
    this.#options = options
    this.#cancelLook = options.clock.after(0, () => void this.#look())
  }

  get leading(): boolean {
    return this.#joined && this.#options.membership.isLeader
  }

  get joined(): boolean {
    return this.#joined
  }

  get senderIndex(): SenderIndex {
    const { identity, membership } = this.#options
    const members = membership.members.filter(takesRequests).toSorted()
    return { index: Math.max(0, members.indexOf(identity)), count: Math.max(1, members.length) }
  }

  get addresses(): readonly string[] {
    const members = this.#options.membership.members.filter(takesRequests)
    const staying = members.filter((member) => !this.#retiring.has(member) && !this.#silent.has(member))
    return [...new Set(staying.map((member) => addressOf(member).host))]
  }

  /** Counts those, too, that have only just said they are there: the membership is told of them later. */
  get isLast(): boolean {
    const isLike = partOf(this.#options.identity) === 'proxy' ? takesRequests : scales
    return this.#others().every((peer) => this.#retiring.has(peer) || !isLike(peer))
  }

  get address(): string | undefined {
    const { identity } = this.#options
    return this.#retiring.has(identity) || !takesRequests(identity) ? undefined : addressOf(identity).host
  }

  async listening(route: string): Promise<readonly string[]> {
    const staying = this.#others().filter((peer) => takesRequests(peer) && !this.#retiring.has(peer))
    const answers = await Promise.all(
      staying.map(async (peer) => ((await this.#ask(peer, 'listens', route).catch(() => '')) === 'yes' ? [peer] : [])),
    )
    return answers.flat().map((peer) => addressOf(peer).host)
  }

  get others(): readonly string[] {
    return this.#others()
  }

  get scalers(): readonly string[] {
    return this.#others().filter(scales)
  }

  reportUse(scaler: string, report: Omit<UseReport, 'from'>): Promise<string> {
    return this.#ask(scaler, 'use', JSON.stringify({ from: this.#options.identity, ...report }))
  }

  /** Another replica is about to stop: callers must not be sent there any more. */
  retiring(identity: string): void {
    this.#retiring.add(identity)
    this.#tell({ lost: false })
  }

  /** Tells everybody that we are about to leave. */
  async retire(): Promise<void> {
    const { identity } = this.#options
    this.retiring(identity)
    await Promise.allSettled(this.#others().map((peer) => this.#ask(peer, 'retire', identity)))
  }

  async drain(route: string): Promise<readonly DrainReport[]> {
    const present = this.#others().map((peer) => this.#ask(peer, 'drain', route).then(parseReport))
    const missing = [...this.#missing.keys()].map((peer) => this.#drainMissing(peer, route))
    return (await Promise.all([...present, ...missing])).filter((report) => report !== undefined)
  }

  release(route: string): void {
    for (const peer of [...this.#others(), ...this.#missing.keys()])
      void this.#ask(peer, 'release', route).catch(() => {})
  }

  /** Another replica says that it is there. */
  announced(identity: string): void {
    this.#left.delete(identity)
    this.#announced.set(identity, this.#options.clock.monotonic() + graceMs)
  }

  /** Another replica says that it has served its last request: what it knew is written down. */
  departed(identity: string): void {
    this.#announced.delete(identity)
    this.#left.add(identity)
  }

  onChange(handler: (change: { readonly lost: boolean }) => void): () => void {
    this.#handlers.add(handler)
    return () => this.#handlers.delete(handler)
  }

  /** Tells the others that this replica has served its last request. The membership gives up the lease. */
  async leave(): Promise<void> {
    const { identity } = this.#options
    await Promise.allSettled(this.#others().map((peer) => this.#ask(peer, 'leave', identity)))
  }

  close(): void {
    this.#closed = true
    this.#cancelLook()
  }

  #others(): string[] {
    const { identity, membership } = this.#options
    const all = new Set([...membership.members, ...this.#announced.keys()])
    return [...all].filter((member) => member !== identity && !this.#left.has(member))
  }

  async #look(): Promise<void> {
    const { clock, membership } = this.#options
    if (!this.#joined) await this.#join().catch(() => {})
    const now = clock.monotonic()
    for (const [peer, until] of this.#announced)
      if (membership.members.includes(peer) || now > until) this.#announced.delete(peer)
    for (const peer of this.#retiring)
      if (peer !== this.#options.identity && !membership.members.includes(peer)) this.#retiring.delete(peer)
    for (const peer of this.#left) if (!membership.members.includes(peer)) this.#left.delete(peer)
    this.#compare(now)
    if (this.leading) await this.#noticeSilent()
    if (!this.#closed) this.#cancelLook = clock.after(lookMs, () => void this.#look())
  }

  /** A killed replica stays a member until its lease expires; callers must not be sent there meanwhile. */
  async #noticeSilent(): Promise<void> {
    const silent = new Set<string>()
    const look = (peer: string) =>
      this.#ask(peer, 'listens', '').catch((error: unknown) => {
        if (isRefused(error)) silent.add(peer)
      })
    await Promise.all(this.#others().map(look))
    const isNews = silent.size !== this.#silent.size || [...silent].some((peer) => !this.#silent.has(peer))
    this.#silent = silent
    if (isNews) this.#tell({ lost: false })
  }

  /** Announces this replica to all members. A replica that joins later sees this one in the membership and announces itself. */
  async #join(): Promise<void> {
    const { identity, membership } = this.#options
    if (!membership.members.includes(identity)) return
    // Replicas that became members at the same time show up only in a list that began after that.
    await membership.look()
    await Promise.all(this.#others().map((peer) => this.#ask(peer, 'join', identity)))
    this.#joined = true
    this.#tell({ lost: false })
  }

  #compare(now: number): void {
    const { members } = this.#options.membership
    const { leading } = this
    const gone = this.#known.filter((member) => !members.includes(member))
    const lost = gone.filter((member) => !this.#left.has(member) && member !== this.#options.identity)
    const isNews = gone.length > 0 || members.length !== this.#known.length || leading !== this.#wasLeading
    this.#known = [...members]
    this.#wasLeading = leading
    for (const peer of lost) this.#missing.set(peer, now)
    for (const member of members) this.#missing.delete(member)
    if (isNews) this.#tell({ lost: lost.length > 0 })
  }

  #tell(change: { readonly lost: boolean }): void {
    for (const handler of this.#handlers) handler(change)
  }

  /** A missing replica that answers still counts. It is gone once its address refuses connections or `graceMs` have passed. */
  async #drainMissing(peer: string, route: string): Promise<DrainReport | undefined> {
    try {
      return parseReport(await this.#ask(peer, 'drain', route))
    } catch (error) {
      const since = this.#missing.get(peer) ?? -Infinity
      if (!isRefused(error) && this.#options.clock.monotonic() - since < graceMs) throw error
      this.#missing.delete(peer)
      return undefined
    }
  }

  async #ask(
    peer: string,
    what: 'drain' | 'use' | 'release' | 'listens' | 'join' | 'retire' | 'leave',
    body: string,
  ): Promise<string> {
    const { host, port } = addressOf(peer)
    const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/${what}`
    const headers = { authorization: `Bearer ${this.#options.token}` }
    const request = { method: 'POST', url, headers, body: Buffer.from(body), timeoutMs: askMs } as const
    const { status, body: answer } = await send(request, globalAgent)
    if (status !== 200) throw new Error(`${peer} answered ${status}`)
    return answer.toString('utf8')
  }
}

/** The host answers and no process listens: the replica is gone. */
function isRefused(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ECONNREFUSED'
}

function addressOf(identity: string): { readonly host: string; readonly port: number } {
  const [address = ''] = identity.slice(identity.lastIndexOf('@') + 1).split('#')
  const colon = address.lastIndexOf(':')
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)) }
}

function parseReport(text: string): DrainReport {
  const { busy, waiting, idleMs } = JSON.parse(text) as Partial<DrainReport>
  if (typeof busy !== 'number' || typeof waiting !== 'number' || typeof idleMs !== 'number')
    throw new Error('a replica sent a drain report that cannot be read')
  return { busy, waiting, idleMs }
}
