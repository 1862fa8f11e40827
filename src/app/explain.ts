import { cleaner, type Cleaner } from '../apis/cleaner.ts'
import { cleanupPolicy, type CleanupPolicy } from '../apis/cleanup-policy.ts'
import { conditionalTtl } from '../apis/conditional-ttl.ts'
import { pipeline, type Pipeline } from '../apis/pipeline.ts'
import type { Client } from '../client/client.ts'
import type { DiscoveredType } from '../client/discovery.ts'
import type { ObjectRef, ResourceType, StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import { formatAge, formatTime, parseTime } from '../kube/time.ts'
import { describeResource } from '../systems/janitor/resource.ts'
import { obstacles } from './cascade.ts'
import { explainPipeline } from './explain-pipeline.ts'
import { protectionsOf } from './protections.ts'
import { readStays, type Stay } from './stays.ts'

/** Why something is as it is: sentences, and the stays they speak of. */
export interface Explanation {
  readonly sentences: readonly string[]
  readonly stays: readonly Stay[]
}

/** Answers why an object is still here, not promoted, or asleep, with the facts behind it. Reads only. */
export async function explainObject(
  client: Client,
  { type, object }: { readonly type: DiscoveredType; readonly object: StoredObject },
  now: number,
): Promise<Explanation> {
  const { metadata } = object
  const known = await readStays(client, { namespace: metadata.namespace, now })
  const stays = known.filter((stay) => isAbout(stay, type, object))
  const sentences = [
    ...leaving(object, now, metadata.deletionTimestamp ? await obstacles(client, object) : []),
    ...stays.flatMap((stay) => ofStay(stay, type.kind, now)),
    ...(type.group === pipeline.group && type.kind === pipeline.kind
      ? explainPipeline(object as Pipeline & StoredObject)
      : []),
    ...(await cleanersOf(client, { type, object }, now)),
    ...(await policiesOf(client, { type, object })),
    ...owners(object),
    ...(await protectionsOf(client, { ...object, kind: type.kind }, now)).map(
      (sentence) => `No system of ours deletes it: ${sentence}`,
    ),
  ].map(asSentence)
  if (sentences.length > 0) return { sentences, stays }
  return { sentences: ['No system of ours has anything to do with it: it stays.'], stays }
}

/** A workload is spoken of by the Services that put it on demand, everything else by its own name. */
function isAbout({ object: about, behind = [] }: Stay, { kind }: DiscoveredType, { metadata }: StoredObject): boolean {
  const isIt = ({ kind: of, name }: ObjectRef) => of === kind && name === metadata.name
  return isIt(about) || behind.some(isIt)
}

function ofStay({ system, object, state, next, why }: Stay, asked: string, now: number): readonly string[] {
  const whose = system === 'activator' && asked !== object.kind ? ` of service/${object.name}` : ''
  const said = `The ${system} says${whose} ${state}: ${why}`
  const after = next?.at === undefined ? [] : [`Next, ${next.what} ${when(next.at, now)}`]
  const kept =
    system === 'janitor' && next
      ? [`To keep it: sojourn opt-out ${object.kind.toLowerCase()}/${object.name}${flag(object.namespace)}`]
      : []
  return [said, ...after, ...kept]
}

function flag(namespace: string | undefined): string {
  return namespace ? ` -n ${namespace}` : ''
}

function when(at: number, now: number): string {
  return at <= now ? 'now' : `at ${formatTime(at)}, in ${formatAge(at - now)}`
}

function leaving({ metadata }: StoredObject, now: number, before: readonly string[]): readonly string[] {
  const { deletionTimestamp, finalizers = [] } = metadata
  if (!deletionTimestamp) return []
  const age = formatAge(now - (parseTime(deletionTimestamp) ?? now))
  const waits = finalizers.length > 0 ? `; it is still here because of ${finalizers.join(', ')}` : ''
  return [`It was told to leave ${age} ago${waits}`, ...before.map((obstacle) => `It cannot go before ${obstacle}`)]
}

function owners({ metadata }: StoredObject): readonly string[] {
  const named = (metadata.ownerReferences ?? []).map(({ kind, name }) => `${kind.toLowerCase()}/${name}`)
  return named.length > 0 ? [`It goes when ${named.join(' and ')} ${named.length > 1 ? 'have' : 'has'} gone`] : []
}

/** Every Cleaner that would take it along, and how that Cleaner stands. */
async function cleanersOf(
  client: Client,
  { type, object }: { readonly type: DiscoveredType; readonly object: StoredObject },
  now: number,
): Promise<readonly string[]> {
  const namespace = type.kind === 'Namespace' ? object.metadata.name : object.metadata.namespace
  const kinds: readonly { readonly type: ResourceType; readonly kind: string }[] = [cleaner, conditionalTtl]
  const lists = await Promise.all(
    kinds.map((kind) =>
      client.list<Cleaner>(kind.type, namespace ? { namespace } : {}).catch(ignoring('NotFound', 'Forbidden')),
    ),
  )
  return lists.flatMap((list, index) =>
    (list?.items ?? [])
      .filter(({ spec }) => (spec.targets ?? []).some((target) => target.delete && isTarget(target, type, object)))
      .map(({ metadata, status }) => {
        const ready = status?.conditions?.find((condition) => condition.type === 'Ready')
        const at = parseTime(status?.nextScheduledEvaluation)
        const next = at === undefined ? '' : `; it looks again ${when(at, now)}`
        return `${kinds[index]?.kind} ${metadata.name} takes it along: ${ready?.message ?? 'nobody has looked at it yet'}${next}`
      }),
  )
}

/** What policies would do that only say so; and, of a policy, what it says. */
async function policiesOf(
  client: Client,
  { type, object }: { readonly type: DiscoveredType; readonly object: StoredObject },
): Promise<readonly string[]> {
  if (type.group === cleanupPolicy.group && type.kind === cleanupPolicy.kind)
    return explainPolicy(object as CleanupPolicy)
  const policies = await client.list<CleanupPolicy>(cleanupPolicy.type).catch(ignoring('NotFound', 'Forbidden'))
  const { namespace, name } = object.metadata
  const wanted = describeResource({ kind: type.kind, namespace, name })
  return (policies?.items ?? [])
    .filter(({ status }) => (status?.locations?.['kubernetes']?.wouldMark ?? []).includes(wanted))
    .map(({ metadata }) => `CleanupPolicy ${metadata.name} would mark it now; it does not, because it is a dry run`)
}

function explainPolicy({ status }: CleanupPolicy): readonly string[] {
  return Object.entries(status?.locations ?? {}).flatMap(([location, found]) => {
    const { visited = 0, excluded = 0, violating = 0, markedAt = 'never', trouble, circuit, wouldMark } = found
    return [
      `At ${location} it last looked at ${markedAt}: ${visited} seen, ${excluded} excluded, ${violating} that nobody needs`,
      ...(trouble === undefined ? [] : [`At ${location} it could not look: ${trouble}`]),
      ...(circuit === undefined ? [] : [`At ${location} it marks nothing until somebody has looked: ${circuit}`]),
      ...(wouldMark === undefined ? [] : [`This is a dry run; at ${location} it would mark ${listed(wouldMark)}`]),
    ]
  })
}

function listed(names: readonly string[]): string {
  const most = 10
  if (names.length === 0) return 'nothing'
  return names.length <= most ? names.join(', ') : `${names.slice(0, most).join(', ')} and ${names.length - most} more`
}

type Target = NonNullable<Cleaner['spec']['targets']>[number]

function isTarget({ reference }: Target, { kind }: DiscoveredType, { metadata }: StoredObject): boolean {
  if (reference?.kind.toLowerCase() !== kind.toLowerCase()) return false
  if (reference.name !== undefined) return reference.name === metadata.name
  const labels = Object.entries(reference.matchLabels ?? {})
  return (
    reference.matchAll === true ||
    (labels.length > 0 && labels.every(([key, value]) => metadata.labels?.[key] === value))
  )
}

/** One full stop at the end, whatever was there. */
function asSentence(text: string): string {
  return `${text.trim().replace(/[.;,\s]+$/, '')}.`
}
