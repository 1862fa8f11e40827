import { namespaces } from '../../../kube/core-types.ts'
import { grants } from '../../../apis/bond-guard.ts'
import { isGuardedFrom, isHeldFrom } from '../../../apis/bond-marks.ts'
import { bondFinalizer, grantAnnotation, type Bond } from '../../../apis/bond.ts'
import { sojournNamespace } from '../../../apis/group.ts'
import type { Client } from '../../../client/client.ts'
import { TransportError } from '../../../client/transport-error.ts'
import { apiVersionOf, type ResourceType, type StoredObject, placeOf } from '../../../kube/object.ts'
import { formatSelector, requirementsOf } from '../../../kube/selector.ts'
import { ignoring, isStatusError, StatusError } from '../../../kube/status-error.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import { placeOfCluster } from '../../../runtime/clusters/gitops-cluster.ts'
import type { Denial, DependencyFact, DependentsFact } from './bond-decide.ts'
import { denialIn } from './denial.ts'
import { withTimeout } from './with-timeout.ts'

export interface BondObservePorts {
  readonly client: Client
  readonly clock: Clock
  /** The client of another cluster; undefined while it cannot be reached. */
  readonly clusterClient?: (cluster: string) => Client | undefined
  /** Why it cannot be reached. */
  readonly whyUnreachable?: (cluster: string) => string
  /** Told of each kind of this cluster that a Bond speaks of. */
  readonly onType: (type: ResourceType) => void
  /** Whether the server of this cluster asks Bonds itself before it deletes. */
  readonly asksBonds: boolean
}

/** What a Bond needs, as it was found. */
export interface FoundDependency {
  readonly fact: DependencyFact
  readonly object?: StoredObject
  readonly type?: ResourceType
  readonly home?: Client
  /** Whose marks on it are those of this Bond: '' in the Bond's own cluster, else the id of that. */
  readonly origin: string
  /** Its namespace, or itself if it is one, where that is in another cluster. */
  readonly namespaceObject?: StoredObject
  /** The id of the other cluster that it is in, if that can be read. */
  readonly clusterId?: string
  /** Whether its namespace lets this Bond hold its deletion up. */
  readonly isGranted: boolean
  /** How its deletion can be refused. */
  readonly denial: Denial
}

/** Finds out what is true of both ends of a Bond. What cannot be read is unknown. */
export class BondObserver {
  readonly #ports: BondObservePorts
  /** When something in another cluster was first found absent, by `cluster/uid`. */
  readonly #absentSince = new Map<string, number>()
  /** Clusters that did not answer, why, and until when they are left alone. */
  readonly #silent = new Map<string, { readonly because: string; readonly until: number }>()
  /** By which this cluster is known to others: the uid of its namespace kube-system, as usual. */
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
      // A Bond that waited for itself would never go.
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
      if (cluster === '') return await this.#look(client, self)
      const unlent = await this.#unlent(cluster, self)
      if (unlent) return unseen(unlent)
      const home = clusterClient?.(cluster)
      return home ? await this.#ask(home, self) : unseen(unreachable(cluster, whyUnreachable?.(cluster)))
    } catch (error) {
      return unseen({ is: 'unknown', ...unknownBecause(error, 'spec.dependency') })
    }
  }

  /** Another cluster may be slow or silent, and is then asked by one Bond at a time, now and then. */
  async #ask(home: Client, self: Bond): Promise<FoundDependency> {
    const { clock } = this.#ports
    const { cluster = '' } = self.spec.dependency
    const silence = this.#silent.get(cluster)
    if (silence && clock.now() < silence.until) return unseen(unreachable(cluster, silence.because))
    try {
      return await withTimeout(clock, () => this.#look(home, self))
    } catch (error) {
      if (!(error instanceof TransportError)) throw error
      const because = error.message
      this.#silent.set(cluster, { because, until: clock.now() + leftAloneMs })
      return unseen(unreachable(cluster, because))
    }
  }

  /** Another namespace's way into a cluster is its own to lend; those in our namespace are there for all. */
  async #unlent(cluster: string, { metadata: { namespace } }: Bond): Promise<DependencyFact | undefined> {
    const { namespace: lender } = placeOfCluster(cluster)
    if (lender === '' || lender === namespace || lender === sojournNamespace) return undefined
    const grantor = await this.#ports.client.get<StoredObject>(namespaces, { name: lender }).catch(ignoring('NotFound'))
    if (grants(grantor, namespace)) return undefined
    const permission = `${grantAnnotation}=${namespace}`
    const message = `spec.dependency.cluster: namespace "${lender}" does not let this one use its GitopsClusters: annotate it with ${permission}`
    return { is: 'unknown', reason: 'ClusterNotLent', message }
  }

  async #look(home: Client, { spec, metadata, status }: Bond): Promise<FoundDependency> {
    const { client, onType, asksBonds } = this.#ports
    const { cluster = '', apiVersion, kind, name } = spec.dependency
    const type = await home.discovery.typeOf({ apiVersion, kind })
    if (!type) return unseen({ is: 'unknown', ...kindNotFound('spec.dependency', { apiVersion, kind }) })
    if (home === client) onType(type)
    const namespace = type.namespaced ? (spec.dependency.namespace ?? metadata.namespace ?? '') : ''
    const found = await find(home, type, placeOf({ name, namespace }))
    const pinned = spec.dependency.uid ?? status?.dependencyUid
    const isThere = found !== undefined && (pinned === undefined || found.metadata.uid === pinned)
    const there = cluster === '' ? {} : await this.#whereIs(home, status, isThere)
    if (isOther(status, there)) return unseen(anotherCluster(cluster))
    const doubt = this.#doubt(cluster, pinned, isThere)
    if (doubt) return unseen(doubt)
    if (!found) return this.#absent(home, metadata, { cluster, namespace })
    const object = { ...found, apiVersion, kind: type.kind }
    const origin = cluster === '' ? '' : await this.#clusterId()
    const permission = await this.#permission(home, metadata, { object, origin })
    const denies = spec.onDelete === 'Deny' && permission.isGranted
    const denial = denies && !(home === client && asksBonds) ? await denialIn(home) : 'asked'
    return { fact: presentFact(found, origin), object, type, home, origin, denial, ...permission, ...there }
  }

  /**
   * The id of another cluster, as far as it lets us know: asked once for what is there, and again for what is not. By the same name, and with
   * credentials that it takes, another one may answer: built anew, or put in its place.
   */
  async #whereIs(home: Client, status: Bond['status'], isThere: boolean): Promise<{ readonly clusterId?: string }> {
    const known = status?.dependencyCluster
    if (isThere && known !== undefined) return { clusterId: known }
    const unreadable = known === undefined ? ignoring('NotFound', 'Forbidden') : ignoring('NotFound')
    const system = await home.get<StoredObject>(namespaces, { name: 'kube-system' }).catch(unreadable)
    return system ? { clusterId: system.metadata.uid } : {}
  }

  /** What is gone may have left a mark on its namespace in another cluster, for this Bond to take off. */
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
   * Whether a Bond may hold up the deletion of what it needs: in its own namespace it needs no leave; elsewhere the namespace's owner must have given it.
   * Throws when that cannot be known; another cluster that does not let us look has given none, unless something is held there already.
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
    const isSpace = there !== undefined || (object.kind === namespaces.kind && object.apiVersion === 'v1')
    return {
      isGranted: grants(grantor, namespace, origin),
      ...(origin !== '' && isSpace && grantor ? { namespaceObject: grantor } : {}),
    }
  }

  async #clusterId(): Promise<string> {
    this.#id ??= (await this.#ports.client.get<StoredObject>(namespaces, { name: 'kube-system' })).metadata.uid
    return this.#id
  }

  /** Another cluster's word that something is gone counts when it says so twice, some time apart: it may have been restored from a backup. */
  #doubt(cluster: string, pinned: string | undefined, isThere: boolean): DependencyFact | undefined {
    if (cluster === '' || pinned === undefined) return undefined
    const key = `${cluster}/${pinned}`
    if (isThere) {
      this.#absentSince.delete(key)
      return undefined
    }
    const now = this.#ports.clock.now()
    const since = this.#absentSince.get(key) ?? now
    this.#absentSince.set(key, since)
    if (now - since >= confirmMs) return undefined
    return { is: 'unknown', reason: 'ConfirmingAbsence', message: `cluster "${cluster}" says it is gone: asking again` }
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
const leftAloneMs = 30_000

/** One object; undefined where its server says that there is none. One that no longer serves the kind says nothing of it: throws. */
async function find(
  home: Client,
  type: ResourceType,
  place: { readonly namespace?: string; readonly name: string },
): Promise<StoredObject | undefined> {
  const found = await home.get<StoredObject>(type, place, { metadataOnly: true }).catch(ignoring('NotFound'))
  if (found) return found
  const manifest = { apiVersion: apiVersionOf(type), kind: type.kind }
  home.discovery.forget(manifest.apiVersion)
  if (await home.discovery.typeOf(manifest)) return undefined
  throw new StatusError('NotFound', `no ${manifest.kind} in ${manifest.apiVersion} is served any more`)
}

const clusterScopedDependent = `spec.dependent is cluster-scoped: only a Bond in namespace ${sojournNamespace} may speak for it`

/** What cannot be seen can be neither held nor guarded. */
function unseen(fact: DependencyFact): FoundDependency {
  return { fact, origin: '', isGranted: false, denial: 'asked' }
}

/** Whether what was found in one cluster is looked for in another. */
function isOther(status: Bond['status'], { clusterId }: { readonly clusterId?: string }): boolean {
  return status?.dependencyCluster !== undefined && status.dependencyCluster !== clusterId
}

function anotherCluster(cluster: string): DependencyFact {
  const message = `spec.dependency.cluster: "${cluster}" is another cluster now than the one where it was found (status.dependencyCluster)`
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
