import { howToGrant } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import { keyOf } from '../../kube/key.ts'
import { apiVersionOf, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { formatSelector, matches } from '../../kube/selector.ts'
import { isStatusError } from '../../kube/status-error.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import type { Actor } from '../../tenancy/act-as.ts'
import { accessTo } from '../../tenancy/confinement.ts'
import { expiryOf, type Observed, type Resolution } from './decision/decide.ts'
import type { Target } from './decision/model.ts'
import { isAnyInstalled } from '../../helm/release-holders.ts'
import type { TargetWatches } from './target-watches.ts'

export interface CachePorts {
  readonly client: Client
  readonly clock: Clock
  readonly watches: TargetWatches
}

interface Subject extends Pick<Observed, 'self' | 'reading'> {
  /** Who reads for the Cleaner. */
  readonly actor: Actor
}

/** Why a target cannot be read at all. */
type Unreadable = Extract<Resolution, { found: 'no-such-kind' | 'not-allowed' | 'unknown' | 'refused' }>

/** Where a target is served. */
interface Location {
  readonly type: ResourceType
  readonly namespace: string
}

interface Located {
  readonly target: Target
  readonly at: Location | Unreadable
}

/**
 * Resolves the targets that conditions see from caches, and watches exactly those. Before the TTL expires nothing is watched.
 * Undefined while a cache is still being filled.
 */
export async function observeCached(
  { client, clock, watches }: CachePorts,
  { self, reading, actor }: Subject,
): Promise<Observed | undefined> {
  const located = await locateAll(client, { self, actor }, evaluatedNow({ self, reading }, clock.now()))
  watches.set(
    keyOf(self, client.cluster),
    located.flatMap(({ target: { select }, at }) => ('type' in at ? [{ ...at, select }] : [])),
  )
  const resolutions = new Map<string, Resolution>()
  for (const { target, at } of located) {
    const informer = 'type' in at ? watches.informer(at.type) : undefined
    if (informer && !informer.synced && !informer.lastError) return undefined
    resolutions.set(target.name, 'type' in at ? resolveCached(informer, target, at) : at)
  }
  return { self, reading, resolutions }
}

/** Resolves every target from the API server, past all caches: what is about to be deleted must be seen as it is now. */
export async function observeLive(client: Client, { self, reading, actor }: Subject): Promise<Observed> {
  const resolutions = new Map<string, Resolution>()
  if ('problems' in reading) return { self, reading, resolutions }
  const { targets, releases } = reading.model
  const inUse = targets.filter((target) => target.evaluate || target.delete)
  for (const { target, at } of await locateAll(client, { self, actor }, inUse))
    resolutions.set(target.name, 'type' in at ? await resolveLive(client, target, at) : at)
  // Only a missing target of this kind makes the decision depend on the releases.
  const dependsOnReleases = targets.some(
    ({ name, onMissing }) => onMissing === 'WaitForAny' && resolutions.get(name)?.found === 'missing',
  )
  const { namespace = '' } = self.metadata
  const isReleaseInstalled = dependsOnReleases && (await isAnyInstalled({ client, actor, namespace }, releases))
  return { self, reading, resolutions, isReleaseInstalled }
}

function evaluatedNow({ self, reading }: Omit<Subject, 'actor'>, now: number): readonly Target[] {
  if ('problems' in reading || reading.model.suspend) return []
  const { model } = reading
  return now < (expiryOf(self, model) ?? Infinity) ? [] : model.targets.filter(({ evaluate }) => evaluate)
}

export async function locateAll(
  client: Client,
  { self, actor }: Pick<Subject, 'self' | 'actor'>,
  targets: readonly Target[],
): Promise<readonly Located[]> {
  const { namespace = '' } = self.metadata
  const located: Located[] = []
  for (const target of targets) {
    const at = await locate(client, target, namespace)
    located.push({ target, at: 'type' in at ? await readable(actor, target, at) : at })
  }
  return located
}

/** The location, if the identity behind the Cleaner may read there. */
async function readable(actor: Actor, { select }: Target, at: Location): Promise<Located['at']> {
  const { type, namespace } = at
  const access =
    select.by === 'name'
      ? accessTo('get', type, { namespace, name: select.name })
      : accessTo('list', type, { namespace })
  const refusal = await actor.refusalOf(access)
  return refusal ? { found: 'refused', refusal } : at
}

/** Finds the type of a target. A Cleaner may not reach beyond its namespace, except to name that namespace itself. */
async function locate(client: Client, target: Target, namespace: string): Promise<Located['at']> {
  try {
    const type = await client.discovery.typeOf(target)
    if (!type) return { found: 'no-such-kind' }
    if (type.namespaced) return { type, namespace }
    if (isOwnNamespace(type, target, namespace)) return { type, namespace: '' }
    return {
      found: 'not-allowed',
      message: `${type.kind} is cluster-scoped; a Cleaner may only refer to objects of its own namespace`,
    }
  } catch (error) {
    return { found: 'unknown', message: `its kind cannot be looked up: ${(error as Error).message}` }
  }
}

function resolveCached(informer: Informer | undefined, target: Target, { type, namespace }: Location): Resolution {
  const error = informer?.errorIn(namespace)
  if (error) return unreadable(error)
  if (!informer?.synced) return { found: 'unknown', message: 'it is not watched yet' }
  const { select } = target
  if (select.by === 'name') return resolveOne(target, type, informer.get(namespace, select.name))
  const objects = informer
    .list(namespace)
    .filter((object) => counts(target, object) && matches(select.requirements, object.metadata.labels))
  return { found: 'list', type, objects: objects.toSorted(byName) }
}

async function resolveLive(client: Client, target: Target, { type, namespace }: Location): Promise<Resolution> {
  const { select } = target
  const scope = namespace ? { namespace } : {}
  try {
    if (select.by === 'name') return resolveOne(target, type, await client.get(type, { ...scope, name: select.name }))
    const objects: StoredObject[] = []
    const kind = { apiVersion: apiVersionOf(type), kind: type.kind }
    for await (const page of client.listAll(type, { ...scope, labelSelector: formatSelector(select.requirements) })) {
      // The items of a list need not carry apiVersion and kind.
      for (const item of page.items) if (counts(target, item)) objects.push({ ...item, ...kind })
    }
    return { found: 'list', type, objects: objects.toSorted(byName) }
  } catch (error) {
    return isStatusError(error, 'NotFound') ? { found: 'missing' } : unreadable(error as Error)
  }
}

export function resolveOne(target: Target, type: ResourceType, object: StoredObject | undefined): Resolution {
  return object && counts(target, object) ? { found: 'object', type, object } : { found: 'missing' }
}

/** Whether the target's `excludeTerminating` lets the object count as existing. */
function counts({ excludeTerminating }: Target, { metadata }: StoredObject): boolean {
  return !excludeTerminating || metadata.deletionTimestamp === undefined
}

function unreadable(error: Error): Unreadable {
  const { message } = error
  return isStatusError(error, 'Forbidden', 'Unauthorized')
    ? { found: 'not-allowed', message: `${message} (${howToGrant})` }
    : { found: 'unknown', message }
}

function isOwnNamespace({ group, kind }: ResourceType, { select }: Target, namespace: string): boolean {
  return group === '' && kind === 'Namespace' && select.by === 'name' && select.name === namespace
}

function byName(left: StoredObject, right: StoredObject): number {
  return left.metadata.name < right.metadata.name ? -1 : 1
}
