import type { StoreEvent } from '../apiserver/store/store.ts'
import { jobs, pods } from '../kube/core-types.ts'
import { groupResource, placeOf, type ResourceType } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'
import { tracked } from '../runtime/time/clock.ts'
import type { VirtualClock } from '../runtime/time/virtual-clock.ts'
import type { ClusterCopy } from './copy.ts'

const afterMs = 60_000

const finished: readonly (readonly [ResourceType, object])[] = [
  [jobs, { conditions: [{ type: 'Complete', status: 'True' }], succeeded: 1 }],
  [pods, { phase: 'Succeeded' }],
]

/** Lets Jobs and Pods that a system creates, such as the hooks of a Helm release, succeed after a minute: nothing runs them on the copy. */
export function finishJobs({ type, resource, document }: StoreEvent, copy: ClusterCopy, clock: VirtualClock): void {
  const [kind, status] = finished.find(([candidate]) => groupResource(candidate) === resource) ?? []
  if (type !== 'create' || !kind) return
  const place = placeOf(document.value.metadata)
  const finish = () =>
    copy.client
      .patch(kind, place, { type: 'merge', body: { status } }, { subresource: 'status' })
      .catch(ignoring('NotFound'))
  clock.after(afterMs, () => void tracked(clock, finish))
}
