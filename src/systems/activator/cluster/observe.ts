import type { StoredObject } from '../../../kube/object.ts'
import { parseTime } from '../../../kube/time.ts'
import type { Informer } from '../../../runtime/cache/informer.ts'
import { annotation } from '../model/annotations.ts'
import type { Rule, Workload } from '../decision/decide.ts'
import { backendsOf, type Backends, type EndpointSlice, type ServicePort } from '../model/endpoints.ts'
import { backendId, type OnDemandService } from '../model/service-registry.ts'
import { downscalerMemory } from '../model/downscaler.ts'
import { losesDataAsleep } from '../model/power-kinds.ts'
import { asleepSince } from '../model/sleep-annotations.ts'
import { isOurSlice } from '../decision/takeover.ts'

/** The caches that are read by index. */
export interface Caches {
  readonly services: Informer
  readonly slices: Informer<EndpointSlice>
  readonly autoscalers: Informer
}

/** EndpointSlices by the Service they belong to. */
export function sliceService({ metadata: { namespace = '', labels = {} } }: EndpointSlice): string[] {
  const name = labels['kubernetes.io/service-name']
  return name === undefined ? [] : [`${namespace}/${name}`]
}

/** Autoscalers by what they scale. */
export function autoscalerTarget({ metadata: { namespace = '' }, spec }: StoredObject): string[] {
  const { scaleTargetRef } = (spec ?? {}) as {
    readonly scaleTargetRef?: { readonly kind?: string; readonly name?: string }
  }
  return scaleTargetRef?.kind && scaleTargetRef.name
    ? [`${namespace}/${scaleTargetRef.kind}/${scaleTargetRef.name}`]
    : []
}

/** A workload as the cache shows it. */
export function observeWorkload(object: StoredObject, replicas: number, autoscalers: Informer): Workload {
  const { namespace = '', name, resourceVersion, deletionTimestamp } = object.metadata
  const [autoscaler] = autoscalers.byIndex('target', `${namespace}/${object.kind}/${name}`)
  return {
    replicas,
    formerReplicas: notedReplicas(object),
    autoscalerMin: autoscaler && ((autoscaler.spec as { readonly minReplicas?: number }).minReplicas ?? 1),
    resourceVersion,
    deleting: deletionTimestamp !== undefined,
    isSlept: asleepSince(object) !== undefined || downscalerMemory in (object.metadata.annotations ?? {}),
    neverSleeps: neverSleeps(object),
  }
}

/** Why a workload is never put to sleep, whatever the rules say. */
export function neverSleeps(object: StoredObject): Workload['neverSleeps'] {
  if (losesDataAsleep(object)) return 'claims-deleted'
  return annotation.contended in (object.metadata.annotations ?? {}) ? 'contended' : undefined
}

/** When the workload was last used, as its annotation says. */
export function persistedLastUsed({ metadata: { annotations = {} } }: StoredObject): number | undefined {
  return parseTime(annotations[annotation.lastUsed])
}

/** How long the last wake of the workload took, as its annotation says. */
export function persistedWakeMs({ metadata: { annotations = {} } }: StoredObject): number | undefined {
  const seconds = Number(annotations[annotation.wakeSeconds])
  return seconds > 0 && seconds < 86_400 ? seconds * 1000 : undefined
}

/** The pods behind a Service, as its slices list them. */
export function observeBackends(
  service: OnDemandService,
  slices: Informer<EndpointSlice>,
  port: ServicePort | undefined = service.port,
): Backends {
  if (!port) return { addresses: [], protocol: 'http1' }
  return backendsOf(podSlicesOf(slices, backendId(service)), port)
}

/** The slices of a Service that list pods: those of ours may lead to the proxies, which would go round in circles. */
export function podSlicesOf(slices: Informer<EndpointSlice>, id: string): readonly EndpointSlice[] {
  return slices.byIndex('service', id).filter((slice) => !isOurSlice(slice))
}

/** What a Service asks for of the workloads behind it. */
export function ruleOf({ settings }: OnDemandService, isBypassed: boolean): Rule {
  return { ...settings.scaling, isBypassed }
}

/** How many replicas a workload had before it was last put to sleep, if that was noted. */
export function notedReplicas({ metadata: { annotations = {} } }: StoredObject): number | undefined {
  const noted = Number(annotations[annotation.formerReplicas] ?? annotations[downscalerMemory])
  return Number.isInteger(noted) && noted > 0 ? noted : undefined
}
