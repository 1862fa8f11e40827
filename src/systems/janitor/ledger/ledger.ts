import type { UseHistory } from '../verdict/judge.ts'
import type { Resource } from '../model/resource.ts'

/** The recorded use of one resource. */
export interface Entry {
  readonly lastSeenAt?: number
  readonly by?: string
  /** Only for resources without a creation date. */
  readonly firstSeenAt?: number
}

export interface LedgerState {
  /** Since when use has been recorded without a long gap. */
  readonly trackingSince: number
  /** The time of the last complete inventory. */
  readonly observedAt: number
  /** By uid. */
  readonly entries: ReadonlyMap<string, Entry>
}

/** The ledger after one more complete inventory. Entries of absent resources are dropped; use is recorded once per `everyMs`. */
export function afterInventory(
  former: LedgerState | undefined,
  resources: Iterable<Resource>,
  { now, maxGapMs, everyMs }: { readonly now: number; readonly maxGapMs: number; readonly everyMs: number },
): LedgerState {
  const entries = new Map<string, Entry>()
  for (const resource of resources) {
    const entry = entryAfter(former?.entries.get(resource.uid), resource, { now, everyMs })
    if (entry) entries.set(resource.uid, entry)
  }
  // Use during a long gap is unknown, so the time before the gap no longer counts.
  const continuous = former !== undefined && now - former.observedAt <= maxGapMs
  return { trackingSince: continuous ? former.trackingSince : now, observedAt: now, entries }
}

/** A ledger as judgements read it. */
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

/** How often use is recorded, and how long a gap may be, for a policy with this `unusedFor`. */
export function ledgerTimes(unusedForMs: number | undefined): {
  readonly maxGapMs: number
  readonly everyMs: number
} {
  const waitMs = unusedForMs ?? 0
  return { maxGapMs: Math.max(dayMs, waitMs / 4), everyMs: Math.min(dayMs, waitMs / 16) }
}

/** The shard of an entry, by FNV-1a of its uid: independent of all other entries. */
export function shardOf(uid: string, shards: number): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < uid.length; index++) hash = Math.imul(hash ^ uid.charCodeAt(index), 0x01000193)
  return (hash >>> 0) % shards
}

/** Enough shards that even an uneven one holds fewer than a thousand entries; never fewer than before. */
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
