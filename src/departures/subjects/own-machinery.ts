import { sojournGroup } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { type ResourceType, type StoredObject, placeOf } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'

/** The label of everything we make for ourselves. */
export const ownLabel = { 'app.kubernetes.io/part-of': 'sojourn' } as const

/**
 * Deletes something we made for ourselves: a mark whose time is over, a companion Service, an old record or approval. No record is kept of it.
 * Refuses anything that is not ours; gone or changed since counts as done, the watch tells.
 */
export async function removeOwn(
  client: Client,
  type: ResourceType,
  { metadata }: Pick<StoredObject, 'metadata'>,
): Promise<void> {
  const { name, namespace, uid, resourceVersion, labels = {} } = metadata
  if (!isOwn(type, labels)) throw new Error(`${type.kind} ${name} is not our own: it must leave by the door`)
  const place = placeOf({ name, namespace })
  await client.deleteObject(type, place, { uid, resourceVersion }).catch(ignoring('NotFound', 'Conflict'))
}

function isOwn({ group, kind }: ResourceType, labels: Readonly<Record<string, string>>): boolean {
  if (group === sojournGroup.group && bookkeeping.has(kind)) return true
  return labels['app.kubernetes.io/part-of'] === ownLabel['app.kubernetes.io/part-of']
}

const bookkeeping = new Set(['Approval', 'Departure', 'CleanupCandidate', 'UsageLedger'])
