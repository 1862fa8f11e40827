/** @import { Mirror } from './mirror.js' */
/** @import { Service, Workload } from './types.d.ts' */
import { parseTime } from './time.js'

const defaultTtlSeconds = 300

const asking = [
  'proxless/deployment',
  'sojourn.dev/target',
  'proxless/domains',
  'proxless/service',
  'proxless/ttl-seconds',
  'proxless/readiness-timeout-seconds',
  'sojourn.dev/takeover',
]

/** Services that the activator wakes and puts to sleep, or would if they named a workload. @param {Service} service */
export function isOnDemand({ metadata }) {
  const annotations = metadata.annotations ?? {}
  return asking.some((key) => key in annotations)
}

/** The workload a Service names first, if it names one. @param {Service} service */
function namedBy({ metadata }) {
  const annotations = metadata.annotations ?? {}
  const deployment = annotations['proxless/deployment']?.trim()
  if (deployment) return { kind: 'Deployment', name: deployment }
  const [target = ''] = (annotations['sojourn.dev/target'] ?? '').split(',')
  const [kind = '', name = ''] = target.trim().split('/').slice(-2)
  return name === '' ? undefined : { kind, name }
}

/** @type {Record<string, 'deployments' | 'statefulsets'>} */
const listOf = { Deployment: 'deployments', StatefulSet: 'statefulsets' }

/** The workload a Service names, if that is there. @param {Pick<Mirror, 'find'>} mirror @param {Service} service */
export function workloadOf(mirror, service) {
  const { kind = '', name = '' } = namedBy(service) ?? {}
  const list = listOf[kind]
  return list && mirror.find(list, service.metadata.namespace, name)
}

/** How a Service's callers go: by its condition, where it asks to be taken over. @param {Service} service */
export function callersOf({ metadata, status }) {
  if (!/^(true|on|yes)$/i.test(metadata.annotations?.['sojourn.dev/takeover']?.trim() ?? '')) return undefined
  const { reason, message } = conditionOf({ status }, 'sojourn.dev/TakenOver') ?? {
    reason: 'NotYet',
    message: 'No proxy has taken it over yet.',
  }
  const word = { InFront: 'through the proxy', Bypassed: 'straight to its pods' }[reason] ?? 'not taken over'
  return { word, message }
}

/** What is wrong with a Service, in the server's words. @param {Pick<Service, 'status'>} service */
export function faultOf(service) {
  const condition = conditionOf(service, 'sojourn.dev/OnDemand')
  return condition?.status === 'False' ? `${condition.message}.` : undefined
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

/** What else there is to say of a Service, as the server says it in `sojourn status`. @param {Service} service */
export function remarksOf(service) {
  const fault = faultOf(service)
  const callers = fault?.includes('sojourn.dev/takeover') ? undefined : callersOf(service)
  return [fault, callers?.message].filter((remark) => remark !== undefined)
}

/**
 * How an on-demand Service stands, told from its objects alone; the server tells the same in `sojourn status`.
 * @param {Service} service
 * @param {Workload | undefined} workload
 * @param {number} now
 * @returns {{ state: string, replicas: number, why: string, lastUsedAt?: number, next?: { what: string, at: number } }}
 */
export function standingOf(service, workload, now) {
  const annotations = service.metadata.annotations ?? {}
  if (!workload) {
    const { kind = '', name } = namedBy(service) ?? {}
    const missing = kind in listOf ? `${kind} ${name} does not exist.` : `Its ${kind} ${name} is not followed here.`
    return { state: 'Unknown', replicas: 0, why: name ? missing : 'It names no workload that can be used.' }
  }
  const replicas = workload.spec?.replicas ?? 1
  const lastUsedAt = parseTime(workload.metadata.annotations?.['proxless/last-used'])
  const common = { replicas, lastUsedAt }
  const hours = annotations['sojourn.dev/awake-hours']
  const wakes = hours ? `or its awake hours (${hours}) wake it` : 'wakes it'
  if (replicas === 0) return { ...common, state: 'Asleep', why: `Nobody used it; the next request ${wakes}.` }
  const awake = { ...common, state: 'Awake' }
  const and = isUnready(workload) ? 'None of its pods is ready: callers wait, or are told to come back. ' : ''
  if (/^(false|off|no|never)$/i.test(annotations['sojourn.dev/sleep']?.trim() ?? ''))
    return { ...awake, why: `${and}It is kept awake by annotation.` }
  const least = Number(annotations['sojourn.dev/min-replicas'] ?? 0)
  if (replicas <= least) return { ...awake, why: `${and}It has a minimum of ${least}.` }
  if (hours) return { ...awake, why: `${and}Outside its awake hours (${hours}) it sleeps when nobody uses it.` }
  const ttl = Number(annotations['proxless/ttl-seconds'])
  const seconds = Number.isInteger(ttl) && ttl > 0 ? ttl : defaultTtlSeconds
  const until = parseTime(annotations['sojourn.dev/awake-until']) ?? 0
  const at = Math.max((lastUsedAt ?? now) + seconds * 1000, until, now)
  const why = `${and}It sleeps when nobody has used it for ${seconds} seconds.`
  return { ...awake, next: { what: 'falls asleep', at }, why }
}

/** Whether a workload says itself that no pod of it is ready. @param {Workload} workload */
function isUnready({ status }) {
  const { replicas, readyReplicas = 0 } = /** @type {{ replicas?: number, readyReplicas?: number }} */ (status ?? {})
  return replicas !== undefined && readyReplicas === 0
}
