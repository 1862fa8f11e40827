import type { EnvironmentClass } from '../../../apis/environment-class.ts'
import type { Environment } from '../../../apis/environment.ts'
import { formatAge, parseTime } from '../../../kube/time.ts'

/** Only environments older than this are deleted to make room. */
const minAgeMs = 86_400_000

export interface Room {
  /** Uids of the newest environments beyond the limit, which admission missed. */
  readonly beyond: ReadonlySet<string>
  /** Uids of the environments to delete because the class is full, where it says so. */
  readonly evicted: ReadonlySet<string>
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
