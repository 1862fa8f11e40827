import { Document } from '../apiserver/store/document.ts'
import { MemoryStore } from '../apiserver/store/memory-store.ts'
import type { Change } from '../apiserver/store/store.ts'
import type { Client } from '../client/client.ts'
import type { DiscoveredType } from '../client/discovery.ts'
import { apiVersionOf, groupResource, type StoredObject } from '../kube/object.ts'
import { isStatusError } from '../kube/status-error.ts'

/** The objects of a cluster as plain data, so that they can be sent to a worker thread. */
export interface ClusterSnapshot {
  readonly kinds: readonly { readonly type: DiscoveredType; readonly items: readonly StoredObject[] }[]
  /** Kinds that could not be read, and why. */
  readonly unread: readonly string[]
}

/**
 * Lists all objects that the client may read. Kinds are listed one after another, not at one resource version. The source is only read;
 * `onProgress` receives the number of kinds listed.
 */
export async function readSnapshot(
  source: Client,
  onProgress: (done: number, of: number) => void = () => {},
): Promise<ClusterSnapshot> {
  const unread: string[] = []
  const kinds: ClusterSnapshot['kinds'][number][] = []
  const types = storedTypes(await source.discovery.all())
  for (const [index, type] of types.entries()) {
    onProgress(index, types.length)
    try {
      const items: StoredObject[] = []
      for await (const page of source.listAll(type)) items.push(...page.items)
      kinds.push({ type, items })
    } catch (error) {
      if (!isStatusError(error)) throw error
      unread.push(`${groupResource(type)}: ${error.message}`)
    }
  }
  return { kinds, unread }
}

/** An in-memory store with the snapshot's objects. They keep their uids, timestamps and resource versions. */
export function storeOf({ kinds }: ClusterSnapshot, clock: { readonly now: () => number }): MemoryStore {
  const store = new MemoryStore({ clock })
  for (const { type, items } of kinds) store.fill(items.map((item) => changeOf(type, item)))
  return store
}

export function countObjects({ kinds }: ClusterSnapshot): number {
  return kinds.reduce((sum, { items }) => sum + items.length, 0)
}

/** Each listable kind once, in its preferred version. Events and Leases are left out: no controller decides by them. */
function storedTypes(all: readonly DiscoveredType[]): readonly DiscoveredType[] {
  const listable = all.filter((type) => type.verbs.includes('list') && !leftOut.has(groupResource(type)))
  return listable.filter(
    (type, index) => listable.findIndex((other) => groupResource(other) === groupResource(type)) === index,
  )
}

const leftOut = new Set(['events', 'events.events.k8s.io', 'leases.coordination.k8s.io'])

function changeOf(type: DiscoveredType, item: StoredObject): Change {
  // The copy does not maintain managedFields.
  const { managedFields: _, ...metadata } = item.metadata
  const object = { ...item, apiVersion: apiVersionOf(type), kind: type.kind, metadata }
  const { namespace = '', name, uid, resourceVersion, ownerReferences = [] } = metadata
  return {
    type: 'create',
    resource: groupResource(type),
    namespace,
    name,
    uid,
    document: new Document(Number.parseInt(resourceVersion, 10) || 1, JSON.stringify(object)),
    owners: ownerReferences.map((owner) => ({
      ownerUid: owner.uid,
      blocking: owner.blockOwnerDeletion ?? false,
      controller: owner.controller ?? false,
    })),
  }
}
