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
  const placed = { order: placesIn(order, mergeKey), live: placesIn(live, mergeKey) }
  const items = merged.map((item) => {
    const identity = identityOf(item, mergeKey)
    return { item, order: placed.order.get(identity), live: placed.live.get(identity) ?? Number.MAX_SAFE_INTEGER }
  })
  const mentioned = items.filter(({ order }) => order !== undefined).toSorted((a, b) => (a.order ?? 0) - (b.order ?? 0))
  const others = items.filter(({ order }) => order === undefined).toSorted((a, b) => a.live - b.live)
  const result: unknown[] = []
  let next = 0
  for (const { item, live: at } of mentioned) {
    const isKnown = at !== Number.MAX_SAFE_INTEGER
    for (let other = others[next]; isKnown && other && other.live < at; other = others[++next]) result.push(other.item)
    result.push(item)
  }
  return [...result, ...others.slice(next).map(({ item }) => item)]
}

/** Where each item is first, by its identity: lists may be long, and no item is looked for in all others. */
export function placesIn(list: readonly unknown[], mergeKey: string | undefined): Map<string, number> {
  const places = new Map<string, number>()
  for (const [index, item] of list.entries()) {
    const identity = identityOf(item, mergeKey)
    if (!places.has(identity)) places.set(identity, index)
  }
  return places
}

/** What makes two items of a list the same one: the value of the merge key, or else all of it. */
export function identityOf(item: unknown, mergeKey: string | undefined): string {
  return mergeKey && isRecord(item) ? `key ${JSON.stringify(item[mergeKey])}` : `item ${JSON.stringify(item)}`
}
