import type { Client } from '../client/client.ts'
import { placeOf, type ResourceType, type StoredObject } from '../kube/object.ts'
import { ignoring } from '../kube/status-error.ts'

/**
 * Deletes an object as Kubernetes' own controllers do, such as a Pod or ReplicaSet that its workload no longer needs. These deletes
 * bypass the Door because they are not decisions about a user's object: an object without a controller is never deleted.
 */
export async function deleteOwned(client: Client, type: ResourceType, { metadata }: StoredObject): Promise<void> {
  if (!metadata.ownerReferences?.some(({ controller }) => controller))
    throw new Error(`${type.kind} ${metadata.name} has no controller`)
  await deleteObject(client, type, { metadata })
}

/** Removes a terminating Pod from the API once its processes have ended, as a kubelet does. */
export async function deleteTerminatedPod(client: Client, type: ResourceType, pod: StoredObject): Promise<void> {
  if (!pod.metadata.deletionTimestamp) throw new Error(`Pod ${pod.metadata.name} is not terminating`)
  await deleteObject(client, type, pod, { gracePeriodSeconds: 0 })
}

/** Deletes a finished Job whose spec sets `ttlSecondsAfterFinished`. A Job that is edited at the same time is kept. */
export async function deleteFinishedJob(client: Client, type: ResourceType, job: StoredObject): Promise<void> {
  const { ttlSecondsAfterFinished } = job.spec as { ttlSecondsAfterFinished?: number }
  if (ttlSecondsAfterFinished === undefined)
    throw new Error(`Job ${job.metadata.name} does not set ttlSecondsAfterFinished`)
  await deleteObject(client, type, job, { resourceVersion: job.metadata.resourceVersion })
}

async function deleteObject(
  client: Client,
  type: ResourceType,
  { metadata }: Pick<StoredObject, 'metadata'>,
  more: { readonly gracePeriodSeconds?: number; readonly resourceVersion?: string } = {},
): Promise<void> {
  const { uid } = metadata
  const options = { uid, propagationPolicy: 'Background', ...more } as const
  await client.deleteObject(type, placeOf(metadata), options).catch(ignoring('NotFound', 'Conflict'))
}
