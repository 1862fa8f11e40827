import { deepEqual } from '../../../kube/patches/patch.ts'
import { isRecord } from '../../../kube/basics/json.ts'

/**
 * Orders merged items: those that the patch mentions in its order, the others in their live order. An unmentioned
 * item precedes a mentioned one only if it did so in the live list.
 */
export function orderItems(
  merged: readonly unknown[],
  order: readonly unknown[],
  live: readonly unknown[],
  mergeKey: string | undefined,
): unknown[] {
  const place = (list: readonly unknown[], item: unknown): number =>
    list.findIndex((each) => isSame(each, item, mergeKey))
  const mentioned = sortBy(
    merged.filter((item) => place(order, item) >= 0),
    (item) => place(order, item),
  )
  const others = sortBy(
    merged.filter((item) => place(order, item) < 0),
    (item) => place(live, item),
  )
  const result: unknown[] = []
  let next = 0
  for (const item of mentioned) {
    const at = place(live, item)
    while (next < others.length && at >= 0 && isBefore(place(live, others[next]), at)) result.push(others[next++])
    result.push(item)
  }
  return [...result, ...others.slice(next)]
}

function isBefore(place: number, other: number): boolean {
  return place >= 0 && place < other
}

/** Sorts by position; stable, items without a position last. */
function sortBy(items: readonly unknown[], placeOf: (item: unknown) => number): unknown[] {
  const rank = (item: unknown): number => {
    const place = placeOf(item)
    return place < 0 ? Number.MAX_SAFE_INTEGER : place
  }
  return items.toSorted((a, b) => rank(a) - rank(b))
}

function isSame(one: unknown, other: unknown, mergeKey: string | undefined): boolean {
  if (!mergeKey || !isRecord(one) || !isRecord(other)) return deepEqual(one, other)
  return one[mergeKey] === other[mergeKey]
}
