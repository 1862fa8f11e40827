import type { CandidateStatus, CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { cleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import type { CleanupPolicy, LocationStatus } from '../../../apis/cleanup-policy.ts'
import type { WorkScheduleSpec } from '../../../apis/work-schedule.ts'
import type { Client } from '../../../client/client.ts'
import type { Door } from '../../../departures/door/door.ts'
import { deepEqual } from '../../../kube/patch.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import type { Logger } from '../../../runtime/observability/log.ts'
import type { Desk } from './desk.ts'
import type { JanitorMetrics } from './janitor-metrics.ts'
import type { LedgerBook } from '../ledger/ledger-book.ts'
import type { openChannel } from '../../../notices/open-channel.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Provider } from '../verdict/provider.ts'

/** What every part of the janitor is given. */
export interface WorkPorts {
  readonly client: Client
  readonly desk: Desk
  readonly door: Door
  readonly providers: readonly Provider[]
  readonly ledgers: LedgerBook
  readonly events: EventRecorder
  readonly metrics: JanitorMetrics
  readonly clock: Clock
  readonly log: Logger
  /** Where people reach this server. */
  readonly publicUrl: () => string
  readonly linkKey: () => Promise<string>
  /** How notices go out. */
  readonly openChannel: typeof openChannel
}

/** One work item under way: a policy at a location, with the right to act there. */
export interface Work {
  readonly policy: CompiledPolicy
  readonly object: CleanupPolicy
  readonly location: string
  readonly schedule: WorkScheduleSpec | undefined
  /** Nothing but the policy's own status may be written. */
  readonly dryRun: boolean
  readonly fence: Fence
  readonly signal: AbortSignal
  /** A candidate was written at this version: the next look must not be at an older one. */
  readonly wrote: (resourceVersion: string) => void
  /** Nothing can be done here before this time, whatever is due. */
  readonly rest: (until: number) => void
}

/** A work item before anybody has the right to act on it. */
export type Unleased = Pick<Work, 'policy' | 'object' | 'location' | 'schedule' | 'dryRun'>

/** The right to act, as long as it lasts. */
export interface Fence {
  readonly held: boolean
  readonly number: number
}

/** The lease is gone: whoever has it now does the rest. */
export class FenceLost extends Error {
  override readonly name = 'FenceLost'
}

/** To be called before every side effect. */
export function assertHeld({ fence, signal }: Pick<Work, 'fence' | 'signal'>): void {
  signal.throwIfAborted()
  if (!fence.held) throw new FenceLost('the lease of this policy and location was lost')
}

/** What the policy's status says of this location. */
export function locationStatus({ object, location }: Pick<Work, 'object' | 'location'>): LocationStatus {
  return object.status?.locations?.[location] ?? {}
}

/** Writes a mark's status, only over the version that was decided upon. Writes nothing when nothing changed. */
export async function writeMark(
  ports: Pick<WorkPorts, 'client'>,
  work: Pick<Work, 'fence' | 'signal' | 'wrote'>,
  candidate: CleanupCandidate,
  status: CandidateStatus,
): Promise<CleanupCandidate> {
  const wanted = { ...status, fence: work.fence.number }
  if (deepEqual({ ...candidate.status, fence: work.fence.number }, wanted)) return candidate
  assertHeld(work)
  const written = await ports.client.update<CleanupCandidate>(
    cleanupCandidate.type,
    { ...candidate, status: wanted },
    { subresource: 'status', signal: work.signal },
  )
  work.wrote(written.metadata.resourceVersion)
  return written
}
