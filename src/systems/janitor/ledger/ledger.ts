import type { UseHistory } from '../verdict/judge.ts'
import type { Resource } from '../model/resource.ts'

/** What is remembered of one resource. */
export interface Entry {
  readonly lastSeenAt?: number
  readonly by?: string
  /** Only for what has no creation date. */
  readonly firstSeenAt?: number
}

export interface LedgerState {
  /** Since when use has been followed without a long gap. */
  readonly trackingSince: number
  /** When use was last looked at, completely. */
  readonly observedAt: number
  /** By uid. */
  readonly entries: ReadonlyMap<string, Entry>
}

/** The ledger after one more complete look: entries of what is gone are dropped, use is noted to the nearest `everyMs`. */
export function lookedAt(
  former: LedgerState | undefined,
  resources: Iterable<Resource>,
  { now, longestGapMs, everyMs }: { readonly now: number; readonly longestGapMs: number; readonly everyMs: number },
): LedgerState {
  const entries = new Map<string, Entry>()
  for (const resource of resources) {
    const entry = entryAfter(former?.entries.get(resource.uid), resource, { now, everyMs })
    if (entry) entries.set(resource.uid, entry)
  }
  // What happened in a long gap, nobody knows: the time before it counts for nothing.
  const continuous = former !== undefined && now - former.observedAt <= longestGapMs
  return { trackingSince: continuous ? former.trackingSince : now, observedAt: now, entries }
}

/** What judgements ask of a ledger. */
export function historyOf({ trackingSince, entries }: LedgerState): UseHistory {
  return {
    trackingSince,
    lastSeenUsed: ({ uid }) => {
      const { lastSeenAt, by = '' } = entries.get(uid) ?? {}
      return lastSeenAt === undefined ? undefined : { at: lastSeenAt, by }
    },
    firstSeen: ({ uid }) => entries.get(uid)?.firstSeenAt,
  }
}

/** How often use is noted, and how long nobody may look, for a policy that waits this long. */
export function ledgerTimes(unusedForMs: number | undefined): {
  readonly longestGapMs: number
  readonly everyMs: number
} {
  const waits = unusedForMs ?? 0
  return { longestGapMs: Math.max(dayMs, waits / 4), everyMs: Math.min(dayMs, waits / 16) }
}

/** Which shard an entry belongs to: FNV-1a, so that it stays where it is however the others change. */
export function shardOf(uid: string, shards: number): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < uid.length; index++) hash = Math.imul(hash ^ uid.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % shards
}

/** Enough shards that even an uneven one holds fewer than a thousand; never fewer than before, so that growth moves nothing twice. */
export function shardsFor(entries: number, former = 1): number {
  let shards = Math.max(1, former)
  while (entries > shards * 500) shards *= 2
  return shards
}

const dayMs = 86_400_000

function entryAfter(
  former: Entry | undefined,
  { use, createdAt }: Resource,
  { now, everyMs }: { readonly now: number; readonly everyMs: number },
): Entry | undefined {
  const firstSeen = createdAt === undefined ? { firstSeenAt: former?.firstSeenAt ?? now } : {}
  if (use.state !== 'used') return former ?? (createdAt === undefined ? firstSeen : undefined)
  const recent = former?.lastSeenAt !== undefined && now - former.lastSeenAt < everyMs
  return recent ? former : { ...firstSeen, lastSeenAt: now, by: use.by }
}
