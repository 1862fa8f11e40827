/** @import { Deployment, Service } from './types.d.ts' */
import { parseTime } from './time.js'

const defaultTtlSeconds = 300

/** Services that the activator wakes and puts to sleep. @param {Service} service */
export function isOnDemand({ metadata }) {
  const annotations = metadata.annotations ?? {}
  return ['proxless/deployment', 'proxless/domains', 'sojourn.dev/target'].some((key) => key in annotations)
}

/** The Deployment a Service names, if it names one. @param {Service} service */
export function deploymentNameOf({ metadata }) {
  const annotations = metadata.annotations ?? {}
  const [kind, name] = (annotations['sojourn.dev/target'] ?? '').split('/')
  return annotations['proxless/deployment']?.trim() || (kind === 'Deployment' ? name : undefined)
}

/**
 * How an on-demand Service stands, told from its objects alone; the server tells the same in `sojourn status`.
 * @param {Service} service
 * @param {Deployment | undefined} workload
 * @param {number} now
 * @returns {{ state: string, replicas: number, why: string, lastUsedAt?: number, next?: { what: string, at: number } }}
 */
export function standingOf(service, workload, now) {
  const annotations = service.metadata.annotations ?? {}
  if (!workload) {
    const named = deploymentNameOf(service)
    return {
      state: 'Unknown',
      replicas: 0,
      why: named ? `Deployment ${named} does not exist.` : 'It names no workload.',
    }
  }
  const replicas = workload.spec?.replicas ?? 1
  const lastUsedAt = parseTime(workload.metadata.annotations?.['proxless/last-used'])
  const common = { replicas, lastUsedAt }
  if (replicas === 0) return { ...common, state: 'Asleep', why: 'Nobody used it; the next request wakes it.' }
  const awake = { ...common, state: 'Awake' }
  if (/^(false|off|no|never)$/i.test(annotations['sojourn.dev/sleep']?.trim() ?? ''))
    return { ...awake, why: 'It is kept awake by annotation.' }
  const least = Number(annotations['sojourn.dev/min-replicas'] ?? 0)
  if (replicas <= least) return { ...awake, why: `It has a minimum of ${least}.` }
  const hours = annotations['sojourn.dev/awake-hours']
  if (hours) return { ...awake, why: `Outside its awake hours (${hours}) it sleeps when nobody uses it.` }
  const ttl = Number(annotations['proxless/ttl-seconds'])
  const seconds = Number.isInteger(ttl) && ttl > 0 ? ttl : defaultTtlSeconds
  const until = parseTime(annotations['sojourn.dev/awake-until']) ?? 0
  const at = Math.max((lastUsedAt ?? now) + seconds * 1000, until, now)
  const why = `It sleeps when nobody has used it for ${seconds} seconds.`
  return { ...awake, next: { what: 'falls asleep', at }, why }
}
