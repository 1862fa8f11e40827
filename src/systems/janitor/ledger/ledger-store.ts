import { createHash } from 'node:crypto'
import { usageLedger, type LedgerEntry, type UsageLedger } from '../../../apis/usage-ledger.ts'
import type { Client } from '../../../client/client.ts'
import { removeOwn } from '../../../departures/subjects/own-machinery.ts'
import type { KubeObject, OwnerReference } from '../../../kube/object.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { shardOf, shardsFor, type Entry, type LedgerState } from './ledger.ts'

/** A ledger, and of each object it is stored in so much as is needed to write it anew. */
export interface StoredLedger {
  readonly state: LedgerState | undefined
  readonly shards: readonly Shard[]
}

interface Shard {
  readonly metadata: UsageLedger['metadata']
  readonly shard: number
  readonly shards: number
}

const setLabel = 'sojourn.dev/ledger'

/** Shards have hundreds of entries each: so many at a time are in memory as they came. */
const pageSize = 50

/** Reads the shards of one policy and location. */
export async function readLedger(client: Client, policy: string, location: string): Promise<StoredLedger> {
  const shards: Shard[] = []
  const entries = new Map<string, Entry>()
  const readEntry = entryReader()
  let header: UsageLedger['spec'] | undefined
  const labelSelector = `${setLabel}=${setName(policy, location)}`
  for await (const page of client.listAll<UsageLedger>(usageLedger.type, { labelSelector, limit: pageSize }))
    for (const object of page.items) {
      shards.push(shardOfObject(object))
      if (object.spec.shard === 0) header = object.spec
      for (const [uid, entry] of Object.entries(object.spec.entries)) entries.set(uid, readEntry(entry))
    }
  // A shard that is missing may hold what was in use: what is there counts for nothing.
  if (!header || shards.length < header.shards) return { shards, state: undefined }
  const { trackingSince, observedAt } = header
  const times = { trackingSince: parseTime(trackingSince) ?? Infinity, observedAt: parseTime(observedAt) ?? 0 }
  return { shards, state: { ...times, entries } }
}

/** Writes what has changed, shard by shard; the first one, which says how far the ledger is, goes last. */
export async function writeLedger(
  client: Client,
  {
    policy,
    location,
    state,
    former,
    owner,
  }: {
    readonly policy: string
    readonly location: string
    readonly state: LedgerState
    readonly former: StoredLedger
    /** What the ledger is deleted with. */
    readonly owner?: OwnerReference
  },
): Promise<StoredLedger> {
  const shards = shardsFor(state.entries.size, former.shards[0]?.shards)
  const uids = uidsByShard(state, shards)
  const changed = changedShards(state, former.state, shards)
  const times = { trackingSince: formatTime(state.trackingSince), observedAt: formatTime(state.observedAt) }
  const owned = owner ? { ownerReferences: [owner] } : {}
  const known = new Map(former.shards.map((shard) => [shard.shard, shard]))
  const written: Shard[] = []
  for (let shard = shards - 1; shard >= 0; shard--) {
    const found = known.get(shard)
    // Only the first shard's times are looked at: the others need no write while their entries stay.
    if (found && shard > 0 && found.shards === shards && !changed.has(shard)) {
      written.push(found)
      continue
    }
    const entries = entriesOf(state, uids[shard] ?? [])
    const wanted = ledgerObject({ policy, location, shard, shards, ...times, entries })
    const object = found
      ? await client.update<UsageLedger>(usageLedger.type, { ...wanted, metadata: { ...found.metadata, ...owned } })
      : await client.create<UsageLedger>(usageLedger.type, { ...wanted, metadata: { ...wanted.metadata, ...owned } })
    written.push(shardOfObject(object))
  }
  for (const stale of former.shards) if (stale.shard >= shards) await removeOwn(client, usageLedger.type, stale)
  return { state, shards: written }
}

function shardOfObject({ metadata, spec: { shard, shards } }: UsageLedger): Shard {
  return { metadata, shard, shards }
}

function uidsByShard({ entries }: LedgerState, shards: number): readonly (readonly string[])[] {
  const uids = Array.from({ length: shards }, (): string[] => [])
  for (const uid of entries.keys()) uids[shardOf(uid, shards)]?.push(uid)
  return uids
}

/** The shards in which an entry came, went or changed. Entries that stayed are the same objects. */
function changedShards({ entries }: LedgerState, former: LedgerState | undefined, shards: number): ReadonlySet<number> {
  const changed = new Set<number>()
  for (const [uid, entry] of entries) if (former?.entries.get(uid) !== entry) changed.add(shardOf(uid, shards))
  for (const uid of former?.entries.keys() ?? []) if (!entries.has(uid)) changed.add(shardOf(uid, shards))
  return changed
}

function entriesOf({ entries }: LedgerState, uids: readonly string[]): Record<string, LedgerEntry> {
  return Object.fromEntries(uids.map((uid) => [uid, writeEntry(entries.get(uid) ?? {})]))
}

function ledgerObject(spec: UsageLedger['spec']): KubeObject & { readonly spec: UsageLedger['spec'] } {
  const set = setName(spec.policy, spec.location)
  return usageLedger.object({ name: `ledger-${set}-${spec.shard}`, labels: { [setLabel]: set } }, spec)
}

function setName(policy: string, location: string): string {
  return createHash('sha256')
    .update(JSON.stringify([policy, location]))
    .digest('hex')
    .slice(0, 16)
}

/** Reads entries. What many of them say is kept once. */
function entryReader(): (entry: LedgerEntry) => Entry {
  const times = new Map<string, number | undefined>()
  const users = new Map<string, string>()
  const timeOf = (text: string | undefined) => {
    if (text === undefined) return undefined
    if (!times.has(text)) times.set(text, parseTime(text))
    return times.get(text)
  }
  const userOf = (by: string) => {
    const known = users.get(by)
    if (known === undefined) users.set(by, by)
    return known ?? by
  }
  return ({ lastSeen, by, firstSeen }) => {
    const lastSeenAt = timeOf(lastSeen)
    const firstSeenAt = timeOf(firstSeen)
    return {
      ...(lastSeenAt === undefined ? {} : { lastSeenAt }),
      ...(by === undefined ? {} : { by: userOf(by) }),
      ...(firstSeenAt === undefined ? {} : { firstSeenAt }),
    }
  }
}

function writeEntry({ lastSeenAt, by, firstSeenAt }: Entry): LedgerEntry {
  return {
    ...(lastSeenAt === undefined ? {} : { lastSeen: formatTime(lastSeenAt) }),
    ...(by === undefined ? {} : { by }),
    ...(firstSeenAt === undefined ? {} : { firstSeen: formatTime(firstSeenAt) }),
  }
}
