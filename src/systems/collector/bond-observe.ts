import { grants } from '../../apis/bond-guard.ts'
import { holdFinalizer, inUseLabel, seedFinalizer, type Bond } from '../../apis/bond.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { formatSelector, requirementsOf } from '../../kube/selector.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import type { DependencyFact, DependentsFact } from './bond-decide.ts'

export interface BondObservePorts {
  readonly client: Client
  readonly now: () => number
  /** The client of another cluster; undefined while it cannot be reached. */
  readonly clusterClient?: (cluster: string) => Client | undefined
  /** Told of each kind of this cluster that a Bond speaks of. */
  readonly onType: (type: ResourceType) => void
}

/** What a Bond needs, as it was found. */
export interface FoundDependency {
  readonly fact: DependencyFact
  readonly object?: StoredObject
  readonly type?: ResourceType
  readonly home: Client
  /** Whether its namespace lets this Bond hold its deletion up. */
  readonly isGranted: boolean
}

/** Finds out what is true of both ends of a Bond. What cannot be read is unknown. */
export class BondObserver {
  readonly #ports: BondObservePorts
  /** When something in another cluster was first found absent, by `cluster/uid`. */
  readonly #absentSince = new Map<string, number>()

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

  async dependency({ spec, metadata, status }: Bond): Promise<FoundDependency> {
    const { client, clusterClient, onType } = this.#ports
    const { cluster = '', apiVersion, kind, name } = spec.dependency
    const home = cluster === '' ? client : clusterClient?.(cluster)
    if (!home)
      return {
        fact: { is: 'unknown', reason: 'ClusterUnreachable', message: `cluster "${cluster}" cannot be reached` },
        home: client,
        isGranted: false,
      }
    try {
      const type = await home.discovery.typeOf({ apiVersion, kind })
      if (!type)
        return {
          fact: { is: 'unknown', ...kindNotFound('spec.dependency', { apiVersion, kind }) },
          home,
          isGranted: false,
        }
      if (home === client) onType(type)
      const namespace = type.namespaced ? (spec.dependency.namespace ?? metadata.namespace ?? '') : ''
      const found = await home
        .get<StoredObject>(type, { name, ...(namespace ? { namespace } : {}) }, { metadataOnly: true })
        .catch(ignoring('NotFound'))
      const pinned = spec.dependency.uid ?? status?.dependencyUid
      const isThere = found !== undefined && (pinned === undefined || found.metadata.uid === pinned)
      const doubt = this.#doubt(cluster, pinned, isThere)
      if (doubt) return { fact: doubt, home, isGranted: false }
      if (!found) return { fact: { is: 'absent' }, home, isGranted: false }
      const isGranted = cluster === '' && (await this.#isGranted(metadata, found))
      return { fact: presentFact(found), object: { ...found, apiVersion, kind: type.kind }, type, home, isGranted }
    } catch (error) {
      return { fact: { is: 'unknown', ...unknownBecause(error, 'spec.dependency') }, home, isGranted: false }
    }
  }

  /** In its own namespace a Bond needs no leave; elsewhere the namespace's owner must have given it. Throws when that cannot be known. */
  async #isGranted({ namespace }: Bond['metadata'], object: StoredObject): Promise<boolean> {
    const there = object.metadata.namespace
    if (there === namespace) return true
    const grantor = there
      ? await this.#ports.client.get<StoredObject>(namespaces, { name: there }).catch(ignoring('NotFound'))
      : object
    return grants(grantor, namespace)
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

function presentFact({ metadata }: StoredObject): DependencyFact {
  const { uid, deletionTimestamp, finalizers = [], labels = {} } = metadata
  return {
    is: 'present',
    uid,
    isMarked: deletionTimestamp !== undefined,
    holdsFinalizer: finalizers.includes(holdFinalizer) || finalizers.includes(seedFinalizer),
    isGuarded: labels[inUseLabel] !== undefined,
  }
}

function kindNotFound(field: string, { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }) {
  return { reason: 'KindNotFound', message: `${field}: no ${kind} in ${apiVersion} is served` }
}

function unknownBecause(error: unknown, field: string): { reason: string; message: string } {
  const reason = isStatusError(error, 'Forbidden') ? 'Forbidden' : 'Unreadable'
  return { reason, message: `${field}: ${(error as Error).message}` }
}
