import type { AdmissionHook, Review } from '../../apiserver/objects/contract/admission.ts'
import type { Store } from '../../apiserver/store/store.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { isLeaseHeld, type LeaseObject } from '../../departures/drain/drain.ts'
import type { Clock } from '../../runtime/time/clock.ts'

/**
 * For a server whose process collects nothing: warns whoever deletes what a collector would have to look after, while none runs elsewhere. The deletion
 * stands; a collector that comes later goes on from there.
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
      const waits = waitFor(propagation, store.owners.dependentsOf(old.metadata.uid ?? '', 1).length > 0)
      if (waits && !isCollecting())
        return [`no collector is running: ${waits} until one does (sojourn run --only collector)`]
    },
  }
}

/** What will not happen by itself. */
function waitFor(propagation: Review['propagation'], hasDependents: boolean): string | undefined {
  if (propagation === 'Foreground') return 'it stays, being deleted,'
  if (propagation === 'Orphan') return 'it stays, being deleted, and its dependents keep it as an owner'
  return hasDependents ? 'what it owns stays' : undefined
}

const maxLeases = 1000

/** One of ours is named after the roles that share it, or after none when it is all of them. */
function isCollectors({ metadata: { name, namespace } }: LeaseObject): boolean {
  if (namespace !== sojournNamespace) return name === 'kube-controller-manager'
  return name === 'sojourn' || (name.startsWith('sojourn-') && name.split('-').includes('collector'))
}
