import { bond, type Bond } from '../apis/bond.ts'
import { cleanupOptOut, type CleanupOptOut } from '../apis/cleanup-opt-out.ts'
import { cleanupPolicy, type CleanupPolicy } from '../apis/cleanup-policy.ts'
import { pipeline, type Pipeline } from '../apis/pipeline.ts'
import type { Client } from '../client/client.ts'
import type { DiscoveredType } from '../client/discovery.ts'
import type { ObjectRef, StoredObject } from '../kube/object.ts'
import { formatAge, parseTime } from '../kube/time.ts'
import { obstacles } from './cascade.ts'
import { haltsOf } from './halts.ts'
import { explainBond, explainBonds } from './explain-bonds.ts'
import { explainCleaner, explainCleaners } from './explain-cleaners.ts'
import { explainPipeline } from './explain-pipeline.ts'
import { explainPolicies, explainPolicy } from './explain-policies.ts'
import { protectionsOf } from './protections.ts'
import { Reader } from './reader.ts'
import { readStays, type Stay } from './stays.ts'
import { when } from './when.ts'

/** Why something is as it is: sentences, and the stays they speak of. */
export interface Explanation {
  readonly sentences: readonly string[]
  readonly stays: readonly Stay[]
  /** Kinds that may not be read: what they say of it is missing. */
  readonly unread: readonly string[]
}

/** What is explained: an object that says of what kind it is, and its type. */
export interface Explained {
  readonly type: DiscoveredType
  readonly object: StoredObject
}

/** Answers why an object is still here, not promoted, or asleep, with the facts behind it. Reads only. */
export async function explainObject(client: Client, explained: Explained, now: number): Promise<Explanation> {
  const reader = new Reader(client)
  const { type, object } = explained
  const { metadata } = object
  const known = await readStays(reader, { namespace: metadata.namespace, now })
  const stays = known.filter((stay) => isAbout(stay, type, object))
  const bonds = await reader.list<Bond>(bond.type)
  const optOuts = await reader.list<CleanupOptOut>(cleanupOptOut.type)
  const departing = [
    ...stays.flatMap((stay) => ofStay(stay, type.kind, now)),
    ...ofItsKind(explained),
    ...(await explainCleaners(reader, explained, now)),
    ...(await explainPolicies(reader, explained, { stays, optOuts, now })),
    ...explainBonds(object, bonds),
    ...owners(object),
  ]
  const sentences = [
    ...leaving(object, now, metadata.deletionTimestamp ? await obstacles(client, object) : []),
    ...departing,
    ...protectionsOf({ ...object, kind: type.kind }, { optOuts, bonds, now }).map(
      (sentence) => `No system of ours deletes it: ${sentence}`,
    ),
    ...(departing.length > 0 ? await haltsOf(reader) : []),
  ]
  const { unread } = reader
  return { sentences: [...whole(sentences, unread), ...missing(unread)].map(asSentence), stays, unread }
}

/** What there is to say when nothing is: only who could read everything knows that it is nothing. */
function whole(sentences: readonly string[], unread: readonly string[]): readonly string[] {
  if (sentences.length > 0) return sentences
  return unread.length > 0 ? [] : ['No system of ours has anything to do with it: it stays']
}

function missing(unread: readonly string[]): readonly string[] {
  if (unread.length === 0) return []
  return [`You may not read ${unread.join(', ')}: what they say of it is not known here, and it may not stay`]
}

/** A workload is spoken of by the Services that put it on demand, everything else by its own name. */
function isAbout(
  { object: about, behind = [], uid = '' }: Stay,
  { kind }: DiscoveredType,
  { metadata }: StoredObject,
): boolean {
  const isIt = ({ kind: of, name }: ObjectRef) => of === kind && name === metadata.name
  return (isIt(about) && (uid === '' || uid === metadata.uid)) || behind.some(isIt)
}

function ofItsKind({ type, object }: Explained): readonly string[] {
  const is = (kind: { readonly group: string; readonly kind: string }) =>
    type.group === kind.group && type.kind === kind.kind
  if (is(pipeline)) return explainPipeline(object as Pipeline & StoredObject)
  if (is(cleanupPolicy)) return explainPolicy(object as CleanupPolicy)
  if (is(bond)) return explainBond(object as Bond)
  return explainCleaner({ type, object })
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

function leaving({ metadata }: StoredObject, now: number, before: readonly string[]): readonly string[] {
  const { deletionTimestamp, finalizers = [], namespace, name } = metadata
  if (!deletionTimestamp) return []
  const age = formatAge(now - (parseTime(deletionTimestamp) ?? now))
  const waits = finalizers.length > 0 ? `; it is still here because of ${finalizers.join(', ')}` : ''
  // Its own finalizers have just been named.
  const itself = ` ${namespace ? `${namespace}/` : ''}${name} with finalizer `
  const others = before.filter((obstacle) => !obstacle.includes(itself))
  return [`It was told to leave ${age} ago${waits}`, ...others.map((obstacle) => `It cannot go before ${obstacle}`)]
}

function owners({ metadata }: StoredObject): readonly string[] {
  const named = (metadata.ownerReferences ?? []).map(({ kind, name }) => `${kind.toLowerCase()}/${name}`)
  return named.length > 0 ? [`It goes when ${named.join(' and ')} ${named.length > 1 ? 'have' : 'has'} gone`] : []
}

/** One full stop at the end, whatever was there. */
function asSentence(text: string): string {
  return `${text.trim().replace(/[.;,\s]+$/, '')}.`
}
