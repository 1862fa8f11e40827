import type { KubeObject, StoredObject } from '../../../kube/object.ts'
import { formatTime } from '../../../kube/time.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import { trackUpdate } from '../../schema/managed-fields/track-update.ts'
import type { Change, Dependent, View } from '../../store/store.ts'
import { conflict } from '../contract/failures.ts'
import { changeTo, type WritePorts } from '../contract/write-object.ts'

/** Whether an update ends an orphaning deletion by removing the `orphan` finalizer. */
export function endsOrphaning(old: StoredObject, { metadata }: KubeObject): boolean {
  return old.metadata.deletionTimestamp !== undefined && isOrphaning(old.metadata) && !isOrphaning(metadata)
}

/**
 * Removes an owner from the owner references of every dependent that still names it. The collector has done so for those it knew; one created since would
 * look like a dependent of a deleted owner and be deleted. No dependent can be created inside the owner's own transaction.
 */
export function freeDependents(
  ports: WritePorts,
  view: View,
  { type, owner }: { readonly type: ServedKind; readonly owner: StoredObject },
): readonly Change[] {
  const { uid, name } = owner.metadata
  const dependents = view.dependentsOf(uid, maxAtOnce + 1).filter((dependent) => dependent.uid !== uid)
  if (dependents.length > maxAtOnce)
    throw conflict(
      type,
      name,
      `more than ${maxAtOnce} dependents still name it as their owner; remove it from their ownerReferences first, or delete it with propagationPolicy Background to delete them, too`,
    )
  const changes: Change[] = []
  for (const dependent of dependents) {
    const freed = free(ports, view, { dependent, revision: view.nextRevision + changes.length })
    if (freed) changes.push(freed)
  }
  return changes
}

function free(
  { kinds, clock }: WritePorts,
  view: View,
  { dependent, revision }: { readonly dependent: Dependent; readonly revision: number },
): Change | undefined {
  const { resource, ownerUid } = dependent
  const type = kinds.ofResource(resource) ?? kinds.ofDefinition(resource)
  const record = view.get(dependent)
  if (!type || !record) return undefined
  const old = type.serve(record.document).value
  const { ownerReferences = [], ...metadata } = old.metadata
  const kept = ownerReferences.filter(({ uid }) => uid !== ownerUid)
  const object = { ...old, metadata: { ...metadata, ...(kept.length > 0 ? { ownerReferences: kept } : {}) } }
  const { schema, schemaOf } = type
  const now = formatTime(clock.now())
  const tracked = trackUpdate({ schema, live: old, object, manager: 'sojourn', now, schemaOf })
  return changeTo(type, tracked, { kind: 'update', revision, old }).change
}

function isOrphaning({ finalizers = [] }: KubeObject['metadata']): boolean {
  return finalizers.includes('orphan')
}

/** Limits how long the transaction blocks all other writes. */
const maxAtOnce = 1000
