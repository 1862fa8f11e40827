import {
  bond,
  bondFinalizer,
  holdFinalizer,
  inUseAnnotation,
  inUseLabel,
  seedFinalizer,
  type Bond,
} from '../../apis/bond.ts'
import { namesOf } from '../../apis/bond-guard.ts'
import type { Client } from '../../client/client.ts'
import type { ObjectMeta, ResourceType, StoredObject } from '../../kube/object.ts'
import { ignoring } from '../../kube/status-error.ts'
import { namespaces } from './bond-observe.ts'

/** What a Bond needs, and where it is. */
export interface Dependency {
  readonly home: Client
  readonly type: ResourceType
  readonly object: StoredObject
}

/** Makes what is needed wait for those who need it. */
export async function holdDependency({ home, type, object }: Dependency): Promise<void> {
  await patch(home, type, object, { finalizers: [...(object.metadata.finalizers ?? []), holdFinalizer] })
}

/** Makes the cluster's admission policy refuse the deletion of what is needed. */
export async function guardDependency({ home, type, object }: Dependency, bonds: readonly Bond[]): Promise<void> {
  const mark = { labels: { [inUseLabel]: 'true' }, annotations: { [inUseAnnotation]: namesOf(bonds) } }
  await patch(home, type, object, mark)
}

/** Lets go what no other Bond holds or refuses to let go; the mark of a namespace is `markNamespace`'s. */
export async function releaseDependency(
  { home, type, object }: Dependency,
  { holding, denying }: { readonly holding: readonly Bond[]; readonly denying: readonly Bond[] },
): Promise<void> {
  const { finalizers = [], labels = {} } = object.metadata
  const kept = finalizers.filter((name) => holding.length > 0 || (name !== holdFinalizer && name !== seedFinalizer))
  const isUnguarded = type.kind !== namespaces.kind && labels[inUseLabel] !== undefined && denying.length === 0
  if (kept.length === finalizers.length && !isUnguarded) return
  await patch(home, type, object, {
    finalizers: kept,
    ...(isUnguarded ? { labels: { [inUseLabel]: null }, annotations: { [inUseAnnotation]: null } } : {}),
  })
}

/** Makes the admission policy refuse the deletion of a namespace for these Bonds; for none, lets it go. */
export async function markNamespace(home: Client, namespace: StoredObject, bonds: readonly Bond[]): Promise<void> {
  const inUseBy = namesOf(bonds)
  if ((namespace.metadata.annotations?.[inUseAnnotation] ?? '') === inUseBy) return
  const isFree = bonds.length === 0
  await patch(home, namespaces, namespace, {
    labels: { [inUseLabel]: isFree ? null : 'true' },
    annotations: { [inUseAnnotation]: isFree ? null : inUseBy },
  })
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
