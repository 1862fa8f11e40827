import type { Client } from '../../client/client.ts'
import type { DiscoveredType } from '../../client/discovery.ts'
import {
  apiVersionOf,
  describeRef,
  refOf,
  type ResourceType,
  type StoredObject,
  placeOf,
  type KubeObject,
  type OwnerReference,
} from '../../kube/object.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { isDefinition } from './restored-kinds.ts'
import { isRecreatedByController, contentTypes } from '../subjects/contents.ts'
import type { PageLine } from '../records/pages.ts'
import type { BondSpec } from '../../apis/bond.ts'
import { isOurFinalizer } from '../drain/drain.ts'
import { isBond } from '../../apis/bond-guard.ts'
import { isRestoredFrom } from './manifest-for-create.ts'

/** The new uids of restored owners, by their old ones. */
export type NewUids = ReadonlyMap<string, string>

/**
 * Updates existing dependents that still name a restored owner by its old uid: the collector has not deleted them yet, and would. Kinds that cannot be listed
 * are skipped. Returns notes for the user.
 */
export async function adoptDependents(
  client: Client,
  lines: readonly PageLine[],
  newUids: NewUids,
): Promise<readonly string[]> {
  const found = await Array.fromAsync(strays(client, lines, newUids))
  const stay: StoredObject[] = []
  const lost: string[] = []
  const work = found.map(({ type, object }) => async () => {
    try {
      if (await updateOwnerUids(client, type, { object, newUids })) stay.push(object)
    } catch (error) {
      if (!isStatusError(error, 'Forbidden')) throw error
      lost.push(
        `${describeRef(refOf(object))} will be deleted: you may not change its owner reference to the restored owner`,
      )
    }
  })
  for (let at = 0; at < work.length; at += atOnce) await Promise.all(work.slice(at, at + atOnce).map((each) => each()))
  return [...staying(stay), ...lost]
}

const atOnce = 16

function staying([first, ...others]: readonly StoredObject[]): readonly string[] {
  if (!first) return []
  const more = others.length > 0 ? ` and ${others.length} more` : ''
  return [`${describeRef(refOf(first))}${more} had not been deleted yet: the restored owner owns it again`]
}

/** Updates the owner references of an object to the new uids. Undefined if it is gone or being deleted. */
export async function updateOwnerUids(
  client: Client,
  type: ResourceType,
  { object, newUids }: { readonly object: StoredObject; readonly newUids: NewUids },
): Promise<StoredObject | undefined> {
  const { name, namespace, uid } = object.metadata
  const place = placeOf({ name, namespace })
  for (let now: StoredObject | undefined = object; ;) {
    if (now?.metadata.uid !== uid || now.metadata.deletionTimestamp !== undefined) return undefined
    if (!isStray(now, newUids)) return now
    const { resourceVersion, ownerReferences = [] } = now.metadata
    const owners = ownerReferences.map((owner) => ({ ...owner, uid: newUids.get(owner.uid) ?? owner.uid }))
    const body = { metadata: { resourceVersion, ownerReferences: owners } }
    const told = await client.merge<StoredObject>(type, place, body).catch(ignoring('Conflict', 'NotFound'))
    if (told) return told
    now = await client.get<StoredObject>(type, place).catch(ignoring('NotFound'))
  }
}

/** Dependents with an old uid, except those that a controller recreates: they may be deleted. */
async function* strays(client: Client, lines: readonly PageLine[], newUids: NewUids) {
  const owners = lines.filter(({ uid }) => newUids.has(uid) && newUids.get(uid) !== uid)
  for (const type of contentTypes(await client.discovery.all()))
    for (const where of placesOf(owners))
      for await (const found of listed(client, type, where)) {
        const object = { ...found, apiVersion: apiVersionOf(type), kind: type.kind }
        if (isStray(object, newUids) && !isRecreatedByController(object)) yield { type, object }
      }
}

/** Where dependents of these owners can be: in their namespaces or, for cluster-scoped owners, anywhere. Namespaces and definitions own nothing by reference. */
function placesOf(owners: readonly PageLine[]): readonly { readonly namespace?: string }[] {
  const homes = new Set(
    owners
      .filter(({ manifest }) => manifest.kind !== 'Namespace' && !isDefinition(manifest))
      .map(({ manifest }) => manifest.metadata.namespace),
  )
  if (homes.has(undefined)) return [{}]
  return [...homes].flatMap((namespace) => (namespace ? [{ namespace }] : []))
}

async function* listed(
  client: Client,
  type: DiscoveredType,
  where: { readonly namespace?: string },
): AsyncGenerator<StoredObject, void, undefined> {
  try {
    for await (const { items } of client.listAll(type, { ...where, metadataOnly: true })) yield* items
  } catch (error) {
    if (!isStatusError(error)) throw error
  }
}

function isStray({ metadata }: StoredObject, newUids: NewUids): boolean {
  return (metadata.ownerReferences ?? []).some(({ uid }) => (newUids.get(uid) ?? uid) !== uid)
}

/**
 * A manifest with the new uids of its owners, and of the dependency that a Bond names by uid. Owners without a new uid, and finalizers that only a deletion
 * adds, are left out.
 */
export function withOwners(manifest: KubeObject, newUid: (uid: string) => string | undefined): KubeObject {
  const { ownerReferences = [], finalizers = [], ...metadata } = manifest.metadata
  const owners = ownerReferences.flatMap((owner): OwnerReference[] => {
    const uid = newUid(owner.uid)
    return uid === undefined ? [] : [{ ...owner, uid }]
  })
  const kept = finalizers.filter((finalizer) => !deletionFinalizers.has(finalizer) && !isOurFinalizer(finalizer))
  return {
    ...manifest,
    ...renewedBond(manifest, newUid),
    metadata: {
      ...metadata,
      ...(owners.length > 0 ? { ownerReferences: owners } : {}),
      ...(kept.length > 0 ? { finalizers: kept } : {}),
    },
  }
}

/** The uid of the dependency, if the manifest is a Bond that names one by uid. */
export function neededBy(manifest: KubeObject): string | undefined {
  return isBond(manifest) ? (manifest.spec as BondSpec).dependency.uid : undefined
}

function renewedBond(manifest: KubeObject, newUid: (uid: string) => string | undefined): { readonly spec?: BondSpec } {
  const needed = neededBy(manifest)
  const uid = needed === undefined ? undefined : newUid(needed)
  const spec = manifest.spec as BondSpec
  return uid === undefined ? {} : { spec: { ...spec, dependency: { ...spec.dependency, uid } } }
}

/** Finalizers that a server adds for a deletion. Sojourn's own are of the past, too: what is still needed, such as that of a Bond, is added again. */
const deletionFinalizers = new Set(['foregroundDeletion', 'orphan', 'customresourcecleanup.apiextensions.k8s.io'])

/**
 * Maps the old uids of owners that this restore does not create to their current ones: they were never deleted, or another restore has created them. They
 * become owners of the restored objects again. Owners that cannot be read are left out.
 */
export async function survivingOwners(
  client: Client,
  lines: readonly PageLine[],
): Promise<ReadonlyMap<string, string>> {
  const coming = new Set(lines.map(({ uid }) => uid))
  const living = new Map<string, string>()
  const asked = new Set<string>()
  for (const { manifest } of lines)
    for (const reference of manifest.metadata.ownerReferences ?? []) {
      if (coming.has(reference.uid) || asked.has(reference.uid)) continue
      asked.add(reference.uid)
      const uid = await uidOf(client, reference, manifest.metadata.namespace)
      if (uid !== undefined) living.set(reference.uid, uid)
    }
  return living
}

async function uidOf(
  client: Client,
  { uid, name, ...kind }: OwnerReference,
  namespace: string | undefined,
): Promise<string | undefined> {
  try {
    const type = await client.discovery.typeOf(kind)
    if (!type || (type.namespaced && !namespace)) return undefined
    const place = { name, ...(type.namespaced && namespace ? { namespace } : {}) }
    const found = await client.get<StoredObject>(type, place, { metadataOnly: true })
    const isMeant = found.metadata.uid === uid || isRestoredFrom(found, uid)
    return isMeant && found.metadata.deletionTimestamp === undefined ? found.metadata.uid : undefined
  } catch (error) {
    if (!isStatusError(error)) throw error
    return undefined
  }
}
