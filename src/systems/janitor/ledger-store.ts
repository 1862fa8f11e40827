import { createHash } from 'node:crypto'
import { usageLedger, type LedgerEntry, type UsageLedger } from '../../apis/usage-ledger.ts'
import type { Client } from '../../client/client.ts'
import { removeOwn } from '../../departures/own-machinery.ts'
import type { KubeObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patch.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { shardOf, shardsFor, type Entry, type LedgerState } from './ledger.ts'

/** A ledger and the objects it was read from. */
export interface StoredLedger {
  readonly state: LedgerState | undefined
  readonly shards: readonly UsageLedger[]
}

const setLabel = 'sojourn.dev/ledger'

/** Reads the shards of one policy and location. */
export async function readLedger(client: Client, policy: string, location: string): Promise<StoredLedger> {
  const shards: UsageLedger[] = []
  const labelSelector = `${setLabel}=${setName(policy, location)}`
  for await (const page of client.listAll<UsageLedger>(usageLedger.type, { labelSelector })) shards.push(...page.items)
  return { shards, state: stateOf(shards) }
}

/** Writes what has changed, shard by shard; the first one, which says how far the ledger is, goes last. */
export async function writeLedger(
  client: Client,
  {
    policy,
    location,
    state,
    former,
  }: { readonly policy: string; readonly location: string; readonly state: LedgerState; readonly former: StoredLedger },
): Promise<StoredLedger> {
  const count = shardsFor(state.entries.size, former.shards[0]?.spec.shards)
  const parts = split(state, count)
  const known = new Map(former.shards.map((shard) => [shard.spec.shard, shard]))
  const written: UsageLedger[] = []
  for (let shard = count - 1; shard >= 0; shard--) {
    const entries = parts.get(shard) ?? {}
    written.push(
      await writeShard(client, {
        known: known.get(shard),
        wanted: ledgerObject({ policy, location, shard, shards: count, state, entries }),
      }),
    )
  }
  for (const stale of former.shards) if (stale.spec.shard >= count) await removeOwn(client, usageLedger.type, stale)
  return { state, shards: written }
}

async function writeShard(
  client: Client,
  {
    known,
    wanted,
  }: { readonly known: UsageLedger | undefined; readonly wanted: KubeObject & { readonly spec: UsageLedger['spec'] } },
): Promise<UsageLedger> {
  if (!known) return client.create<UsageLedger>(usageLedger.type, wanted)
  const header = wanted.spec.shard === 0
  // Only the first shard's times are looked at: the others need no write while their entries stay.
  if (!header && known.spec.shards === wanted.spec.shards && deepEqual(known.spec.entries, wanted.spec.entries))
    return known
  return client.update<UsageLedger>(usageLedger.type, { ...known, spec: wanted.spec })
}

function stateOf(shards: readonly UsageLedger[]): LedgerState | undefined {
  const header = shards.find(({ spec }) => spec.shard === 0)
  // A shard that is missing may hold what was in use: what is there counts for nothing.
  if (!header || shards.length < header.spec.shards) return undefined
  const entries = new Map<string, Entry>()
  for (const { spec } of shards)
    for (const [uid, entry] of Object.entries(spec.entries)) entries.set(uid, readEntry(entry))
  const { trackingSince, observedAt } = header.spec
  return { trackingSince: parseTime(trackingSince) ?? Infinity, observedAt: parseTime(observedAt) ?? 0, entries }
}

function split({ entries }: LedgerState, shards: number): ReadonlyMap<number, Record<string, LedgerEntry>> {
  const parts = new Map<number, Record<string, LedgerEntry>>()
  for (const [uid, entry] of entries) {
    const shard = shardOf(uid, shards)
    const part = parts.get(shard) ?? {}
    part[uid] = writeEntry(entry)
    parts.set(shard, part)
  }
  return parts
}

function ledgerObject({
  policy,
  location,
  shard,
  shards,
  state,
  entries,
}: {
  readonly policy: string
  readonly location: string
  readonly shard: number
  readonly shards: number
  readonly state: LedgerState
  readonly entries: Record<string, LedgerEntry>
}): KubeObject & { readonly spec: UsageLedger['spec'] } {
  const set = setName(policy, location)
  return {
    apiVersion: usageLedger.apiVersion,
    kind: usageLedger.kind,
    metadata: { name: `ledger-${set}-${shard}`, labels: { [setLabel]: set } },
    spec: {
      policy,
      location,
      shard,
      shards,
      trackingSince: formatTime(state.trackingSince),
      observedAt: formatTime(state.observedAt),
      entries,
    },
  }
}

function setName(policy: string, location: string): string {
  return createHash('sha256')
    .update(JSON.stringify([policy, location]))
    .digest('hex')
    .slice(0, 16)
}

function readEntry({ lastSeen, by, firstSeen }: LedgerEntry): Entry {
  const lastSeenAt = parseTime(lastSeen)
  const firstSeenAt = parseTime(firstSeen)
  return {
    ...(lastSeenAt === undefined ? {} : { lastSeenAt }),
    ...(by === undefined ? {} : { by }),
    ...(firstSeenAt === undefined ? {} : { firstSeenAt }),
  }
}

function writeEntry({ lastSeenAt, by, firstSeenAt }: Entry): LedgerEntry {
  return {
    ...(lastSeenAt === undefined ? {} : { lastSeen: formatTime(lastSeenAt) }),
    ...(by === undefined ? {} : { by }),
    ...(firstSeenAt === undefined ? {} : { firstSeen: formatTime(firstSeenAt) }),
  }
}
