import { refusals } from '../departures/door/because.ts'
import { bond, type Bond } from '../apis/bond.ts'
import { cleanupOptOut, type CleanupOptOut } from '../apis/cleanup-opt-out.ts'
import { environmentClass, type EnvironmentClass } from '../apis/environment-class.ts'
import { cleanupPolicy, type CleanupPolicy } from '../apis/cleanup-policy.ts'
import { pipeline, type Pipeline } from '../apis/pipeline.ts'
import type { Client } from '../client/client.ts'
import type { DiscoveredType } from '../client/discovery.ts'
import type { ObjectRef, StoredObject } from '../kube/object.ts'
import { formatAge, parseTime, when } from '../kube/time.ts'
import { obstacles } from './cascade.ts'
import { haltsOf } from './halts.ts'
import { explainBond, explainBonds } from './explain-bonds.ts'
import { explainCleaner, explainCleaners } from './explain-cleaners.ts'
import { explainClass, explainEnvironment } from './explain-environment.ts'
import { explainPipeline } from './explain-pipeline.ts'
import { explainPolicies, explainPolicy } from './explain-policies.ts'
import { explainUse } from './explain-use.ts'
import { explainSleep } from './explain-sleep.ts'
import { protectionsOf } from './protections.ts'
import { Reader } from './reader.ts'
import { readManagedItems, type ManagedItem } from './managed-items.ts'

/** Why an object is as it is: sentences, and the managed items they are about. */
export interface Explanation {
  readonly sentences: readonly string[]
  readonly items: readonly ManagedItem[]
  /** Kinds that the caller may not read: their part of the explanation is missing. */
  readonly unread: readonly string[]
}

/** The object to explain, and its type. */
export interface Explained {
  readonly type: DiscoveredType
  readonly object: StoredObject
}

/** Explains why an object is still here, not promoted, or asleep, with the facts behind it. Reads only. */
export async function explainObject(client: Client, explained: Explained, now: number): Promise<Explanation> {
  const reader = new Reader(client)
  const { type, object } = explained
  const { metadata } = object
  const known = await readManagedItems(reader, { namespace: metadata.namespace, now })
  const items = known.filter((item) => isAbout(item, type, object))
  const bonds = await reader.list<Bond>(bond.type)
  const optOuts = await reader.list<CleanupOptOut>(cleanupOptOut.type)
  const managed = [
    ...items.flatMap((item) => itemSentences(item, type.kind, now)),
    ...kindSentences(explained),
    ...(await explainEnvironment(reader, explained, now)),
    ...(await explainSleep(reader, object, now)),
    ...(await explainCleaners(reader, explained, now)),
    ...(await explainPolicies(reader, explained, { items, optOuts, now })),
    ...explainBonds(object, bonds),
    ...ownerSentences(object),
  ]
  const uses = await explainUse(client, explained)
  const sentences = [
    ...deletionSentences(object, now, metadata.deletionTimestamp ? await obstacles(client, object) : []),
    ...managed,
    ...protectionsOf({ ...object, kind: type.kind }, { optOuts, bonds, now })
      // What has a life of its own is deleted by its own controller.
      .filter((sentence) => managed.length === 0 || sentence !== refusals['own-machinery'])
      .map((sentence) => `Sojourn does not delete it: ${sentence}`),
    ...(managed.length > 0 ? await haltsOf(reader, now) : []),
  ]
  const { unread } = reader
  return { sentences: [...orUnmanaged(sentences, unread), ...uses, ...missing(unread)].map(asSentence), items, unread }
}

/** "Not managed" can only be said by a caller who may read everything. */
function orUnmanaged(sentences: readonly string[], unread: readonly string[]): readonly string[] {
  if (sentences.length > 0) return sentences
  return unread.length > 0 ? [] : ['Sojourn does not manage it and will not delete it']
}

function missing(unread: readonly string[]): readonly string[] {
  if (unread.length === 0) return []
  return [`You may not read ${unread.join(', ')}: they may manage it, or have it deleted`]
}

/** A workload belongs to the item of the Service that names it; any other object to items of its own name. */
function isAbout(
  { object: about, behind = [], uid = '' }: ManagedItem,
  { kind }: DiscoveredType,
  { metadata }: StoredObject,
): boolean {
  const isIt = ({ kind: of, name }: ObjectRef) => of === kind && name === metadata.name
  return (isIt(about) && (uid === '' || uid === metadata.uid)) || behind.some(isIt)
}

function kindSentences({ type, object }: Explained): readonly string[] {
  const is = (kind: { readonly group: string; readonly kind: string }) =>
    type.group === kind.group && type.kind === kind.kind
  if (is(pipeline)) return explainPipeline(object as Pipeline & StoredObject)
  if (is(cleanupPolicy)) return explainPolicy(object as CleanupPolicy)
  if (is(bond)) return explainBond(object as Bond)
  if (is(environmentClass)) return explainClass(object as EnvironmentClass)
  return explainCleaner({ type, object })
}

/** What the system that manages an item says of it. */
export function itemSentences(
  { system, object, state, next, why, by }: ManagedItem,
  asked: string,
  now: number,
): readonly string[] {
  // explainEnvironment and explainSleep tell more.
  if (system === 'environments' || (system === 'activator' && object.kind === 'Namespace')) return []
  const whose = system === 'activator' && asked !== object.kind ? ` of service/${object.name}` : ''
  const policy = by === undefined ? '' : ` (CleanupPolicy ${by})`
  const said = `The ${system} says${whose} ${state}${policy}: ${why}`
  const after = next?.at === undefined ? [] : [`Next, ${next.what} ${when(next.at, now)}`]
  const kept =
    system === 'janitor' && next
      ? [`To keep it, run: sojourn opt-out ${object.kind.toLowerCase()}/${object.name}${flag(object.namespace)}`]
      : []
  return [said, ...after, ...kept]
}

function flag(namespace: string | undefined): string {
  return namespace ? ` -n ${namespace}` : ''
}

function deletionSentences({ metadata }: StoredObject, now: number, before: readonly string[]): readonly string[] {
  const { deletionTimestamp, finalizers = [], namespace, name } = metadata
  if (!deletionTimestamp) return []
  const age = formatAge(now - (parseTime(deletionTimestamp) ?? now))
  const waits = finalizers.length > 0 ? `; it waits for the finalizers ${finalizers.join(', ')}` : ''
  // Its own finalizers are named above.
  const itself = ` ${namespace ? `${namespace}/` : ''}${name} with finalizer `
  const others = before.filter((obstacle) => !obstacle.includes(itself))
  return [
    `Its deletion was requested ${age} ago${waits}`,
    ...others.map((obstacle) => `It cannot be deleted before ${obstacle}`),
  ]
}

function ownerSentences({ metadata }: StoredObject): readonly string[] {
  const named = (metadata.ownerReferences ?? []).map(({ kind, name }) => `${kind.toLowerCase()}/${name}`)
  return named.length > 0
    ? [
        `It is deleted when its ${named.length > 1 ? 'owners' : 'owner'} ${named.join(' and ')} ${named.length > 1 ? 'are' : 'is'}`,
      ]
    : []
}

/** One full stop at the end, whatever was there. */
export function asSentence(text: string): string {
  return `${text.trim().replace(/[.;,\s]+$/, '')}.`
}
