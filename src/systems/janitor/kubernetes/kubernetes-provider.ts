import type { CleanupPolicy, KubernetesTarget } from '../../../apis/cleanup-policy.ts'
import { kubeSubject, type Subject } from '../../../departures/subjects/subject.ts'
import { kindKey } from '../../../kube/key.ts'
import { apiVersionOf, parseApiVersion, type ResourceType, type StoredObject, placeOf } from '../../../kube/object.ts'
import { matches, requirementsOf } from '../../../kube/selector.ts'
import { ignoring } from '../../../kube/status-error.ts'
import type { Client } from '../../../client/client.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { ClusterHandle } from '../../../runtime/clusters/clusters.ts'
import { parseHttpDate } from '../../../runtime/http/http-date.ts'
import type { ExclusionCache, Divided } from '../verdict/exclusion-cache.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Observation, ObserveRequest, Provider, ResourceRef } from '../verdict/provider.ts'
import { InventoryError } from '../model/resource.ts'
import { cloudUseOf } from './cloud-use.ts'
import { ClusterSources } from './cluster-sources.ts'
import { detectionFor, discovered } from './detection.ts'
import { KubeResource } from './kube-resource.ts'
import { ownerSources } from './owner-sources.ts'

export interface KubernetesProviderPorts {
  /** Opens a use of a cluster by name; '' is the home cluster. */
  readonly cluster: (name: string) => ClusterHandle
  readonly clock: Clock
}

const prefix = 'kubernetes'
const neverMark = 'sojourn.dev/expiration-time'

/** Objects of any kind in any cluster, from informer caches that are known to be complete. */
export class KubernetesProvider implements Provider {
  readonly name = prefix
  readonly #ports: KubernetesProviderPorts
  readonly #clusters = new Map<string, ClusterSources>()

  constructor(ports: KubernetesProviderPorts) {
    this.#ports = ports
  }

  locations({ targets }: CompiledPolicy): readonly string[] {
    const clusters = targets.flatMap(({ kubernetes }) => (kubernetes ? clustersOf(kubernetes) : []))
    return [...new Set(clusters)].map((cluster) => (cluster ? `${prefix}/${cluster}` : prefix))
  }

  async observe({ policy, location, signal, exclusions }: ObserveRequest): Promise<Observation> {
    const cluster = clusterOf(location)
    const sources = this.#sources(cluster)
    const client = sources.client
    const targets = policy.targets.flatMap(({ kubernetes }) =>
      kubernetes && clustersOf(kubernetes).includes(cluster) ? [kubernetes] : [],
    )
    const observedAt = this.#ports.clock.now()
    const parts: Divided[] = []
    for (const [index, target] of targets.entries()) {
      const request = { client, sources, target, signal, exclusions, index, now: observedAt }
      for (const wanted of target.resources) parts.push(await observeKind(await servedType(client, wanted), request))
    }
    return {
      resources: parts.flatMap(({ resources }) => resources),
      skipped: parts.reduce((sum, part) => sum + part.skipped, 0),
      observedAt,
      owners: await ownerSources(
        { client, sources, signal },
        targets.some(({ includeOwned }) => includeOwned),
      ),
    }
  }

  async subject({ cluster = '', apiVersion, kind, namespace, name }: ResourceRef): Promise<Subject> {
    const client = this.#sources(cluster).client
    const type = await typeOf(client, { apiVersion, kind })
    return kubeSubject(client, type, { apiVersion, kind, ...placeOf({ name, namespace }) })
  }

  async setNeverExpires(
    { cluster = '', apiVersion, kind, namespace, name }: ResourceRef,
    isProtected: boolean,
  ): Promise<boolean> {
    const client = this.#sources(cluster).client
    const type = await typeOf(client, { apiVersion, kind })
    const body = { metadata: { annotations: { [neverMark]: isProtected ? 'never' : null } } }
    const place = placeOf({ name, namespace })
    return (await client.merge(type, place, body).catch(ignoring('NotFound'))) !== undefined
  }

  /** The images, volumes and snapshots that objects use in the home cluster and in those that policies name. Throws when one cannot be listed. */
  async cloudUse(
    policies: readonly Pick<CleanupPolicy, 'spec'>[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const targets = policies.flatMap(({ spec }) => spec.targets.flatMap(({ kubernetes }) => kubernetes ?? []))
    const clusters = new Set(['', ...targets.flatMap(clustersOf)])
    return cloudUseOf(
      [...clusters].map((name) => this.#sources(name)),
      signal,
    )
  }

  async currentTime(location: string): Promise<number | undefined> {
    const client = this.#sources(clusterOf(location)).client
    const { headers } = await client.request({ method: 'GET', path: '/version' })
    return parseHttpDate(headers.date)
  }

  close(): void {
    for (const sources of this.#clusters.values()) sources.close()
    this.#clusters.clear()
  }

  #sources(cluster: string): ClusterSources {
    return this.#clusters.getOrInsertComputed(cluster, () => new ClusterSources(this.#ports.cluster(cluster)))
  }
}

/** What it takes to list and judge the use of one target's resources. */
interface KindRequest {
  readonly client: Client
  readonly sources: ClusterSources
  readonly target: KubernetesTarget
  readonly signal: AbortSignal
  readonly exclusions: ExclusionCache | undefined
  /** The index of the target in the policy. */
  readonly index: number
  readonly now: number
}

async function observeKind(type: ResourceType, request: KindRequest): Promise<Divided> {
  const { sources, target, signal, exclusions, now } = request
  const { include, exclude = [] } = target.namespaces ?? {}
  const objects = await sources.candidates(type, include, signal)
  const detect = await detectionFor(type, {
    client: request.client,
    mode: target.customReferences,
    list: (listed) => sources.list(listed, undefined, signal),
    mentions: (listed) => sources.mentions(listed, signal),
  })
  const requirements = requirementsOf(target.labelSelector ?? {})
  const options = { cluster: sources.handle.name, includeOwned: target.includeOwned ?? false, detect }
  const apiVersion = apiVersionOf(type)
  const toResource = (object: StoredObject) => {
    const { namespace = '', labels } = object.metadata
    if (exclude.includes(namespace) || !matches(requirements, labels)) return undefined
    return new KubeResource(withKind(object, apiVersion, type.kind), options)
  }
  if (exclusions) return exclusions.divide(`${request.index}/${kindKey(type)}`, objects, { toResource, now })
  return { resources: objects.map(toResource).filter((resource) => resource !== undefined), skipped: 0 }
}

/** Items of a list may come without kind and apiVersion. */
function withKind(object: StoredObject, apiVersion: string, kind: string): StoredObject {
  return object.kind && object.apiVersion ? object : { ...object, apiVersion, kind }
}

function clustersOf({ clusters = [] }: KubernetesTarget): readonly string[] {
  return clusters.length > 0 ? clusters.map((name) => (name === 'home' ? '' : name)) : ['']
}

function clusterOf(location: string): string {
  return location.slice(prefix.length + 1)
}

async function servedType(
  client: Client,
  { group = '', version, kind }: KubernetesTarget['resources'][number],
): Promise<ResourceType> {
  if (version !== undefined) return typeOf(client, { apiVersion: apiVersionOf({ group, version }), kind })
  const find = () => client.discovery.find(group ? `${kind}.${group}` : kind)
  const known = await discovered(find)
  if (known && known.group === group) return known
  client.discovery.forget()
  const type = await discovered(find)
  if (!type || type.group !== group) throw new InventoryError(`the cluster serves no kind ${kindKey({ group, kind })}`)
  return type
}

async function typeOf(
  client: Client,
  wanted: { readonly apiVersion: string; readonly kind: string },
): Promise<ResourceType> {
  const type = await discovered(() => client.discovery.typeOf(wanted))
  if (type) return type
  client.discovery.forget()
  const { group } = parseApiVersion(wanted.apiVersion)
  throw new InventoryError(
    `the cluster serves no kind ${kindKey({ group, kind: wanted.kind })} in ${wanted.apiVersion}`,
  )
}
