import type { Client } from '../client/client.ts'
import type { Clock } from './clock.ts'
import type { Logger } from './log.ts'
import type { Random } from './random.ts'

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
}

/** One `coordination.k8s.io` Lease that at most one member holds. Expiry is judged by each member's own monotonic clock. */
export declare class Lease {
  constructor(options: LeaseOptions, ports: LeasePorts)
  /** Ours, and renewed recently enough by our own clock to act on it. Ask before each act. */
  readonly held: boolean
  /** Who holds it as far as we have seen; '' when nobody does. */
  readonly holder: string
  /** How often it has changed hands: goes into writes as a soft fence. */
  readonly transitions: number
  /** Tells when `held` changes. The result ends it. */
  onChange(handler: (held: boolean) => void): () => void
  /** Tries to hold the lease until the signal aborts, then gives it back. */
  start(signal: AbortSignal): Promise<void>
}
