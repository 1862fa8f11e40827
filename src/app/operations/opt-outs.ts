import { cleanupCandidate, type CleanupCandidate } from '../../apis/cleanup-candidate.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import type { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import { expirationMark, isLiveOptOut, optOutCovers } from '../../departures/door/protection.ts'
import { apiVersionOf, type StoredObject, placeOf } from '../../kube/object.ts'
import { ignoring, StatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { isAbout, type CloudName } from './explain-cloud.ts'
import { optIn, optOutName, plainOptOutName } from '../../systems/janitor/opt-outs/opt-out.ts'

/** An object of the cluster, and its type. */
export interface TypedObject {
  readonly type: DiscoveredType
  readonly object: StoredObject
}

interface Terms {
  readonly reason?: string | undefined
  readonly until?: number | undefined
}

/** Opts an object out. It has one opt-out at most: the last call wins, also after the opt-out has ended. */
export async function optOutObject(client: Client, target: TypedObject, terms: Terms): Promise<void> {
  await writeOptOut(client, plainOptOutName(resourceOf(target)), resourceOf(target), terms)
}

/** The same for a cloud resource. Its mark says in which account and region it is. */
export async function optOutCloud(client: Client, wanted: CloudName, terms: Terms): Promise<void> {
  const { items } = await client.list<CleanupCandidate>(cleanupCandidate.type)
  const mark = items.find(({ spec }) => isAbout(spec.resource, wanted))
  if (!mark)
    throw new StatusError(
      'NotFound',
      `no CleanupPolicy has marked ${wanted.type} ${wanted.id}; to keep it all the same, tag it ${expirationMark}=never`,
    )
  const { resource } = mark.spec
  await writeOptOut(client, optOutName(resource), { ...resource, id: resource.name }, terms)
}

async function writeOptOut(
  client: Client,
  name: string,
  resource: CleanupOptOut['spec']['resource'],
  { reason, until }: Terms,
): Promise<void> {
  // Null clears fields of an earlier opt-out, such as its end, which server-side apply would keep.
  const spec = { resource, reason: reason ?? null, expiresAt: until === undefined ? null : formatTime(until) }
  const changed = await client.merge(cleanupOptOut.type, { name }, { spec }).catch(ignoring('NotFound'))
  if (changed) return
  const { apiVersion, kind } = cleanupOptOut
  const written = Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null))
  await client.create(cleanupOptOut.type, { apiVersion, kind, metadata: { name }, spec: written })
}

/** The opt-outs of an object after an opt-in. */
export interface OptedIn {
  /** Opt-outs that named the object, and have ended. */
  readonly ended: readonly string[]
  /** Opt-outs that select the object by its labels, and still apply. */
  readonly left: readonly string[]
}

/** Ends every opt-out that names an object. The ended opt-outs are kept as a record. */
export async function optInObject(client: Client, { type, object }: TypedObject, now: number): Promise<OptedIn> {
  const { items } = await client.list<CleanupOptOut>(cleanupOptOut.type)
  const about = { ...object, apiVersion: apiVersionOf(type), kind: type.kind }
  const live = items.filter((optOut) => isLiveOptOut(optOut, now))
  const isNamed = ({ spec: { resource } }: CleanupOptOut) =>
    resource !== undefined && optOutCovers({ resource }, { object: about, cluster: '' })
  const named = live.filter(isNamed)
  const left = live.filter((optOut) => !isNamed(optOut) && optOutCovers(optOut.spec, { object: about, cluster: '' }))
  await optIn(client, named, now)
  return { ended: named.map(nameOf), left: left.map(nameOf) }
}

/** The same for a cloud resource, whatever its account and region. */
export async function optInCloud(client: Client, wanted: CloudName, now: number): Promise<OptedIn> {
  const { items } = await client.list<CleanupOptOut>(cleanupOptOut.type)
  const named = items.filter(({ spec: { resource } }) => resource && isAbout(resource, wanted))
  const live = named.filter((optOut) => isLiveOptOut(optOut, now))
  await optIn(client, live, now)
  return { ended: live.map(nameOf), left: [] }
}

function nameOf({ metadata }: CleanupOptOut): string {
  return metadata.name
}

function resourceOf({ type, object }: TypedObject) {
  const { namespace, name } = object.metadata
  return { apiVersion: apiVersionOf(type), kind: type.kind, ...placeOf({ name, namespace }) }
}
