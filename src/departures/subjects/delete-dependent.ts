import type { Client } from '../../client/client.ts'
import { type ResourceType, type StoredObject, placeOf } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'

/** How a dependent's leaving ended; `changed` means judge it again. */
export type DeleteOutcome = 'gone' | 'leaving' | 'changed'

export interface DependentDeleteOptions {
  readonly propagation: 'Background' | 'Foreground'
  /** `namespace/name` of the record that it is on: without, one that owns others would be recorded as if a user had deleted it. */
  readonly cascadeRecord?: string | undefined
}

/**
 * Lets a dependent follow an owner that has left: only this very object, and only while it names the owners by which it was judged.
 * Its record is a line on its root's pages, written before (`CascadeRecorder`); the door has been asked about it (`Door.spares`).
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
    // A status may change all the time: what counts is whether it is still the same one, as it was judged and recorded.
    const now = await client.get<StoredObject>(type, place, { metadataOnly: true }).catch(ignoring('NotFound'))
    if (!now || now.metadata.uid !== uid) return 'gone'
    if (now.metadata.deletionTimestamp) return 'leaving'
    if (!isAsJudged(now, judged)) return 'changed'
    resourceVersion = now.metadata.resourceVersion
  }
  return 'changed'
}

const attempts = 5

/** Whether nothing but its status has changed; of kinds without a generation that cannot be told. */
function isAsJudged({ metadata: now }: StoredObject, { metadata: then }: StoredObject): boolean {
  return (
    now.generation !== undefined &&
    now.generation === then.generation &&
    deepEqual(now.ownerReferences ?? [], then.ownerReferences ?? []) &&
    deepEqual(now.labels ?? {}, then.labels ?? {}) &&
    deepEqual(now.annotations ?? {}, then.annotations ?? {})
  )
}
