import type { CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { formatDuration, formatTime } from '../../../kube/time.ts'
import type { Snapshot } from './snapshot.ts'
import type { CyclePlan, RuleFault } from '../decision/plan.ts'
import { writePolicyStatus, type LocationChange, type StatusClaim } from '../work/policy-status.ts'
import { describeResource, type InventoryError } from '../model/resource.ts'
import { locationStatus, type Work } from '../work/work.ts'

const maxWouldMark = 50

/** How many marks a cycle wrote. */
export interface Applied {
  readonly marked: number
  readonly unmarked: number
  readonly failed: number
}

/** What a cycle saw and decided. */
export interface Cycle {
  readonly snapshot: Snapshot
  readonly plan: CyclePlan<CleanupCandidate>
}

/** Reports in metrics, Events and the policy's status what a cycle saw and did. */
export async function reportCycle(work: Work, cycle: Cycle, applied: Applied): Promise<void> {
  const { policy, location, ports } = work
  const { counts, circuit } = cycle.plan
  for (const verdict of ['visited', 'excluded', 'unknown', 'violating'] as const)
    ports.metrics.visited.set({ policy: policy.name, location, verdict }, counts[verdict])
  ports.metrics.circuits.set({ policy: policy.name, location }, circuit === undefined ? 0 : 1)
  if (circuit !== undefined && locationStatus(work).circuit === undefined)
    ports.events.record(work.object, { type: 'Warning', reason: 'CircuitOpened', message: `${location}: ${circuit}` })
  await writePolicyStatus(ports, policy.name, {
    location: { name: location, change: locationChange(work, cycle, applied) },
    claims: claimsOf(work, cycle.plan.fault),
    nextAt: cycle.snapshot.now + policy.intervalMs,
  })
}

function locationChange(work: Work, { snapshot, plan }: Cycle, applied: Applied): LocationChange {
  const { counts, circuit } = plan
  const at = formatTime(snapshot.now)
  return {
    generation: work.policy.generation,
    markedAt: at,
    // While the circuit is open, later inventories are compared with the one before it opened.
    ...(circuit === undefined ? { visited: counts.visited, visitedAt: at } : {}),
    excluded: counts.excluded,
    unknown: counts.unknown,
    violating: counts.violating,
    ...applied,
    trouble: null,
    circuit: circuit ?? null,
    circuitOpenedAt: circuit === undefined ? null : (locationStatus(work).circuitOpenedAt ?? at),
    wouldMark: work.dryRun ? wouldMark(plan) : null,
  }
}

function wouldMark({ steps }: Cycle['plan']): string[] {
  return steps
    .filter(({ decision }) => decision.do === 'mark')
    .slice(0, maxWouldMark)
    .map(({ judged }) => (judged.resource ? describeResource(judged.resource) : ''))
}

/** The condition of a policy whose rule fails: what it fails for is neither marked nor deleted. */
function faultClaim({ field, because, resource, count }: RuleFault): StatusClaim {
  const first = resource ? describeResource(resource) : ''
  const message = `${field}: ${because} (${first}${count > 1 ? ` and ${count - 1} more` : ''})`
  return { type: 'Ready', status: 'False', reason: 'RuleFails', message: message.slice(0, 30_000) }
}

function claimsOf({ dryRun, inWindow, policy, ports }: Work, fault: RuleFault | undefined): readonly StatusClaim[] {
  return [
    fault
      ? faultClaim(fault)
      : {
          type: 'Ready',
          status: 'True',
          reason: 'Working',
          message: dryRun ? 'this is a dry run' : `judges its targets every ${formatDuration(policy.intervalMs)}`,
        },
    {
      type: 'InWindow',
      status: inWindow ? 'True' : 'False',
      reason: inWindow ? 'Open' : 'Closed',
      message: policy.schedule ?? 'no schedule',
    },
    ...(policy.notices.channels.length > 0
      ? [linksClaim(Boolean(policy.notices.optOutBaseUrl || ports.publicUrl()))]
      : []),
  ]
}

function linksClaim(hasLinks: boolean): StatusClaim {
  return {
    type: 'NoticeLinks',
    status: hasLinks ? 'True' : 'False',
    reason: hasLinks ? 'PublicUrl' : 'NoPublicUrl',
    message: hasLinks ? 'notices carry a link that keeps the resource' : noLinks,
  }
}

const noLinks =
  'notices carry a command instead of a link: set publicUrl (--public-url) to where people reach the janitor, or spec.notification.optOutBaseUrl'

/** Reports in the policy's status why a cycle could do nothing. */
export async function reportIncompleteInventory(work: Work, error: InventoryError): Promise<void> {
  const { policy, location, ports } = work
  ports.metrics.failures.inc({ policy: policy.name, action: 'Mark' })
  ports.log.error('inventory incomplete', { policy: policy.name, location, error })
  await writePolicyStatus(ports, policy.name, {
    location: { name: location, change: { trouble: error.message.slice(0, 1000) } },
    claims: [{ type: 'Ready', status: 'True', reason: 'Working', message: 'waits for a complete inventory' }],
  })
}
