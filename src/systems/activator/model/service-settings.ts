import type { WorkScheduleSpec } from '../../../apis/work-schedule.ts'
import type { ObjectRef, StoredObject } from '../../../kube/object.ts'
import { routeDefaults, type RouteConfig } from '../proxy/routing/route.ts'
import { AnnotationReader, type ActivityProbe } from './annotation-reader.ts'
import { annotation, type Fault } from './annotations.ts'

/** What a Service's annotations ask for. */
export interface ServiceSettings {
  /** First the workload that serves it, then those that wake with it. Empty when it names none correctly. */
  readonly workloads: readonly ObjectRef[]
  /** The Service whose pods serve it, in the same namespace. */
  readonly backend: string
  /** The Service's port to forward to, by name or number; its first when absent. */
  readonly port: string | undefined
  /** Domains it claims, canonical, in order. */
  readonly domains: readonly string[]
  /** The Secret with the certificate of its domains, in the same namespace. */
  readonly tlsSecret: string | undefined
  /** The Service, in the same namespace, that answers when the workload is not ready in time. */
  readonly fallback: string | undefined
  /** The ConfigMap, in the same namespace, that holds the waiting page and its files. */
  readonly waitingFiles: string | undefined
  /** How many requests at a time one pod takes, from all replicas together. */
  readonly maxRequestsPerPod: number | undefined
  readonly activityProbe: ActivityProbe | undefined
  readonly scaling: ScalingSettings
  readonly proxy: ProxySettings
  readonly takeover: TakeoverSettings
  readonly faults: readonly Fault[]
}

/** When a workload wakes and sleeps, as far as one of its Services says. */
export interface ScalingSettings {
  readonly ttlMs: number
  /** False: the TTL is the default, and gives way to the idle time of a sleep rule. */
  readonly hasOwnTtl: boolean
  readonly minReplicas: number
  readonly wakeReplicas: number | undefined
  /** False: the workload is woken and never put to sleep. */
  readonly maySleep: boolean
  readonly awakeHours: WorkScheduleSpec | undefined
  readonly awakeUntil: number | undefined
}

/** What the proxy applies to each request; it goes into the Service's route as it is. */
export type ProxySettings = Pick<
  RouteConfig,
  | 'pathPrefix'
  | 'readinessTimeoutMs'
  | 'responseTimeoutMs'
  | 'tunnelIdleMs'
  | 'maxWaiting'
  | 'waitingPage'
  | 'staticAnswers'
  | 'coldStartHeader'
  | 'probePaths'
  | 'probeAgents'
  | 'fallbackTimeoutMs'
>

export interface TakeoverSettings {
  /** Callers of the Service itself go through the proxy. */
  readonly enabled: boolean
  /** How long the workload must be warm before callers go straight to its pods; undefined is for ever. */
  readonly bypassAfterMs: number | undefined
}

/** Settings of Services that do not set them. */
export interface SettingDefaults {
  readonly ttlMs: number
  readonly readinessTimeoutMs: number
}

export const settingDefaults: SettingDefaults = { ttlMs: 300_000, readinessTimeoutMs: 60_000 }

/** Reads a Service's annotations. One with an unusable value becomes a fault, and its default applies. */
export function readServiceSettings(
  service: StoredObject,
  defaults: SettingDefaults = settingDefaults,
): ServiceSettings {
  const { annotations = {}, namespace = 'default', name } = service.metadata
  const faults: Fault[] = []
  const read = new AnnotationReader(annotations, faults)
  const { isShown, files } = read.waitingPage()
  return {
    workloads: workloadsOf(read, annotations[annotation.deployment]?.trim(), namespace),
    backend: read.text(annotation.service) ?? name,
    port: read.text(annotation.port),
    domains: read.domains(),
    tlsSecret: read.text(annotation.tlsSecret),
    fallback: read.text(annotation.fallback),
    waitingFiles: files,
    maxRequestsPerPod: read.count(annotation.maxRequestsPerPod, undefined, 1),
    activityProbe: read.activityProbe(),
    scaling: scalingSettings(read, defaults),
    proxy: proxySettings(read, defaults, isShown),
    takeover: { enabled: read.flag(annotation.takeover, false), bypassAfterMs: read.bypassAfterMs() },
    faults: [...faults, ...unknownOf(annotations)],
  }
}

/** Settings of proxless that have no meaning here are named: a user who set one expects an effect. */
function unknownOf(annotations: Readonly<Record<string, string>>): readonly Fault[] {
  const unknown = Object.keys(annotations).filter((key) => key.startsWith('proxless/') && !known.has(key))
  return unknown.map((key) => {
    const why = key.includes('interval')
      ? 'the activator acts at once on changes and on the end of the TTL, and asks at no interval'
      : `no setting has this name; there are ${[...known].filter((each) => each.startsWith('proxless/') && each !== annotation.lastUsed).join(', ')}`
    return { annotation: key, message: `has no effect: ${why}. Remove it` }
  })
}

const known: ReadonlySet<string> = new Set(Object.values(annotation))

function workloadsOf(read: AnnotationReader, deployment: string | undefined, namespace: string): ObjectRef[] {
  const main =
    deployment === undefined ? read.workloads(annotation.target, namespace) : read.deployment(deployment, namespace)
  return main.length === 0 ? [] : [...main, ...read.workloads(annotation.wakeWith, namespace)]
}

function scalingSettings(read: AnnotationReader, defaults: SettingDefaults): ScalingSettings {
  const ttlMs = read.seconds(annotation.ttl, undefined, 1)
  return {
    ttlMs: ttlMs ?? defaults.ttlMs,
    hasOwnTtl: ttlMs !== undefined,
    minReplicas: read.count(annotation.minReplicas, 0, 0),
    wakeReplicas: read.count(annotation.wakeReplicas, undefined, 1),
    // A misspelt value still means that its author wants the workload awake.
    maySleep: read.flag(annotation.sleep, true, false),
    awakeHours: read.awakeHours(),
    awakeUntil: read.time(annotation.awakeUntil),
  }
}

function proxySettings(read: AnnotationReader, defaults: SettingDefaults, waitingPage: boolean): ProxySettings {
  return {
    pathPrefix: read.pathPrefix(),
    readinessTimeoutMs: read.seconds(annotation.readiness, defaults.readinessTimeoutMs, 0),
    responseTimeoutMs: read.seconds(annotation.responseTimeout, routeDefaults.responseTimeoutMs, 1),
    tunnelIdleMs: read.seconds(annotation.tunnelIdle, routeDefaults.tunnelIdleMs, 0),
    maxWaiting: read.count<number>(annotation.maxWaiting, routeDefaults.maxWaiting, 0),
    waitingPage,
    staticAnswers: read.staticAnswers(),
    coldStartHeader: read.flag(annotation.coldStartHeader, routeDefaults.coldStartHeader),
    probePaths: read.list(annotation.probePaths),
    probeAgents: [...routeDefaults.probeAgents, ...read.list(annotation.probeAgents)],
    fallbackTimeoutMs: read.seconds(annotation.fallbackTimeout, routeDefaults.fallbackTimeoutMs, 1),
  }
}
