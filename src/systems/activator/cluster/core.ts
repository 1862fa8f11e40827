import type { ProcessParts } from '../../../runtime/process-parts.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import type { UsageTracker } from '../decision/usage.ts'
import type { WakeAttempts } from '../decision/wake-attempts.ts'
import type { ServiceRegistry } from '../model/service-registry.ts'
import type { DataPlane } from '../proxy/planes/data-plane.ts'
import type { Peers } from '../replicas/peers.ts'
import type { Actions } from './act.ts'
import type { Caches } from './observe.ts'
import type { WorkloadCaches } from './workload-caches.ts'

/** What every part of one activator shares. */
export interface Core extends Pick<ProcessParts, 'client' | 'clock' | 'log'> {
  readonly now: () => number
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
