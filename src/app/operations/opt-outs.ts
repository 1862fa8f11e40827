import { cleanupOptOut, type CleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import type { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import { isLiveOptOut, optOutCovers } from '../../departures/door/protection.ts'
import { apiVersionOf, type StoredObject, placeOf } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { optIn, plainOptOutName } from '../../systems/janitor/opt-outs/opt-out.ts'

/** An object of the cluster, and its type. */
export interface Spared {
  readonly type: DiscoveredType
  readonly object: StoredObject
}

/** Spares an object: one opt-out for each, however often it is asked for. The last word counts, also after it was ended. */
export async function spare(
  client: Client,
  spared: Spared,
  { reason, until }: { readonly reason?: string | undefined; readonly until?: number | undefined },
): Promise<void> {
  const name = plainOptOutName(resourceOf(spared))
  // Null takes away what an earlier one says, such as that it has ended: applying would leave that in place.
  const given = { reason: reason ?? null, expiresAt: until === undefined ? null : formatTime(until) }
  const spec = { resource: resourceOf(spared), ...given }
  const changed = await client
    .patch(cleanupOptOut.type, { name }, { type: 'merge', body: { spec } })
    .catch(ignoring('NotFound'))
  if (changed) return
  const { apiVersion, kind } = cleanupOptOut
  const said = Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== null))
  await client.create(cleanupOptOut.type, { apiVersion, kind, metadata: { name }, spec: said })
}

/** How opt-outs of an object were ended: those that name it, whoever made them; those that select it are not its own. */
export interface Unspared {
  readonly ended: readonly string[]
  /** Opt-outs that go on sparing it, along with others of its labels. */
  readonly left: readonly string[]
}

/** Ends every opt-out that names an object; each stays as a trace of what was. */
export async function unspare(client: Client, { type, object }: Spared, now: number): Promise<Unspared> {
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

function resourceOf({ type, object }: Spared) {
  const { namespace, name } = object.metadata
  return { apiVersion: apiVersionOf(type), kind: type.kind, ...placeOf({ name, namespace }) }
}
