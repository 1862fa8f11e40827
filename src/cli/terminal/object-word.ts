import { environment } from '../../apis/environment.ts'
import type { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import type { StoredObject } from '../../kube/object.ts'
import { ignoring, isStatusError, StatusError } from '../../kube/status-error.ts'
import { UsageError } from './command.ts'
import { nearest } from './nearest.ts'

/** Finds the object KIND/NAME; KIND is any name that kubectl accepts for a kind. Where several groups have such a kind, the first that has the object. */
export async function findObject(client: Client, word: string, namespace = 'default') {
  const places = await placesNamed(client, word, namespace)
  for (const { type, place } of places) {
    const object = await client.get<StoredObject>(type, place).catch(ignoring('NotFound'))
    if (object) return { type, object }
    // An environment is named after its Namespace.
    const isEnvironment = type.group === environment.group && type.kind === environment.kind
    if (isEnvironment && namespace !== place.name) return findObject(client, word, place.name)
  }
  const [{ type, place }] = places
  const where = type.namespaced ? ` in namespace ${namespace}; use -n for another` : ''
  throw new StatusError('NotFound', `there is no ${type.kind} "${place.name}"${where}`)
}

/** The object KIND/NAME, or else the cloud resource that is called so. */
export async function findObjectOrCloud(client: Client, word: string, namespace?: string) {
  try {
    return await findObject(client, word, namespace)
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
    const { cloudNameOf } = await import('../../app/operations/explain-cloud.ts')
    const cloud = cloudNameOf(word)
    if (!cloud) throw error
    return { cloud }
  }
}

/** What KIND/NAME stands for where the object does not exist any more: of any group, unless KIND names one. */
export async function deletedNamed(client: Client, word: string, namespace = 'default') {
  const [{ type, place }] = await placesNamed(client, word, namespace)
  const group = word.slice(0, word.indexOf('/')).includes('.') ? { group: type.group } : {}
  return { kind: type.kind, ...place, ...group }
}

type Place = { readonly type: DiscoveredType; readonly place: { readonly name: string; readonly namespace?: string } }

async function placesNamed(client: Client, word: string, namespace: string): Promise<readonly [Place, ...Place[]]> {
  const [kind = '', name = '', ...rest] = word.split('/')
  if (!kind || !name || rest.length > 0) throw new UsageError(`"${word}" must be KIND/NAME, such as deployment/shop`)
  const types = await client.discovery.findAll(kind)
  const [first, ...others] = types.map((type) => ({ type, place: { name, ...(type.namespaced ? { namespace } : {}) } }))
  if (!first) throw await noSuchKind(client, kind)
  return [first, ...others]
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
