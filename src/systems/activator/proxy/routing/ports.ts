import type { JournalPorts } from './journal.ts'
import type { Route } from './route.ts'

export type Wake = (target: string, fault?: string) => void

/** What one thread of the proxy needs from outside. */
export interface ProxyPorts extends JournalPorts {
  /**
   * A request waits for this target: have it woken. Called again while requests wait; must not block. `fault`: what keeps its
   * ready pods from being reached.
   */
  readonly wake: Wake
  /** A number in [0, 1): spreads requests over pods. */
  readonly random: () => number
}

/** Monotonic time, a quarter of a second coarse: reading it costs nothing. */
export interface CoarseTime {
  now: number
}

export interface ProxyLimits {
  /** How long a request head may take to arrive whole. */
  readonly headTimeoutMs: number
  /** How long a connection may be silent between requests. */
  readonly keepAliveMs: number
  /** How long a request body may pause. */
  readonly bodyTimeoutMs: number
  /** How much of a body is taken in while its request waits. */
  readonly holdBytes: number
  /** How many requests may wait in this thread, over all routes. */
  readonly maxWaiting: number
  /** How many bytes waiting requests may occupy in this thread. */
  readonly maxWaitingBytes: number
  /** Connections to one pod, from this thread. */
  readonly maxConnectionsPerPod: number
  /** Connections to one pod being opened at a time. */
  readonly maxDialsPerPod: number
  readonly dialTimeoutMs: number
  /** How long an idle connection to a pod is kept. */
  readonly upstreamIdleMs: number
  /** How long a tunnel of which one end has closed may be silent. */
  readonly halfOpenMs: number
  /** How long a browser is held before it gets the waiting page. */
  readonly waitingPageAfterMs: number
  /** How long a waiting request may wait when its route sets no bound. */
  readonly maxWaitMs: number
  /** Addresses and CIDR ranges of proxies in front, whose forwarding fields are believed. */
  readonly trustedProxies: readonly string[]
}

export const defaultLimits: ProxyLimits = {
  headTimeoutMs: 10_000,
  keepAliveMs: 75_000,
  bodyTimeoutMs: 60_000,
  holdBytes: 65_536,
  maxWaiting: 10_000,
  maxWaitingBytes: 64 * 1024 * 1024,
  maxConnectionsPerPod: 1024,
  maxDialsPerPod: 64,
  dialTimeoutMs: 3000,
  upstreamIdleMs: 30_000,
  halfOpenMs: 10_000,
  waitingPageAfterMs: 1000,
  maxWaitMs: 300_000,
  trustedProxies: [],
}

/** Why a request was turned away instead of forwarded. */
export type Refusal =
  | 'queue-full'
  | 'not-ready-in-time'
  | 'wake-denied'
  | 'backoff'
  | 'route-gone'
  | 'target-gone'
  | 'no-port'

/** A request that waits for its target, by its entry in the list of the target, oldest first. */
export interface Waiter {
  readonly route: Route
  /** The workload can take it now: go on. */
  resume(): void
  refuse(because: Refusal, retryAfterSeconds: number): void
  /** Looked at while it waits: time to show a page, or to leave. */
  checkWait(now: number): void
}

/** What connections to a listener are for. */
export type Purpose =
  /** Requests, each to the route that its host leads to. */
  | { readonly is: 'hosts' }
  /** Questions whether a host's workload is up, from a proxy in front of it: each waits until it is. Nothing is forwarded. */
  | { readonly is: 'checks' }
  /** Requests, all to one route, whatever host they name. */
  | { readonly is: 'requests'; readonly route: string }
  /** Bytes of any protocol, all to one route, passed on as they are. */
  | { readonly is: 'bytes'; readonly route: string }

export const forHosts: Purpose = { is: 'hosts' }
