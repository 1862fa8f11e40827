import { cleanupPolicy, type CleanupPolicy, type LocationStatus } from '../../../apis/cleanup-policy.ts'
import { deepEqual } from '../../../kube/patch.ts'
import { ignoring, StatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import { setCondition, type Condition, type ConditionClaim } from '../../../kube/conditions.ts'
import type { Problem } from '../rules/rule-tree.ts'
import type { WorkPorts } from './work.ts'

/** What a cycle found, for the policy's status. Null drops a field. */
export type LocationChange = { readonly [Field in keyof LocationStatus]?: LocationStatus[Field] | null }

export interface StatusChange {
  readonly location?: { readonly name: string; readonly change: LocationChange }
  readonly claims?: readonly Omit<ConditionClaim, 'observedGeneration'>[]
  readonly nextAt?: number
}

/** Brings a policy's status up to date, whoever else writes to it. */
export async function writePolicyStatus(
  { client, clock, desk }: Pick<WorkPorts, 'client' | 'clock' | 'desk'>,
  name: string,
  change: StatusChange,
): Promise<void> {
  const write = async (policy: CleanupPolicy): Promise<'written' | 'nothing new' | 'outdated'> => {
    const status = statusAfter(policy, change, clock.now())
    if (deepEqual(policy.status ?? {}, status)) return 'nothing new'
    const written = await client
      .update(cleanupPolicy.type, { ...policy, status }, { subresource: 'status' })
      .catch(ignoring('Conflict', 'NotFound'))
    return written ? 'written' : 'outdated'
  }
  // The cache nearly always has the newest version, and a write upon another fails. That there is nothing new, only the cluster can say.
  const known = desk.policies.get('', name)
  if (known && (await write(known)) === 'written') return
  for (let tries = 1; tries <= 5; tries++) {
    const policy = await client.get<CleanupPolicy>(cleanupPolicy.type, { name }).catch(ignoring('NotFound'))
    if (!policy || (await write(policy)) !== 'outdated') return
  }
  throw new StatusError('Conflict', `the status of CleanupPolicy ${name} is being written by others all the time`)
}

/** The conditions of a policy that has problems: it does nothing, and says where the trouble is. */
export function notReady(problems: readonly Problem[]): Omit<ConditionClaim, 'observedGeneration'> {
  const message = problems.map(({ field, problem }) => `${field}: ${problem}`).join('; ')
  return { type: 'Ready', status: 'False', reason: 'Invalid', message: message.slice(0, 30_000) }
}

function statusAfter(
  policy: CleanupPolicy,
  { location, claims = [], nextAt }: StatusChange,
  now: number,
): NonNullable<CleanupPolicy['status']> {
  const { status = {}, metadata } = policy
  const observedGeneration = metadata.generation ?? 0
  const locations = location
    ? { ...status.locations, [location.name]: merged(status.locations?.[location.name] ?? {}, location.change) }
    : status.locations
  const conditions = [...claims, ...derived(locations ?? {})].reduce<readonly Condition[] | undefined>(
    (all, claim) => setCondition(all, { ...claim, observedGeneration }, now),
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

/** What is true of all locations together. */
function derived(
  locations: Readonly<Record<string, LocationStatus>>,
): readonly Omit<ConditionClaim, 'observedGeneration'>[] {
  const entries = Object.entries(locations)
  if (entries.length === 0) return []
  const troubles = entries.flatMap(([name, { trouble }]) => (trouble === undefined ? [] : [`${name}: ${trouble}`]))
  const circuits = entries.flatMap(([name, { circuit }]) => (circuit === undefined ? [] : [`${name}: ${circuit}`]))
  const visited = entries.reduce((sum, [, location]) => sum + (location.visited ?? 0), 0)
  return [
    troubles.length === 0
      ? { type: 'InventoryComplete', status: 'True', reason: 'Complete', message: `${visited} resources seen` }
      : {
          type: 'InventoryComplete',
          status: 'False',
          reason: 'Incomplete',
          message: troubles.join('; ').slice(0, 30_000),
        },
    circuits.length === 0
      ? { type: 'CircuitOpen', status: 'False', reason: 'Closed', message: 'nothing unusual' }
      : { type: 'CircuitOpen', status: 'True', reason: 'HumanNeeded', message: circuits.join('; ').slice(0, 30_000) },
  ]
}

function merged(former: LocationStatus, change: LocationChange): LocationStatus {
  const all = Object.entries({ ...former, ...change })
  return Object.fromEntries(all.filter(([, value]) => value !== null && value !== undefined)) as LocationStatus
}
