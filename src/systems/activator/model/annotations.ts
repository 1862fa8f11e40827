import type { WorkScheduleSpec } from '../../../apis/work-schedule.ts'
import type { ObjectRef, StoredObject } from '../../../kube/object.ts'
import { parseTime } from '../../../kube/time.ts'
import { parseAwakeHours } from './awake-hours.ts'
import { configuredHost } from '../proxy/wire/host.ts'
import { routeDefaults } from '../proxy/routing/route.ts'
import type { StaticAnswer } from '../proxy/routing/static-answer.ts'
import { readStaticAnswers } from './static-answers.ts'

/** The annotations of proxless, as its users know them, and ours beside them. */
export const annotation = {
  deployment: 'proxless/deployment',
  domains: 'proxless/domains',
  ttl: 'proxless/ttl-seconds',
  readiness: 'proxless/readiness-timeout-seconds',
  service: 'proxless/service',
  lastUsed: 'proxless/last-used',
  target: 'sojourn.dev/target',
  wakeWith: 'sojourn.dev/wake-with',
  formerReplicas: 'sojourn.dev/former-replicas',
  minReplicas: 'sojourn.dev/min-replicas',
  wakeReplicas: 'sojourn.dev/wake-replicas',
  awakeHours: 'sojourn.dev/awake-hours',
  awakeUntil: 'sojourn.dev/awake-until',
  sleep: 'sojourn.dev/sleep',
  waitingPage: 'sojourn.dev/waiting-page',
  coldStartHeader: 'sojourn.dev/cold-start-header',
  maxWaiting: 'sojourn.dev/max-waiting',
  maxRequestsPerPod: 'sojourn.dev/max-requests-per-pod',
  staticAnswers: 'sojourn.dev/static-answers',
  responseTimeout: 'sojourn.dev/response-timeout-seconds',
  tunnelIdle: 'sojourn.dev/tunnel-idle-seconds',
  pathPrefix: 'sojourn.dev/path-prefix',
  probePaths: 'sojourn.dev/probe-paths',
  probeAgents: 'sojourn.dev/probe-agents',
  port: 'sojourn.dev/port',
  tlsSecret: 'sojourn.dev/tls-secret',
  fallback: 'sojourn.dev/fallback-service',
  fallbackTimeout: 'sojourn.dev/fallback-timeout-seconds',
  takeover: 'sojourn.dev/takeover',
  selector: 'sojourn.dev/selector',
  proxyPorts: 'sojourn.dev/proxy-ports',
  bypassAfter: 'sojourn.dev/bypass-after-seconds',
  activityProbe: 'sojourn.dev/activity-probe',
} as const

/** The label of every workload that is on demand. */
export const onDemandLabel = { key: 'proxless', value: 'true' } as const

/** An annotation that cannot be used as it is. The rest of the Service works as if it were not there. */
export interface Fault {
  readonly annotation: string
  readonly message: string
}

/** What a Service asks for. */
export interface ServiceSettings {
  /** The workload first that serves it, then those that are woken with it. Empty when none is named rightly. */
  readonly workloads: readonly ObjectRef[]
  /** The Service whose pods serve it, in the same namespace. */
  readonly backend: string
  /** Domains it claims, canonical, in order. */
  readonly domains: readonly string[]
  /** The Service, in the same namespace, that answers when the workload is not ready in time. */
  readonly fallback: string | undefined
  readonly fallbackTimeoutMs: number
  /** The Secret with the certificate of its domains, in the same namespace. */
  readonly tlsSecret: string | undefined
  /** The Service's port to forward to, by name or number; its first when absent. */
  readonly port: string | undefined
  readonly ttlMs: number
  readonly readinessTimeoutMs: number
  readonly responseTimeoutMs: number
  readonly tunnelIdleMs: number
  readonly minReplicas: number
  readonly wakeReplicas: number | undefined
  readonly awakeHours: WorkScheduleSpec | undefined
  readonly awakeUntil: number | undefined
  /** False: it is woken, and never put to sleep. */
  readonly maySleep: boolean
  readonly waitingPage: boolean
  /** The ConfigMap, in the same namespace, that the page and its files are in. */
  readonly waitingFiles: string | undefined
  readonly staticAnswers: readonly StaticAnswer[]
  readonly coldStartHeader: boolean
  readonly maxWaiting: number
  /** How many requests at a time one pod takes, from all replicas together. */
  readonly maxRequestsPerPod: number | undefined
  readonly pathPrefix: string
  readonly probePaths: readonly string[]
  readonly probeAgents: readonly string[]
  /** Callers of the Service itself are to come through the proxy. */
  readonly takeover: boolean
  /** How long it must be warm before they go straight to its pods; undefined is for ever. */
  readonly bypassAfterMs: number | undefined
  readonly activityProbe: ActivityProbe | undefined
  readonly faults: readonly Fault[]
}

/** Where each pod tells how many connections or requests it has open. */
export interface ActivityProbe {
  /** The Service's port, by name or number; its first when absent. */
  readonly port: string | undefined
  readonly path: string
}

export interface SettingDefaults {
  readonly ttlMs: number
  readonly readinessTimeoutMs: number
}

export const settingDefaults: SettingDefaults = { ttlMs: 300_000, readinessTimeoutMs: 60_000 }

/** Whether a Service asks for anything at all. */
export function isOnDemand({ metadata: { annotations = {} } }: StoredObject): boolean {
  return annotation.deployment in annotations || annotation.target in annotations
}

/** Annotations that say nothing without a workload. */
const needy = [annotation.domains, annotation.service, annotation.ttl, annotation.readiness, annotation.takeover]

/** What a Service lacks that means to be on demand and names no workload. */
export function missingTarget(service: StoredObject): Fault | undefined {
  const { annotations = {} } = service.metadata
  const given = isOnDemand(service) ? undefined : needy.find((key) => key in annotations)
  if (given === undefined) return undefined
  const message = `is missing: beside ${given} it has to name the Deployment to wake (or ${annotation.target} another workload)`
  return { annotation: annotation.deployment, message }
}

/** Reads what a Service asks for. What is wrong becomes a fault that names its annotation, and its default. */
export function readServiceSettings(
  service: StoredObject,
  defaults: SettingDefaults = settingDefaults,
): ServiceSettings {
  const { annotations = {}, namespace = 'default', name } = service.metadata
  const faults: Fault[] = []
  const read = new AnnotationReader(annotations, faults)
  const named = annotations[annotation.deployment]?.trim()
  const { isShown, files } = read.waitingPage()
  const main = named === undefined ? read.workloads(annotation.target, namespace) : read.deployment(named, namespace)
  return {
    workloads: main.length === 0 ? [] : [...main, ...read.workloads(annotation.wakeWith, namespace)],
    backend: annotations[annotation.service]?.trim() || name,
    domains: read.domains(),
    fallback: annotations[annotation.fallback]?.trim() || undefined,
    fallbackTimeoutMs: read.seconds(annotation.fallbackTimeout, routeDefaults.fallbackTimeoutMs, 1),
    tlsSecret: annotations[annotation.tlsSecret]?.trim() || undefined,
    port: annotations[annotation.port]?.trim() || undefined,
    ttlMs: read.seconds(annotation.ttl, defaults.ttlMs, 1),
    readinessTimeoutMs: read.seconds(annotation.readiness, defaults.readinessTimeoutMs, 0),
    responseTimeoutMs: read.seconds(annotation.responseTimeout, routeDefaults.responseTimeoutMs, 1),
    tunnelIdleMs: read.seconds(annotation.tunnelIdle, routeDefaults.tunnelIdleMs, 0),
    minReplicas: read.count(annotation.minReplicas, 0, 0) ?? 0,
    wakeReplicas: read.count(annotation.wakeReplicas, undefined, 1),
    awakeHours: read.awakeHours(),
    awakeUntil: read.time(annotation.awakeUntil),
    // Whoever writes it means to keep it awake, however it is spelled.
    maySleep: read.flag(annotation.sleep, true, false),
    waitingPage: isShown,
    waitingFiles: files,
    staticAnswers: read.staticAnswers(),
    coldStartHeader: read.flag(annotation.coldStartHeader, routeDefaults.coldStartHeader),
    maxWaiting: read.count(annotation.maxWaiting, routeDefaults.maxWaiting, 0) ?? routeDefaults.maxWaiting,
    maxRequestsPerPod: read.count(annotation.maxRequestsPerPod, undefined, 1),
    pathPrefix: read.pathPrefix(),
    probePaths: listOf(annotations[annotation.probePaths]),
    probeAgents: [...routeDefaults.probeAgents, ...listOf(annotations[annotation.probeAgents])],
    takeover: read.flag(annotation.takeover, false),
    activityProbe: read.activityProbe(),
    bypassAfterMs: read.bypassAfterMs(),
    faults,
  }
}

const namePattern = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/
const appsKinds = new Set(['Deployment', 'StatefulSet', 'ReplicaSet'])

class AnnotationReader {
  readonly #annotations: Readonly<Record<string, string>>
  readonly #faults: Fault[]

  constructor(annotations: Readonly<Record<string, string>>, faults: Fault[]) {
    this.#annotations = annotations
    this.#faults = faults
  }

  deployment(name: string, namespace: string): ObjectRef[] {
    if (namePattern.test(name)) return [{ apiVersion: 'apps/v1', kind: 'Deployment', namespace, name }]
    const hint = name.includes('/')
      ? 'names another namespace, and a workload must be in that of its Service'
      : 'is not the name of a Deployment'
    return this.#wrong(annotation.deployment, `"${name}" ${hint}`, [])
  }

  /** `Kind/name` of the apps group, or `group/version/Kind/name` of any. */
  workloads(key: string, namespace: string): ObjectRef[] {
    return listOf(this.#annotations[key]).flatMap((written) => {
      const parts = written.split('/')
      const name = parts.at(-1) ?? ''
      const kind = parts.at(-2) ?? ''
      const isApps = parts.length === 2 && appsKinds.has(kind)
      if ((!isApps && parts.length !== 4) || !namePattern.test(name)) {
        const message = `"${written}" is neither Deployment/NAME, StatefulSet/NAME nor GROUP/VERSION/KIND/NAME`
        return this.#wrong(key, message, [])
      }
      return [{ apiVersion: isApps ? 'apps/v1' : `${parts[0]}/${parts[1]}`, kind, namespace, name }]
    })
  }

  domains(): string[] {
    const hosts = listOf(this.#annotations[annotation.domains]).flatMap((written) => {
      const host = configuredHost(written)
      return host === undefined ? this.#wrong(annotation.domains, `"${written}" is not a host name`, []) : [host]
    })
    return [...new Set(hosts)]
  }

  seconds(key: string, otherwiseMs: number, least: number): number {
    const seconds = this.count(key, undefined, least)
    return seconds === undefined ? otherwiseMs : seconds * 1000
  }

  count<D extends number | undefined>(key: string, otherwise: D, least: number): number | D {
    const text = this.#annotations[key]?.trim()
    if (text === undefined || text === '') return otherwise
    const value = /^-?[0-9]{1,9}$/.test(text) ? Number(text) : Number.NaN
    if (value >= least) return value
    return this.#wrong(key, `"${text}" is not a whole number of at least ${least}`, otherwise)
  }

  flag(key: string, otherwise: boolean, ifWrong = otherwise): boolean {
    const text = this.#annotations[key]?.trim().toLowerCase()
    if (text === undefined || text === '') return otherwise
    if (text === 'true' || text === 'on' || text === 'yes') return true
    if (text === 'false' || text === 'off' || text === 'no' || text === 'never') return false
    return this.#wrong(key, `"${text}" is neither true nor false`, ifWrong)
  }

  /** A flag, or `ConfigMap/NAME`. */
  waitingPage(): { readonly isShown: boolean; readonly files: string | undefined } {
    const text = this.#annotations[annotation.waitingPage]?.trim() ?? ''
    const [kind, name = '', ...more] = text.split('/')
    if (kind !== 'ConfigMap')
      return { isShown: this.flag(annotation.waitingPage, routeDefaults.waitingPage), files: undefined }
    if (namePattern.test(name) && more.length === 0) return { isShown: true, files: name }
    const message = `"${text}" is not ConfigMap/NAME of one in the namespace of the Service`
    return this.#wrong(annotation.waitingPage, message, { isShown: true, files: undefined })
  }

  staticAnswers(): readonly StaticAnswer[] {
    const text = this.#annotations[annotation.staticAnswers]?.trim()
    if (text === undefined || text === '') return []
    const { answers, problems } = readStaticAnswers(text)
    for (const problem of problems) this.#wrong(annotation.staticAnswers, problem, undefined)
    return answers
  }

  time(key: string): number | undefined {
    const text = this.#annotations[key]?.trim()
    if (text === undefined || text === '') return undefined
    return parseTime(text) ?? this.#wrong(key, `"${text}" is not a time such as 2026-12-24T18:00:00Z`, undefined)
  }

  awakeHours(): WorkScheduleSpec | undefined {
    const text = this.#annotations[annotation.awakeHours]?.trim()
    if (text === undefined || text === '') return undefined
    const hint = 'is not like "Mon-Fri 08:00-18:00 Europe/Berlin"'
    return parseAwakeHours(text) ?? this.#wrong(annotation.awakeHours, `"${text}" ${hint}`, undefined)
  }

  pathPrefix(): string {
    const text = this.#annotations[annotation.pathPrefix]?.trim()
    if (text === undefined || text === '') return routeDefaults.pathPrefix
    if (/^\/[!-~]*$/.test(text)) return text
    return this.#wrong(annotation.pathPrefix, `"${text}" is not a path`, routeDefaults.pathPrefix)
  }

  /** `/path`, or `PORT/path`. */
  activityProbe(): ActivityProbe | undefined {
    const text = this.#annotations[annotation.activityProbe]?.trim()
    if (text === undefined || text === '') return undefined
    const [, port, path] = /^([a-z0-9-]*)(\/[!-~]*)$/.exec(text) ?? []
    if (path === undefined)
      return this.#wrong(annotation.activityProbe, `"${text}" is neither /PATH nor PORT/PATH`, undefined)
    return { port: port || undefined, path }
  }

  bypassAfterMs(): number | undefined {
    const seconds = this.count(annotation.bypassAfter, undefined, 1)
    if (seconds === undefined) return undefined
    const missing = [annotation.takeover, annotation.activityProbe].find((key) => !this.#annotations[key]?.trim())
    if (missing === undefined) return seconds * 1000
    return this.#wrong(annotation.bypassAfter, `needs ${missing}: else nobody could tell when it is idle`, undefined)
  }

  #wrong<T>(key: string, message: string, otherwise: T): T {
    this.#faults.push({ annotation: key, message })
    return otherwise
  }
}

function listOf(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')
}
