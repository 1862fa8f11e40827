import { sojournGroup } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { type ResourceType, type StoredObject, placeOf } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'

/** The label of every object that Sojourn creates for its own use. */
export const ownLabel = { 'app.kubernetes.io/part-of': 'sojourn' } as const

/**
 * Deletes an object that Sojourn created for its own use, such as an expired candidate, a companion Service, or an old record or approval. Writes no record.
 * Throws for any other object. An object that is gone or has changed is left alone: the watch delivers that.
 */
export async function removeOwn(
  client: Client,
  type: ResourceType,
  { metadata }: Pick<StoredObject, 'metadata'>,
): Promise<void> {
  const { name, namespace, uid, resourceVersion, labels = {} } = metadata
  if (!isOwn(type, labels)) throw new Error(`${type.kind} ${name} is not Sojourn's own: delete it with Door.depart`)
  const place = placeOf({ name, namespace })
  await client.deleteObject(type, place, { uid, resourceVersion }).catch(ignoring('NotFound', 'Conflict'))
}

function isOwn({ group, kind }: ResourceType, labels: Readonly<Record<string, string>>): boolean {
  if (group === sojournGroup.group && bookkeeping.has(kind)) return true
  return labels['app.kubernetes.io/part-of'] === ownLabel['app.kubernetes.io/part-of']
}

const bookkeeping = new Set(['Approval', 'Departure', 'CleanupCandidate', 'UsageLedger'])
