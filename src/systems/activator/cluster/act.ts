import { configMaps, endpointSlices, pods, services } from '../../../kube/core-types.ts'
import type { Client } from '../../../client/client.ts'
import { ownLabel, removeOwn } from '../../../departures/subjects/own-machinery.ts'
import { type KubeObject, type ObjectRef, type ResourceType, type StoredObject, placeOf } from '../../../kube/object.ts'
import { deepEqual } from '../../../kube/patches/patch.ts'
import { ignoring, isStatusError } from '../../../kube/status-error.ts'
import { formatTime } from '../../../kube/time.ts'
import { findCondition, type Condition } from '../../../kube/conditions.ts'
import { formatSelector, requirementsOf, type LabelSelector } from '../../../kube/selector.ts'
import { podFailure } from '../model/pod-failure.ts'
import type { WakeFailure } from '../model/service-conditions.ts'
import { annotation, onDemandLabel } from '../model/annotations.ts'
import { downscalerMemory } from '../model/downscaler.ts'
import { powerKindOf } from '../model/power-kinds.ts'
import { companionName } from '../model/host-claims.ts'
import { portsOf } from '../model/endpoints.ts'
import { persistedLastUsed } from './observe.ts'
import { ownedMetadata, ownSlice, sliceTo } from '../decision/takeover.ts'
import { writeSlice } from './takeover-actions.ts'
import type { Scale } from '../model/scales.ts'

const attempts = 5

/** Owns the replicas of what is awake: tools that ignore what `sojourn` owns do so only while a workload sleeps. */
const awakeManager = 'sojourn-awake'

const notSlept = { [annotation.asleepSince]: null, [downscalerMemory]: null }

/** A workload and where it is served. */
export interface ScaleTarget {
  readonly type: ResourceType
  readonly ref: ObjectRef
}

/** A use of a workload that is worth a write, as far as what was seen of the workload tells. */
export interface LastUse {
  readonly at: number
  readonly seen: StoredObject
}

/** What is noted of a workload in the write that scales it. */
interface NotedMetadata {
  readonly resourceVersion: string
  readonly labels?: Readonly<Record<string, string | null>>
  readonly annotations: Readonly<Record<string, string | null>>
}

/** The Service through which callers inside the cluster reach the proxy, and its slice, as far as they exist. */
export interface Companion {
  readonly service: StoredObject | undefined
  readonly slice: StoredObject | undefined
}

interface ProxyAddresses {
  readonly addresses: readonly string[]
  readonly port: number
  /** No replica will stay behind: a companion must not lead to addresses that others may get. */
  readonly isReleasing?: boolean
}

interface ManagedFields {
  readonly manager?: string
  readonly fieldsV1?: unknown
}

/** Everything the activator writes. Each write carries the version it rests on. */
export class Actions {
  readonly #client: Client

  constructor(client: Client) {
    this.#client = client
  }

  /** A ConfigMap's files; `absent`, or what keeps us from knowing them. */
  async readConfigMap(place: { readonly namespace: string; readonly name: string }): Promise<StoredObject | string> {
    try {
      return await this.#client.get<StoredObject>(configMaps, place)
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return 'absent'
      return error instanceof Error ? error.message : String(error)
    }
  }

  /**
   * Scales up from zero, once over all replicas: a second writer gets a conflict and sees that it is done. Returns the
   * version written, or undefined when another writer was first. A wake by a request is a use, and is noted as one.
   */
  async wake(
    { type, ref }: ScaleTarget,
    replicas: number,
    seenVersion: string,
    usedAt?: number,
  ): Promise<string | undefined> {
    const annotations = usedAt === undefined ? notSlept : { ...notSlept, [annotation.lastUsed]: formatTime(usedAt) }
    let resourceVersion = seenVersion
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#setReplicas({ type, ref }, replicas, { resourceVersion, annotations }, awakeManager)
      } catch (error) {
        if (!isStatusError(error, 'Conflict') || attempt === attempts) throw error
      }
      const now = await this.#replicasNow({ type, ref })
      if (now.replicas > 0 && replicas > 0) return undefined
      resourceVersion = now.resourceVersion
    }
  }

  /** Scales down exactly the version that was judged, and notes how many there were. Throws Conflict when it has changed. */
  async sleep(
    { type, ref }: ScaleTarget,
    sleep: {
      readonly replicas: number
      readonly former: number
      /** Undefined where no Service leads to it. */
      readonly lastUsedAt: number | undefined
      /** How long the last wake took, if this process saw it. */
      readonly wakeMs?: number | undefined
      readonly resourceVersion: string
      readonly now: number
    },
  ): Promise<string> {
    const annotations = {
      [annotation.formerReplicas]: String(sleep.former),
      [annotation.asleepSince]: formatTime(sleep.now),
      ...(sleep.lastUsedAt === undefined ? {} : { [annotation.lastUsed]: formatTime(sleep.lastUsedAt) }),
      ...(sleep.wakeMs === undefined
        ? {}
        : { [annotation.wakeSeconds]: Math.max(0.1, sleep.wakeMs / 1000).toFixed(1) }),
    }
    const { resourceVersion } = sleep
    return this.#setReplicas({ type, ref }, sleep.replicas, { resourceVersion, annotations }, undefined)
  }

  /** Notes that another writer has scaled it up, when that was a use, and who it was if the activator gives way to that writer. */
  async noteRise(
    { type, ref }: ScaleTarget,
    { usedAt, contended }: { readonly usedAt: number | undefined; readonly contended?: string },
  ): Promise<string> {
    const annotations = {
      ...notSlept,
      ...(usedAt === undefined ? {} : { [annotation.lastUsed]: formatTime(usedAt) }),
      ...(contended === undefined ? {} : { [annotation.contended]: contended }),
    }
    return (await this.#client.merge(type, placeOf(ref), { metadata: { annotations } })).metadata.resourceVersion
  }

  /** What keeps the pods of a workload from becoming ready, as far as its status and its pods say. */
  async whyNotReady({ metadata, spec, status }: StoredObject): Promise<WakeFailure | undefined> {
    const { conditions = [] } = (status ?? {}) as { readonly conditions?: readonly Condition[] }
    const denied = findCondition(conditions, 'ReplicaFailure')
    if (denied?.status === 'True') return { reason: denied.reason || 'ReplicaFailure', message: denied.message }
    const { selector } = (spec ?? {}) as { readonly selector?: LabelSelector }
    if (!selector) return undefined
    const labelSelector = formatSelector(requirementsOf(selector))
    const where = metadata.namespace ? { namespace: metadata.namespace } : {}
    // Without the right to list pods the reason stays unknown.
    const found = await this.#client.list(pods, { ...where, labelSelector, limit: 20 }).catch(() => undefined)
    return found?.items.map(podFailure).find((failure) => failure !== undefined)
  }

  /** The field manager that set the replicas of a workload, if the API server says. Caches leave that out. */
  async scaledBy(target: ScaleTarget): Promise<string | undefined> {
    const { managedFields = [] } = (await this.readAgain(target))?.metadata ?? {}
    return (managedFields as readonly ManagedFields[]).findLast(({ fieldsV1 }) =>
      JSON.stringify(fieldsV1 ?? {}).includes('"f:replicas"'),
    )?.manager
  }

  /** One write where the object itself says how many; otherwise its scale is written after what is noted of a sleep. */
  async #setReplicas(
    { type, ref }: ScaleTarget,
    replicas: number,
    metadata: NotedMetadata,
    fieldManager: string | undefined,
  ): Promise<string> {
    const manager = fieldManager === undefined ? {} : { fieldManager }
    const write = async (body: object) =>
      (await this.#client.merge(type, placeOf(ref), body, manager)).metadata.resourceVersion
    const kind = powerKindOf(type)
    if (kind) {
      const { annotations, ...fields } = kind.patch(replicas)
      return write({ metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } }, ...fields })
    }
    // What is noted must be there before it sleeps, and until it is awake.
    const resourceVersion = replicas === 0 ? await write({ metadata }) : metadata.resourceVersion
    const scale = await this.#scale({ type, ref }, replicas, resourceVersion)
    const { resourceVersion: _, ...noted } = metadata
    return replicas === 0 ? scale.metadata.resourceVersion : write({ metadata: noted })
  }

  async #replicasNow({ type, ref }: ScaleTarget): Promise<{ replicas: number; resourceVersion: string }> {
    const kind = type.group === 'apps' ? undefined : powerKindOf(type)
    const object = kind && (await this.readAgain({ type, ref }))
    if (kind && object) return { replicas: kind.replicas(object), resourceVersion: object.metadata.resourceVersion }
    const { spec, metadata } = await this.#client.get<Scale>(type, placeOf(ref), { subresource: 'scale' })
    return { replicas: spec?.replicas ?? 0, resourceVersion: metadata.resourceVersion }
  }

  /**
   * Sets or removes the on-demand label of a workload, and writes its last use. The newest last use wins, whichever replica
   * writes last: it is written only over an older one that was read. Returns the version written, if any was.
   */
  async mark(
    { type, ref }: ScaleTarget,
    { onDemand, lastUsed }: { readonly onDemand?: boolean; readonly lastUsed?: LastUse },
  ): Promise<string | undefined> {
    const labels = onDemand === undefined ? {} : { [onDemandLabel.key]: onDemand ? onDemandLabel.value : null }
    for (let attempt = 1, now = lastUsed?.seen; ; attempt++) {
      const isNews = lastUsed !== undefined && isNewer(lastUsed, now)
      if (onDemand === undefined && !isNews) return undefined
      const { resourceVersion } = now?.metadata ?? {}
      const annotations = { [annotation.lastUsed]: formatTime(lastUsed?.at ?? 0) }
      const body = { metadata: { labels, ...(isNews ? { resourceVersion, annotations } : {}) } }
      try {
        return (await this.#client.merge(type, placeOf(ref), body)).metadata.resourceVersion
      } catch (error) {
        if (isStatusError(error, 'NotFound')) return undefined
        if (!isStatusError(error, 'Conflict') || attempt === attempts) throw error
      }
      now = await this.readAgain({ type, ref })
    }
  }

  /** Notes the last day of a workload, for charts. */
  async noteDay({ type, ref }: ScaleTarget, day: string): Promise<void> {
    const body = { metadata: { annotations: { [annotation.lastDay]: day } } }
    await this.#client.patch(type, placeOf(ref), { type: 'merge', body }).catch(ignoring('NotFound'))
  }

  /** As the one item of a list: that takes no right but the one that caches need. */
  async readAgain({ type, ref: { namespace, name } }: ScaleTarget): Promise<StoredObject | undefined> {
    const where = namespace ? { namespace } : {}
    const { items } = await this.#client.list(type, { ...where, fieldSelector: `metadata.name=${name}` })
    return items[0]
  }

  /** Puts replicas back, where some are named, and takes off everything we noted. Throws Conflict when it has changed. */
  async giveUp({ type, ref }: ScaleTarget, replicas: number | undefined, seenVersion: string): Promise<void> {
    const annotations = {
      ...notSlept,
      [annotation.formerReplicas]: null,
      [annotation.lastUsed]: null,
      [annotation.lastDay]: null,
      [annotation.wakeSeconds]: null,
      [annotation.contended]: null,
    }
    const metadata = { resourceVersion: seenVersion, labels: { [onDemandLabel.key]: null }, annotations }
    if (replicas !== undefined) await this.#setReplicas({ type, ref }, replicas, metadata, awakeManager)
    else await this.#client.merge(type, placeOf(ref), { metadata })
  }

  /** Says in a Service's status how it stands. */
  async report(service: StoredObject, conditions: readonly Condition[]): Promise<void> {
    const { resourceVersion } = service.metadata
    const body = { metadata: { resourceVersion }, status: { conditions } }
    const place = placeOf(service.metadata)
    await this.#client.merge(services, place, body, { subresource: 'status' }).catch(ignoring('NotFound', 'Conflict'))
  }

  /** Sees to the Service through which callers inside the cluster reach the proxy, and to where it leads. */
  async ensureCompanion(service: StoredObject, existing: Companion, proxy: ProxyAddresses): Promise<void> {
    const wanted = companionOf(service, proxy.port)
    if (!existing.service) await this.#client.create(services, wanted).catch(ignoring('AlreadyExists'))
    else if (isOurs(existing.service) && !sameShape(existing.service, wanted)) {
      await this.#client.merge(services, placeOf(existing.service.metadata), { spec: wanted.spec })
    }
    if (existing.service && !isOurs(existing.service)) return
    if (existing.slice && !isOurs(existing.slice)) return
    if (proxy.addresses.length === 0 && !(proxy.isReleasing && existing.slice)) return
    const slice = sliceOf(service, proxy)
    const content = (of: KubeObject | undefined) => [of?.['endpoints'], of?.['ports']]
    if (!deepEqual(content(existing.slice), content(slice))) await writeSlice(this.#client, slice)
  }

  /** Removes a companion that is ours; a Service of that name without our label stays. */
  async removeCompanion(existing: Companion): Promise<void> {
    if (existing.slice && isOurs(existing.slice)) await removeOwn(this.#client, endpointSlices, existing.slice)
    if (existing.service && isOurs(existing.service)) await removeOwn(this.#client, services, existing.service)
  }

  #scale({ type, ref }: ScaleTarget, replicas: number, resourceVersion: string): Promise<Scale> {
    const body = { metadata: { resourceVersion }, spec: { replicas } }
    return this.#client.merge<Scale>(type, placeOf(ref), body, { subresource: 'scale' })
  }
}

/** Whether a workload is still the one that was seen, and says of no later use. It is written in whole seconds. */
function isNewer({ at, seen }: LastUse, now: StoredObject | undefined): boolean {
  return now?.metadata.uid === seen.metadata.uid && (persistedLastUsed(now) ?? 0) <= at - 1000
}

/** Whether we made it: by our label. */
export function isOurs({ metadata: { labels = {} } }: StoredObject): boolean {
  return Object.entries(ownLabel).every(([key, value]) => labels[key] === value)
}

function companionOf(service: StoredObject, port: number): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: ownedMetadata(service, companionName(service.metadata.name)),
    spec: {
      ports: portsOf(service).map((each) => ({
        ...(each.name === undefined ? {} : { name: each.name }),
        port: each.port,
        protocol: each.protocol ?? 'TCP',
        targetPort: port,
      })),
    },
  }
}

function sliceOf(service: StoredObject, { addresses, port }: ProxyAddresses): KubeObject {
  const name = companionName(service.metadata.name)
  const leading = portsOf(service).map((each) => ({ name: each.name ?? '', port, protocol: 'TCP' }))
  return sliceTo(ownSlice(service, name, name), addresses, leading)
}

function sameShape(existing: StoredObject, wanted: KubeObject): boolean {
  const shape = (object: KubeObject) =>
    portsOf(object as StoredObject).map(({ name, port, targetPort }) => [name, port, targetPort])
  return JSON.stringify(shape(existing)) === JSON.stringify(shape(wanted))
}
