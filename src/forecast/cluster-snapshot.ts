import { Document } from '../apiserver/store/document.ts'
import { openMemoryStore, type SqliteStore } from '../apiserver/store/sqlite-store.ts'
import type { Change, StoreEvent } from '../apiserver/store/store.ts'
import { Client } from '../client/client.ts'
import { eachKindOnce, type DiscoveredType } from '../client/discovery.ts'
import { apiVersionOf, groupResource, type StoredObject, placeOf, type ResourceType } from '../kube/object.ts'
import { isStatusError, ignoring } from '../kube/status-error.ts'
import { randomUUID } from 'node:crypto'
import { administrator, createApiServer, type ApiServer } from '../apiserver/server.ts'
import { type Clock, tracked } from '../runtime/time/clock.ts'
import { seededRandom } from '../runtime/time/random.ts'
import { ownKindsAdmission } from '../admission/admission.ts'
import { BondAdmission } from '../admission/bond-admission.ts'
import { registerKinds } from '../admission/register-kinds.ts'
import { jobs, pods } from '../kube/core-types.ts'
import type { VirtualClock } from '../runtime/time/virtual-clock.ts'

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

/**
 * An in-memory store with the snapshot's objects. They keep their uids, timestamps and resource versions; an object gets another version
 * if it has none, as in aggregated APIs, or that of one before it.
 */
function storeOf({ kinds }: ClusterSnapshot, clock: { readonly now: () => number }): SqliteStore {
  const store = openMemoryStore(clock)
  const versions = kinds.flatMap(({ items }) => items.map(versionOf))
  const taken = new Set<number>()
  let newest = versions.reduce((highest, version) => Math.max(highest, version), 1)
  const unique = (version: number) => (version > 0 && !taken.has(version) ? version : ++newest)
  const changes = kinds.flatMap(({ type, items }) =>
    items.map((item) => {
      const version = unique(versionOf(item))
      taken.add(version)
      return changeOf(type, item, version)
    }),
  )
  store.fill(changes)
  return store
}

function versionOf({ metadata }: StoredObject): number {
  return Number.parseInt(metadata.resourceVersion, 10) || 0
}

export function countObjects({ kinds }: ClusterSnapshot): number {
  return kinds.reduce((sum, { items }) => sum + items.length, 0)
}

/** Each listable kind once, in its preferred version. Events and Leases are left out: no controller decides by them. */
function storedTypes(all: readonly DiscoveredType[]): readonly DiscoveredType[] {
  return eachKindOnce(all.filter((type) => type.verbs.includes('list') && !leftOut.has(groupResource(type))))
}

const leftOut = new Set(['events', 'events.events.k8s.io', 'leases.coordination.k8s.io'])

function changeOf(type: DiscoveredType, item: StoredObject, revision: number): Change {
  // The copy does not maintain managedFields.
  const { managedFields: _, ...metadata } = item.metadata
  metadata.resourceVersion = String(revision)
  const object = { ...item, apiVersion: apiVersionOf(type), kind: type.kind, metadata }
  const { namespace = '', name, ownerReferences = [] } = metadata
  const { uid = '' } = metadata as Partial<typeof metadata>
  return {
    type: 'create',
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
}

/** An in-memory cluster with the objects of a snapshot. Its writes never reach the original. */
export interface ClusterCopy extends AsyncDisposable {
  readonly client: Client
  readonly server: ApiServer
  readonly store: ReturnType<typeof storeOf>
  readonly bonds: BondAdmission
}

/** Starts an API server on the snapshot's objects. It serves Sojourn's kinds even if the original cluster does not. */
export async function startCopy(snapshot: ClusterSnapshot, clock: Clock, cluster = ''): Promise<ClusterCopy> {
  const store = storeOf(snapshot, clock)
  const bonds = new BondAdmission()
  const server = await createApiServer({
    store,
    clock,
    random: seededRandom(1),
    uid: () => randomUUID(),
    admission: [ownKindsAdmission, bonds.hook],
    // No controller reads managedFields, and computing them would double the cost of a write.
    tracksFields: false,
    cascades: bonds.cascades,
  })
  const client = new Client(server.transportAs(administrator), { cluster })
  await registerKinds(client)
  return { client, server, store, bonds, [Symbol.asyncDispose]: () => server.close() }
}

const afterMs = 60_000

const finished: readonly (readonly [ResourceType, object])[] = [
  [jobs, { conditions: [{ type: 'Complete', status: 'True' }], succeeded: 1 }],
  [pods, { phase: 'Succeeded' }],
]

/** Lets Jobs and Pods that a system creates, such as the hooks of a Helm release, succeed after a minute: nothing runs them on the copy. */
export function finishJobs({ type, resource, document }: StoreEvent, copy: ClusterCopy, clock: VirtualClock): void {
  const [kind, status] = finished.find(([candidate]) => groupResource(candidate) === resource) ?? []
  if (type !== 'create' || !kind) return
  const place = placeOf(document.value.metadata)
  const finish = () => copy.client.merge(kind, place, { status }, { subresource: 'status' }).catch(ignoring('NotFound'))
  clock.after(afterMs, () => void tracked(clock, finish))
}
