import type { Client } from '../client/client.ts'
import type { ResourceType, StoredObject } from '../kube/object.ts'
import { isStatusError } from '../kube/status-error.ts'

/**
 * The whole object as it was when it was deleted: a watch that begins at the version last seen of it is told. Undefined when none was ever seen, when
 * the server no longer remembers so far back, or does not let us look.
 */
export async function recall(
  client: Client,
  type: ResourceType,
  { metadata }: StoredObject,
): Promise<StoredObject | undefined> {
  const { name, namespace, uid, resourceVersion } = metadata
  // Nobody saw it: there may never have been one, and to find out would cost each who names it a second.
  if (!resourceVersion) return undefined
  const options = {
    ...(namespace ? { namespace } : {}),
    fieldSelector: `metadata.name=${name}`,
    resourceVersion: String(Math.max(1, Number(resourceVersion) - 1)),
    timeoutSeconds,
  }
  try {
    for await (const event of client.watch<StoredObject>(type, options))
      if (event.type === 'DELETED' && event.object.metadata.uid === uid) return event.object
  } catch (error) {
    if (!isStatusError(error)) throw error
  }
  return undefined
}

/** For how long a watch that does not tell of it is listened to. */
const timeoutSeconds = 1
