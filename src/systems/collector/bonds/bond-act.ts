import { namespaces } from '../../../kube/core-types.ts'
import { bond, bondFinalizer, inUseLabel, type Bond } from '../../../apis/bond.ts'
import { namesOf } from '../../../apis/bond-guard.ts'
import { isGuardedBeside, isHoldFrom, marksFrom } from '../../../apis/bond-marks.ts'
import type { Client } from '../../../client/client.ts'
import { type ObjectMeta, type ResourceType, type StoredObject, placeOf } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Mark } from './bond-decide.ts'

/** The dependency of a Bond, in its cluster, and which marks on it belong to the Bond. */
export interface Dependency {
  readonly home: Client
  readonly type: ResourceType
  readonly object: StoredObject
  readonly origin: string
  /** Its Namespace, if it has been read. */
  readonly namespaceObject?: StoredObject | undefined
}

/** The marks that the Bonds of one cluster want on a dependency. */
export interface Wanted {
  /** What the reconciled Bond wants. */
  readonly mark: Mark
  /** Whether another Bond holds it. */
  readonly isHeldByOthers: boolean
  /** All Bonds that refuse its deletion. */
  readonly denying: readonly Bond[]
}

/** Sets the marks on a dependency; true if anything changed. The guard of a Namespace is set by `markNamespace`. */
export async function markDependency(dependency: Dependency, wanted: Wanted): Promise<boolean> {
  const { home, type, object, origin } = dependency
  const change = {
    ...finalizerPatch(object, origin, wanted),
    ...(type.kind === namespaces.kind ? {} : guardPatch(object, origin, wanted.denying)),
  }
  if (Object.keys(change).length === 0) return false
  await patch(home, type, object, change)
  return true
}

function finalizerPatch({ metadata }: StoredObject, origin: string, { mark, isHeldByOthers }: Wanted): MetadataPatch {
  const { finalizers = [] } = metadata
  const others = finalizers.filter((name) => !isHoldFrom(origin, name))
  const isHeld = others.length < finalizers.length
  if (mark === 'hold') return isHeld ? {} : { finalizers: [...finalizers, marksFrom(origin).finalizer] }
  return isHeld && !isHeldByOthers ? { finalizers: others } : {}
}

/** Makes a cluster refuse the deletion of a namespace for these Bonds; for none, removes that mark. True if anything changed. */
export async function markNamespace(
  { home, object, origin }: Omit<Dependency, 'type'>,
  bonds: readonly Bond[],
): Promise<boolean> {
  const change = guardPatch(object, origin, bonds)
  if (change) await patch(home, namespaces, object, change)
  return change !== undefined
}

/** The patch that makes an API server refuse a deletion for exactly these Bonds; undefined when the object has those marks already. */
function guardPatch(object: StoredObject, origin: string, bonds: readonly Bond[]): MetadataPatch | undefined {
  const { annotation } = marksFrom(origin)
  const { annotations = {}, labels = {} } = object.metadata
  const inUseBy = namesOf(bonds, origin)
  if ((annotations[annotation] ?? '') === inUseBy && (inUseBy === '' || labels[inUseLabel] !== undefined))
    return undefined
  if (inUseBy === '') return unguarded(object, origin)
  return { labels: { [inUseLabel]: 'true' }, annotations: { [annotation]: inUseBy } }
}

/** Removes the mark of the Bonds of one cluster; the label stays while Bonds of another cluster need it. */
function unguarded({ metadata }: StoredObject, origin: string): MetadataPatch {
  return {
    ...(isGuardedBeside(origin, metadata) ? {} : { labels: { [inUseLabel]: null } }),
    annotations: { [marksFrom(origin).annotation]: null },
  }
}

/** Adds or removes our finalizer on a Bond; false when the Bond is gone. */
export async function setBondFinalizer(client: Client, self: Bond, isHeld: boolean): Promise<boolean> {
  const { finalizers = [] } = self.metadata
  if (finalizers.includes(bondFinalizer) === isHeld) return true
  const others = finalizers.filter((name) => name !== bondFinalizer)
  return patch(client, bond.type, self, { finalizers: isHeld ? [...others, bondFinalizer] : others })
}

/**
 * Stops a Bond from blocking the foreground deletion of its own owner: the Bond waits for that owner, so each would wait for the other.
 */
export async function unblockOwners(client: Client, self: Bond): Promise<void> {
  const { ownerReferences = [] } = self.metadata
  if (!ownerReferences.some(({ blockOwnerDeletion }) => blockOwnerDeletion)) return
  const freed = ownerReferences.map((owner) =>
    owner.blockOwnerDeletion ? { ...owner, blockOwnerDeletion: false } : owner,
  )
  await patch(client, bond.type, self, { ownerReferences: freed })
}

type MetadataPatch = Pick<ObjectMeta, 'finalizers' | 'ownerReferences'> & {
  readonly labels?: Readonly<Record<string, string | null>>
  readonly annotations?: Readonly<Record<string, string | null>>
}

/** Patches only the version that was read; false when the object is gone. */
async function patch(
  client: Client,
  type: ResourceType,
  { metadata }: StoredObject,
  change: MetadataPatch,
): Promise<boolean> {
  const { name, namespace, resourceVersion } = metadata
  const body = { metadata: { resourceVersion, ...change } }
  const patched = await client
    .patch(type, placeOf({ name, namespace }), { type: 'merge', body })
    .catch(ignoring('NotFound'))
  return patched !== undefined
}
