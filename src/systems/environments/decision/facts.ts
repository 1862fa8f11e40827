import { createHash } from 'node:crypto'
import type { EnvironmentClass } from '../../../apis/environment-class.ts'
import type { Environment, EnvironmentStatus } from '../../../apis/environment.ts'
import type { StoredObject } from '../../../kube/object.ts'
import { parseTime } from '../../../kube/time.ts'
import type { ClassRules } from './rules.ts'

/** Annotations that the activator writes and reads. */
const marks = {
  lastUsed: 'proxless/last-used',
  formerReplicas: 'sojourn.dev/former-replicas',
  domains: 'proxless/domains',
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

type Power = NonNullable<EnvironmentStatus['power']>

/** What the workloads of an environment show. */
export interface WorkloadFacts {
  readonly power: Power
  readonly awake: number
  readonly asleep: number
  /** Digest of all Pod templates; replica changes do not change it. */
  readonly hash: string
}

export function workloadFacts(workloads: readonly StoredObject[], formerly: Power | undefined): WorkloadFacts {
  const hash = createHash('sha256')
  let [awake, asleep, starting] = [0, 0, 0]
  for (const workload of workloads.toSorted((left, right) => (left.metadata.uid < right.metadata.uid ? -1 : 1))) {
    const { replicas = 1, template = {} } = (workload.spec ?? {}) as { replicas?: number; template?: object }
    const { readyReplicas = 0 } = (workload.status ?? {}) as { readyReplicas?: number }
    hash.update(workload.metadata.uid).update(JSON.stringify(template))
    const former = Number(workload.metadata.annotations?.[marks.formerReplicas] ?? 0)
    if (replicas > 0) awake++
    else if (former > 0) asleep++
    if (replicas > readyReplicas) starting++
  }
  const isWaking = awake > 0 && starting > 0 && (formerly === 'Asleep' || formerly === 'Waking')
  const power = isWaking ? 'Waking' : asleep > 0 && awake === 0 ? 'Asleep' : 'Awake'
  return { power, awake, asleep, hash: hash.digest('hex').slice(0, 16) }
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

/** Whether every listed sign of use can be read: requests are seen only where a Service is served by the proxy. */
export function isUseVisible({ rules, services }: Observed): boolean {
  return !rules?.uses.has('Traffic') || services.some(({ metadata }) => metadata.annotations?.[marks.domains])
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
