import type { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import type { StoredObject } from '../../kube/object.ts'
import { isStatusError, StatusError } from '../../kube/status-error.ts'
import { UsageError } from './command.ts'
import { nearest } from './nearest.ts'

/** An object a user named as KIND/NAME, with its type. */
export interface NamedObject {
  readonly type: DiscoveredType
  readonly object: StoredObject
}

/** Finds the object KIND/NAME; KIND is any name that kubectl accepts for a kind. */
export async function findObject(
  client: Client,
  word: string,
  namespace: string | undefined = 'default',
): Promise<NamedObject> {
  const [kind = '', name = '', ...rest] = word.split('/')
  if (!kind || !name || rest.length > 0) throw new UsageError(`"${word}" must be KIND/NAME, such as deployment/shop`)
  const type = await client.discovery.find(kind)
  if (!type) throw await noSuchKind(client, kind)
  const place = { name, ...(type.namespaced ? { namespace } : {}) }
  try {
    return { type, object: await client.get<StoredObject>(type, place) }
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
    const where = type.namespaced ? ` in namespace ${namespace}; use -n for another` : ''
    throw new StatusError('NotFound', `there is no ${type.kind} "${name}"${where}`, { cause: error })
  }
}

async function noSuchKind(client: Client, kind: string): Promise<StatusError> {
  const all = await client.discovery.all()
  const guess = nearest(
    kind.toLowerCase(),
    all.flatMap((type) => [type.kind.toLowerCase(), type.plural]),
  )
  const help = guess ? `did you mean "${guess}"?` : 'run "kubectl api-resources" for all kinds'
  return new StatusError('NotFound', `the server has no kind "${kind}"; ${help}`)
}
