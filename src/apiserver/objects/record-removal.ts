import { kindOf, type KubeObject, type StoredObject } from '../../kube/object.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import type { ServedKind } from '../kinds/served-kind.ts'
import type { Change, View } from '../store/store.ts'
import { isTerminating } from './create-object.ts'
import { newMetadata } from './metadata.ts'
import { changeTo, type WritePorts } from './write-object.ts'

/** On an object that waits for its finalizers: the record of the cascade in which it goes. Only the server says so. */
const cascadeRecordAnnotation = 'sojourn.dev/cascade-record'

/**
 * What comes before the removal of an object, in its own transaction: its record, where it has to have one. Whatever happens to whoever asked for it, or
 * to us: it is not gone without.
 */
export function recordRemoval(
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
  const { annotations = {}, ...metadata } = object.metadata
  const { [cascadeRecordAnnotation]: claimed, ...others } = annotations
  const isNoted = record !== undefined && view.dependentsOf(metadata.uid ?? '', 1).length > 0
  if (!isNoted && claimed === undefined) return object
  const noted = isNoted ? { ...others, [cascadeRecordAnnotation]: record } : others
  return { ...object, metadata: { ...metadata, ...(Object.keys(noted).length > 0 ? { annotations: noted } : {}) } }
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
