import { parseApiVersion, type KubeObject, type OwnerReference } from './object.ts'

/**
 * What one owner reference means to the object that carries it.
 * - `solid`: the owner exists and keeps its dependents.
 * - `unknown`: whether the owner exists cannot be told.
 * - `waiting`: the owner is being deleted in the foreground and waits for its dependents to go first.
 * - `dangling`: there is certainly no such owner.
 */
export type OwnerState = 'solid' | 'unknown' | 'waiting' | 'dangling'

/** What the rule needs to know about the dependent. */
export interface DependentFacts {
  /** Empty or absent for a cluster-scoped dependent. */
  readonly namespace?: string | undefined
  /** Whether it stays until its owner is gone even when that owner is deleted in the foreground. */
  readonly outlivesForeground: boolean
}

/**
 * The one owner rule of the collector, its preview and the API server's check inside the delete transaction. `owner` is the object that has the uid of the
 * reference. `mismatch`: the reference names another kind or name, so whether such an owner exists must be asked separately.
 *
 * A namespaced owner cannot own across namespaces (Kubernetes treats it as absent) and cannot own a cluster-scoped object, which is kept.
 */
export function ownerStateOf(
  reference: OwnerReference,
  owner: KubeObject,
  { namespace, outlivesForeground }: DependentFacts,
): OwnerState | 'mismatch' {
  const { metadata } = owner
  if (metadata.namespace && metadata.namespace !== namespace) return namespace ? 'dangling' : 'unknown'
  const isNamedOwner =
    owner.kind === reference.kind &&
    metadata.name === reference.name &&
    parseApiVersion(owner.apiVersion).group === parseApiVersion(reference.apiVersion).group
  if (!isNamedOwner) return 'mismatch'
  return isForegroundDeletion(owner) && !outlivesForeground ? 'waiting' : 'solid'
}

/** Of two owners of an object, the one that decides: `solid` and `unknown` keep it; `waiting` and `dangling` let it be deleted. */
export function strongerOwner(one: OwnerState, other: OwnerState): OwnerState {
  return strengths.indexOf(one) >= strengths.indexOf(other) ? one : other
}

/** Whether an object stays because of its owners, given the strongest of them. */
export function keepsDependent(strongest: OwnerState): boolean {
  return strongest === 'solid' || strongest === 'unknown'
}

/** Whether an object is being deleted and waits for its dependents. */
export function isForegroundDeletion({ metadata }: KubeObject): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers?.includes('foregroundDeletion') ?? false)
}

const strengths: readonly OwnerState[] = ['dangling', 'waiting', 'unknown', 'solid']
