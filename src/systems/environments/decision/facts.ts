import { createHash } from 'node:crypto'
import type { EnvironmentClass } from '../../../apis/environment-class.ts'
import type { Environment, EnvironmentStatus } from '../../../apis/environment.ts'
import { findCondition, type Condition } from '../../../kube/conditions.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { matches, requirementsOf } from '../../../kube/selector.ts'
import { parseTime } from '../../../kube/time.ts'
import type { ClassRules } from './rules.ts'

/** Annotations and the condition that the activator writes and reads. */
const marks = {
  lastUsed: 'proxless/last-used',
  formerReplicas: 'sojourn.dev/former-replicas',
  contended: 'sojourn.dev/contended',
  sleep: 'sojourn.dev/sleep',
  domains: 'proxless/domains',
  onDemand: 'sojourn.dev/OnDemand',
} as const

/** One environment and everything about it that caches hold. */
export interface Observed {
  readonly environment: Environment
  readonly namespace: StoredObject
  readonly environmentClass: EnvironmentClass | undefined
  readonly rules: ClassRules | undefined
  readonly workloads: readonly StoredObject[]
  readonly services: readonly StoredObject[]
}

/** What is wrong, as a condition says it. */
export interface Problem {
  readonly reason: string
  readonly message: string
}

/** What the workloads of an environment show. `hash`: of all Pod templates, which replica changes leave alone; `contended`: why one no longer sleeps. */
export function workloadFacts({ workloads, environment, environmentClass }: Observed) {
  const hash = createHash('sha256')
  const formerly = environment.status?.power
  const exclude = (environmentClass?.spec.sleep?.exclude ?? []).map(requirementsOf)
  let [awake, asleep, starting, sleepers] = [0, 0, 0, 0]
  for (const workload of workloads.toSorted((left, right) => (left.metadata.uid < right.metadata.uid ? -1 : 1))) {
    const { annotations = {}, labels, ownerReferences = [] } = workload.metadata
    const { replicas = 1, template = {} } = (workload.spec ?? {}) as { replicas?: number; template?: object }
    const { readyReplicas = 0 } = (workload.status ?? {}) as { readyReplicas?: number }
    hash.update(workload.metadata.uid).update(JSON.stringify(template))
    const isExcluded =
      (annotations[marks.sleep] ?? 'true') !== 'true' ||
      ownerReferences.some(({ controller }) => controller) ||
      exclude.some((selector) => matches(selector, labels))
    if (replicas > 0) awake++
    else if (Number(annotations[marks.formerReplicas] ?? 0) > 0) asleep++
    if (replicas > 0 && !isExcluded) sleepers++
    if (replicas > readyReplicas) starting++
  }
  const isWaking = awake > 0 && starting > 0 && (formerly === 'Asleep' || formerly === 'Waking')
  // What never sleeps does not keep the rest awake.
  const power: EnvironmentStatus['power'] & string =
    asleep > 0 && sleepers === 0 ? 'Asleep' : isWaking ? 'Waking' : 'Awake'
  const contended = workloads.flatMap(({ metadata }) => metadata.annotations?.[marks.contended] ?? [])[0]
  return { power, awake, asleep, hash: hash.digest('hex').slice(0, 16), contended }
}

/** The last request that the activator knows of; undefined when there was none. */
export function lastRequestAt(workloads: readonly StoredObject[]): number | undefined {
  const times = workloads.flatMap(({ metadata }) => parseTime(metadata.annotations?.[marks.lastUsed]) ?? [])
  return times.length === 0 ? undefined : Math.max(...times)
}

/** Web addresses: the domains that Services claim at the proxy. */
export function urlsOf(services: readonly StoredObject[]): string[] {
  const domains = services.flatMap(({ metadata: { annotations = {} } }) => {
    const scheme = annotations['sojourn.dev/tls-secret'] === undefined ? 'http' : 'https'
    return (annotations[marks.domains] ?? '').split(',').flatMap((domain) => {
      const host = domain.trim()
      return /^[a-z0-9.*-]+$/i.test(host) ? [`${scheme}://${host}`] : []
    })
  })
  return [...new Set(domains)].toSorted().slice(0, 20)
}

/** Why a listed sign of use cannot be read; undefined when all can. Requests are seen only where the activator serves a Service. */
export function useProblem({ rules, services }: Observed): Problem | undefined {
  if (!rules?.uses.has('Traffic')) return undefined
  if (services.some(isOnDemand)) return undefined
  const refused = services.find(onDemandOf)
  return refused
    ? { reason: 'ServiceNotServed', message: `Service ${refused.metadata.name}: ${onDemandOf(refused)?.message}` }
    : {
        reason: 'NoProxiedService',
        message: 'no Service is served by the proxy: annotate one with proxless/deployment and proxless/domains',
      }
}

/** Whether the activator serves a Service. */
export function isOnDemand(service: StoredObject): boolean {
  return onDemandOf(service)?.status === 'True'
}

/** What the activator says of a Service: the annotations alone do not make the proxy serve it. */
function onDemandOf({ status }: StoredObject): Condition | undefined {
  return findCondition((status as { conditions?: readonly Condition[] } | undefined)?.conditions, marks.onDemand)
}

/** Who owns the environment: its own spec, the annotation of its Namespace, or the default of its class. */
export function ownerOf({ environment, namespace, environmentClass }: Observed): string | undefined {
  const { annotation = 'sojourn.dev/owner', default: fallback } = environmentClass?.spec.owner ?? {}
  const found = environment.spec.owner ?? namespace.metadata.annotations?.[annotation] ?? fallback
  // Control characters would end a header of a mail.
  return found === undefined || found.trim() === '' || /\p{Cc}/u.test(found) ? undefined : found.trim().slice(0, 320)
}

/** On the Namespace: its pull request. */
export const pullRequestAnnotation = 'sojourn.dev/pull-request'

export function pullRequestOf({ environment, namespace }: Observed): string | undefined {
  return environment.spec.pullRequest?.url ?? namespace.metadata.annotations?.[pullRequestAnnotation]
}
