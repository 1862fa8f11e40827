import type { EnvironmentClass } from '../../../apis/environment-class.ts'
import type { Environment } from '../../../apis/environment.ts'
import { findCondition } from '../../../kube/conditions.ts'
import type { KubeObject } from '../../../kube/object.ts'
import { matches, type Requirement } from '../../../kube/selector.ts'
import { formatAge, parseTime } from '../../../kube/time.ts'
import { creatorAnnotation } from '../../../tenancy/creator-record.ts'

/** Only environments older than this are deleted to make room. */
const minAgeMs = 86_400_000

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

/** Which environments of a class are too many. */
export function roomIn({ spec }: EnvironmentClass, all: readonly Environment[], now: number): Room {
  const { max, maxPerOwner, whenFull = 'Refuse' } = spec.limits ?? {}
  const living = all.filter(({ status }) => !status?.deletion)
  const groups = [
    ...(max === undefined ? [] : [{ members: living, most: max }]),
    ...(maxPerOwner === undefined
      ? []
      : [...Map.groupBy(living, ({ status }) => status?.owner ?? '').entries()].flatMap(([owner, members]) =>
          owner ? [{ members, most: maxPerOwner }] : [],
        )),
  ]
  const beyond = new Set<string>()
  const evicted = new Set<string>()
  for (const { members, most } of groups) {
    const count = members.length - most
    if (count <= 0) continue
    if (whenFull === 'Refuse')
      for (const { metadata } of members.toSorted(byCreation).slice(-count)) beyond.add(metadata.uid)
    else
      for (const { metadata } of byLastUse(members)
        .filter((each) => ageOf(each, now) >= minAgeMs)
        .slice(0, count))
        evicted.add(metadata.uid)
  }
  return { beyond, evicted }
}

/** Why one more environment is refused; undefined when there is room, or one can be made. */
export function refusalOfOneMore(
  environmentClass: EnvironmentClass,
  all: readonly Environment[],
  { owner, now }: { readonly owner: string | undefined; readonly now: number },
): string | undefined {
  const { max, maxPerOwner, whenFull = 'Refuse' } = environmentClass.spec.limits ?? {}
  const living = all.filter(({ status }) => !status?.deletion)
  const owned = living.filter(({ status }) => owner !== undefined && status?.owner === owner)
  const full =
    max !== undefined && living.length >= max
      ? { of: `of class ${environmentClass.metadata.name}`, members: living, most: max }
      : maxPerOwner !== undefined && owned.length >= maxPerOwner
        ? { of: `of class ${environmentClass.metadata.name} and owner ${owner}`, members: owned, most: maxPerOwner }
        : undefined
  if (!full) return undefined
  const oldest = byLastUse(full.members)
  if (whenFull === 'DeleteLeastRecentlyUsed' && oldest.some((each) => ageOf(each, now) >= minAgeMs)) return undefined
  const named = oldest.slice(0, 3).map((each) => `${each.metadata.namespace} (${formatAge(now - usedAt(each))})`)
  return `${full.members.length} of ${full.most} environments ${full.of} exist; least recently used: ${named.join(', ')}. Delete one: kubectl delete namespace ${oldest[0]?.metadata.namespace}`
}

function byLastUse(all: readonly Environment[]): readonly Environment[] {
  return all.toSorted((left, right) => usedAt(left) - usedAt(right) || byCreation(left, right))
}

function byCreation({ metadata: left }: Environment, { metadata: right }: Environment): number {
  const [a, b] = [`${left.creationTimestamp} ${left.namespace}`, `${right.creationTimestamp} ${right.namespace}`]
  return a < b ? -1 : a > b ? 1 : 0
}

function usedAt({ metadata, status }: Environment): number {
  return parseTime(status?.lastUsedAt) ?? parseTime(metadata.creationTimestamp) ?? 0
}

function ageOf({ metadata }: Environment, now: number): number {
  return now - (parseTime(metadata.creationTimestamp) ?? now)
}
