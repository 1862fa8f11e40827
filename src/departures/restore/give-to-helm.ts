import type { Client } from '../../client/client.ts'
import { placeOf, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'

/** An entry of `metadata.managedFields`. */
interface ManagedFields {
  readonly manager?: string
  readonly operation?: string
}

/**
 * Makes Helm the manager of the fields of a restored object of a release. Helm applies by server-side apply: it would refuse to roll back or upgrade an object
 * whose fields another manager owns.
 */
export async function giveToHelm(client: Client, type: ResourceType, object: StoredObject): Promise<StoredObject> {
  const { annotations, resourceVersion } = object.metadata
  const entries = (object.metadata as { managedFields?: readonly ManagedFields[] }).managedFields
  if (annotations?.['meta.helm.sh/release-name'] === undefined || entries?.length !== 1) return object
  const managedFields = entries.map((entry) => ({ ...entry, manager: 'helm', operation: 'Apply' }))
  const body = { metadata: { resourceVersion, managedFields } }
  const given = await client
    .patch<StoredObject>(type, placeOf(object.metadata), { type: 'merge', body })
    .catch(ignoring('Conflict', 'NotFound'))
  return given ?? object
}
