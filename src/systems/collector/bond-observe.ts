import { grants } from '../../apis/bond-guard.ts'
import { isGuardedFrom, isHeldFrom } from '../../apis/bond-marks.ts'
import { grantAnnotation, type Bond } from '../../apis/bond.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { formatSelector, requirementsOf } from '../../kube/selector.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { placeOfCluster } from '../../runtime/gitops-cluster.ts'
import type { Denial, DependencyFact, DependentsFact } from './bond-decide.ts'
import { denialIn } from './denial.ts'

export interface BondObservePorts {
  readonly client: Client
  readonly now: () => number
  /** The client of another cluster; undefined while it cannot be reached. */
  readonly clusterClient?: (cluster: string) => Client | undefined
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
  readonly space?: StoredObject
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
          : await this.#named(type, { ...scope, name })
      return { are: 'known', objects: found.map((object) => ({ ...object, apiVersion, kind: type.kind })) }
    } catch (error) {
      return { are: 'unknown', ...unknownBecause(error, 'spec.dependent') }
    }
  }

  async dependency(self: Bond): Promise<FoundDependency> {
    const { client, clusterClient } = this.#ports
    const { cluster = '' } = self.spec.dependency
    try {
      const unlent = await this.#unlent(cluster, self)
      if (unlent) return unseen(unlent)
      const home = cluster === '' ? client : clusterClient?.(cluster)
      return home ? await this.#look(home, self) : unseen(unreachable(cluster))
    } catch (error) {
      return unseen({ is: 'unknown', ...unknownBecause(error, 'spec.dependency') })
    }
  }

  /** Another namespace's way into a cluster is its own to lend; those in our namespace are there for all. */
  async #unlent(cluster: string, { metadata: { namespace } }: Bond): Promise<DependencyFact | undefined> {
    const { namespace: lender } = placeOfCluster(cluster)
    if (lender === '' || lender === namespace || lender === sojournNamespace) return undefined
    const grantor = await this.#ports.client.get<StoredObject>(namespaces, { name: lender }).catch(ignoring('NotFound'))
    if (grants(grantor, namespace)) return undefined
    const leave = `${grantAnnotation}=${namespace}`
    const message = `spec.dependency.cluster: namespace "${lender}" does not let this one use its GitopsClusters: annotate it with ${leave}`
    return { is: 'unknown', reason: 'ClusterNotLent', message }
  }

  async #look(home: Client, { spec, metadata, status }: Bond): Promise<FoundDependency> {
    const { client, onType, asksBonds } = this.#ports
    const { cluster = '', apiVersion, kind, name } = spec.dependency
    const type = await home.discovery.typeOf({ apiVersion, kind })
    if (!type) return unseen({ is: 'unknown', ...kindNotFound('spec.dependency', { apiVersion, kind }) })
    if (home === client) onType(type)
    const namespace = type.namespaced ? (spec.dependency.namespace ?? metadata.namespace ?? '') : ''
    const found = await home
      .get<StoredObject>(type, { name, ...(namespace ? { namespace } : {}) }, { metadataOnly: true })
      .catch(ignoring('NotFound'))
    const pinned = spec.dependency.uid ?? status?.dependencyUid
    const isThere = found !== undefined && (pinned === undefined || found.metadata.uid === pinned)
    const doubt = this.#doubt(cluster, pinned, isThere)
    if (doubt) return unseen(doubt)
    if (!found) return unseen({ is: 'absent' })
    const object = { ...found, apiVersion, kind: type.kind }
    const origin = cluster === '' ? '' : await this.#clusterId()
    const leave = await this.#leave(home, metadata, { object, origin })
    const denies = spec.onDelete === 'Deny' && leave.isGranted
    const denial = denies && !(home === client && asksBonds) ? await denialIn(home) : 'asked'
    return { fact: presentFact(found, origin), object, type, home, origin, denial, ...leave }
  }

  /**
   * Whether a Bond may hold up the deletion of what it needs: in its own namespace it needs no leave; elsewhere the namespace's owner must have given it.
   * Throws when that cannot be known; another cluster that does not let us look has given none, unless something is held there already.
   */
  async #leave(
    home: Client,
    { namespace }: Bond['metadata'],
    { object, origin }: { readonly object: StoredObject; readonly origin: string },
  ): Promise<Pick<FoundDependency, 'isGranted' | 'space'>> {
    const there = object.metadata.namespace
    if (origin === '' && there === namespace) return { isGranted: true }
    const isHeld = isHeldFrom(origin, object.metadata) || isGuardedFrom(origin, object.metadata)
    const missing = origin !== '' && !isHeld ? ignoring('NotFound', 'Forbidden') : ignoring('NotFound')
    const grantor = there ? await home.get<StoredObject>(namespaces, { name: there }).catch(missing) : object
    const isSpace = there !== undefined || (object.kind === namespaces.kind && object.apiVersion === 'v1')
    return {
      isGranted: grants(grantor, namespace, origin),
      ...(origin !== '' && isSpace && grantor ? { space: grantor } : {}),
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
    const now = this.#ports.now()
    const since = this.#absentSince.get(key) ?? now
    this.#absentSince.set(key, since)
    if (now - since >= confirmMs) return undefined
    return { is: 'unknown', reason: 'ConfirmingAbsence', message: `cluster "${cluster}" says it is gone: asking again` }
  }

  #named(
    type: ResourceType,
    place: { readonly namespace?: string; readonly name: string },
  ): Promise<readonly StoredObject[]> {
    return this.#ports.client.get<StoredObject>(type, place, { metadataOnly: true }).then(
      (found) => [found],
      (error: unknown) => {
        if (isStatusError(error, 'NotFound')) return []
        throw error
      },
    )
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

export const namespaces: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  namespaced: false,
}

const confirmMs = 60_000

const clusterScopedDependent = `spec.dependent is cluster-scoped: only a Bond in namespace ${sojournNamespace} may speak for it`

/** What cannot be seen can be neither held nor guarded. */
function unseen(fact: DependencyFact): FoundDependency {
  return { fact, origin: '', isGranted: false, denial: 'asked' }
}

function unreachable(cluster: string): DependencyFact {
  return { is: 'unknown', reason: 'ClusterUnreachable', message: `cluster "${cluster}" cannot be reached` }
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
