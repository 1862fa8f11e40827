import { Document } from '../apiserver/store/document.ts'
import { MemoryStore } from '../apiserver/store/memory-store.ts'
import type { Client } from '../client/client.ts'
import type { DiscoveredType } from '../client/discovery.ts'
import { apiVersionOf, groupResource, type StoredObject } from '../kube/object.ts'
import { isStatusError } from '../kube/status-error.ts'

export interface CopyOptions {
  readonly now: () => number
  /** Told how many kinds are read, for a progress line. */
  readonly onProgress?: (done: number, of: number) => void
}

/** Reads everything there is into a store in memory, uids, times and all. The source is only listed. */
export async function copyWorld(
  source: Client,
  { now, onProgress }: CopyOptions,
): Promise<{ readonly store: MemoryStore; readonly objects: number; readonly unread: readonly string[] }> {
  const store = new MemoryStore({ clock: { now } })
  const unread: string[] = []
  let objects = 0
  const types = storedTypes(await source.discovery.all())
  for (const [index, type] of types.entries()) {
    onProgress?.(index, types.length)
    try {
      for await (const page of source.listAll(type)) {
        await add(store, type, page.items)
        objects += page.items.length
      }
    } catch (error) {
      if (!isStatusError(error)) throw error
      unread.push(`${groupResource(type)}: ${error.message}`)
    }
  }
  return { store, objects, unread }
}

/** Each kind once, in its preferred version; definitions first, so that what they define is served. */
function storedTypes(all: readonly DiscoveredType[]): readonly DiscoveredType[] {
  const listable = all.filter(
    ({ verbs, plural, group }) => verbs.includes('list') && !(plural === 'events' && group === 'events.k8s.io'),
  )
  const first = listable.filter(
    (type, index) => listable.findIndex((other) => groupResource(other) === groupResource(type)) === index,
  )
  const rank = ({ kind }: DiscoveredType) => (kind === 'CustomResourceDefinition' ? 0 : kind === 'Namespace' ? 1 : 2)
  return first.toSorted((left, right) => rank(left) - rank(right))
}

function add(store: MemoryStore, type: DiscoveredType, items: readonly StoredObject[]): Promise<void> {
  return store.write((view) => ({
    answer: undefined,
    changes: items.map((item, index) => {
      const revision = view.nextRevision + index
      const object = {
        ...item,
        apiVersion: apiVersionOf(type),
        kind: type.kind,
        metadata: { ...item.metadata, resourceVersion: String(revision) },
      }
      const { namespace = '', name, uid, ownerReferences = [] } = item.metadata
      return {
        type: 'create' as const,
        resource: groupResource(type),
        namespace,
        name,
        uid,
        document: new Document(revision, JSON.stringify(object)),
        owners: ownerReferences.map((owner) => ({
          ownerUid: owner.uid,
          blocking: owner.blockOwnerDeletion ?? false,
          controller: owner.controller ?? false,
        })),
      }
    }),
  }))
}
