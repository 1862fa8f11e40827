import type { Address } from './route.ts'
import type { CoarseTime, ProxyLimits, ProxyPorts, Refusal } from './ports.ts'
import type { QueueEntry } from './queue-entry.ts'
import { Http2Upstream } from './http2-upstream.ts'
import { UpstreamConnection, type Upstream } from './upstream-connection.ts'

/** A workload as the control plane sees it. `draining` holds new requests back until the control plane has decided. */
export type TargetState =
  | { readonly is: 'cold'; readonly expectedWakeMs?: number }
  | { readonly is: 'warm'; readonly endpoints: readonly Address[]; readonly protocol?: 'http1' | 'h2c' }
  | { readonly is: 'draining' }
  | { readonly is: 'refusing'; readonly because: Refusal; readonly retryAfterSeconds: number }

const unreachable = 'Its pods accept no connections at their port.'
const simulated =
  'Its container has no command, so "sojourn up" simulates it, and it cannot answer: set a command that runs on this machine.'
const redialMs = 50
const wakeAgainMs = 1000
// A pod may close a connection idle for longer than this just as something is sent on it.
const freshMs = 1000
const forgottenAfterMs = 10_000
// A pod without a readiness probe is ready before it listens: its first refusals are no fault.
const faultAfterMs = 5000

/** One pod of a workload, as one thread sees it. */
export class Endpoint {
  readonly address: Address
  readonly target: Target
  /** Kept-alive connections, the one used last on top. */
  readonly idle: UpstreamConnection[] = []
  readonly dials = new Set<UpstreamConnection>()
  /** Requests at a time. */
  limit = Infinity
  busy = 0
  /** The pod answered when last dialled. If not, one dial at a time is enough to see whether it is back. */
  proven = true
  /** The last dial failed, and the pause before the next one is not over. */
  resting = false
  retired = false
  /** Connections, those being dialled included. */
  #open = 0
  readonly #closers: (() => void)[] = []

  constructor(address: Address, target: Target) {
    this.address = address
    this.target = target
  }

  /** Whether a request could go to it now. */
  hasRoom({ maxConnectionsPerPod, maxDialsPerPod }: ProxyLimits): boolean {
    if (this.resting || this.busy >= this.limit) return false
    return (
      this.idle.length > 0 ||
      (this.#open < maxConnectionsPerPod && this.dials.size < (this.proven ? maxDialsPerPod : 1))
    )
  }

  requestBegan(): void {
    this.busy++
    this.target.busy++
  }

  requestEnded(): void {
    this.busy--
    this.target.busy--
  }

  dialling(connection: UpstreamConnection): void {
    this.#open++
    this.dials.add(connection)
  }

  connected(connection: UpstreamConnection): void {
    this.dials.delete(connection)
    this.reached()
  }

  reached(): void {
    this.proven = true
    this.target.reached()
  }

  disconnected(connection: UpstreamConnection): void {
    this.#open--
    this.dials.delete(connection)
  }

  /** A dial failed: no other for a moment. */
  rest(): void {
    this.resting = true
    this.proven = false
    this.closeIdle()
  }

  /** Something else to close when the pod is no longer used. */
  onRetire(close: () => void): void {
    this.#closers.push(close)
  }

  retire(): void {
    for (const close of this.#closers.splice(0)) close()
    this.retired = true
    this.closeIdle()
  }

  closeIdle(): void {
    for (const connection of this.idle.splice(0)) connection.destroy()
  }
}

/** A workload in one thread: its pods, and the requests that wait for it. */
export class Target {
  readonly id: string
  readonly time: CoarseTime
  readonly #limits: ProxyLimits
  readonly #ports: ProxyPorts
  readonly waiters = new Set<QueueEntry>()
  #state: TargetState = { is: 'cold' }
  #endpoints: Endpoint[] = []
  /** Requests forwarded and not ended. */
  busy = 0
  /** Routes that lead here. */
  routes = 0
  /** How long its last wake took. */
  #expectedWakeMs: number | undefined
  #wokenAt = -Infinity
  /** When a request last waited for it. */
  #askedAt = -Infinity
  /** Since when it is being woken. The request that caused it may have been answered with the waiting page since. */
  #wakingSince: number | undefined
  #cancelRedial: (() => void) | undefined
  /** Since when no dial has succeeded, and how the last one failed. */
  #fault: { readonly since: number; readonly message: string } | undefined

  constructor(id: string, time: CoarseTime, limits: ProxyLimits, ports: ProxyPorts) {
    this.id = id
    this.time = time
    this.#limits = limits
    this.#ports = ports
  }

  get state(): TargetState {
    return this.#state
  }

  /** How long its last wake took, by this thread's clock or by what is noted on the workload. */
  get expectedWakeMs(): number | undefined {
    return this.#expectedWakeMs
  }

  /** How long it has been waking. */
  get wakingMs(): number {
    return this.#wakingSince === undefined ? 0 : this.#ports.clock.monotonic() - this.#wakingSince
  }

  /** What has kept every pod from being reached for a while, though they are ready. */
  get fault(): string | undefined {
    const { since = Infinity, message } = this.#fault ?? {}
    const waitMs = this.#isSimulated ? 0 : faultAfterMs
    return this.#ports.clock.monotonic() - since >= waitMs ? message : undefined
  }

  /** The same in words for callers: addresses of pods are for the operator, in the log, the Event and the condition. */
  get faultForCallers(): string | undefined {
    return this.fault === undefined ? undefined : this.#isSimulated ? simulated : unreachable
  }

  get #isSimulated(): boolean {
    return this.#endpoints.length > 0 && this.#endpoints.every(({ address }) => address.isSimulated)
  }

  reached(): void {
    this.#fault = undefined
  }

  /** Applies the state that the control plane reports, and resumes the requests that can now go on. */
  set(state: TargetState): void {
    this.#state = state
    this.#time(state)
    if (state.is === 'warm') this.#replaceEndpoints(state.endpoints)
    else if (state.is === 'draining') for (const endpoint of this.#endpoints) endpoint.closeIdle()
    else this.#replaceEndpoints([])
    if (state.is === 'cold') for (const entry of this.waiters) entry.cold = true
    if (state.is === 'refusing') {
      // Requests that wait already keep their own deadline; only a final refusal ends them before it.
      if (state.because === 'backoff') return
      for (const { waiter } of this.waiters) waiter.refuse(state.because, state.retryAfterSeconds)
    } else {
      this.#wokenAt = -Infinity
      this.dispatch()
    }
  }

  #time(state: TargetState): void {
    const isUp = state.is === 'warm' && state.endpoints.length > 0
    if (state.is === 'cold') this.#expectedWakeMs = state.expectedWakeMs ?? this.#expectedWakeMs
    if (!isUp) return
    if (this.#wakingSince !== undefined) this.#expectedWakeMs = this.wakingMs
    this.#wakingSince = undefined
  }

  /** What carries a request in the protocol of its pods; undefined when the request has to wait. */
  takeFor(mayReuse: boolean): Upstream | undefined {
    if (this.#state.is !== 'warm' || this.#state.protocol !== 'h2c') return this.take(mayReuse)
    const endpoint = this.pick()
    return endpoint && new Http2Upstream(endpoint, this.#limits.dialTimeoutMs)
  }

  /** A connection ready to carry a request, or one being opened; undefined when the request has to wait. */
  take(mayReuse: boolean): UpstreamConnection | undefined {
    if (this.#state.is !== 'warm') return undefined
    const endpoint = this.pick()
    if (!endpoint) return undefined
    const kept = endpoint.idle.at(-1)
    if (!kept || (!mayReuse && this.time.now - kept.since > freshMs)) return new UpstreamConnection(endpoint)
    return endpoint.idle.pop()
  }

  /** The less busy of two pods picked at random, among those that answered when last dialled and have room. */
  pick(): Endpoint | undefined {
    const endpoints = this.#endpoints
    const limits = this.#limits
    if (endpoints.length === 1) return endpoints[0]!.hasRoom(limits) ? endpoints[0] : undefined
    if (endpoints.length === 0) return undefined
    const first = endpoints[Math.floor(this.#ports.random() * endpoints.length)]!
    const second = endpoints[Math.floor(this.#ports.random() * endpoints.length)]!
    const better = second.busy < first.busy ? second : first
    return better.hasRoom(limits) ? better : endpoints.find((endpoint) => endpoint.hasRoom(limits))
  }

  /** Asleep, or without a pod that answers; not merely held back or at its limits. */
  get isCold(): boolean {
    return this.#state.is === 'cold' || (this.#state.is === 'warm' && !this.#endpoints.some(({ proven }) => proven))
  }

  /** A pod that answered when last dialled would take a request now. */
  get isReachable(): boolean {
    const isUp = ({ proven, resting }: Endpoint) => proven && !resting
    return this.#state.is === 'warm' && this.waiters.size === 0 && this.#endpoints.some(isUp)
  }

  wait(entry: QueueEntry): void {
    this.waiters.add(entry)
    this.dispatch()
  }

  /** Resumes waiting requests, oldest first, as far as connections allow. */
  dispatch(): void {
    if (this.waiters.size === 0) return
    if (this.#state.is !== 'warm') return this.requestWake()
    for (const { waiter } of this.waiters) {
      if (!this.#endpoints.some((endpoint) => endpoint.hasRoom(this.#limits))) break
      waiter.resume()
    }
    if (this.waiters.size > 0) this.requestWake()
  }

  /** Asks the control plane to wake the workload, at most once per `wakeAgainMs`. */
  requestWake(): void {
    if (this.#state.is === 'draining' || this.#state.is === 'refusing') return
    if (this.#state.is === 'warm' && this.#endpoints.some(({ resting }) => !resting)) return
    const now = this.#ports.clock.monotonic()
    // A visitor who reloads the waiting page waits for the same start; one who comes later begins another wait.
    if (now - this.#askedAt > forgottenAfterMs) this.#wakingSince = undefined
    this.#askedAt = now
    if (now - this.#wokenAt < wakeAgainMs) return
    this.#wokenAt = now
    if (this.#endpoints.length === 0) this.#wakingSince ??= now
    this.#ports.wake(this.id, this.fault)
  }

  /** A dial failed: pause, then dial again if a request waits. */
  dialFailed(endpoint: Endpoint, error?: Error | null): void {
    endpoint.rest()
    const { since = this.#ports.clock.monotonic() } = this.#fault ?? {}
    const { host, port, isSimulated } = endpoint.address
    const message = `${failureOf(error)} at ${host}:${port}${isSimulated ? `. ${simulated}` : ''}`
    this.#fault = { since, message }
    this.#cancelRedial ??= this.#ports.clock.after(redialMs, () => {
      this.#cancelRedial = undefined
      for (const each of this.#endpoints) each.resting = false
      // What is simulated will never listen: nothing is worth waiting for.
      if (this.#isSimulated) for (const { waiter } of this.waiters) waiter.refuse('not-ready-in-time', 1)
      else this.dispatch()
    })
  }

  /** Ends dials that take too long and connections that have been idle too long. */
  sweep(now: number): void {
    const { dialTimeoutMs, upstreamIdleMs } = this.#limits
    for (const endpoint of this.#endpoints) {
      for (const dial of endpoint.dials) if (now - dial.since > dialTimeoutMs) dial.socket.destroy()
      // The bottom of the stack has been idle longest.
      let expired = 0
      while (expired < endpoint.idle.length && now - endpoint.idle[expired]!.since > upstreamIdleMs) expired++
      for (const connection of endpoint.idle.splice(0, expired)) connection.destroy()
    }
    for (const { waiter } of this.waiters) waiter.checkWait(now)
    // Requests that were answered just now have made room.
    this.dispatch()
  }

  close(): void {
    this.#cancelRedial?.()
    this.#cancelRedial = undefined
    for (const { waiter } of this.waiters) waiter.refuse('route-gone', 1)
    for (const endpoint of this.#endpoints) endpoint.retire()
    this.#endpoints = []
  }

  #replaceEndpoints(addresses: readonly Address[]): void {
    const kept = new Map(
      this.#endpoints.map((endpoint) => [`${endpoint.address.host} ${endpoint.address.port}`, endpoint]),
    )
    this.#endpoints = addresses.map((address) => {
      const key = `${address.host} ${address.port}`
      const endpoint = kept.get(key) ?? new Endpoint(address, this)
      kept.delete(key)
      endpoint.resting = false
      endpoint.limit = address.limit ?? Infinity
      return endpoint
    })
    for (const gone of kept.values()) gone.retire()
  }
}

function failureOf(error: Error | null | undefined): string {
  const { code } = (error ?? {}) as { readonly code?: string }
  return code === 'ECONNREFUSED'
    ? 'connection refused'
    : code === undefined
      ? 'no connection'
      : `no connection (${code})`
}
