import { cleanupOptOut, type CleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import type { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import { isLiveOptOut, optOutCovers } from '../../departures/door/protection.ts'
import { apiVersionOf, type StoredObject, placeOf } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { optIn, plainOptOutName } from '../../systems/janitor/opt-outs/opt-out.ts'

/** An object of the cluster, and its type. */
export interface TypedObject {
  readonly type: DiscoveredType
  readonly object: StoredObject
}

/** Opts an object out. It has one opt-out at most: the last call wins, also after the opt-out has ended. */
export async function optOutObject(
  client: Client,
  target: TypedObject,
  { reason, until }: { readonly reason?: string | undefined; readonly until?: number | undefined },
): Promise<void> {
  const name = plainOptOutName(resourceOf(target))
  // Null clears fields of an earlier opt-out, such as its end, which server-side apply would keep.
  const terms = { reason: reason ?? null, expiresAt: until === undefined ? null : formatTime(until) }
  const spec = { resource: resourceOf(target), ...terms }
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

function nameOf({ metadata }: CleanupOptOut): string {
  return metadata.name
}

function resourceOf({ type, object }: TypedObject) {
  const { namespace, name } = object.metadata
  return { apiVersion: apiVersionOf(type), kind: type.kind, ...placeOf({ name, namespace }) }
}
