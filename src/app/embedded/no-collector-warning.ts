import type { AdmissionHook, Review } from '../../apiserver/objects/contract/admission.ts'
import type { Store } from '../../apiserver/store/store.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { isLeaseHeld, type LeaseObject } from '../../departures/drain/drain.ts'
import type { Clock } from '../../runtime/time/clock.ts'

/**
 * For a `sojourn up` without the collector: warns users whose deletion needs a collector while none runs elsewhere, as its Lease
 * would show. The deletion is accepted; a collector that starts later completes it.
 */
export function noCollectorWarning(store: Pick<Store, 'owners' | 'scan'>, clock: Clock): AdmissionHook {
  const isCollecting = () =>
    [sojournNamespace, 'kube-system']
      .flatMap((namespace) => store.scan({ resource: 'leases.coordination.k8s.io', namespace, limit: maxLeases }))
      .map(({ document }) => document.value as LeaseObject)
      .some((lease) => isLeaseHeld(lease, clock.now()) && isCollectors(lease))
  return {
    validate({ operation, old, propagation, subresource }) {
      if (operation !== 'DELETE' || subresource !== '' || !old) return
      const pending = pendingWork(propagation, store.owners.dependentsOf(old.metadata.uid ?? '', 1).length > 0)
      if (pending && !isCollecting())
        return [`no collector is running: ${pending} until you start one (sojourn run --only collector)`]
    },
  }
}

/** What a deletion leaves to the collector; undefined when the server completes it alone. */
function pendingWork(propagation: Review['propagation'], hasDependents: boolean): string | undefined {
  if (propagation === 'Foreground') return 'the object keeps its deletionTimestamp and is not deleted'
  if (propagation === 'Orphan') return 'the object is not deleted and its dependents keep their owner reference'
  return hasDependents ? 'its dependents are not deleted' : undefined
}

const maxLeases = 1000

/** A Lease of Sojourn is named `sojourn-` and its roles, or `sojourn` for all roles; Kubernetes' collector has its own Lease. */
function isCollectors({ metadata: { name, namespace } }: LeaseObject): boolean {
  if (namespace !== sojournNamespace) return name === 'kube-controller-manager'
  return name === 'sojourn' || (name.startsWith('sojourn-') && name.split('-').includes('collector'))
}
