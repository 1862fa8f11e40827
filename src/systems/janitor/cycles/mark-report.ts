import type { CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { formatDuration, formatTime } from '../../../kube/time.ts'
import type { Look } from './look.ts'
import type { CyclePlan } from '../decision/plan.ts'
import { writePolicyStatus } from '../work/policy-status.ts'
import { describeResource, type InventoryError } from '../model/resource.ts'
import { locationStatus, type Work, type WorkPorts } from '../work/work.ts'

const mostWouldMark = 50

/** What a cycle did. */
export interface Applied {
  marked: number
  unmarked: number
  failed: number
}

/** What a cycle saw and decided. */
export interface Cycle {
  readonly seen: Look
  readonly plan: CyclePlan<CleanupCandidate>
  readonly inWindow: boolean
}

/** Says in the policy's status what a cycle saw and did. */
export async function report(
  work: Work,
  ports: WorkPorts,
  { seen, plan, applied, inWindow }: Cycle & { applied: Applied },
): Promise<void> {
  const { policy, location } = work
  const { counts, circuit } = plan
  const wouldMark = plan.steps
    .filter(({ decision }) => decision.do === 'mark')
    .slice(0, mostWouldMark)
    .map(({ judged }) => (judged.resource ? describeResource(judged.resource) : ''))
  const nextAt = seen.now + policy.intervalMs
  for (const verdict of ['visited', 'excluded', 'unknown', 'violating'] as const)
    ports.metrics.visited.set({ policy: policy.name, location, verdict }, counts[verdict])
  ports.metrics.circuits.set({ policy: policy.name, location }, circuit === undefined ? 0 : 1)
  if (circuit !== undefined && locationStatus(work).circuit === undefined)
    ports.events.record(work.object, { type: 'Warning', reason: 'CircuitOpened', message: `${location}: ${circuit}` })
  await writePolicyStatus(ports, policy.name, {
    location: {
      name: location,
      change: {
        generation: policy.generation,
        markedAt: formatTime(seen.now),
        // What opened the circuit stays the measure until a human has looked.
        ...(circuit === undefined ? { visited: counts.visited, visitedAt: formatTime(seen.now) } : {}),
        excluded: counts.excluded,
        unknown: counts.unknown,
        violating: counts.violating,
        marked: applied.marked,
        unmarked: applied.unmarked,
        failed: applied.failed,
        trouble: null,
        circuit: circuit ?? null,
        circuitOpenedAt: circuit === undefined ? null : (locationStatus(work).circuitOpenedAt ?? formatTime(seen.now)),
        wouldMark: work.dryRun ? wouldMark : null,
      },
    },
    claims: [
      {
        type: 'Ready',
        status: 'True',
        reason: 'Working',
        message: work.dryRun ? 'this is a dry run' : `looks every ${formatDuration(policy.intervalMs)}`,
      },
      {
        type: 'InWindow',
        status: inWindow ? 'True' : 'False',
        reason: inWindow ? 'Open' : 'Closed',
        message: work.policy.schedule ?? 'no schedule',
      },
    ],
    nextAt,
  })
}

/** Says why a cycle could do nothing. */
export async function reportTrouble(work: Work, ports: WorkPorts, error: InventoryError): Promise<void> {
  const { policy, location } = work
  ports.metrics.troubles.inc({ policy: policy.name, action: 'Mark' })
  ports.log.error('inventory not complete', { policy: policy.name, location, error })
  await writePolicyStatus(ports, policy.name, {
    location: { name: location, change: { trouble: error.message.slice(0, 1000) } },
    claims: [{ type: 'Ready', status: 'True', reason: 'Working', message: 'waits for a complete inventory' }],
  })
}
