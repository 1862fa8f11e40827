import type { Client } from '../client/client.ts'
import type { DiscoveredType } from '../client/discovery.ts'
import type { StoredObject } from '../kube/object.ts'
import { StatusError } from '../kube/status-error.ts'
import { UsageError } from './command.ts'

/** An object a user named as KIND/NAME, with its type. */
export interface NamedObject {
  readonly type: DiscoveredType
  readonly object: StoredObject
}

/** Finds what KIND/NAME means; any name kubectl takes for a kind will do. */
export async function findObject(client: Client, word: string, namespace: string | undefined): Promise<NamedObject> {
  const [kind = '', name = '', ...rest] = word.split('/')
  if (!kind || !name || rest.length > 0) throw new UsageError(`"${word}" must be KIND/NAME, such as deployment/shop`)
  const type = await client.discovery.find(kind)
  if (!type) throw new StatusError('NotFound', `the server knows no kind "${kind}"; "kubectl api-resources" lists all`)
  const place = { name, ...(type.namespaced ? { namespace: namespace ?? 'default' } : {}) }
  return { type, object: await client.get<StoredObject>(type, place) }
}
