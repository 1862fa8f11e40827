import type { Client } from '../client/client.ts'
import type { KubeObject, ResourceType, StoredObject } from '../kube/object.ts'
import { deepEqual } from '../kube/patches/patch.ts'
import { ignoring, isNamespaceTerminating } from '../kube/status-error.ts'
import type { ClusterPorts } from '../runtime/controller/controller.ts'
import { wakeAt, type Outcome } from '../runtime/controller/outcome.ts'
import type { EventRecorder } from '../runtime/observability/event-recorder.ts'

/** What every workload controller needs. */
export interface WorkloadPorts extends ClusterPorts {
  readonly events: EventRecorder
}

/** How many Pods a reconcile creates or deletes at most: no workload, however large, keeps a worker from the others. */
export const maxPodsAtOnce = 200

/** A cache that a reconcile reads is not complete: again soon, for its first list may tell of nothing that concerns the key. */
export function whenRead({ ports }: Pick<WorkloadPorts, 'ports'>): Outcome {
  return wakeAt(ports.clock.now() + unreadMs)
}

const unreadMs = 50

/** Writes the status if it changed; undefined when it did not, or the object no longer exists. */
export async function writeStatus(
  client: Client,
  type: ResourceType,
  object: StoredObject,
  status: unknown,
): Promise<StoredObject | undefined> {
  if (deepEqual(object.status ?? {}, status)) return undefined
  return client.updateStatus(type, object, status).catch(ignoring('NotFound'))
}

/** Creates an object; undefined when it already exists, or its namespace is terminating. */
export function createNew(client: Client, type: ResourceType, object: KubeObject): Promise<StoredObject | undefined> {
  return client.create<StoredObject>(type, object).catch((error: unknown) => {
    if (isNamespaceTerminating(error)) return undefined
    return ignoring('AlreadyExists', 'NotFound')(error)
  })
}
