import type { Client } from '../../../client/client.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import type { Logger } from '../../../runtime/observability/log.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { UsageTracker } from '../decision/usage.ts'
import type { WakeAttempts } from '../decision/wake-attempts.ts'
import type { ServiceRegistry } from '../model/service-registry.ts'
import type { DataPlane } from '../proxy/planes/data-plane.ts'
import type { Peers } from '../replicas/peers.ts'
import type { Actions } from './act.ts'
import type { Caches } from './observe.ts'
import type { WorkloadCaches } from './workload-caches.ts'

/** What every part of one activator shares. */
export interface Core {
  readonly client: Client
  readonly clock: Clock
  readonly now: () => number
  readonly log: Logger
  readonly events: Pick<EventRecorder, 'record'>
  readonly peers: Peers
  readonly plane: DataPlane
  readonly caches: Caches
  readonly workloads: WorkloadCaches
  readonly registry: ServiceRegistry
  readonly usage: UsageTracker
  readonly wakeAttempts: WakeAttempts
  readonly actions: Actions
  /** Decide everything, write nothing. */
  readonly dryRun: boolean
}
