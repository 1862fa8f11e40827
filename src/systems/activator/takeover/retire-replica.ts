import type { StoredObject } from '../../../kube/object.ts'
import { sleep, type Clock } from '../../../runtime/time/clock.ts'
import type { Caches } from '../cluster/observe.ts'
import { isOurSlice } from '../decision/takeover.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import type { Peers } from '../replicas/peers.ts'
import type { TakeoverReconciler } from './takeover-reconciler.ts'

export interface RetireReplicaParts {
  readonly clock: Clock
  readonly peers: Peers
  readonly caches: Caches
  readonly takeover: TakeoverReconciler
  /** Where the cluster reached this replica before it began to retire, if known. */
  readonly address: string | undefined
  readonly enqueueServices: (ids: Iterable<string>) => void
}

const pollMs = 50

/**
 * Waits until no EndpointSlice of ours lists this replica any more, or time is up. The last replica releases every Service
 * that is taken over.
 */
export async function retireReplica(parts: RetireReplicaParts, withinMs: number): Promise<void> {
  const { clock, peers, caches, takeover, address, enqueueServices } = parts
  const until = clock.now() + withinMs
  const takenOver = () => caches.services.list().filter((service) => takeover.hasTakeoverState(service))
  const isListed = () => caches.slices.list().some((slice) => isOurSlice(slice) && lists(slice, address))
  let isLast = false
  for (;;) {
    // Replicas that retire at the same time learn of each other one by one, so this may become true late.
    isLast ||= peers.isLast
    if (isLast) takeover.releaseAll()
    enqueueServices(takenOver().map(idOf))
    const isDone = isLast ? takenOver().length === 0 : !isListed()
    if (isDone || clock.now() >= until) return
    await sleep(clock, pollMs)
  }
}

function idOf({ metadata: { namespace = '', name } }: StoredObject): string {
  return `${namespace}/${name}`
}

function lists({ endpoints }: EndpointSlice, address: string | undefined): boolean {
  return (endpoints ?? []).some(({ addresses = [] }) => address !== undefined && addresses.includes(address))
}
