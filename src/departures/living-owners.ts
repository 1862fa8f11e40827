import type { Client } from '../client/client.ts'
import type { OwnerReference, StoredObject } from '../kube/object.ts'
import { isStatusError } from '../kube/status-error.ts'
import type { PageLine } from './pages.ts'

/** Owners that did not leave and still live, by their uid: what is brought back is theirs again. What cannot be read is not among them. */
export async function livingOwners(client: Client, lines: readonly PageLine[]): Promise<ReadonlySet<string>> {
  const coming = new Set(lines.map(({ uid }) => uid))
  const living = new Set<string>()
  const asked = new Set<string>()
  for (const { manifest } of lines)
    for (const reference of manifest.metadata.ownerReferences ?? []) {
      if (coming.has(reference.uid) || asked.has(reference.uid)) continue
      asked.add(reference.uid)
      if (await isAlive(client, reference, manifest.metadata.namespace)) living.add(reference.uid)
    }
  return living
}

async function isAlive(
  client: Client,
  { uid, name, ...kind }: OwnerReference,
  namespace: string | undefined,
): Promise<boolean> {
  try {
    const type = await client.discovery.typeOf(kind)
    if (!type || (type.namespaced && !namespace)) return false
    const place = { name, ...(type.namespaced && namespace ? { namespace } : {}) }
    const { metadata } = await client.get<StoredObject>(type, place, { metadataOnly: true })
    return metadata.uid === uid && metadata.deletionTimestamp === undefined
  } catch (error) {
    if (!isStatusError(error)) throw error
    return false
  }
}
