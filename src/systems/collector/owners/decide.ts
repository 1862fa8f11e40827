import { isHeldByBond } from '../../../apis/bond-guard.ts'
import type { OwnerReference, StoredObject } from '../../../kube/object.ts'

/** What is known of one owner that an object names. */
export interface OwnerFact {
  readonly reference: OwnerReference
  /**
   * `solid`: it is there and keeps its dependents. `waiting`: it goes in the foreground and waits for them. `dangling`: it is certainly
   * not there. `unknown`: it cannot be told.
   */
  readonly state: 'solid' | 'waiting' | 'dangling' | 'unknown'
}

/** Everything a decision about one object depends on. */
export interface Observed {
  readonly object: StoredObject
  readonly owners: readonly OwnerFact[]
  readonly hasDependents: boolean
  /** Dependents that keep a foreground deletion waiting: those that block it, its own cycle left out, and those that have not been told yet. */
  readonly blockingDependents: number
  /** Whether something reasonToKeep it: a keep mark, an opt-out, a Bond. */
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
  /** Some owner keeps it: forget those that are gone or going. */
  | { readonly do: 'drop-references'; readonly uids: readonly string[] }
  /** No owner is left. */
  | { readonly do: 'delete'; readonly because: 'owners-gone'; readonly propagation: 'Background' | 'Foreground' }
  /** Its dependents are gone: let it go too. */
  | { readonly do: 'release'; readonly finalizer: 'foregroundDeletion' }
  /** Its dependents are to stay: free them, then let it go. */
  | { readonly do: 'orphan' }

/** What has to happen to one object of the graph, by Kubernetes' rules for owner references. */
export function decide({ object, owners, hasDependents, blockingDependents, isProtected }: Observed): Decision {
  const { deletionTimestamp } = object.metadata
  if (deletionTimestamp) return decideLeaving(object, blockingDependents)
  if (owners.length === 0) return { do: 'keep', because: 'no-owners' }
  const those = (state: OwnerFact['state']) => owners.filter((owner) => owner.state === state)
  if (those('solid').length > 0) {
    const gone = [...those('dangling'), ...those('waiting')].map(({ reference }) => reference.uid)
    return gone.length > 0 ? { do: 'drop-references', uids: gone } : { do: 'keep', because: 'owner-solid' }
  }
  if (those('unknown').length > 0) return { do: 'keep', because: 'owner-unknown' }
  if (isProtected) return { do: 'keep', because: 'protected' }
  const waits = those('waiting').length > 0 && hasDependents
  return { do: 'delete', because: 'owners-gone', propagation: waits ? 'Foreground' : 'Background' }
}

function decideLeaving(object: StoredObject, blockingDependents: number): Decision {
  const { finalizers = [] } = object.metadata
  if (finalizers.includes('orphan')) return { do: 'orphan' }
  if (!finalizers.includes('foregroundDeletion')) return { do: 'keep', because: 'being-deleted' }
  if (blockingDependents > 0) return { do: 'keep', because: 'dependents-remain' }
  // Without the finalizer it would keep its dependents from now on: whether they go must not hang on who is faster.
  if (isHeldByBond(object)) return { do: 'keep', because: 'bond-holds' }
  return { do: 'release', finalizer: 'foregroundDeletion' }
}
