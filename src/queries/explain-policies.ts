import type { CleanupOptOut } from '../apis/cleanup-opt-out.ts'
import {
  cleanupPolicy,
  type CleanupPolicy,
  type KubernetesTarget,
  type LocationStatus,
} from '../apis/cleanup-policy.ts'
import { refusals } from '../departures/door/because.ts'
import { apiVersionOf } from '../kube/object.ts'
import { matches, requirementsOf } from '../kube/selector.ts'
import { formatTime } from '../kube/time.ts'
import { findCondition } from '../kube/conditions.ts'
import { sentenceFor } from '../systems/janitor/model/because.ts'
import { describe, judge, noHistory, type Verdict } from '../systems/janitor/verdict/judge.ts'
import { KubeResource } from '../systems/janitor/kubernetes/kube-resource.ts'
import { compilePolicy, type CompiledPolicy } from '../systems/janitor/policy/policy.ts'
import { optOutFinder, protectionCheck } from '../systems/janitor/verdict/protection.ts'
import { describeResource } from '../systems/janitor/model/resource.ts'
import type { Explained } from './explain.ts'
import type { Reader } from './reader.ts'
import type { Stay } from './stays.ts'

interface Known {
  readonly stays: readonly Stay[]
  readonly optOuts: readonly CleanupOptOut[]
  readonly now: number
}

/** What policies that look at an object make of it, where they have not marked it. */
export async function explainPolicies(reader: Reader, explained: Explained, known: Known): Promise<readonly string[]> {
  const policies = await reader.list<CleanupPolicy>(cleanupPolicy.type)
  // A mark says why itself.
  if (known.stays.some(({ system, next }) => system === 'janitor' && next)) return []
  return policies.flatMap((policy) => {
    const target = policy.spec.targets.find(({ kubernetes }) => kubernetes && isMeant(kubernetes, explained))
    const said = target?.kubernetes && opinion(policy, target.kubernetes, explained, known)
    return said ? [`CleanupPolicy ${policy.metadata.name} ${said}`] : []
  })
}

/** How a policy stands, and what it found when it last looked. */
export function explainPolicy({ spec, status }: CleanupPolicy): readonly string[] {
  const ready = findCondition(status?.conditions, 'Ready')
  const window = findCondition(status?.conditions, 'InWindow')
  const found = Object.entries(status?.locations ?? {}).flatMap(([location, last]) => {
    const { visited = 0, excluded = 0, violating = 0, markedAt = 'never', trouble, circuit, wouldMark } = last
    return [
      `At ${location} it last looked at ${markedAt}: ${visited} seen, ${excluded} excluded, ${violating} that nobody needs`,
      ...(trouble === undefined ? [] : [`At ${location} it could not look: ${trouble}`]),
      ...(circuit === undefined ? [] : [`At ${location} it marks nothing until somebody has looked: ${circuit}`]),
      ...(wouldMark === undefined ? [] : [`This is a dry run; at ${location} it would mark ${listed(wouldMark)}`]),
    ]
  })
  return [
    ...(ready
      ? [`It is ${ready.status === 'True' ? '' : 'not '}ready: ${ready.message}`]
      : ['Nobody has looked at it yet']),
    ...(spec.suspend ? ['It is suspended, and does nothing'] : []),
    ...found,
    ...(window?.status === 'False' ? [`It marks, tells and deletes nothing now: ${hoursOf(spec)} is closed`] : []),
  ]
}

function hoursOf({ scheduleRef }: CleanupPolicy['spec']): string {
  return `its WorkSchedule ${scheduleRef ?? ''}`.trim()
}

/** Whether a policy looks at such an object, here and not in another cluster. */
function isMeant({ clusters = [], resources, namespaces, labelSelector }: KubernetesTarget, at: Explained): boolean {
  const { type, object } = at
  const { namespace = '', labels } = object.metadata
  const isHere = clusters.length === 0 || clusters.includes('home')
  const isKind = resources.some(({ group = '', kind }) => group === type.group && kind === type.kind)
  const { include, exclude = [] } = namespaces ?? {}
  const isPlace = (include === undefined || include.includes(namespace)) && !exclude.includes(namespace)
  return isHere && isKind && isPlace && matches(requirementsOf(labelSelector ?? {}), labels)
}

function opinion(
  policy: CleanupPolicy,
  { includeOwned = false }: KubernetesTarget,
  { type, object }: Explained,
  { optOuts, now }: Known,
): string | undefined {
  const { spec, status } = policy
  const compiled = compilePolicy(policy)
  const ready = findCondition(status?.conditions, 'Ready')
  if ('problems' in compiled || ready?.status === 'False')
    return `would look at it, but is not ready: ${ready?.message ?? 'its spec is wrong'}`
  if (spec.suspend) return 'would look at it, but is suspended'
  const { namespace, name } = object.metadata
  const last = status?.locations?.['kubernetes'] ?? {}
  if (last.wouldMark?.includes(describeResource({ kind: type.kind, namespace, name })))
    return 'would mark it now; it does not, because it is a dry run'
  const named = { ...object, apiVersion: apiVersionOf(type), kind: type.kind }
  // Who uses it only the janitor knows, which follows everything that might.
  const detect = () => ({ state: 'unknown', because: '' }) as const
  const resource = new KubeResource(named, { cluster: '', includeOwned, detect })
  const protection = protectionCheck(optOutFinder(optOuts), now)
  const verdict = judge(describe(resource, compiled, {}), compiled, { protection, owners: {}, ledger: noHistory, now })
  if (verdict.is === 'violating' || verdict.is === 'unknown') return ofLook(policy, last)
  // What protects it from everybody is said once, for all.
  return verdict.because in refusals ? undefined : `leaves it alone: ${spared(verdict, compiled, resource)}`
}

function spared(
  verdict: Extract<Verdict, { is: 'excluded' | 'compliant' }>,
  { minAgeMs }: CompiledPolicy,
  { createdAt = 0 }: KubeResource,
): string {
  const until = verdict.because === 'too-young' ? `, until ${formatTime(createdAt + minAgeMs)}` : ''
  const detail = 'detail' in verdict && verdict.detail ? ` (${verdict.detail})` : ''
  return `${sentenceFor(verdict.because)}${until}${detail}`
}

function ofLook({ spec, status }: CleanupPolicy, { markedAt, trouble, circuit }: LocationStatus): string {
  if (trouble !== undefined) return `could not look at it: ${trouble}`
  if (circuit !== undefined) return `marks nothing until somebody has looked: ${circuit}`
  if (markedAt === undefined) return 'has not looked at it yet'
  if (findCondition(status?.conditions, 'InWindow')?.status === 'False')
    return `marks nothing now: ${hoursOf(spec)} is closed`
  return `did not mark it when it last looked, at ${markedAt}: it was in use, or that could not be known`
}

function listed(names: readonly string[]): string {
  const most = 10
  if (names.length === 0) return 'nothing'
  return names.length <= most ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${names.length - most} more`
}
