import type { Client } from '../../client/client.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { formatSelector, matches } from '../../kube/selector.ts'
import { isStatusError } from '../../kube/status-error.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Resolution } from './decision/decide.ts'
import type { Target } from './decision/model.ts'

/** A target's type and namespace, or why there are none. */
export type Located =
  | { readonly type: ResourceType; readonly namespace: string }
  | Extract<Resolution, { found: 'no-such-kind' | 'not-allowed' | 'unknown' }>

/** Finds out where a target of a Cleaner in this namespace is served. A namespaced Cleaner may not reach beyond its namespace. */
export async function locate(client: Client, target: Target, namespace: string): Promise<Located> {
  try {
    const type = await client.discovery.typeOf(target)
    if (!type) return { found: 'no-such-kind' }
    if (type.namespaced) return { type, namespace }
    if (isOwnNamespace(type, target, namespace)) return { type, namespace: '' }
    return {
      found: 'not-allowed',
      message: `a ${type.kind} belongs to no namespace, and a Cleaner may only speak of its own`,
    }
  } catch (error) {
    return { found: 'unknown', message: `its kind cannot be looked up: ${(error as Error).message}` }
  }
}

/** Looks a target up in the cache that watches it. Costs no request. */
export function resolveCached(
  informer: Informer,
  target: Target,
  { type, namespace }: Extract<Located, { type: ResourceType }>,
): Resolution {
  if (!informer.synced || informer.trouble) return troubleOf(informer)
  const { select } = target
  if (select.by === 'name') {
    return one(target, informer.get(namespace, select.name))
  }
  const objects = informer
    .list(namespace)
    .filter((object) => isSeen(target, object) && matches(select.requirements, object.metadata.labels))
  return { found: 'list', ...kindOfType(type), objects: objects.toSorted(byName) }
}

/** Asks the cluster itself, past every cache: what is about to be acted on must be seen as it is now. */
export async function resolveLive(
  client: Client,
  target: Target,
  { type, namespace }: Extract<Located, { type: ResourceType }>,
): Promise<Resolution> {
  const { select } = target
  const scope = namespace ? { namespace } : {}
  try {
    if (select.by === 'name') return one(target, await client.get(type, { ...scope, name: select.name }))
    const objects: StoredObject[] = []
    for await (const page of client.listAll(type, { ...scope, labelSelector: formatSelector(select.requirements) })) {
      // Items of a list need not say what they are.
      for (const item of page.items) if (isSeen(target, item)) objects.push({ ...item, ...kindOfType(type) })
    }
    return { found: 'list', ...kindOfType(type), objects: objects.toSorted(byName) }
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return { found: 'missing' }
    if (isStatusError(error, 'Forbidden', 'Unauthorized')) return { found: 'not-allowed', message: error.message }
    return { found: 'unknown', message: (error as Error).message }
  }
}

/** The objects a resolution holds. */
export function objectsOf(resolution: Resolution | undefined): readonly StoredObject[] {
  if (resolution?.found === 'object') return [resolution.object]
  return resolution?.found === 'list' ? resolution.objects : []
}

function one(target: Target, object: StoredObject | undefined): Resolution {
  return object && isSeen(target, object) ? { found: 'object', object } : { found: 'missing' }
}

function isSeen({ excludeTerminating }: Target, { metadata }: StoredObject): boolean {
  return !excludeTerminating || metadata.deletionTimestamp === undefined
}

function troubleOf({ trouble }: Informer): Resolution {
  if (!trouble) return { found: 'unknown', message: 'not seen yet' }
  return isStatusError(trouble, 'Forbidden', 'Unauthorized')
    ? { found: 'not-allowed', message: trouble.message }
    : { found: 'unknown', message: trouble.message }
}

function isOwnNamespace({ group, kind }: ResourceType, { select }: Target, namespace: string): boolean {
  return group === '' && kind === 'Namespace' && select.by === 'name' && select.name === namespace
}

function kindOfType({ group, version, kind }: ResourceType): { apiVersion: string; kind: string } {
  return { apiVersion: group ? `${group}/${version}` : version, kind }
}

function byName(left: StoredObject, right: StoredObject): number {
  return left.metadata.name < right.metadata.name ? -1 : 1
}
