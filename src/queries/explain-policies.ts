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
import { describe, judge, noHistory, type UseHistory, type Verdict } from '../systems/janitor/verdict/judge.ts'
import { detectionFor } from '../systems/janitor/kubernetes/detection.ts'
import { unknownUse, describeResource, type Resource } from '../systems/janitor/model/resource.ts'
import { historyOf } from '../systems/janitor/ledger/ledger.ts'
import { readLedger } from '../systems/janitor/ledger/ledger-store.ts'
import { UseLists } from './use/use-lists.ts'
import { ignoring } from '../kube/status-error.ts'
import { KubeResource } from '../systems/janitor/kubernetes/kube-resource.ts'
import { compilePolicy, type CompiledPolicy } from '../systems/janitor/policy/policy.ts'
import { optOutFinder, protectionCheck } from '../systems/janitor/verdict/protection.ts'
import type { Explained } from './explain.ts'
import type { Reader } from './reader.ts'
import type { ManagedItem } from './managed-items.ts'

interface Known {
  readonly items: readonly ManagedItem[]
  readonly optOuts: readonly CleanupOptOut[]
  readonly now: number
}

/** The verdict of each policy that covers an object, unless it has marked it: then its mark says why. */
export async function explainPolicies(reader: Reader, explained: Explained, known: Known): Promise<readonly string[]> {
  const policies = await reader.list<CleanupPolicy>(cleanupPolicy.type)
  const lists = new UseLists(reader.client)
  const sentences: string[] = []
  for (const policy of policies) {
    const { name } = policy.metadata
    if (known.items.some(({ system, next, by }) => system === 'janitor' && next && by === name)) continue
    const target = policy.spec.targets.find(({ kubernetes }) => kubernetes && isCovered(kubernetes, explained))
    const said =
      target?.kubernetes && (await whyNotMarked({ policy, target: target.kubernetes, lists }, explained, known))
    if (said) sentences.push(`CleanupPolicy ${name} ${said}`)
  }
  return sentences
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

interface Covering {
  readonly policy: CleanupPolicy
  readonly target: KubernetesTarget
  readonly lists: UseLists
}

async function whyNotMarked(
  { policy, target, lists }: Covering,
  { type, object }: Explained,
  { optOuts, now }: Known,
): Promise<string | undefined> {
  const { spec, status, metadata } = policy
  const standing = standingOf(policy)
  if (typeof standing === 'string') return standing
  const { namespace, name } = object.metadata
  const last = status?.locations?.['kubernetes'] ?? {}
  if (last.wouldMark?.includes(describeResource({ kind: type.kind, namespace, name }))) return onlyDryRun
  const named = { ...object, apiVersion: apiVersionOf(type), kind: type.kind }
  const detect = readsUse(spec)
    ? await detectionFor(type, lists.withMode(target.customReferences))
    : () => unknownUse('the policy does not ask')
  const resource = new KubeResource(named, { cluster: '', includeOwned: target.includeOwned ?? false, detect })
  const protection = protectionCheck(optOutFinder(optOuts), now)
  const ledger =
    spec.unusedFor === undefined ? noHistory : await historyOfPolicy(lists.client, metadata.name, 'kubernetes')
  const context = { protection, owners: {}, ledger, now }
  const verdict = judge(describe(resource, standing, {}), standing, context)
  // Protections from every system are explained once, elsewhere.
  if (verdict.is === 'excluded' && verdict.because in refusals) return undefined
  return verdictSentence({ policy, compiled: standing, last }, resource, verdict)
}

export const onlyDryRun = 'would mark it now, but only dry-runs'

/** A policy that judges, or what keeps it from that. */
export function standingOf(policy: CleanupPolicy): CompiledPolicy | string {
  const compiled = compilePolicy(policy)
  const ready = findCondition(policy.status?.conditions, 'Ready')
  if ('problems' in compiled || (ready?.status === 'False' && ready.reason !== 'RuleFails'))
    return `covers it, but is not ready: ${ready?.message ?? 'its spec is invalid'}`
  return policy.spec.suspend ? 'covers it, but is suspended' : compiled
}

/** What a policy concludes about a resource that it has not marked. `last`: what its last cycle there found. */
export function verdictSentence(
  { policy, compiled, last }: { policy: CleanupPolicy; compiled: CompiledPolicy; last: LocationStatus },
  resource: Pick<Resource, 'createdAt'>,
  verdict: Verdict,
): string {
  if (verdict.is === 'violating' || isUnreadable(verdict)) return lastCycleSentence(policy, last, verdict)
  if (verdict.is === 'unknown')
    return `neither marks nor unmarks it: ${sentenceFor(verdict.because)}${detailOf(verdict)}`
  return `does not mark it: ${exclusionSentence(verdict, compiled, resource)}`
}

function readsUse({ unusedFor, rules }: CleanupPolicy['spec']): boolean {
  const names = rules.flatMap((branch) => branch.rules.map(({ name }) => name))
  return unusedFor !== undefined || names.some((name) => name === 'Unused' || name === 'Expression')
}

/** The recorded use of the policy's resources, as far as the caller may read it. */
export async function historyOfPolicy(client: Reader['client'], policy: string, location: string): Promise<UseHistory> {
  const stored = await readLedger(client, policy, location).catch(ignoring('Forbidden', 'NotFound'))
  return stored?.state ? historyOf(stored.state) : noHistory
}

/** The caller may read less than the janitor: then only its last cycle tells. */
function isUnreadable({ is, detail = '' }: Verdict & Detailed): boolean {
  return is === 'unknown' && detail.startsWith('you may not list')
}

function exclusionSentence(
  verdict: Extract<Verdict, { is: 'excluded' | 'compliant' }>,
  { minAgeMs }: CompiledPolicy,
  { createdAt = 0 }: Pick<Resource, 'createdAt'>,
): string {
  if (verdict.is === 'compliant' && verdict.detail) return verdict.detail
  const until = verdict.because === 'too-young' ? `, until ${formatTime(createdAt + minAgeMs)}` : ''
  return `${sentenceFor(verdict.because)}${until}${detailOf(verdict)}`
}

function detailOf({ detail }: Detailed): string {
  return detail ? `: ${detail}` : ''
}

function lastCycleSentence(
  { spec, status }: CleanupPolicy,
  { markedAt, trouble, circuit }: LocationStatus,
  verdict: Verdict,
): string {
  if (trouble !== undefined) return `could not check it: ${trouble}`
  if (circuit !== undefined) return `marks nothing until an administrator closes its circuit: ${circuit}`
  if (markedAt === undefined) return 'has not checked it yet'
  if (findCondition(status?.conditions, 'InWindow')?.status === 'False')
    return `marks nothing now: ${scheduleOf(spec)} is closed`
  if (verdict.is !== 'violating')
    return `did not mark it in its last cycle, at ${markedAt}; you cannot see why${detailOf(verdict as Detailed)}`
  const rules = verdict.summaries.map(({ rule, description }) => `rule ${rule}: ${description}`).join('; ')
  return `will mark it in its next cycle (the last was at ${markedAt}): ${rules}`
}

interface Detailed {
  readonly detail?: string
}

function listed(names: readonly string[]): string {
  const maxNamed = 10
  if (names.length === 0) return 'nothing'
  return names.length <= maxNamed
    ? names.join(', ')
    : `${names.slice(0, maxNamed).join(', ')} and ${names.length - maxNamed} more`
}
