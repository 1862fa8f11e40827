import type { Client } from '../../client/client.ts'
import type { Key } from '../../kube/key.ts'
import type { Alarms } from './alarms.ts'
import type { Informers } from '../cache/informers.ts'
import type { BackoffOptions } from '../time/backoff.ts'
import type { Clock } from '../time/clock.ts'
import type { Logger } from '../observability/log.ts'
import type { Metrics } from '../observability/metrics.ts'
import type { Outcome } from './outcome.ts'
import type { Random } from '../time/random.ts'

export interface ControllerPorts {
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Defaults to the machine's. */
  readonly random?: Random
  /** The process's one schedule. Defaults to one of the controller's own. */
  readonly alarms?: Alarms
  /** Whether this process may act now; while it may not, keys wait. Defaults to always. */
  readonly mayAct?: () => boolean
}

/** What the controllers of every system work with. */
export interface ClusterPorts {
  /** The home cluster. */
  readonly client: Client
  readonly informers: Informers
  readonly ports: ControllerPorts
}

export interface ControllerOptions {
  readonly name: string
  /** Makes the world around one key what it should be. The signal aborts when time is up or the process stops. */
  readonly reconcile: (key: Key, signal: AbortSignal) => Promise<Outcome>
  readonly ports: ControllerPorts
  /** How many keys are worked on at once. Defaults to 4. */
  readonly concurrency?: number
  /** Retries after failures. Defaults to exponential from 50 ms to 5 min. */
  readonly backoff?: Omit<BackoffOptions, 'random'>
  /** When a reconcile is given up. Defaults to 2 min. */
  readonly timeoutMs?: number
}
