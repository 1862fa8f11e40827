import { sojournGroup } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { type ResourceType, type StoredObject, placeOf } from '../../kube/object.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { deepEqual } from '../../kube/patches/patch.ts'

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

const bookkeeping = new Set([
  'Approval',
  'Departure',
  'DeparturePage',
  'CleanupCandidate',
  'UsageLedger',
  'SavingsReport',
])

/** How the deletion of a dependent ended. `leaving`: finalizers hold it. `changed`: not deleted, judge it again. */
export type DeleteOutcome = 'gone' | 'leaving' | 'changed'

export interface DependentDeleteOptions {
  readonly propagation: 'Background' | 'Foreground'
  /** `namespace/name` of the record that lists it. Without it, the server would record an owner as if a user had deleted it. */
  readonly cascadeRecord?: string | undefined
}

/**
 * Deletes a dependent of a deleted owner over the API: only this uid, and only while it names the owners by which it was judged. The caller has recorded it
 * (`CascadeRecorder`) and asked the door (`Door.reasonToKeep`).
 */
export async function deleteDependent(
  client: Client,
  type: ResourceType,
  judged: StoredObject,
  { propagation: propagationPolicy, cascadeRecord }: DependentDeleteOptions,
): Promise<DeleteOutcome> {
  const { name, namespace, uid } = judged.metadata
  const place = placeOf({ name, namespace })
  let { resourceVersion } = judged.metadata
  for (let attempt = 0; attempt < attempts; attempt++) {
    try {
      const answer = await client.deleteObject(type, place, { uid, resourceVersion, propagationPolicy, cascadeRecord })
      return answer.metadata?.deletionTimestamp ? 'leaving' : 'gone'
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return 'gone'
      if (!isStatusError(error, 'Conflict')) throw error
    }
    // Its status may change at any time. Only a change to what was judged and recorded matters.
    const now = await client.get<StoredObject>(type, place, { metadataOnly: true }).catch(ignoring('NotFound'))
    if (!now || now.metadata.uid !== uid) return 'gone'
    if (now.metadata.deletionTimestamp) return 'leaving'
    if (!isAsJudged(now, judged)) return 'changed'
    resourceVersion = now.metadata.resourceVersion
  }
  return 'changed'
}

const attempts = 5

/** Whether only its status has changed. False for kinds without a generation, where that cannot be seen. */
function isAsJudged({ metadata: now }: StoredObject, { metadata: then }: StoredObject): boolean {
  return (
    now.generation !== undefined &&
    now.generation === then.generation &&
    deepEqual(now.ownerReferences ?? [], then.ownerReferences ?? []) &&
    deepEqual(now.labels ?? {}, then.labels ?? {}) &&
    deepEqual(now.annotations ?? {}, then.annotations ?? {})
  )
}
