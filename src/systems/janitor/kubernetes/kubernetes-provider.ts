import type { KubernetesTarget } from '../../../apis/cleanup-policy.ts'
import { kubeSubject, type Subject } from '../../../departures/subjects/subject.ts'
import { kindKey } from '../../../kube/key.ts'
import { apiVersionOf, parseApiVersion, type ResourceType, type StoredObject, placeOf } from '../../../kube/object.ts'
import { matches, requirementsOf } from '../../../kube/selector.ts'
import { ignoring, StatusError } from '../../../kube/status-error.ts'
import type { Client } from '../../../client/client.ts'
import type { Clock } from '../../../runtime/time/clock.ts'
import type { ClusterHandle } from '../../../runtime/clusters/clusters.ts'
import { parseHttpDate } from '../work/http-date.ts'
import type { Aside, Divided } from '../verdict/aside.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Observation, ObserveRequest, Provider, ResourceRef } from '../verdict/provider.ts'
import { InventoryError, type Use } from '../model/resource.ts'
import { ClusterSources } from './cluster-sources.ts'
import { aggregatedVersions, customReferences, customResidents, definedTypes } from './custom-references.ts'
import { unknownUse, type Detector, type World } from './references/detector.ts'
import { detectorFor } from './detectors.ts'
import { KubeResource } from './kube-resource.ts'
import { ownerSources } from './owner-sources.ts'
import { wellKnown, type WellKnown } from './references/well-known.ts'

export interface KubernetesProviderPorts {
  /** One use of a cluster: '' is home. */
  readonly cluster: (name: string) => ClusterHandle
  readonly clock: Clock
}

const prefix = 'kubernetes'
const neverMark = 'sojourn.dev/expiration-time'

/** Objects of any kind in any cluster, from caches that are known to be complete. */
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

  async observe({ policy, location, signal, aside }: ObserveRequest): Promise<Observation> {
    const cluster = clusterOf(location)
    const sources = this.#sources(cluster)
    const client = connected(sources.handle)
    const targets = policy.targets.flatMap(({ kubernetes }) =>
      kubernetes && clustersOf(kubernetes).includes(cluster) ? [kubernetes] : [],
    )
    const observedAt = this.#ports.clock.now()
    const parts: Divided[] = []
    for (const [index, target] of targets.entries()) {
      const look = { client, sources, target, signal, aside, index, now: observedAt }
      for (const wanted of target.resources) parts.push(await observeKind(await servedType(client, wanted), look))
    }
    return {
      resources: parts.flatMap(({ resources }) => resources),
      aside: parts.reduce((sum, part) => sum + part.aside, 0),
      observedAt,
      owners: await ownerSources(
        { client, sources, signal },
        targets.some(({ includeOwned }) => includeOwned),
      ),
    }
  }

  async subject({ cluster = '', apiVersion, kind, namespace, name }: ResourceRef): Promise<Subject> {
    const client = connected(this.#sources(cluster).handle)
    const type = await typeOf(client, { apiVersion, kind })
    return kubeSubject(client, type, { apiVersion, kind, ...placeOf({ name, namespace }) })
  }

  async mirror({ cluster = '', apiVersion, kind, namespace, name }: ResourceRef, protect: boolean): Promise<boolean> {
    const client = connected(this.#sources(cluster).handle)
    const type = await typeOf(client, { apiVersion, kind })
    const body = { metadata: { annotations: { [neverMark]: protect ? 'never' : null } } }
    const place = placeOf({ name, namespace })
    return (await client.patch(type, place, { type: 'merge', body }).catch(ignoring('NotFound'))) !== undefined
  }

  async time(location: string): Promise<number | undefined> {
    const client = connected(this.#sources(clusterOf(location)).handle)
    const { headers } = await client.request({ method: 'GET', path: '/version' })
    return parseHttpDate(headers.date)
  }

  close(): void {
    for (const sources of this.#clusters.values()) sources.close()
    this.#clusters.clear()
  }

  #sources(cluster: string): ClusterSources {
    const existing = this.#clusters.get(cluster)
    if (existing) return existing
    const sources = new ClusterSources(this.#ports.cluster(cluster))
    this.#clusters.set(cluster, sources)
    return sources
  }
}

interface Look {
  readonly client: Client
  readonly sources: ClusterSources
  readonly target: KubernetesTarget
  readonly signal: AbortSignal
  readonly aside: Aside | undefined
  /** Which of the policy's targets it is. */
  readonly index: number
  readonly now: number
}

async function observeKind(type: ResourceType, look: Look): Promise<Divided> {
  const { sources, target, signal, aside, now } = look
  const { include, exclude = [] } = target.namespaces ?? {}
  const objects = await sources.list(type, include, signal)
  const detect = await detectionFor(type, look)
  const requirements = requirementsOf(target.labelSelector ?? {})
  const options = { cluster: sources.handle.name, includeOwned: target.includeOwned ?? false, detect }
  const apiVersion = apiVersionOf(type)
  const meant = (object: StoredObject) => {
    const { namespace = '', labels } = object.metadata
    if (exclude.includes(namespace) || !matches(requirements, labels)) return undefined
    return new KubeResource(named(object, apiVersion, type.kind), options)
  }
  if (aside) return aside.divide(`${look.index}/${kindKey(type)}`, objects, { meant, now })
  return { resources: objects.map(meant).filter((resource) => resource !== undefined), aside: 0 }
}

/** Items of a list may come without kind and version. */
function named(object: StoredObject, apiVersion: string, kind: string): StoredObject {
  return object.kind && object.apiVersion ? object : { ...object, apiVersion, kind }
}

/** How objects of a type are found to be in use. What a detector cannot see leaves the use unknown, and nothing else. */
async function detectionFor(type: ResourceType, look: Look): Promise<(object: StoredObject) => Use> {
  const detector = detectorFor(kindKey(type))
  if (!detector) return () => unknownUse(`nothing is known about the use of a ${type.kind}`)
  try {
    const detect = detector.prepare(await worldFor(detector, look))
    return (object) => {
      try {
        return detect(object)
      } catch (error) {
        return unknownUse(`its use cannot be found out: ${(error as Error).message}`)
      }
    }
  } catch (error) {
    const because = (error as Error).message
    return () => unknownUse(because)
  }
}

async function worldFor(
  { needs, looksInside = false }: Detector,
  { client, sources, target, signal }: Look,
): Promise<World> {
  const lists = new Map<WellKnown, readonly StoredObject[]>()
  const read = async (kind: WellKnown) => {
    const type = wellKnown[kind]
    const served = await client.discovery.typeOf({ apiVersion: apiVersionOf(type), kind: type.kind })
    lists.set(kind, served ? await sources.list(type, undefined, signal) : [])
  }
  await Promise.all([...new Set<WellKnown>([...needs, 'customresourcedefinitions', 'apiservices'])].map(read))
  const mode = target.customReferences ?? 'Unknown'
  const types = [
    ...definedTypes(lists.get('customresourcedefinitions') ?? []),
    ...(await aggregatedTypes(client, lists.get('apiservices') ?? [])),
  ]
  const customUse = await customReferences(mode, { types, mentions: (type) => sources.mentions(type, signal) })
  const customUseIn = looksInside
    ? await customResidents(mode, { types, list: (type) => sources.list(type, undefined, signal) })
    : () => unknownUse('nobody has looked inside')
  return {
    list: (kind) => {
      const objects = lists.get(kind)
      if (!objects) throw new Error(`the detector did not say that it needs ${kind}`)
      return objects
    },
    customUse,
    customUseIn,
  }
}

/** Kinds that other servers answer for: they refer to things as custom resources do. */
async function aggregatedTypes(client: Client, services: readonly StoredObject[]): Promise<readonly ResourceType[]> {
  const versions = aggregatedVersions(services)
  if (versions.size === 0) return []
  const { types, unread } = await discovered(() => client.discovery.survey())
  const silent = unread.filter((version) => versions.has(version))
  if (silent.length > 0) throw new InventoryError(`the cluster does not say what it serves in ${silent.join()}`)
  return types.filter(
    (type) => versions.has(apiVersionOf(type)) && ['list', 'watch'].every((verb) => type.verbs.includes(verb)),
  )
}

function clustersOf({ clusters = [] }: KubernetesTarget): readonly string[] {
  return clusters.length > 0 ? clusters.map((name) => (name === 'home' ? '' : name)) : ['']
}

function clusterOf(location: string): string {
  return location.slice(prefix.length + 1)
}

function connected({ client, status, name }: ClusterHandle): Client {
  if (client && status.state === 'reachable') return client
  const because = 'because' in status ? status.because : status.state
  throw new InventoryError(`cluster ${name || 'home'} cannot be reached: ${because}`)
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

async function discovered<T>(find: () => Promise<T>): Promise<T> {
  try {
    return await find()
  } catch (error) {
    if (error instanceof StatusError)
      throw new InventoryError(`the cluster does not say what it serves: ${error.message}`, { cause: error })
    throw error
  }
}
