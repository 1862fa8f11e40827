import type { EnvironmentClass } from '../../../apis/environment-class.ts'
import type { Environment } from '../../../apis/environment.ts'
import { findCondition } from '../../../kube/conditions.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { matches, type Requirement } from '../../../kube/selector.ts'
import { parseTime } from '../../../kube/time.ts'
import { creatorAnnotation } from '../../../tenancy/creator-record.ts'

export interface Room {
  /** Uids of the newest environments beyond the limit, which admission missed. */
  readonly beyond: ReadonlySet<string>
  /** Uids of the environments to delete because the class is full, where it says so. */
  readonly evicted: ReadonlySet<string>
}

/**
 * The environments that count against the limits of a class, each with the owner it counts for. Tenants write Environments: one that the class
 * does not select counts only once its author is known to be able to delete the Namespace, and an owner that it names itself counts apart for
 * each author. So none takes the room of others.
 */
export function countedIn(
  { spec }: EnvironmentClass,
  selector: readonly Requirement[],
  all: readonly Environment[],
  namespaceOf: (name: string) => Pick<KubeObject, 'metadata'> | undefined,
): readonly Environment[] {
  if (!spec.limits) return []
  const { annotation = 'sojourn.dev/owner' } = spec.owner ?? {}
  return all.flatMap((environment) => {
    const { metadata, status } = environment
    const { labels, annotations } = namespaceOf(metadata.namespace ?? '')?.metadata ?? {}
    if (!matches(selector, labels) && findCondition(status?.conditions, 'Ready')?.status !== 'True') return []
    const owner = annotations?.[annotation] ?? claimedOwner(environment) ?? status?.owner
    return [{ ...environment, status: { ...status, ...(owner === undefined ? {} : { owner }) } }]
  })
}

/** For whom an environment counts that names its owner itself. */
export function claimedOwner({ metadata, spec }: Environment): string | undefined {
  return spec.owner === undefined ? undefined : `${spec.owner} (${metadata.annotations?.[creatorAnnotation] ?? ''})`
}

/** The environments of a class that share a limit, and how many it allows: all of them, and those of each owner. */
export function groupsIn(
  { spec, metadata }: EnvironmentClass,
  all: readonly Environment[],
): readonly {
  readonly of: string
  readonly owner?: string
  readonly members: readonly Environment[]
  readonly max: number
}[] {
  const { max = Infinity, maxPerOwner = Infinity } = spec.limits ?? {}
  const living = all.filter(({ status }) => !status?.deletion)
  const owned = [...Map.groupBy(living, ({ status }) => status?.owner ?? '').entries()].filter(([owner]) => owner)
  const of = `of class ${metadata.name}`
  return [
    { of, members: living, max },
    ...owned.map(([owner, members]) => ({ of: `${of} and owner ${owner}`, owner, members, max: maxPerOwner })),
  ]
}

/** Which environments of a class are too many. */
export function roomIn(environmentClass: EnvironmentClass, all: readonly Environment[], now: number): Room {
  const beyond = new Set<string>()
  const evicted = new Set<string>()
  for (const { members, max } of groupsIn(environmentClass, all)) {
    const count = Math.max(0, members.length - max)
    const isRefusing = environmentClass.spec.limits?.whenFull !== 'DeleteLeastRecentlyUsed'
    const chosen = isRefusing
      ? members.toSorted(byCreation).slice(members.length - count)
      : byLastUse(members)
          .filter((each) => isOldEnough(each, now))
          .slice(0, count)
    for (const { metadata } of chosen) (isRefusing ? beyond : evicted).add(metadata.uid)
  }
  return { beyond, evicted }
}

export function byLastUse(all: readonly Environment[]): readonly Environment[] {
  return all.toSorted((left, right) => usedAt(left) - usedAt(right) || byCreation(left, right))
}

function byCreation({ metadata: left }: Environment, { metadata: right }: Environment): number {
  const [a, b] = [`${left.creationTimestamp} ${left.namespace}`, `${right.creationTimestamp} ${right.namespace}`]
  return a < b ? -1 : a > b ? 1 : 0
}

export function usedAt({ metadata, status }: Environment): number {
  return parseTime(status?.lastUsedAt) ?? parseTime(metadata.creationTimestamp) ?? 0
}

/** Only environments older than a day are deleted to make room. */
export function isOldEnough({ metadata }: Environment, now: number): boolean {
  return now - (parseTime(metadata.creationTimestamp) ?? now) >= 86_400_000
}
