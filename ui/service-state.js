/** @import { Mirror } from './mirror.js' */
/** @import { Service, Workload } from './types.d.ts' */
import { parseTime } from './time.js'

const defaultTtlSeconds = 300

const activatorAnnotations = [
  'proxless/deployment',
  'sojourn.dev/target',
  'proxless/domains',
  'proxless/service',
  'proxless/ttl-seconds',
  'proxless/readiness-timeout-seconds',
  'sojourn.dev/takeover',
]

/** Whether the activator manages a Service, or would if it named a workload. @param {Service} service */
export function isOnDemand({ metadata }) {
  const annotations = metadata.annotations ?? {}
  return activatorAnnotations.some((key) => key in annotations)
}

/** The workload a Service names first, if it names one. @param {Service} service */
function namedWorkload({ metadata }) {
  const annotations = metadata.annotations ?? {}
  const deployment = annotations['proxless/deployment']?.trim()
  if (deployment) return { kind: 'Deployment', name: deployment }
  const [target = ''] = (annotations['sojourn.dev/target'] ?? '').split(',')
  const [kind = '', name = ''] = target.trim().split('/').slice(-2)
  return name === '' ? undefined : { kind, name }
}

/** @type {Record<string, 'deployments' | 'statefulsets'>} */
const listOf = { Deployment: 'deployments', StatefulSet: 'statefulsets' }

/** The workload a Service names, if it exists. @param {Pick<Mirror, 'find'>} mirror @param {Service} service */
export function workloadOf(mirror, service) {
  const { kind = '', name = '' } = namedWorkload(service) ?? {}
  const list = listOf[kind]
  return list && mirror.find(list, service.metadata.namespace, name)
}

/** The route of a Service's requests, from its TakenOver condition; undefined without the takeover annotation. @param {Service} service */
export function callersOf({ metadata, status }) {
  if (!/^(true|on|yes)$/i.test(metadata.annotations?.['sojourn.dev/takeover']?.trim() ?? '')) return undefined
  const { reason, message } = conditionOf({ status }, 'sojourn.dev/TakenOver') ?? {
    reason: 'NotYet',
    message: 'No proxy has taken it over yet.',
  }
  const word = { InFront: 'through the proxy', Bypassed: 'straight to its pods' }[reason] ?? 'not taken over'
  return { word, message }
}

/** The message of the OnDemand condition, if that is False. @param {Pick<Service, 'status'>} service */
export function faultOf(service) {
  const condition = conditionOf(service, 'sojourn.dev/OnDemand')
  return condition?.status === 'False' ? `${condition.message}.` : undefined
}

/** Why the last attempt to wake it failed. @param {Pick<Service, 'status'>} service */
export function failureOf(service) {
  const condition = conditionOf(service, 'sojourn.dev/Wakeable')
  if (condition?.status !== 'False') return undefined
  return `The last attempt to wake it failed (${condition.reason}): ${condition.message.replace(/\.?$/, '.')}`
}

/**
 * @param {Pick<Service, 'status'>} service
 * @param {string} type
 * @returns {{ status: string, reason: string, message: string } | undefined}
 */
function conditionOf({ status }, type) {
  const { conditions = [] } =
    /** @type {{ conditions?: { type: string, status: string, reason: string, message: string }[] }} */ (status ?? {})
  return conditions.find((condition) => condition.type === type)
}

/** Faults and the route of requests, in the same words as `sojourn status`. @param {Service} service */
export function remarksOf(service) {
  const fault = faultOf(service)
  const callers = fault?.includes('sojourn.dev/takeover') ? undefined : callersOf(service)
  return [fault, failureOf(service), callers?.message].filter((remark) => remark !== undefined)
}

/** @typedef {{ state: string, replicas: number, why: string, lastUsedAt?: number, next?: { what: string, at: number } }} ServiceState */

/**
 * The state of an on-demand Service. The server computes the same for `sojourn status`, in src/queries/managed-items.ts.
 * @param {Pick<Mirror, 'all' | 'find'>} mirror
 * @param {Service} service
 * @param {number} now
 * @returns {ServiceState}
 */
export function serviceStateOf(mirror, service, now) {
  const own = ownStateOf(service, workloadOf(mirror, service), now)
  const home = mirror.all('environments').find(({ metadata }) => metadata.namespace === service.metadata.namespace)
  const at = parseTime(home?.status?.sleepsAt)
  if (own.state !== 'Awake' || at === undefined || ttlSecondsOf(service) !== undefined) return own
  return { ...own, next: { what: 'falls asleep', at }, why: `It sleeps with environment ${home?.metadata.name}.` }
}

/** The TTL that a Service has of its own. @param {Service} service */
function ttlSecondsOf({ metadata }) {
  const seconds = Number(metadata.annotations?.['proxless/ttl-seconds'])
  return Number.isInteger(seconds) && seconds > 0 ? seconds : undefined
}

/**
 * The state of a Service that is in no environment.
 * @param {Service} service
 * @param {Workload | undefined} workload
 * @param {number} now
 * @returns {ServiceState}
 */
function ownStateOf(service, workload, now) {
  const annotations = service.metadata.annotations ?? {}
  if (!workload) {
    const { kind = '', name } = namedWorkload(service) ?? {}
    const missing = kind in listOf ? `${kind} ${name} does not exist.` : `The dashboard does not show ${kind} ${name}.`
    return { state: 'Unknown', replicas: 0, why: name ? missing : 'It names no workload that can be used.' }
  }
  const replicas = workload.spec?.replicas ?? 1
  const lastUsedAt = parseTime(workload.metadata.annotations?.['proxless/last-used'])
  const common = { replicas, lastUsedAt }
  const hours = annotations['sojourn.dev/awake-hours']
  const wakes = hours ? `or its awake hours (${hours}) wake it` : 'wakes it'
  const hand = byHandOf(workload, now)
  if (replicas === 0) {
    const why = hand?.power === 'Asleep' ? `It was put to sleep by hand until ${hand.until}` : 'It is idle'
    return { ...common, state: 'Asleep', why: `${why}; the next request ${wakes}.` }
  }
  const awake = { ...common, state: 'Awake' }
  const and = isUnready(workload) ? 'None of its pods is ready: requests wait, or get 503. ' : ''
  if (workload.metadata.annotations?.['sojourn.dev/contended'] !== undefined)
    return { ...awake, why: `${and}Another writer keeps scaling it up, so it stays awake (Contended).` }
  if (hand?.power === 'Awake') {
    const why = `${and}It is kept awake by hand until ${hand.until}.`
    return { ...awake, next: { what: 'falls asleep', at: parseTime(hand.until) ?? now }, why }
  }
  if (/^(false|off|no|never)$/i.test(annotations['sojourn.dev/sleep']?.trim() ?? ''))
    return { ...awake, why: `${and}It is kept awake by annotation.` }
  const minReplicas = Number(annotations['sojourn.dev/min-replicas'] ?? 0)
  if (replicas <= minReplicas) return { ...awake, why: `${and}It has a minimum of ${minReplicas}.` }
  if (hours) return { ...awake, why: `${and}Outside its awake hours (${hours}) it sleeps without requests.` }
  const seconds = ttlSecondsOf(service) ?? defaultTtlSeconds
  const until = parseTime(annotations['sojourn.dev/awake-until']) ?? 0
  const at = Math.max((lastUsedAt ?? now) + seconds * 1000, until, now)
  const why = `${and}It sleeps after ${seconds === 1 ? 'one second' : `${seconds} seconds`} without requests.`
  return { ...awake, next: { what: 'falls asleep', at }, why }
}

/** What a user has asked of a workload by hand, while it lasts. @param {Workload} workload @param {number} now */
function byHandOf({ metadata: { annotations = {} } }, now) {
  const until = annotations['sojourn.dev/awake-until'] ?? annotations['sojourn.dev/asleep-until']
  if (until === undefined || (parseTime(until) ?? 0) <= now) return undefined
  return { power: 'sojourn.dev/awake-until' in annotations ? 'Awake' : 'Asleep', until }
}

/** Whether the workload's status says that no pod is ready. @param {Workload} workload */
function isUnready({ status }) {
  const { replicas, readyReplicas = 0 } = /** @type {{ replicas?: number, readyReplicas?: number }} */ (status ?? {})
  return replicas !== undefined && readyReplicas === 0
}
