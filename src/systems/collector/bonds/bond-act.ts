import { namespaces } from '../../../kube/core-types.ts'
import { bond, bondFinalizer, inUseLabel, type Bond } from '../../../apis/bond.ts'
import { namesOf } from '../../../apis/bond-guard.ts'
import { isGuardedBeside, isHoldFrom, marksFrom } from '../../../apis/bond-marks.ts'
import type { Client } from '../../../client/client.ts'
import { type ObjectMeta, type ResourceType, type StoredObject, placeOf } from '../../../kube/object.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Mark } from './bond-decide.ts'

/** What a Bond needs, where it is, and whose marks on it are the Bond's. */
export interface Dependency {
  readonly home: Client
  readonly type: ResourceType
  readonly object: StoredObject
  readonly origin: string
  /** Its namespace, if that has been read. */
  readonly namespaceObject?: StoredObject | undefined
}

/** What the Bonds of one cluster want of something. */
export interface Wanted {
  /** What the Bond in inProcessDeleter wants. */
  readonly mark: Mark
  /** Whether another one makes it wait. */
  readonly isHeldByOthers: boolean
  /** All that refuse its deletion. */
  readonly denying: readonly Bond[]
}

/** Brings the marks on what is needed in line with what Bonds want; true if that made a difference. The guard of a namespace is `markNamespace`'s. */
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

/** Makes a cluster refuse the deletion of a namespace for these Bonds; for none, lets it go. True if that made a difference. */
export async function markNamespace(
  { home, object, origin }: Omit<Dependency, 'type'>,
  bonds: readonly Bond[],
): Promise<boolean> {
  const change = guardPatch(object, origin, bonds)
  if (change) await patch(home, namespaces, object, change)
  return change !== undefined
}

/** What makes a server refuse the deletion of something for these Bonds and no others; undefined where it does. */
function guardPatch(object: StoredObject, origin: string, bonds: readonly Bond[]): MetadataPatch | undefined {
  const { annotation } = marksFrom(origin)
  const { annotations = {}, labels = {} } = object.metadata
  const inUseBy = namesOf(bonds, origin)
  if ((annotations[annotation] ?? '') === inUseBy && (inUseBy === '' || labels[inUseLabel] !== undefined))
    return undefined
  if (inUseBy === '') return unguarded(object, origin)
  return { labels: { [inUseLabel]: 'true' }, annotations: { [annotation]: inUseBy } }
}

/** Without the mark of Bonds from one cluster; the label stays for as long as others need it. */
function unguarded({ metadata }: StoredObject, origin: string): MetadataPatch {
  return {
    ...(isGuardedBeside(origin, metadata) ? {} : { labels: { [inUseLabel]: null } }),
    annotations: { [marksFrom(origin).annotation]: null },
  }
}

/** Puts our finalizer on a Bond, or takes it off; false when the Bond is gone. */
export async function setBondFinalizer(client: Client, self: Bond, isHeld: boolean): Promise<boolean> {
  const { finalizers = [] } = self.metadata
  if (finalizers.includes(bondFinalizer) === isHeld) return true
  const others = finalizers.filter((name) => name !== bondFinalizer)
  return patch(client, bond.type, self, { finalizers: isHeld ? [...others, bondFinalizer] : others })
}

/**
 * A Bond that waits for its own owner must not keep that one waiting: in a foreground deletion each would wait for the other.
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

/** Only in the version that was judged; false when it is gone. */
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
