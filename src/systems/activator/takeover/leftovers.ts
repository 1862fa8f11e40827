import { deployments, endpointSlices, replicaSets, services, statefulSets } from '../../../kube/core-types.ts'
import type { Client } from '../../../client/client.ts'
import type { DiscoveredType } from '../../../client/discovery.ts'
import { kindKey } from '../../../kube/key.ts'
import {
  apiVersionOf,
  describeRef,
  refOf,
  type ResourceType,
  type StoredObject,
  placeOf,
} from '../../../kube/object.ts'
import { isStatusError, messageOf } from '../../../kube/status-error.ts'
import type { EventRecorder } from '../../../runtime/observability/event-recorder.ts'
import { Actions, isOurs as isOurMade } from '../cluster/act.ts'
import { isOnDemand, onDemandLabel } from '../model/annotations.ts'
import { readServiceSettings } from '../model/service-settings.ts'
import { companionBase } from '../model/host-claims.ts'
import type { EndpointSlice } from '../model/endpoints.ts'
import { notedReplicas } from '../cluster/observe.ts'
import { workloadId } from '../model/service-registry.ts'
import { canSleep, powerKindOf, scaledText } from '../model/power-kinds.ts'
import { asleepSince } from '../model/sleep-annotations.ts'
import type { Scale } from '../model/scales.ts'
import { conditionsOf, isOurs } from '../model/service-conditions.ts'
import { hasTakeoverState } from './takeover-state.ts'
import { ourSlices, sliceOwnerLabel } from '../decision/takeover.ts'
import { lookupIn } from './release-service.ts'

/** What an activator leaves in a cluster that is useless, or does harm, once none runs there. */
export interface Leftovers {
  /** Services that are taken over, or partly so. */
  readonly taken: readonly StoredObject[]
  /** Services, and their slices, that lead callers to proxies. */
  readonly companions: readonly Companion[]
  readonly workloads: readonly MarkedWorkload[]
  /** Services whose status says that requests wake them. */
  readonly told: readonly StoredObject[]
  /** What could not be looked at, and why. */
  readonly unread: readonly string[]
}

export interface Companion {
  readonly type: ResourceType
  readonly object: StoredObject
}

/** A workload that carries the label of those on demand. */
export interface MarkedWorkload {
  readonly type: ResourceType
  readonly object: StoredObject
  readonly replicas: number
  /** With so many it sleeps. */
  readonly least: number
  /** How many it had before it was put to sleep; undefined when it is awake, or no annotation says. */
  readonly wakesTo: number | undefined
}

/** Where to look, and with which rights. */
export interface LookIn {
  /** Only in this namespace. */
  readonly namespace?: string | undefined
  /** With the rights of an activator: a kind that it may not list, it has not scaled. */
  readonly isActivator?: boolean
}

/** Finds everything that the activator left in a cluster. Changes nothing. */
export async function findLeftovers(client: Client, where: LookIn = {}): Promise<Leftovers> {
  const unread: string[] = []
  const all = await collect(client, services, where, unread)
  const slices = await collect<EndpointSlice>(client, endpointSlices, { ...where, labelSelector: ourSlices }, unread)
  const lookup = lookupIn(all, slices)
  const isCompanion = (object: StoredObject, name: string | undefined) =>
    isOurMade(object) && companionBase(name ?? '') !== undefined
  return {
    taken: all.filter((service) => hasTakeoverState(lookup, service)),
    companions: [
      ...slices
        .filter((slice) => isCompanion(slice, slice.metadata.labels?.[sliceOwnerLabel]))
        .map((object) => ({ type: endpointSlices, object })),
      ...all
        .filter((service) => isCompanion(service, service.metadata.name))
        .map((object) => ({ type: services, object })),
    ],
    workloads: await surveyWorkloads(client, all, where, unread),
    told: all.filter((service) => conditionsOf(service).some(isOurs)),
    unread,
  }
}

async function surveyWorkloads(
  client: Client,
  all: readonly StoredObject[],
  where: LookIn,
  unread: string[],
): Promise<readonly MarkedWorkload[]> {
  const least = minReplicasByWorkload(all)
  const found: MarkedWorkload[] = []
  for (const type of await kindsNamed(client, all, unread)) {
    for (const object of (await collect(client, type, where, unread)).filter(isMarked)) {
      try {
        found.push(await judge(client, { type, object, least: least.get(workloadId(refOf(object))) ?? 0 }))
      } catch (error) {
        if (!isStatusError(error, 'NotFound')) unread.push(`${describeRef(refOf(object))}: ${messageOf(error)}`)
      }
    }
  }
  return found
}

/** Whether the activator scales it on demand, or has put it to sleep by a rule. */
function isMarked(object: StoredObject): boolean {
  return object.metadata.labels?.[onDemandLabel.key] === onDemandLabel.value || asleepSince(object) !== undefined
}

/** The kinds that are always looked after, those that can sleep, and those that Services name beside them. */
async function kindsNamed(
  client: Client,
  all: readonly StoredObject[],
  unread: string[],
): Promise<readonly ResourceType[]> {
  const served = await client.discovery.all().catch(() => [])
  const usual = [deployments, statefulSets, replicaSets, ...served.filter((type) => isOther(type))]
  const named = all.filter(isOnDemand).flatMap((service) => readServiceSettings(service).workloads)
  const others = new Map(
    named.filter(({ apiVersion }) => apiVersion !== 'apps/v1').map((ref) => [`${ref.apiVersion} ${ref.kind}`, ref]),
  )
  const types = await Promise.all(
    [...others.values()].map((ref) =>
      client.discovery.typeOf(ref).catch((error: unknown) => {
        unread.push(`${ref.kind}: ${messageOf(error)}`)
        return undefined
      }),
    ),
  )
  const isNew = (type: ResourceType) => !usual.some((each) => kindKey(each) === kindKey(type))
  return [...usual, ...types.filter((type) => type !== undefined).filter(isNew)]
}

function isOther(type: DiscoveredType): boolean {
  return type.group !== 'apps' && canSleep(type, type.subresources)
}

/** To how many replicas Services let a workload sleep, where that is not none. */
function minReplicasByWorkload(all: readonly StoredObject[]): ReadonlyMap<string, number> {
  const least = new Map<string, number>()
  for (const { workloads, scaling } of all.filter(isOnDemand).map((service) => readServiceSettings(service)))
    for (const workload of workloads.map(workloadId))
      least.set(workload, Math.max(scaling.minReplicas, least.get(workload) ?? 0))
  return least
}

async function judge(
  client: Client,
  { type, object, least }: Omit<MarkedWorkload, 'replicas' | 'wakesTo'>,
): Promise<MarkedWorkload> {
  const replicas = await replicasNow(client, type, object)
  const former = notedReplicas(object) ?? 0
  const isAsleep = replicas <= least && replicas < former
  return { type, object, least, replicas, wakesTo: isAsleep ? former : undefined }
}

async function replicasNow(client: Client, type: ResourceType, object: StoredObject): Promise<number> {
  const kind = powerKindOf(type)
  if (kind) return kind.replicas(object)
  const scale = await client.get<Scale>(type, placeOf(object.metadata), { subresource: 'scale' })
  return scale.spec?.replicas ?? 0
}

/** Restores a workload's replicas and removes our label and annotations, retrying on the newest version. */
export async function restoreWorkload(
  client: Client,
  { type, object, least }: MarkedWorkload,
  events: Pick<EventRecorder, 'record'>,
): Promise<void> {
  const ref = refOf(object)
  const actions = new Actions(client)
  for (let attempt = 1; ; attempt++) {
    const now = await actions.readAgain({ type, ref })
    if (!now || now.metadata.uid !== object.metadata.uid) return
    const { wakesTo } = await judge(client, { type, object: now, least })
    try {
      await actions.giveUp({ type, ref }, wakesTo, now.metadata.resourceVersion)
      if (wakesTo === undefined) return
      const message = `${scaledText(type, wakesTo)}, as before it slept: no activator will wake it any more.`
      return events.record(object, { type: 'Normal', reason: 'Woken', message })
    } catch (error) {
      if (!isStatusError(error, 'Conflict') || attempt === attempts) throw error
    }
  }
}

const attempts = 5

/** Removes the activator's conditions from a Service's status. */
export async function clearConditions(client: Client, service: StoredObject): Promise<void> {
  const actions = new Actions(client)
  const now = await actions.readAgain({ type: services, ref: refOf(service) })
  if (!now) return
  const conditions = conditionsOf(now)
  if (conditions.some(isOurs))
    await actions.report(
      now,
      conditions.filter((condition) => !isOurs(condition)),
    )
}

/** Everything of a type; what keeps it from being read is noted. */
async function collect<T extends StoredObject = StoredObject>(
  client: Client,
  type: ResourceType,
  { isActivator = false, namespace, ...options }: LookIn & { readonly labelSelector?: string },
  unread: string[],
): Promise<readonly T[]> {
  const found: T[] = []
  const place = namespace === undefined ? {} : { namespace }
  const isUsual = ['', 'apps', 'discovery.k8s.io'].includes(type.group)
  try {
    // Items of a list do not say what they are.
    const own = { apiVersion: apiVersionOf(type), kind: type.kind }
    for await (const { items } of client.listAll<T>(type, { ...options, ...place }))
      found.push(...items.map((each) => ({ ...each, ...own })))
  } catch (error) {
    const isForeign = isActivator && !isUsual && isStatusError(error, 'Forbidden')
    if (!isForeign && !isStatusError(error, 'NotFound')) unread.push(`${type.plural}: ${messageOf(error)}`)
  }
  return found
}
