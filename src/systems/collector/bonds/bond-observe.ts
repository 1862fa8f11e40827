import { admissionPolicyBindings, namespaces } from '../../../kube/core-types.ts'
import { grants } from '../../../apis/bond-guard.ts'
import { isGuardedFrom, isHeldFrom } from '../../../apis/bond-marks.ts'
import { bondFinalizer, grantAnnotation, type Bond, inUsePolicy } from '../../../apis/bond.ts'
import { gitopsCluster } from '../../../apis/gitops-cluster.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import type { Client } from '../../../client/client.ts'
import { TransportError } from '../../../client/transport-error.ts'
import { apiVersionOf, type ResourceType, type StoredObject, placeOf, type Place } from '../../../kube/object.ts'
import { formatSelector, requirementsOf } from '../../../kube/selector.ts'
import { ignoring, isStatusError, StatusError } from '../../../kube/status-error.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { Refusal } from '../../../tenancy/act-as.ts'
import { accessTo, type Access } from '../../../tenancy/confinement.ts'
import { placeOfCluster } from '../../../runtime/clusters/gitops-cluster.ts'
import type { Denial, DependencyFact, DependentsFact } from './bond-decide.ts'
import { isEmbedded } from '../../../client/embedded.ts'
import { Attempt } from '../../../runtime/time/attempt.ts'

export interface BondObservePorts {
  readonly client: Client
  readonly clock: Clock
  /** The client of another cluster; undefined while it cannot be reached. */
  readonly clusterClient?: (cluster: string) => Client | undefined
  /** Why a cluster cannot be reached, for the Bond's condition. */
  readonly whyUnreachable?: (cluster: string) => string
  /** Called with each kind of this cluster that a Bond refers to. */
  readonly onType: (type: ResourceType) => void
  /** Why an object outside the Bond's namespace must not be read for it; undefined when it may be. */
  readonly refusalToRead: (self: Bond, access: Access) => Promise<Refusal | undefined>
  /** Whether this cluster's API server asks Bonds before it deletes: the embedded one does. */
  readonly asksBonds: boolean
}

/** The dependency of a Bond, as it was found. */
export interface FoundDependency {
  readonly fact: DependencyFact
  readonly object?: StoredObject
  readonly type?: ResourceType
  readonly home?: Client
  /** Which marks on it belong to this Bond: '' for a dependency in the Bond's own cluster, else the id of that cluster. */
  readonly origin: string
  /** Of a dependency in another cluster: its Namespace, or itself if it is one. */
  readonly namespaceObject?: StoredObject
  /** Of a dependency in another cluster: the id of that cluster, if it can be read. */
  readonly clusterId?: string
  /** Whether its namespace permits this Bond to block its deletion. */
  readonly isGranted: boolean
  /** How its API server can refuse its deletion. */
  readonly denial: Denial
}

/** Reads both ends of a Bond. What cannot be read is unknown. */
export class BondObserver {
  readonly #ports: BondObservePorts
  /** When an object of another cluster was first found absent, by `cluster/uid`. */
  readonly #absentSince = new Map<string, number>()
  /** Clusters that did not answer, why, and until when they are not asked again. */
  readonly #silent = new Map<string, { readonly because: string; readonly until: number }>()
  /** The id of this cluster: the uid of its namespace kube-system, as is usual. */
  #id: string | undefined

  constructor(ports: BondObservePorts) {
    this.#ports = ports
  }

  async dependents({ spec, metadata }: Bond): Promise<DependentsFact> {
    const { client, onType } = this.#ports
    const { apiVersion, kind, name, selector } = spec.dependent
    if (name === undefined && selector === undefined)
      return { are: 'unknown', reason: 'InvalidSpec', message: 'spec.dependent needs a name or a selector' }
    try {
      const type = await client.discovery.typeOf({ apiVersion, kind })
      if (!type) return { are: 'unknown', ...kindNotFound('spec.dependent', { apiVersion, kind }) }
      if (!type.namespaced && metadata.namespace !== sojournNamespace)
        return { are: 'unknown', reason: 'NotAllowed', message: clusterScopedDependent }
      onType(type)
      const scope = type.namespaced ? { namespace: metadata.namespace ?? '' } : {}
      const found =
        name === undefined
          ? await this.#select(type, scope, selector ?? {})
          : await find(client, type, { ...scope, name })
      // A Bond that waited for itself could never be deleted.
      const others = [found ?? []].flat().filter((object) => object.metadata.uid !== metadata.uid)
      return { are: 'known', objects: others.map((object) => ({ ...object, apiVersion, kind: type.kind })) }
    } catch (error) {
      return { are: 'unknown', ...unknownBecause(error, 'spec.dependent') }
    }
  }

  async dependency(self: Bond): Promise<FoundDependency> {
    const { client, clusterClient, whyUnreachable } = this.#ports
    const { cluster = '' } = self.spec.dependency
    try {
      if (cluster === '') return await this.#read(client, self)
      const notLent = await this.#notLent(cluster, self)
      if (notLent) return unseen(notLent)
      const home = clusterClient?.(cluster)
      return home ? await this.#ask(home, self) : unseen(unreachable(cluster, whyUnreachable?.(cluster)))
    } catch (error) {
      return unseen({ is: 'unknown', ...unknownBecause(error, 'spec.dependency') })
    }
  }

  /** Asks another cluster with a timeout. After a timeout it is not asked again for a while, so that other Bonds do not wait for it, too. */
  async #ask(home: Client, self: Bond): Promise<FoundDependency> {
    const { clock } = this.#ports
    const { cluster = '' } = self.spec.dependency
    const silence = this.#silent.get(cluster)
    if (silence && clock.now() < silence.until) return unseen(unreachable(cluster, silence.because))
    try {
      return await withTimeout(clock, () => this.#read(home, self))
    } catch (error) {
      if (!(error instanceof TransportError)) throw error
      const because = error.message
      this.#silent.set(cluster, { because, until: clock.now() + silenceMs })
      return unseen(unreachable(cluster, because))
    }
  }

  /** Whether a Bond may not use a GitopsCluster: one in another namespace only with that namespace's permission, one in ours always. */
  async #notLent(cluster: string, self: Bond): Promise<DependencyFact | undefined> {
    const { namespace } = self.metadata
    const { namespace: lender, name } = placeOfCluster(cluster)
    if (lender === '' || lender === namespace || lender === sojournNamespace) return undefined
    const refusal = await this.#ports.refusalToRead(
      self,
      accessTo('get', gitopsCluster.type, { namespace: lender, name }),
    )
    if (refusal?.reason === 'Confined')
      return { is: 'unknown', reason: 'Confined', message: `spec.dependency.cluster: ${refusal.message}` }
    const grantor = await this.#ports.client.get<StoredObject>(namespaces, { name: lender }).catch(ignoring('NotFound'))
    if (grants(grantor, namespace)) return undefined
    const permission = `${grantAnnotation}=${namespace}`
    const message = `spec.dependency.cluster: namespace "${lender}" does not permit this one to use its GitopsClusters: annotate it with ${permission}`
    return { is: 'unknown', reason: 'ClusterNotLent', message }
  }

  async #read(home: Client, self: Bond): Promise<FoundDependency> {
    const { spec, metadata, status } = self
    const { client, onType, asksBonds } = this.#ports
    const { cluster = '', apiVersion, kind, name } = spec.dependency
    const type = await home.discovery.typeOf({ apiVersion, kind })
    if (!type) return unseen({ is: 'unknown', ...kindNotFound('spec.dependency', { apiVersion, kind }) })
    if (home === client) onType(type)
    const namespace = type.namespaced ? (spec.dependency.namespace ?? metadata.namespace ?? '') : ''
    const refused = cluster === '' ? await this.#refusedElsewhere(self, type, { namespace, name }) : undefined
    if (refused) return unseen(refused)
    const found = await find(home, type, placeOf({ name, namespace }))
    const pinned = spec.dependency.uid ?? status?.dependencyUid
    const isThere = found !== undefined && (pinned === undefined || found.metadata.uid === pinned)
    const there = cluster === '' ? {} : await this.#clusterIdOf(home, status, isThere)
    if (isOther(status, there)) return unseen(anotherCluster(cluster))
    const unconfirmed = this.#unconfirmedAbsence(cluster, pinned, isThere)
    if (unconfirmed) return unseen(unconfirmed)
    if (!found) return this.#absent(home, metadata, { cluster, namespace })
    const object = { ...found, apiVersion, kind: type.kind }
    const origin = cluster === '' ? '' : await this.#clusterId()
    const permission = await this.#permission(home, metadata, { object, origin })
    const denies = spec.onDelete === 'Deny' && permission.isGranted
    const denial = denies && !(home === client && asksBonds) ? await denialIn(home) : 'asked'
    return { fact: presentFact(found, origin), object, type, home, origin, denial, ...permission, ...there }
  }

  /** The status of a Bond tells whether its dependency exists, so its creator must be able to see that, or the dependency's namespace must permit it. */
  async #refusedElsewhere(self: Bond, type: ResourceType, place: Required<Place>): Promise<DependencyFact | undefined> {
    const { namespace } = self.metadata
    // What was found with the right to see it stays known: a hold must be released when its permission is withdrawn.
    if (place.namespace === namespace || self.status?.dependencyUid !== undefined) return undefined
    const refusal = await this.#ports.refusalToRead(self, accessTo('get', type, place))
    if (!refusal) return undefined
    const [grantorType, name] = place.namespace ? [namespaces, place.namespace] : [type, place.name]
    const isLent = refusal.reason !== 'Confined'
    const grantor = isLent ? await find(this.#ports.client, grantorType, { name }) : undefined
    if (grants(grantor, namespace)) return undefined
    return { is: 'unknown', reason: refusal.reason, message: `spec.dependency: ${refusal.message}` }
  }

  /**
   * The id of another cluster, if it may be read: asked once while the dependency exists, and again when it is absent. Another cluster may answer under the same
   * name with the same credentials, because it was rebuilt or replaced.
   */
  async #clusterIdOf(home: Client, status: Bond['status'], isThere: boolean): Promise<{ readonly clusterId?: string }> {
    const known = status?.dependencyCluster
    if (isThere && known !== undefined) return { clusterId: known }
    const unreadable = known === undefined ? ignoring('NotFound', 'Forbidden') : ignoring('NotFound')
    const system = await home.get<StoredObject>(namespaces, { name: 'kube-system' }).catch(unreadable)
    return system ? { clusterId: system.metadata.uid } : {}
  }

  /** In another cluster a dependency that is gone may leave our mark on its namespace, which this Bond has to remove. */
  async #absent(
    home: Client,
    { finalizers = [] }: Bond['metadata'],
    { cluster, namespace }: { readonly cluster: string; readonly namespace: string },
  ): Promise<FoundDependency> {
    const gone = unseen({ is: 'absent' })
    if (cluster === '' || namespace === '' || !finalizers.includes(bondFinalizer)) return gone
    const namespaceObject = await home.get<StoredObject>(namespaces, { name: namespace }).catch(ignoring('NotFound'))
    return namespaceObject ? { ...gone, home, namespaceObject, origin: await this.#clusterId() } : gone
  }

  /**
   * Whether a Bond may block the deletion of its dependency: in its own namespace always, elsewhere with that namespace's permission. Throws when this cannot be
   * read. A namespace of another cluster that may not be read has given no permission, unless the dependency is held there already.
   */
  async #permission(
    home: Client,
    { namespace }: Bond['metadata'],
    { object, origin }: { readonly object: StoredObject; readonly origin: string },
  ): Promise<Pick<FoundDependency, 'isGranted' | 'namespaceObject'>> {
    const there = object.metadata.namespace
    if (origin === '' && there === namespace) return { isGranted: true }
    const isHeld = isHeldFrom(origin, object.metadata) || isGuardedFrom(origin, object.metadata)
    const missing = origin !== '' && !isHeld ? ignoring('NotFound', 'Forbidden') : ignoring('NotFound')
    const grantor = there ? await home.get<StoredObject>(namespaces, { name: there }).catch(missing) : object
    const isNamespace = there !== undefined || (object.kind === namespaces.kind && object.apiVersion === 'v1')
    return {
      isGranted: grants(grantor, namespace, origin),
      ...(origin !== '' && isNamespace && grantor ? { namespaceObject: grantor } : {}),
    }
  }

  async #clusterId(): Promise<string> {
    this.#id ??= (await this.#ports.client.get<StoredObject>(namespaces, { name: 'kube-system' })).metadata.uid
    return this.#id
  }

  /** Absence in another cluster counts only after `confirmMs`: that cluster may be in the middle of a restore from a backup. */
  #unconfirmedAbsence(cluster: string, pinned: string | undefined, isThere: boolean): DependencyFact | undefined {
    if (cluster === '' || pinned === undefined) return undefined
    const key = `${cluster}/${pinned}`
    if (isThere) {
      this.#absentSince.delete(key)
      return undefined
    }
    const now = this.#ports.clock.now()
    const since = this.#absentSince.getOrInsert(key, now)
    if (now - since >= confirmMs) return undefined
    return {
      is: 'unknown',
      reason: 'ConfirmingAbsence',
      message: `cluster "${cluster}" does not have it: asking again before that counts`,
    }
  }

  async #select(
    type: ResourceType,
    scope: { readonly namespace?: string },
    selector: Parameters<typeof requirementsOf>[0],
  ): Promise<readonly StoredObject[]> {
    const objects: StoredObject[] = []
    const labelSelector = formatSelector(requirementsOf(selector))
    for await (const page of this.#ports.client.listAll(type, { ...scope, labelSelector, metadataOnly: true }))
      objects.push(...page.items)
    return objects
  }
}

const confirmMs = 60_000
const silenceMs = 30_000

/** Reads one object; undefined if it does not exist. Throws if the kind is no longer served: then NotFound says nothing about the object. */
async function find(home: Client, type: ResourceType, place: Place): Promise<StoredObject | undefined> {
  const found = await home.get<StoredObject>(type, place, { metadataOnly: true }).catch(ignoring('NotFound'))
  if (found) return found
  const manifest = { apiVersion: apiVersionOf(type), kind: type.kind }
  home.discovery.forget(manifest.apiVersion)
  if (await home.discovery.typeOf(manifest)) return undefined
  throw new StatusError('NotFound', `no ${manifest.kind} in ${manifest.apiVersion} is served any more`)
}

const clusterScopedDependent = `spec.dependent is cluster-scoped: only a Bond in namespace ${sojournNamespace} may have it as a dependent`

/** A dependency that was not read, so that it can be neither held nor guarded. */
function unseen(fact: DependencyFact): FoundDependency {
  return { fact, origin: '', isGranted: false, denial: 'asked' }
}

/** Whether the dependency was found in another cluster than the one that answers now. */
function isOther(status: Bond['status'], { clusterId }: { readonly clusterId?: string }): boolean {
  return status?.dependencyCluster !== undefined && status.dependencyCluster !== clusterId
}

function anotherCluster(cluster: string): DependencyFact {
  const message = `spec.dependency.cluster: "${cluster}" is not the cluster any more in which the dependency was found (status.dependencyCluster)`
  return { is: 'unknown', reason: 'ClusterChanged', message }
}

function unreachable(cluster: string, because?: string): DependencyFact {
  const message = `cluster "${cluster}" cannot be reached${because ? `: ${because}` : ''}`
  return { is: 'unknown', reason: 'ClusterUnreachable', message }
}

function presentFact({ metadata }: StoredObject, origin: string): DependencyFact {
  return {
    is: 'present',
    uid: metadata.uid,
    isMarked: metadata.deletionTimestamp !== undefined,
    holdsFinalizer: isHeldFrom(origin, metadata),
    isGuarded: isGuardedFrom(origin, metadata),
  }
}

function kindNotFound(field: string, { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) {
  return { reason: 'KindNotFound', message: `${field}: no ${kind} in ${apiVersion} is served` }
}

function unknownBecause(error: unknown, field: string): { reason: string; message: string } {
  const reason = isStatusError(error, 'Forbidden') ? 'Forbidden' : 'Unreadable'
  return { reason, message: `${field}: ${(error as Error).message}` }
}

/** Whether a cluster refuses to delete objects with our label: the embedded server does, any other by the admission policy that `sojourn install` prints. */
async function denialIn(home: Client): Promise<Denial> {
  if (await isEmbedded(home)) return 'marked'
  try {
    await home.get(admissionPolicyBindings, { name: inUsePolicy }, { metadataOnly: true })
    return 'marked'
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return 'ignored'
    if (isStatusError(error, 'Forbidden')) return 'unknown'
    throw error
  }
}

/** Runs requests to another cluster with a timeout: a silent cluster must not delay Bonds to others. */
export async function withTimeout<R>(clock: Clock, work: () => Promise<R>): Promise<R> {
  const attempt = new Attempt(clock, timeoutMs, new AbortController().signal)
  try {
    return await attempt.run(work)
  } finally {
    attempt.end()
  }
}

const timeoutMs = 10_000
