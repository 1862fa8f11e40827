import type { Client } from '../client/client.ts'
import type { ResourceType, StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'

/**
 * Deletes as Kubernetes' own controllers do: a Pod or ReplicaSet that a workload has one too many of, a Job whose time after finishing is over.
 * These are the mechanics of a cluster, not a decision about a user's object: what is not owned by a controller is never touched.
 */
export async function removeOwned(client: Client, type: ResourceType, { metadata }: StoredObject): Promise<void> {
  if (!metadata.ownerReferences?.some(({ controller }) => controller))
    throw new Error(`${type.kind} ${metadata.name} has no controller`)
  await remove(client, type, { metadata })
}

/** What a kubelet does when a terminating Pod's processes have ended: takes it off the list. */
export async function confirmGone(client: Client, type: ResourceType, pod: StoredObject): Promise<void> {
  if (!pod.metadata.deletionTimestamp) throw new Error(`Pod ${pod.metadata.name} is not terminating`)
  await remove(client, type, pod, { gracePeriodSeconds: 0 })
}

/** The user's own wish, in the object's spec: `ttlSecondsAfterFinished`. Whoever wishes otherwise in that moment is heard. */
export async function removeFinishedJob(client: Client, type: ResourceType, job: StoredObject): Promise<void> {
  const { ttlSecondsAfterFinished } = job.spec as { ttlSecondsAfterFinished?: number }
  if (ttlSecondsAfterFinished === undefined) throw new Error(`Job ${job.metadata.name} asks to be kept`)
  await remove(client, type, job, { resourceVersion: job.metadata.resourceVersion })
}

async function remove(
  client: Client,
  type: ResourceType,
  { metadata }: Pick<StoredObject, 'metadata'>,
  more: { readonly gracePeriodSeconds?: number; readonly resourceVersion?: string } = {},
): Promise<void> {
  const { name, namespace = '', uid } = metadata
  const options = { uid, propagationPolicy: 'Background', ...more } as const
  await client.deleteObject(type, { namespace, name }, options).catch(ignoring('NotFound', 'Conflict'))
}
