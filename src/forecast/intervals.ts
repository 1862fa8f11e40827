import { cleanupPolicy, type CleanupPolicy } from '../apis/cleanup-policy.ts'
import { groupResource, type StoredObject } from '../kube/object.ts'
import { formatDuration, parseLongDuration } from '../kube/time.ts'
import type { ClusterSnapshot } from './cluster-snapshot.ts'

/** How often a policy looks at most in one forecast: every ten minutes for thirty days. */
const maxLooks = 4320

/**
 * The snapshot with policies that look at most `maxLooks` times: an object that is due is then found one interval later at most. A look every ten seconds
 * for a month would be 260,000 inventories, nearly all of which find nothing new.
 */
export function withIntervals(
  snapshot: ClusterSnapshot,
  forMs: number,
): { readonly snapshot: ClusterSnapshot; readonly assumed: readonly string[] } {
  const minMs = Math.ceil(forMs / maxLooks / 1000) * 1000
  const assumed: string[] = []
  const kinds = snapshot.kinds.map(({ type, items }) => {
    if (groupResource(type) !== groupResource(cleanupPolicy.type)) return { type, items }
    return { type, items: items.map((item) => coarser(item as CleanupPolicy, minMs, assumed)) }
  })
  return { snapshot: { ...snapshot, kinds }, assumed }
}

function coarser(policy: CleanupPolicy, minMs: number, assumed: string[]): StoredObject {
  const { interval } = policy.spec
  const ms = interval === undefined ? undefined : parseLongDuration(interval)
  if (ms === undefined || ms >= minMs) return policy
  const used = formatDuration(minMs)
  assumed.push(`CleanupPolicy ${policy.metadata.name} looks every ${used} instead of every ${interval}`)
  return { ...policy, spec: { ...policy.spec, interval: used } }
}
