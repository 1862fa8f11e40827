import { leases } from '../../kube/core-types.ts'
import { inUseLabel, seedFinalizer } from '../../apis/bond.ts'
import { isInUseAnnotation } from '../../apis/bond-marks.ts'
import { cleaner } from '../../apis/cleaner.ts'
import { conditionalTtl } from '../../apis/conditional-ttl.ts'
import { sojournGroup, sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import { apiVersionOf, groupResource, type ResourceType, type StoredObject, placeOf } from '../../kube/object.ts'
import { ignoring, isStatusError, messageOf } from '../../kube/status-error.ts'
import { parseTime } from '../../kube/time.ts'

/** An object with finalizers, or a mark for the admission policy, that only a running Sojourn would remove. */
export interface Held {
  readonly type: ResourceType
  /** Its metadata. */
  readonly object: StoredObject
  /** Its finalizers that are ours. */
  readonly finalizers: readonly string[]
  readonly isMarked: boolean
  /** Whether releasing it ends its deletion: it is being deleted, and all its finalizers are ours. */
  readonly goes: boolean
}

export interface Survey {
  readonly held: readonly Held[]
  /** What could not be listed, and why. */
  readonly unread: readonly string[]
}

/** Called with the progress so far: `done` is from 0 to 1. */
export type OnProgress = (done: number) => void

/** Finds every object in the cluster that Sojourn holds. Read-only. */
export async function surveyHeld(client: Client, onProgress?: OnProgress): Promise<Survey> {
  const held: Held[] = []
  const unread: string[] = []
  client.discovery.forget()
  const types = kindsOf(await client.discovery.all())
  await client.discovery.complete().catch((error: unknown) => unread.push(`an API group: ${messageOf(error)}`))
  for (const [index, type] of types.entries()) {
    onProgress?.(index / types.length)
    try {
      for await (const { items } of client.listAll(type, { metadataOnly: true }))
        held.push(
          ...items.flatMap(
            (object) => heldOf(type, { ...object, apiVersion: apiVersionOf(type), kind: type.kind }) ?? [],
          ),
        )
    } catch (error) {
      // Its CustomResourceDefinition was deleted after discovery.
      if (!isStatusError(error, 'NotFound')) unread.push(`${groupResource(type)}: ${messageOf(error)}`)
    }
  }
  return { held, unread }
}

/** Removes Sojourn's finalizers and marks from these objects; returns the objects where that failed, and why. */
export async function releaseAll(
  client: Client,
  held: readonly Held[],
  onProgress?: OnProgress,
): Promise<ReadonlyMap<StoredObject, string>> {
  const failed = new Map<StoredObject, string>()
  for (let at = 0; at < held.length; at += atOnce) {
    onProgress?.(at / held.length)
    const results = await Promise.allSettled(held.slice(at, at + atOnce).map((each) => release(client, each)))
    for (const [index, result] of results.entries()) {
      const { object } = held[at + index]!
      if (result.status === 'rejected') failed.set(object, messageOf(result.reason))
    }
  }
  return failed
}

/**
 * The Sojourn processes that still hold a Lease in this cluster: they would add finalizers and marks again. With the name of a Lease, only
 * the one that holds it.
 */
export async function runningSystems(client: Client, now: number, only?: string): Promise<readonly string[]> {
  const list = await client.list<LeaseObject>(leases, { namespace: sojournNamespace }).catch(ignoring('NotFound'))
  const holder = list?.items.find(({ metadata }) => metadata.name === only)?.spec?.holderIdentity
  return (list?.items ?? [])
    .filter((lease) => isLeaseHeld(lease, now) && (only === undefined || lease.spec?.holderIdentity === holder))
    .map(({ metadata, spec }) => `${metadata.name} (${spec?.holderIdentity})`)
}

/** Whether a Lease has a holder and has not expired. */
export function isLeaseHeld({ spec }: LeaseObject, now: number): boolean {
  const { holderIdentity, renewTime, leaseDurationSeconds = 0 } = spec ?? {}
  return Boolean(holderIdentity) && (parseTime(renewTime) ?? 0) + leaseDurationSeconds * 1000 > now
}

export interface LeaseObject extends StoredObject {
  readonly spec?: {
    readonly holderIdentity?: string
    readonly renewTime?: string
    readonly leaseDurationSeconds?: number
  }
}

const atOnce = 16
const attempts = 5

/** Whether a finalizer is one of Sojourn's. */
export function isOurFinalizer(name: string): boolean {
  return name === seedFinalizer || ourDomains.has(name.split('/')[0] ?? '')
}

const ourDomains = new Set([sojournGroup.group, cleaner.group, conditionalTtl.group])

/** Each kind once: all its versions serve the same objects. */
function kindsOf(all: readonly DiscoveredType[]): readonly DiscoveredType[] {
  const first = new Map<string, DiscoveredType>()
  for (const type of all)
    if (['list', 'patch'].every((verb) => type.verbs.includes(verb)) && !first.has(groupResource(type)))
      first.set(groupResource(type), type)
  return [...first.values()]
}

function heldOf(type: ResourceType, object: StoredObject): Held | undefined {
  const { finalizers = [], labels = {}, deletionTimestamp } = object.metadata
  const ours = finalizers.filter(isOurFinalizer)
  const isMarked = labels[inUseLabel] !== undefined
  if (ours.length === 0 && !isMarked) return undefined
  const goes = deletionTimestamp !== undefined && ours.length > 0 && ours.length === finalizers.length
  return { type, object, finalizers: ours, isMarked, goes }
}

/** Patches the version that was read, so that finalizers added in between stay. */
async function release(client: Client, { type, object }: Held): Promise<void> {
  const { name, namespace, uid } = object.metadata
  const place = placeOf({ name, namespace })
  let now: StoredObject | undefined = object
  for (let attempt = 1; ; attempt++) {
    if (!now || now.metadata.uid !== uid || !heldOf(type, now)) return
    const { finalizers = [], annotations = {}, resourceVersion } = now.metadata
    const named = Object.keys(annotations).filter(isInUseAnnotation)
    const mark = { labels: { [inUseLabel]: null }, annotations: Object.fromEntries(named.map((name) => [name, null])) }
    const body = {
      metadata: { resourceVersion, finalizers: finalizers.filter((each) => !isOurFinalizer(each)), ...mark },
    }
    try {
      await client.merge(type, place, body)
      return
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return
      if (!isStatusError(error, 'Conflict') || attempt === attempts) throw error
    }
    now = await client.get<StoredObject>(type, place, { metadataOnly: true }).catch(ignoring('NotFound'))
  }
}
