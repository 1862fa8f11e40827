import { bond, bondFinalizer, inUseLabel, type Bond } from '../../apis/bond.ts'
import { namesOf } from '../../apis/bond-guard.ts'
import { isGuardedBeside, isGuardedFrom, isHoldFrom, marksFrom } from '../../apis/bond-marks.ts'
import type { Client } from '../../client/client.ts'
import type { ObjectMeta, ResourceType, StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { namespaces } from './bond-observe.ts'

/** What a Bond needs, where it is, and whose marks on it are the Bond's. */
export interface Dependency {
  readonly home: Client
  readonly type: ResourceType
  readonly object: StoredObject
  readonly origin: string
}

/** Makes what is needed wait for those who need it. */
export async function holdDependency({ home, type, object, origin }: Dependency): Promise<void> {
  await patch(home, type, object, { finalizers: [...(object.metadata.finalizers ?? []), marksFrom(origin).finalizer] })
}

/** Makes the cluster refuse the deletion of what is needed. */
export async function guardDependency(dependency: Dependency, bonds: readonly Bond[]): Promise<void> {
  const { home, type, object, origin } = dependency
  await patch(home, type, object, {
    labels: { [inUseLabel]: 'true' },
    annotations: { [marksFrom(origin).annotation]: namesOf(bonds, origin) },
  })
}

/** Lets go what no other Bond holds or refuses to let go; the mark of a namespace is `markNamespace`'s. */
export async function releaseDependency(
  { home, type, object, origin }: Dependency,
  { holding, denying }: { readonly holding: readonly Bond[]; readonly denying: readonly Bond[] },
): Promise<void> {
  const { finalizers = [] } = object.metadata
  const kept = finalizers.filter((name) => holding.length > 0 || !isHoldFrom(origin, name))
  const isFree = type.kind !== namespaces.kind && isGuardedFrom(origin, object.metadata) && denying.length === 0
  if (kept.length === finalizers.length && !isFree) return
  await patch(home, type, object, { finalizers: kept, ...(isFree ? unguarded(object, origin) : {}) })
}

/** Makes a cluster refuse the deletion of a namespace for these Bonds; for none, lets it go. */
export async function markNamespace(
  { home, object, origin }: Omit<Dependency, 'type'>,
  bonds: readonly Bond[],
): Promise<void> {
  const { annotation } = marksFrom(origin)
  const inUseBy = namesOf(bonds, origin)
  if ((object.metadata.annotations?.[annotation] ?? '') === inUseBy) return
  const mark = { labels: { [inUseLabel]: 'true' }, annotations: { [annotation]: inUseBy } }
  await patch(home, namespaces, object, bonds.length > 0 ? mark : unguarded(object, origin))
}

/** Without the mark of Bonds from one cluster; the label stays for as long as others need it. */
function unguarded({ metadata }: StoredObject, origin: string): MetadataPatch {
  return {
    ...(isGuardedBeside(origin, metadata) ? {} : { labels: { [inUseLabel]: null } }),
    annotations: { [marksFrom(origin).annotation]: null },
  }
}

/** Puts our finalizer on a Bond, or takes it off. */
export async function setBondFinalizer(client: Client, self: Bond, isHeld: boolean): Promise<void> {
  const { finalizers = [] } = self.metadata
  if (finalizers.includes(bondFinalizer) === isHeld) return
  const others = finalizers.filter((name) => name !== bondFinalizer)
  await patch(client, bond.type, self, { finalizers: isHeld ? [...others, bondFinalizer] : others })
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

/** Only in the version that was judged. */
async function patch(
  client: Client,
  type: ResourceType,
  { metadata }: StoredObject,
  change: MetadataPatch,
): Promise<void> {
  const { name, namespace, resourceVersion } = metadata
  const body = { metadata: { resourceVersion, ...change } }
  await client
    .patch(type, { name, ...(namespace ? { namespace } : {}) }, { type: 'merge', body })
    .catch(ignoring('NotFound'))
}
