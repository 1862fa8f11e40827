import type { ProcessParts } from '../../../runtime/process-parts.ts'
import {
  cleanupCandidate,
  type CandidatePhase,
  type CandidateStatus,
  type CleanupCandidate,
} from '../../../apis/cleanup-candidate.ts'
import type { CleanupPolicy, LocationStatus } from '../../../apis/cleanup-policy.ts'
import type { WorkScheduleSpec } from '../../../apis/work-schedule.ts'
import type { Door } from '../../../departures/door/door.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Outcome } from '../../../runtime/controller/outcome.ts'
import type { JanitorCaches } from './janitor-caches.ts'
import type { JanitorMetrics } from './janitor-metrics.ts'
import type { LedgerCache } from '../ledger/ledger-cache.ts'
import type { NotificationChannel } from '../../../apis/notification-channel.ts'
import type { Channel } from '../../../notices/notice.ts'
import { leavesOf } from '../decision/candidate.ts'
import { describeResource } from '../model/resource.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Provider } from '../verdict/provider.ts'

/** The janitor's dependencies, built once by `createJanitor`. */
export interface WorkPorts extends Pick<ProcessParts, 'client' | 'clock' | 'log' | 'events'> {
  readonly caches: JanitorCaches
  readonly door: Door
  readonly providers: readonly Provider[]
  readonly ledgers: LedgerCache
  readonly metrics: JanitorMetrics
  /** The base URL under which users reach this server, for links in notices. Undefined: notices carry none. */
  readonly publicUrl: () => string | undefined
  /** The name of the home cluster, for people who have several. */
  readonly clusterName: () => Promise<string>
  /** The key that signs opt-out links. */
  readonly linkKey: () => Promise<string>
  readonly openChannel: (channel: NotificationChannel) => Channel
}

/** A policy at one location, before the lease to act there is held. */
export interface WorkItem {
  readonly policy: CompiledPolicy
  readonly object: CleanupPolicy
  readonly location: string
  readonly schedule: WorkScheduleSpec | undefined
  /** Nothing but the policy's own status may be written. */
  readonly dryRun: boolean
  /** Whether the policy's WorkSchedule is open. */
  readonly inWindow: boolean
  readonly ports: WorkPorts
}

/** A work item whose lease is held: it may write and delete. */
export interface Work extends WorkItem {
  readonly fence: Fence
  readonly signal: AbortSignal
  /** Reports a candidate written at this version: the item is not reconciled on an older cache. */
  readonly wrote: (resourceVersion: string) => void
  /** Puts the item off until this time, even if something is due earlier. */
  readonly postpone: (until: number) => void
}

/** One action of a policy at a location: when it is due, and how to carry it out under the lease. */
export interface PlannedCycle {
  readonly dueAt: number
  readonly run: (work: Work) => Promise<Outcome>
}

/** The held lease as a fencing token. `held` turns false as soon as the lease may have passed to another instance. */
export interface Fence {
  readonly held: boolean
  readonly number: number
}

/** The lease was lost: the instance that holds it now does the rest. */
export class FenceLost extends Error {
  override readonly name = 'FenceLost'
}

/** Throws unless the lease is held. Call it before every side effect. */
export function assertHeld({ fence, signal }: Pick<Work, 'fence' | 'signal'>): void {
  signal.throwIfAborted()
  if (!fence.held) throw new FenceLost('the lease of this policy and location was lost')
}

/** What the policy's status says of this location. */
export function locationStatus({ object, location }: Pick<WorkItem, 'object' | 'location'>): LocationStatus {
  return object.status?.locations?.[location] ?? {}
}

/** Writes a mark's status with the version it was decided on as precondition. Writes nothing when nothing changed. */
export async function writeMark(
  work: Pick<Work, 'fence' | 'signal' | 'wrote'> & { readonly ports: Pick<WorkPorts, 'client' | 'clock'> },
  candidate: CleanupCandidate,
  status: CandidateStatus,
): Promise<CleanupCandidate> {
  const { leaves: _, ...fields } = status
  const leaves = leavesOf({ ...candidate, status }, work.ports.clock.now())
  const wanted = { ...fields, ...(leaves === undefined ? {} : { leaves }), fence: work.fence.number }
  if (deepEqual({ ...candidate.status, fence: work.fence.number }, wanted)) return candidate
  assertHeld(work)
  const written = await work.ports.client.update<CleanupCandidate>(
    cleanupCandidate.type,
    { ...candidate, status: wanted },
    { subresource: 'status', signal: work.signal },
  )
  work.wrote(written.metadata.resourceVersion)
  return written
}

/** Writes a mark unless it was changed or deleted meanwhile: then the next reconcile decides on what it says now. */
export function tryWriteMark(
  work: Work,
  candidate: CleanupCandidate,
  status: CandidateStatus,
): Promise<CleanupCandidate | undefined> {
  return writeMark(work, candidate, status).catch(ignoring('Conflict', 'NotFound'))
}

/** Counts and logs that a mark has entered a phase. */
export function reportPhase(
  { policy, ports }: WorkItem,
  { spec }: CleanupCandidate,
  { phase, because }: { readonly phase: CandidatePhase; readonly because: string },
): void {
  ports.metrics.phaseChanges.inc({ policy: policy.name, phase, because })
  ports.log.info('mark changed phase', {
    policy: policy.name,
    resource: describeResource(spec.resource),
    phase,
    because,
  })
}
