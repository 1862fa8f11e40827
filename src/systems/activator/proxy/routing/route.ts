import type { StaticAnswer } from './static-answer.ts'
import type { Target } from './target.ts'

/** One way to a target, as the control plane publishes it. Immutable: a change is a new value under the same id. */
export interface RouteConfig {
  readonly id: string
  /** The workload behind it; several routes may share one. */
  readonly target: string
  /** Where its counters lie. */
  readonly slot: number
  /** Canonical hosts; `*.example.io` and `*` match what no longer name matches. */
  readonly hosts: readonly string[]
  readonly pathPrefix: string
  /** How long a request may wait for the workload; 0 leaves only the global bound. */
  readonly readinessTimeoutMs: number
  /** How long the workload may take to begin its answer. */
  readonly responseTimeoutMs: number
  /** How many requests may wait at once; more are refused. */
  readonly maxWaiting: number
  /** Show browsers a page that refreshes itself instead of holding them. */
  readonly waitingPage: boolean
  /** That page, where it is not our own. */
  readonly customPage?: { readonly type: string; readonly body: string }
  /** What is answered without the workload, and neither wakes it nor counts as its use. */
  readonly staticAnswers: readonly StaticAnswer[]
  /** Tell a cold start in the response header `x-cold-start`. */
  readonly coldStartHeader: boolean
  /** User agents that never wake the workload, by prefix: they are answered by the proxy while it sleeps. */
  readonly probeAgents: readonly string[]
  /** Paths that never wake the workload, exactly as requested. */
  readonly probePaths: readonly string[]
  /** How long a silent tunnel may last; 0 is for ever. */
  readonly tunnelIdleMs: number
  /** Where requests go when the workload is not ready in time. */
  readonly fallback?: Address
  /** How long that one may take to begin its answer. */
  readonly fallbackTimeoutMs: number
}

export interface Address {
  readonly host: string
  readonly port: number
  /** How many requests at a time may go there from here; no bound when absent. */
  readonly limit?: number
  /** Nothing runs there: a container without a command, on `sojourn up`. */
  readonly isSimulated?: boolean
}

/** A route at work in one thread. */
export interface Route {
  config: RouteConfig
  target: Target
  readonly cells: Int32Array
  waiting: number
  removed: boolean
}

export const routeDefaults = {
  pathPrefix: '/',
  readinessTimeoutMs: 60_000,
  responseTimeoutMs: 300_000,
  maxWaiting: 1000,
  waitingPage: false,
  staticAnswers: [],
  coldStartHeader: true,
  probeAgents: ['kube-probe/', 'GoogleHC/', 'ELB-HealthChecker/'],
  probePaths: [],
  tunnelIdleMs: 0,
  fallbackTimeoutMs: 30_000,
} as const satisfies Partial<RouteConfig>
