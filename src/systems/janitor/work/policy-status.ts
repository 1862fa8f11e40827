import { cleanupPolicy, type CleanupPolicy, type LocationStatus } from '../../../apis/cleanup-policy.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { ignoring, StatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import { markReady, markStalled, setCondition, type Condition, type ConditionClaim } from '../../../kube/conditions.ts'
import type { Problem } from '../rules/rule-tree.ts'
import type { WorkPorts } from './work.ts'

/** A change to what the policy's status says of one location. Null drops a field. */
export type LocationChange = { readonly [Field in keyof LocationStatus]?: LocationStatus[Field] | null }

export type StatusClaim = Omit<ConditionClaim, 'observedGeneration'>

export interface PolicyStatusChange {
  readonly location?: { readonly name: string; readonly change: LocationChange }
  readonly claims?: readonly StatusClaim[]
  readonly nextAt?: number
}

/** Merges a change into a policy's status; a concurrent write by another instance is merged, not overwritten. */
export async function writePolicyStatus(
  { client, clock, caches }: Pick<WorkPorts, 'client' | 'clock' | 'caches'>,
  name: string,
  change: PolicyStatusChange,
): Promise<void> {
  const write = async (policy: CleanupPolicy): Promise<'written' | 'nothing new' | 'outdated'> => {
    const status = statusAfter(policy, change, clock.now())
    if (deepEqual(policy.status ?? {}, status)) return 'nothing new'
    const written = await client
      .updateStatus(cleanupPolicy.type, policy, status)
      .catch(ignoring('Conflict', 'NotFound'))
    return written ? 'written' : 'outdated'
  }
  // The cache nearly always has the newest version, and a write on an older one fails. Only a read from the API server
  // can tell that there is nothing to write.
  const known = caches.policies.get('', name)
  if (known && (await write(known)) === 'written') return
  for (let tries = 1; tries <= 5; tries++) {
    const policy = await client.get<CleanupPolicy>(cleanupPolicy.type, { name }).catch(ignoring('NotFound'))
    if (!policy || (await write(policy)) !== 'outdated') return
  }
  throw new StatusError(
    'Conflict',
    `the status of CleanupPolicy ${name} was changed by another writer five times in a row`,
  )
}

export const suspendedCondition: StatusClaim = {
  type: 'Ready',
  status: 'True',
  reason: 'Suspended',
  message: 'spec.suspend is set: the policy does nothing',
}

export function pausedCondition(isPaused: boolean): StatusClaim {
  return isPaused
    ? { type: 'Paused', status: 'True', reason: 'JanitorPaused', message: '"sojourn janitor resume" resumes it' }
    : { type: 'Paused', status: 'False', reason: 'Running', message: 'the janitor is not paused' }
}

/** The condition of an invalid policy, which does nothing: names each field and what is wrong with it. */
export function invalidCondition(problems: readonly Problem[]): StatusClaim {
  const message = problems.map(({ field, problem }) => `${field}: ${problem}`).join('; ')
  return { type: 'Ready', status: 'False', reason: 'Invalid', message: message.slice(0, 30_000) }
}

function statusAfter(
  policy: CleanupPolicy,
  { location, claims = [], nextAt }: PolicyStatusChange,
  now: number,
): NonNullable<CleanupPolicy['status']> {
  const { status = {}, metadata } = policy
  const observedGeneration = metadata.generation ?? 0
  const locations = location
    ? { ...status.locations, [location.name]: merged(status.locations?.[location.name] ?? {}, location.change) }
    : status.locations
  const conditions = [...claims, ...derived(locations ?? {})].reduce<readonly Condition[] | undefined>(
    (all, claim) => withClaim(all, { ...claim, observedGeneration }, now),
    status.conditions,
  )
  return {
    ...status,
    observedGeneration,
    ...(conditions ? { conditions: [...conditions] } : {}),
    ...(locations ? { locations } : {}),
    ...(nextAt === undefined ? {} : { nextCycleTime: formatTime(nextAt) }),
  }
}

/** A policy is Ready, or invalid until a user changes something: then it is Stalled, too. */
function withClaim(conditions: readonly Condition[] | undefined, claim: ConditionClaim, now: number) {
  if (claim.type !== 'Ready') return setCondition(conditions, claim, now)
  return (claim.status === 'True' ? markReady : markStalled)(conditions, claim, now)
}

/** The conditions that sum up all locations. */
function derived(locations: Readonly<Record<string, LocationStatus>>): readonly StatusClaim[] {
  const entries = Object.entries(locations)
  if (entries.length === 0) return []
  const incomplete = entries.flatMap(([name, { trouble }]) => (trouble === undefined ? [] : [`${name}: ${trouble}`]))
  const circuits = entries.flatMap(([name, { circuit }]) => (circuit === undefined ? [] : [`${name}: ${circuit}`]))
  const visited = entries.reduce((sum, [, location]) => sum + (location.visited ?? 0), 0)
  return [
    incomplete.length === 0
      ? {
          type: 'InventoryComplete',
          status: 'True',
          reason: visited > 0 ? 'Complete' : 'Empty',
          message: visited > 0 ? `${visited} resources listed` : 'no resource matches spec.targets',
        }
      : {
          type: 'InventoryComplete',
          status: 'False',
          reason: 'Incomplete',
          message: incomplete.join('; ').slice(0, 30_000),
        },
    circuits.length === 0
      ? { type: 'CircuitOpen', status: 'False', reason: 'Closed', message: 'the last inventory is as expected' }
      : { type: 'CircuitOpen', status: 'True', reason: 'HumanNeeded', message: circuits.join('; ').slice(0, 30_000) },
  ]
}

function merged(former: LocationStatus, change: LocationChange): LocationStatus {
  const all = Object.entries({ ...former, ...change })
  return Object.fromEntries(all.filter(([, value]) => value !== null && value !== undefined)) as LocationStatus
}
