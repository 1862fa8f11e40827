import type { StoredObject } from '../kube/object.ts'
import type { Key } from '../kube/key.ts'
import type { Alarms } from './alarms.ts'
import type { BackoffOptions } from './backoff.ts'
import type { Clock } from './clock.ts'
import type { Change, Informer } from './informer.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Outcome } from './outcome.ts'
import type { Random } from './random.ts'
import type { Priority } from './work-queue.ts'

export interface ControllerPorts {
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  /** Defaults to the machine's. */
  readonly random?: Random
  /** The process's one schedule. Defaults to one of the controller's own. */
  readonly alarms?: Alarms
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
  /** How long a key waits for the cache to show our own write before it goes on without. Defaults to 10 s. */
  readonly freshnessMs?: number
  /** Whether this process may work on a key now (leases, shards); a key that is not ours is dropped. Defaults to always. */
  readonly mine?: (key: Key) => boolean
}

/** Runs a reconcile for each key that may need one: never two at once for a key, failures backed off and kept apart. */
export declare class Controller {
  constructor(options: ControllerOptions)
  readonly name: string
  /** Nothing is ready, under way, or waiting for the cache. What waits for its time does not count. */
  readonly idle: boolean

  /** Looks at a key soon. Defaults to priority 'change'. */
  enqueue(key: Key, priority?: Priority): void
  /** Looks at a key at this time, or earlier if it was to be looked at earlier. */
  enqueueAt(key: Key, at: number): void
  /** Turns an informer's changes into keys, by default the changed object's own. The result ends it. */
  watch<T extends StoredObject>(informer: Informer<T>, keysOf?: (change: Change<T>) => Iterable<Key>): () => void
  /**
   * The key was written at this version: not reconciled again before the informer shows it. Without an informer, the
   * watched one of the key's kind and cluster.
   */
  expect(key: Key, resourceVersion: string, informer?: Informer): void
  /** When the key is to be looked at again, if a time is set. */
  wakesAt(key: Key): number | undefined
  /** Works until the signal aborts and what is under way has ended. */
  start(signal: AbortSignal): Promise<void>
  /** Resolves when the controller is idle. */
  whenIdle(): Promise<void>
}
