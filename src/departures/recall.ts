import type { Client } from '../client/client.ts'
import type { ResourceType, StoredObject } from '../kube/object.ts'
import { isStatusError } from '../kube/status-error.ts'

/**
 * The whole object as it was when it was deleted: a watch that begins before that moment is told of it. Undefined when the server no longer
 * remembers so far back, or does not let us look. `deleted` needs no version: then everything is gone through that the server remembers.
 */
export async function recall(
  client: Client,
  type: ResourceType,
  { metadata }: StoredObject,
): Promise<StoredObject | undefined> {
  const { name, namespace, uid, resourceVersion } = metadata
  const where = { ...(namespace ? { namespace } : {}), fieldSelector: `metadata.name=${name}`, timeoutSeconds }
  let after = Math.max(1, Number(resourceVersion || 0) - 1)
  for (;;) {
    try {
      for await (const event of client.watch<StoredObject>(type, { ...where, resourceVersion: String(after) }))
        if (event.type === 'DELETED' && event.object.metadata.uid === uid) return event.object
      return undefined
    } catch (error) {
      if (!isStatusError(error)) throw error
      const oldest = oldestIn(error.message)
      if (oldest <= after) return undefined
      after = oldest
    }
  }
}

/** For how long a watch that does not tell of it is listened to. */
const timeoutSeconds = 1

/** What a server says it still remembers to one who asks for more: `too old resource version: 1 (4711)`. */
function oldestIn(message: string): number {
  return Number(/too old resource version: \d+ \((\d+)\)/.exec(message)?.[1] ?? 0)
}
