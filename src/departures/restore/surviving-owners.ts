import type { Client } from '../../client/client.ts'
import type { OwnerReference, StoredObject } from '../../kube/object.ts'
import { isStatusError } from '../../kube/status-error.ts'
import type { PageLine } from '../records/pages.ts'
import { isRestoredFrom } from './restored-from.ts'

/**
 * Maps the old uids of owners that this restore does not create to their current ones: they were never deleted, or another restore has created them. They
 * become owners of the restored objects again. Owners that cannot be read are left out.
 */
export async function survivingOwners(
  client: Client,
  lines: readonly PageLine[],
): Promise<ReadonlyMap<string, string>> {
  const coming = new Set(lines.map(({ uid }) => uid))
  const living = new Map<string, string>()
  const asked = new Set<string>()
  for (const { manifest } of lines)
    for (const reference of manifest.metadata.ownerReferences ?? []) {
      if (coming.has(reference.uid) || asked.has(reference.uid)) continue
      asked.add(reference.uid)
      const uid = await uidOf(client, reference, manifest.metadata.namespace)
      if (uid !== undefined) living.set(reference.uid, uid)
    }
  return living
}

async function uidOf(
  client: Client,
  { uid, name, ...kind }: OwnerReference,
  namespace: string | undefined,
): Promise<string | undefined> {
  try {
    const type = await client.discovery.typeOf(kind)
    if (!type || (type.namespaced && !namespace)) return undefined
    const place = { name, ...(type.namespaced && namespace ? { namespace } : {}) }
    const found = await client.get<StoredObject>(type, place, { metadataOnly: true })
    const isMeant = found.metadata.uid === uid || isRestoredFrom(found, uid)
    return isMeant && found.metadata.deletionTimestamp === undefined ? found.metadata.uid : undefined
  } catch (error) {
    if (!isStatusError(error)) throw error
    return undefined
  }
}
