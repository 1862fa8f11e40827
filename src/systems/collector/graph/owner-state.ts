import { isBond } from '../../../apis/bond-guard.ts'
import type { OwnerReference, StoredObject } from '../../../kube/object.ts'
import { ownerStateOf, type OwnerState } from '../../../kube/owner-rule.ts'

/** The owner rule for the collector: a Bond outlives an owner that is deleted in the foreground, because it protects others until that owner is gone. */
export function ownerStateFor(
  dependent: StoredObject,
  reference: OwnerReference,
  owner: StoredObject,
): OwnerState | 'mismatch' {
  const { namespace } = dependent.metadata
  return ownerStateOf(reference, owner, { namespace, outlivesForeground: isBond(dependent) })
}

/** Whether a foreground deletion of its owner may wait for this dependent: never for a Bond, which is deleted after its owner. */
export function canBlock(dependent: StoredObject | undefined): boolean {
  return dependent !== undefined && !isBond(dependent)
}
