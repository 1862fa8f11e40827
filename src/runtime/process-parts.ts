import type { Client } from '../client/client.ts'
import type { Informers } from './cache/informers.ts'
import type { EventRecorder } from './observability/event-recorder.ts'
import type { Logger } from './observability/log.ts'
import type { Metrics } from './observability/metrics.ts'
import type { Clock } from './time/clock.ts'
import type { Random } from './time/random.ts'

/** What a process has once, and its parts share: each names those it needs. */
export interface ProcessParts {
  /** The API of the home cluster. */
  readonly client: Client
  readonly informers: Informers
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly events: EventRecorder
  readonly random: Random
}
