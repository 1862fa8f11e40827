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
import type { ManagedItem } from './managed-items.ts'

interface Known {
  readonly items: readonly ManagedItem[]
  readonly optOuts: readonly CleanupOptOut[]
  readonly now: number
}

/** Why each policy that covers an object has not marked it. */
export async function explainPolicies(reader: Reader, explained: Explained, known: Known): Promise<readonly string[]> {
  const policies = await reader.list<CleanupPolicy>(cleanupPolicy.type)
  // The item of a mark says why.
  if (known.items.some(({ system, next }) => system === 'janitor' && next)) return []
  return policies.flatMap((policy) => {
    const target = policy.spec.targets.find(({ kubernetes }) => kubernetes && isCovered(kubernetes, explained))
    const said = target?.kubernetes && whyNotMarked(policy, target.kubernetes, explained, known)
    return said ? [`CleanupPolicy ${policy.metadata.name} ${said}`] : []
  })
}

/** The state of a policy, and what it found in its last cycle. */
export function explainPolicy({ spec, status }: CleanupPolicy): readonly string[] {
  const ready = findCondition(status?.conditions, 'Ready')
  const window = findCondition(status?.conditions, 'InWindow')
  const found = Object.entries(status?.locations ?? {}).flatMap(([location, last]) => {
    const { visited = 0, excluded = 0, violating = 0, markedAt = 'never', trouble, circuit, wouldMark } = last
    return [
      `${location}: last cycle at ${markedAt}: ${visited} resources, ${excluded} excluded, ${violating} to delete`,
      ...(trouble === undefined ? [] : [`${location}: the last cycle failed: ${trouble}`]),
      ...(circuit === undefined
        ? []
        : [`${location}: marking is stopped until an administrator closes the circuit: ${circuit}`]),
      ...(wouldMark === undefined ? [] : [`Dry run: in ${location} it would mark ${listed(wouldMark)}`]),
    ]
  })
  return [
    ...(ready
      ? [`It is ${ready.status === 'True' ? '' : 'not '}ready: ${ready.message}`]
      : ['It has not been evaluated yet']),
    ...(spec.suspend ? ['It is suspended (spec.suspend) and does nothing'] : []),
    ...found,
    ...(window?.status === 'False'
      ? [`It marks, notifies and deletes nothing now: ${scheduleOf(spec)} is closed`]
      : []),
  ]
}

function scheduleOf({ scheduleRef }: CleanupPolicy['spec']): string {
  return `its WorkSchedule ${scheduleRef ?? ''}`.trim()
}

/** Whether a policy's target covers an object of this cluster. */
function isCovered({ clusters = [], resources, namespaces, labelSelector }: KubernetesTarget, at: Explained): boolean {
  const { type, object } = at
  const { namespace = '', labels } = object.metadata
  const isHere = clusters.length === 0 || clusters.includes('home')
  const isKind = resources.some(({ group = '', kind }) => group === type.group && kind === type.kind)
  const { include, exclude = [] } = namespaces ?? {}
  const isPlace = (include === undefined || include.includes(namespace)) && !exclude.includes(namespace)
  return isHere && isKind && isPlace && matches(requirementsOf(labelSelector ?? {}), labels)
}

function whyNotMarked(
  policy: CleanupPolicy,
  { includeOwned = false }: KubernetesTarget,
  { type, object }: Explained,
  { optOuts, now }: Known,
): string | undefined {
  const { spec, status } = policy
  const compiled = compilePolicy(policy)
  const ready = findCondition(status?.conditions, 'Ready')
  if ('problems' in compiled || ready?.status === 'False')
    return `covers it, but is not ready: ${ready?.message ?? 'its spec is invalid'}`
  if (spec.suspend) return 'covers it, but is suspended'
  const { namespace, name } = object.metadata
  const last = status?.locations?.['kubernetes'] ?? {}
  if (last.wouldMark?.includes(describeResource({ kind: type.kind, namespace, name })))
    return 'would mark it now, but only dry-runs'
  const named = { ...object, apiVersion: apiVersionOf(type), kind: type.kind }
  // Whether it is in use is known to the janitor alone, which caches everything that may refer to it.
  const detect = () => ({ state: 'unknown', because: '' }) as const
  const resource = new KubeResource(named, { cluster: '', includeOwned, detect })
  const protection = protectionCheck(optOutFinder(optOuts), now)
  const verdict = judge(describe(resource, compiled, {}), compiled, { protection, owners: {}, ledger: noHistory, now })
  if (verdict.is === 'violating' || verdict.is === 'unknown') return lastCycleSentence(policy, last)
  // Protections from every system are explained once, elsewhere.
  return verdict.because in refusals ? undefined : `does not mark it: ${exclusionSentence(verdict, compiled, resource)}`
}

function exclusionSentence(
  verdict: Extract<Verdict, { is: 'excluded' | 'compliant' }>,
  { minAgeMs }: CompiledPolicy,
  { createdAt = 0 }: KubeResource,
): string {
  const until = verdict.because === 'too-young' ? `, until ${formatTime(createdAt + minAgeMs)}` : ''
  const detail = 'detail' in verdict && verdict.detail ? ` (${verdict.detail})` : ''
  return `${sentenceFor(verdict.because)}${until}${detail}`
}

function lastCycleSentence({ spec, status }: CleanupPolicy, { markedAt, trouble, circuit }: LocationStatus): string {
  if (trouble !== undefined) return `could not check it: ${trouble}`
  if (circuit !== undefined) return `marks nothing until an administrator closes its circuit: ${circuit}`
  if (markedAt === undefined) return 'has not checked it yet'
  if (findCondition(status?.conditions, 'InWindow')?.status === 'False')
    return `marks nothing now: ${scheduleOf(spec)} is closed`
  return `did not mark it in its last cycle, at ${markedAt}: it was in use, or its use was unknown`
}

function listed(names: readonly string[]): string {
  const maxNamed = 10
  if (names.length === 0) return 'nothing'
  return names.length <= maxNamed
    ? names.join(', ')
    : `${names.slice(0, maxNamed).join(', ')} and ${names.length - maxNamed} more`
}
