import { kindOf, type KubeObject, type ObjectMeta, type StoredObject } from '../../../kube/object.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { Change, View } from '../../store/store.ts'
import { isTerminating } from '../contract/terminating.ts'
import { newMetadata } from '../contract/metadata.ts'
import { changeTo, type WritePorts } from '../contract/write-object.ts'

/** On an object that waits for its finalizers: the record of the cascade in which it goes. Only the server says so. */
const cascadeRecordAnnotation = 'sojourn.dev/cascade-record'

/**
 * What comes before the removal of an object, in its own transaction: its record, where it has to have one. Whatever happens to whoever asked for it, or
 * to us: it is not gone without.
 */
export function storeDeletionRecord(
  ports: WritePorts,
  view: View,
  { object, cascadeRecord }: { readonly object: StoredObject; readonly cascadeRecord?: string | undefined },
): readonly Change[] {
  const removal = { object, cascadeRecord: cascadeRecord ?? notedRecord(object) }
  const wanted = ports.recordOf(removal, view)
  const type = wanted && ports.kinds.ofKind(kindOf(wanted.record))
  if (!type || isTerminating(type, view)) return []
  try {
    return [put(ports, view, { type, object: wanted.record })]
  } catch (error) {
    // No fault of whoever deletes.
    if (!isStatusError(error, 'RequestEntityTooLarge')) throw error
    return [put(ports, view, { type, object: wanted.short })]
  }
}

/**
 * Has an object whose deletion begins say in which cascade it goes, if it may be asked for its record: if something depends on it. Whatever it said before,
 * as a copy of another would, is no longer said.
 */
export function noteRecord(view: View, object: KubeObject, record: string | undefined): KubeObject {
  const isAsked = record !== undefined && view.dependentsOf(object.metadata.uid ?? '', 1).length > 0
  return { ...object, metadata: saying(object.metadata, isAsked ? record : undefined) }
}

/** Has an object whose deletion has begun go on saying what it said then, whatever a client would have it say. */
export function keepNoted(metadata: ObjectMeta, old: StoredObject): ObjectMeta {
  return old.metadata.deletionTimestamp === undefined ? metadata : saying(metadata, notedRecord(old))
}

function saying(metadata: ObjectMeta, record: string | undefined): ObjectMeta {
  const { annotations = {}, ...others } = metadata
  const { [cascadeRecordAnnotation]: claimed, ...kept } = annotations
  if (claimed === record) return metadata
  const said = record === undefined ? kept : { ...kept, [cascadeRecordAnnotation]: record }
  return { ...others, ...(Object.keys(said).length > 0 ? { annotations: said } : {}) }
}

function notedRecord({ metadata }: StoredObject): string | undefined {
  return metadata.deletionTimestamp === undefined ? undefined : metadata.annotations?.[cascadeRecordAnnotation]
}

/** Stores an object as it is. Nobody asked for it, so nobody is asked. */
function put(
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
