import { bond, type Bond } from '../apis/bond.ts'
import { cleanupOptOut, type CleanupOptOut } from '../apis/cleanup-opt-out.ts'
import type { Client } from '../client/client.ts'
import { sentenceOf } from '../departures/because.ts'
import { protectionOf } from '../departures/protection.ts'
import type { StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'

/** What spares an object, in sentences; empty when nothing does. */
export async function protectionsOf(client: Client, object: StoredObject, now: number): Promise<readonly string[]> {
  const optOuts = await client.list<CleanupOptOut>(cleanupOptOut.type).catch(ignoring('NotFound', 'Forbidden'))
  const bonds = await client.list<Bond>(bond.type).catch(ignoring('NotFound', 'Forbidden'))
  const guarding = (bonds?.items ?? []).filter(
    ({ status }) => status?.phase === 'Active' && status.dependencyUid === object.metadata.uid,
  )
  const protection = protectionOf(object, { cluster: '', optOuts: optOuts?.items ?? [], bonds: guarding, now })
  return protection ? [sentenceOf(protection)] : []
}
