import { environment } from '../../apis/environment.ts'
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
export async function findObject(client: Client, word: string, namespace = 'default'): Promise<NamedObject> {
  const { type, place } = await placeNamed(client, word, namespace)
  try {
    return { type, object: await client.get<StoredObject>(type, place) }
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
    // An environment is named after its Namespace.
    const isEnvironment = type.group === environment.group && type.kind === environment.kind
    if (isEnvironment && namespace !== place.name) return findObject(client, word, place.name)
    const where = type.namespaced ? ` in namespace ${namespace}; use -n for another` : ''
    throw new StatusError('NotFound', `there is no ${type.kind} "${place.name}"${where}`, { cause: error })
  }
}

/** The type and place that KIND/NAME stands for, whether the object exists or not. */
export async function placeNamed(client: Client, word: string, namespace = 'default') {
  const [kind = '', name = '', ...rest] = word.split('/')
  if (!kind || !name || rest.length > 0) throw new UsageError(`"${word}" must be KIND/NAME, such as deployment/shop`)
  const type = await client.discovery.find(kind)
  if (!type) throw await noSuchKind(client, kind)
  return { type, place: { name, ...(type.namespaced ? { namespace } : {}) } }
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
