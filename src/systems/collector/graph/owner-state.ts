import { isBond } from '../../../apis/bond-guard.ts'
import { parseApiVersion, type OwnerReference, type StoredObject } from '../../../kube/object.ts'

/** What an owner that exists is to a dependent that names its uid; `elsewhere` when the reference means another object. */
export type Standing = 'solid' | 'waiting' | 'dangling' | 'unknown' | 'elsewhere'

/**
 * How an owner stands to a dependent. One in another namespace is no owner; a cluster-scoped object cannot belong to a namespaced one and is left
 * alone; one that goes in the foreground waits for its dependents and keeps none but its Bonds, which have their say until it is gone.
 */
export function ownerStateOf(dependent: StoredObject, reference: OwnerReference, owner: StoredObject): Standing {
  const { namespace, deletionTimestamp, finalizers = [], name } = owner.metadata
  if (namespace && namespace !== dependent.metadata.namespace)
    return dependent.metadata.namespace ? 'dangling' : 'unknown'
  const isMeant =
    owner.kind === reference.kind &&
    name === reference.name &&
    parseApiVersion(owner.apiVersion).group === parseApiVersion(reference.apiVersion).group
  if (!isMeant) return 'elsewhere'
  return deletionTimestamp && finalizers.includes('foregroundDeletion') && !isBond(dependent) ? 'waiting' : 'solid'
}

/** Whether an owner that goes in the foreground has to wait for a dependent that says so: a Bond goes after its owner. */
export function canBlock(dependent: StoredObject | undefined): boolean {
  return dependent !== undefined && !isBond(dependent)
}
