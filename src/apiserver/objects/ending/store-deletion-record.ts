import { kindOf, type KubeObject, type ObjectMeta, type StoredObject } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { Change, View } from '../../store/store.ts'
import type { DeletionRecords } from '../contract/deletion-record.ts'
import { isTerminating } from '../contract/terminating.ts'
import { newMetadata } from '../contract/metadata.ts'
import { changeTo, type WritePorts } from '../contract/write-object.ts'

/**
 * The change that stores the record of an object which this transaction removes, if the application wants one. Because both are one transaction, no crash
 * can remove the object without its record.
 */
export function storeDeletionRecord(
  ports: WritePorts,
  view: View,
  { object, cascadeRecord }: { readonly object: StoredObject; readonly cascadeRecord?: string | undefined },
): readonly Change[] {
  const { deletionRecords: records } = ports
  const removal = { object, cascadeRecord: cascadeRecord ?? notedRecord(records, object) }
  const wanted = records?.recordOf(removal, view)
  const type = wanted && ports.kinds.ofKind(kindOf(wanted.record))
  if (!type || isTerminating(type, view)) return []
  try {
    return [putRecord(ports, view, { type, object: wanted.record })]
  } catch (error) {
    // The client that deletes is not to blame for a record that is too large.
    if (!isStatusError(error, 'RequestEntityTooLarge')) throw error
    return [putRecord(ports, view, { type, object: wanted.short })]
  }
}

/**
 * Notes on an object whose deletion begins which cascade deletes it, if it has dependents and so may need a record when it is removed. Any earlier value,
 * such as one copied from another object, is dropped.
 */
export function noteRecord(
  { deletionRecords }: WritePorts,
  view: View,
  { object, record }: { readonly object: KubeObject; readonly record: string | undefined },
): KubeObject {
  const isNeeded = record !== undefined && view.dependentsOf(object.metadata.uid ?? '', 1).length > 0
  return { ...object, metadata: setCascadeAnnotation(deletionRecords, object.metadata, isNeeded ? record : undefined) }
}

/** Keeps the note on an object that is being deleted, whatever a client writes: only the server may set it. */
export function keepNotedRecord({ deletionRecords }: WritePorts, metadata: ObjectMeta, old: StoredObject): ObjectMeta {
  if (old.metadata.deletionTimestamp === undefined) return metadata
  return setCascadeAnnotation(deletionRecords, metadata, notedRecord(deletionRecords, old))
}

function setCascadeAnnotation(
  records: DeletionRecords | undefined,
  metadata: ObjectMeta,
  record: string | undefined,
): ObjectMeta {
  if (!records) return metadata
  const { annotations = {}, ...others } = metadata
  const { [records.annotation]: claimed, ...kept } = annotations
  if (claimed === record) return metadata
  const set = record === undefined ? kept : { ...kept, [records.annotation]: record }
  return { ...others, ...(Object.keys(set).length > 0 ? { annotations: set } : {}) }
}

/** Trusted only on an object that is being deleted: before that, any client may have written the annotation. */
function notedRecord(records: DeletionRecords | undefined, { metadata }: StoredObject): string | undefined {
  return records && metadata.deletionTimestamp !== undefined ? metadata.annotations?.[records.annotation] : undefined
}

/** Stores the record without admission: the server itself writes it, on behalf of no user. */
export function putRecord(
  { clock, uid }: WritePorts,
  view: View,
  { type, object }: { readonly type: ServedKind; readonly object: KubeObject },
): Change {
  const { namespace = '', name = '' } = object.metadata
  const old = view.get({ resource: type.resource, namespace, name })?.document.value
  const revision = view.nextRevision
  if (old) {
    const metadata = { ...old.metadata, generation: (old.metadata.generation ?? 0) + 1 }
    return changeTo(type, { ...object, metadata }, { kind: 'update', revision, old }).change
  }
  const metadata = newMetadata(object.metadata, { uid: uid(), now: formatTime(clock.now()), generation: 1 })
  return changeTo(type, { ...object, metadata }, { kind: 'create', revision }).change
}
