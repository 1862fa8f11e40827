import { bond, inUseLabel, type Bond } from '../../../apis/bond.ts'
import { grants, guardedNamespace, keptNamespace } from '../../../apis/bond-guard.ts'
import type { Client } from '../../../client/client.ts'
import { namespaces } from '../../../kube/core-types.ts'
import type { StoredObject } from '../../../kube/object.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import type { Informers } from '../../../runtime/cache/informers.ts'
import { markDependency, markNamespace, type Dependency } from './bond-act.ts'
import type { Mark } from './bond-decide.ts'

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
