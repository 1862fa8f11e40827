import { bond, inUseLabel, type Bond, bondFinalizer } from '../../../apis/bond.ts'
import { grants, guardedNamespace, keptNamespace, namesOf } from '../../../apis/bond-guard.ts'
import type { Client } from '../../../client/client.ts'
import { namespaces } from '../../../kube/core-types.ts'
import { type StoredObject, type ObjectMeta, type ResourceType, placeOf } from '../../../kube/object.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import type { Informers } from '../../../runtime/cache/informers.ts'
import type { Mark } from './bond-decide.ts'
import { isGuardedBeside, isHoldFrom, marksFrom } from '../../../apis/bond-marks.ts'
import { ignoring } from '../../../kube/status-error.ts'

export interface BondMarkerPorts {
  readonly client: Client
  readonly informers: Informers
  /** Whether objects that Bonds protect need a label, for the cluster's admission policy. The embedded server asks Bonds itself. */
  readonly needsLabels: boolean
}

/** Puts the finalizers and labels of Bonds on the objects they need, and takes off those that no Bond wants any more. */
export class BondMarker {
  readonly bonds: Informer<Bond>
  readonly namespaces: Informer
  readonly #ports: BondMarkerPorts

  constructor(ports: BondMarkerPorts) {
    const { client, informers } = ports
    this.#ports = ports
    this.bonds = informers.open<Bond>(client, bond.type, { indexes: { guards: guardedNamespaces } })
    this.namespaces = informers.open(client, namespaces, { metadataOnly: true, indexes: { mark: marks } })
  }

  /** Sets the one mark that a Bond wants on its dependency and takes off its others, unless other Bonds want those. True if anything changed. */
  async mark(dependency: Dependency, wanted: Mark, self: Bond): Promise<boolean> {
    const { uid } = dependency.object.metadata
    const rivals = this.#othersThan(self).filter(
      (other) => other.status?.dependencyUid === uid && isInForce(other) && usesSameMarks(other, self),
    )
    const others = await permittedBonds(dependency, rivals)
    const isLabelled = this.#ports.needsLabels || dependency.origin !== ''
    const denying = isLabelled ? others.filter(({ spec }) => spec.onDelete === 'Deny') : []
    return markDependency(dependency, {
      mark: wanted,
      isHeldByOthers: others.some(({ spec }) => spec.onDelete === 'Cascade' || spec.onDelete === 'Hold'),
      denying: wanted === 'guard' ? [self, ...denying] : denying,
    })
  }

  /** Updates on every marked namespace which Bonds forbid its deletion. `self` counts as given: the cache may not have its newest status yet. */
  async markNamespaces(self?: Bond): Promise<void> {
    const { client, needsLabels } = this.#ports
    if (!needsLabels) return
    const own = self && guardedNamespace(self)
    const names = new Set(this.namespaces.byIndex('mark', 'in-use').map(({ metadata }) => metadata.name))
    for (const name of own === undefined ? names : names.add(own)) {
      const namespace = this.namespaces.get('', name)
      const others = this.bonds.byIndex('guards', name).filter(({ metadata }) => metadata.uid !== self?.metadata.uid)
      const guarding = self && own === name ? [...others, self] : others
      if (namespace) await markNamespace({ home: client, object: namespace, origin: '' }, guarding)
    }
  }

  /** The same for a namespace of another cluster, and only for Bonds that this namespace permits. True if anything changed. */
  async markRemoteNamespace(namespace: Omit<Dependency, 'type'>, self: Bond): Promise<boolean> {
    const { object, origin } = namespace
    const isGuarding = (each: Bond) =>
      isSameCluster(each, self) &&
      keptNamespace(each) === object.metadata.name &&
      grants(object, each.metadata.namespace, origin)
    return markNamespace(namespace, [...this.#othersThan(self), self].filter(isGuarding))
  }

  #othersThan({ metadata }: Bond): readonly Bond[] {
    return this.bonds.list().filter((other) => other.metadata.uid !== metadata.uid)
  }
}

/** The Bonds that may block the deletion of an object: those in its own namespace, and those that its namespace permits. A Bond's own status proves nothing. */
async function permittedBonds(
  { home, object, origin, namespaceObject }: Dependency,
  candidates: readonly Bond[],
): Promise<readonly Bond[]> {
  const { namespace } = object.metadata
  const isLocal = (each: Bond) => origin === '' && namespace !== undefined && each.metadata.namespace === namespace
  if (candidates.every(isLocal)) return candidates
  const read = () => home.get<StoredObject>(namespaces, { name: namespace ?? '' })
  const grantor = namespace ? (namespaceObject ?? (await read())) : object
  return candidates.filter((each) => isLocal(each) || grants(grantor, each.metadata.namespace, origin))
}

/** Whether a Bond holds or guards something at the moment. */
function isInForce({ status }: Bond): boolean {
  return status?.phase !== 'Released' && status?.phase !== 'Pending' && (status?.dependents ?? 0) > 0
}

/** Whether the dependencies of two Bonds are in the same cluster, which may have several names. */
function isSameCluster(one: Bond, other: Bond): boolean {
  const ids = [one, other].map(({ status }) => status?.dependencyCluster)
  if (ids.every((each) => each !== undefined)) return ids[0] === ids[1]
  return one.spec.dependency.cluster === other.spec.dependency.cluster
}

/** Whether two Bonds use the same marks: Bonds to another cluster have marks of their own. */
function usesSameMarks({ spec: one }: Bond, { spec: other }: Bond): boolean {
  return Boolean(one.dependency.cluster) === Boolean(other.dependency.cluster)
}

function guardedNamespaces(found: Bond): readonly string[] {
  const namespace = guardedNamespace(found)
  return namespace === undefined ? [] : [namespace]
}

function marks({ metadata }: StoredObject): readonly string[] {
  return metadata.labels?.[inUseLabel] === undefined ? [] : ['in-use']
}

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
async function markDependency(dependency: Dependency, wanted: Wanted): Promise<boolean> {
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
async function markNamespace(
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
  const patched = await client.merge(type, placeOf({ name, namespace }), body).catch(ignoring('NotFound'))
  return patched !== undefined
}
