import { isHeldByBond } from '../../../apis/bond-guard.ts'
import type { OwnerReference, StoredObject } from '../../../kube/object.ts'
import { isForegroundDeletion, strongerOwner, type OwnerState } from '../../../kube/owner-rule.ts'

/** One owner reference of an object, and what is known of that owner. */
export interface OwnerFact {
  readonly reference: OwnerReference
  readonly state: OwnerState
}

/** Everything a decision about one object depends on. */
export interface Observed {
  readonly object: StoredObject
  readonly owners: readonly OwnerFact[]
  readonly hasDependents: boolean
  /** Dependents that a foreground deletion waits for: those that block it, its own cycle excepted, and those whose deletion is decided but not requested yet. */
  readonly blockingDependents: number
  /** Whether a keep mark, an opt-out or a Bond protects it. */
  readonly isProtected: boolean
}

export type Decision =
  | {
      readonly do: 'keep'
      readonly because:
        | 'no-owners'
        | 'owner-solid'
        | 'owner-unknown'
        | 'protected'
        | 'being-deleted'
        | 'dependents-remain'
        | 'bond-holds'
    }
  /** An owner keeps it: remove its references to owners that are gone or being deleted in the foreground. */
  | { readonly do: 'drop-references'; readonly references: readonly OwnerReference[] }
  /** No owner is left. */
  | { readonly do: 'delete'; readonly because: 'owners-gone'; readonly propagation: 'Background' | 'Foreground' }
  /** No dependent blocks its foreground deletion any more. */
  | { readonly do: 'release'; readonly finalizer: 'foregroundDeletion' }
  /** It is deleted with Orphan: remove it from its dependents' owner references, then finish its deletion. */
  | { readonly do: 'orphan' }

/** What to do with one object of the graph, by Kubernetes' rules for owner references. */
export function decide({ object, owners, hasDependents, blockingDependents, isProtected }: Observed): Decision {
  const { deletionTimestamp } = object.metadata
  if (deletionTimestamp) return decideDeleted(object, blockingDependents)
  if (owners.length === 0) return { do: 'keep', because: 'no-owners' }
  const strongest = owners.map(({ state }) => state).reduce(strongerOwner)
  if (strongest === 'solid') {
    const gone = owners.filter(({ state }) => state === 'dangling' || state === 'waiting')
    const references = gone.map(({ reference }) => reference)
    return references.length > 0 ? { do: 'drop-references', references } : { do: 'keep', because: 'owner-solid' }
  }
  if (strongest === 'unknown') return { do: 'keep', because: 'owner-unknown' }
  if (isProtected) return { do: 'keep', because: 'protected' }
  const isForeground = strongest === 'waiting' && hasDependents
  return { do: 'delete', because: 'owners-gone', propagation: isForeground ? 'Foreground' : 'Background' }
}

function decideDeleted(object: StoredObject, blockingDependents: number): Decision {
  const { finalizers = [] } = object.metadata
  if (finalizers.includes('orphan')) return { do: 'orphan' }
  if (!isForegroundDeletion(object)) return { do: 'keep', because: 'being-deleted' }
  if (blockingDependents > 0) return { do: 'keep', because: 'dependents-remain' }
  // Without the finalizer it would count as solid and keep its dependents: whether they are deleted must not depend on timing.
  if (isHeldByBond(object)) return { do: 'keep', because: 'bond-holds' }
  return { do: 'release', finalizer: 'foregroundDeletion' }
}
