import type { Client } from '../../../client/client.ts'
import { historyOf, ledgerTimes, afterInventory } from './ledger.ts'
import { readLedger, writeLedger, type StoredLedger } from './ledger-store.ts'
import { noHistory, type UseHistory } from '../verdict/judge.ts'
import { ownerOf, type CompiledPolicy } from '../policy/policy.ts'
import type { Inventory } from '../model/resource.ts'

/** Reads and writes the UsageLedgers of policies. In a dry run they are kept in memory only. */
export class LedgerCache {
  readonly #client: Client
  /** Ledgers of dry runs, by policy and location. */
  readonly #ledgers = new Map<string, StoredLedger>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Records the use seen in a complete inventory. */
  async record(
    {
      policy,
      location,
      dryRun,
    }: { readonly policy: CompiledPolicy; readonly location: string; readonly dryRun: boolean },
    { resources, observedAt }: Inventory,
  ): Promise<UseHistory> {
    const needed = policy.unusedForMs !== undefined || resources.some(({ createdAt }) => createdAt === undefined)
    if (!needed) return noHistory
    const key = `${policy.name}\n${location}`
    // Read anew each time: another instance may have recorded use since.
    const former = dryRun
      ? (this.#ledgers.get(key) ?? (await readLedger(this.#client, policy.name, location)))
      : await readLedger(this.#client, policy.name, location)
    const state = afterInventory(former.state, resources, { now: observedAt, ...ledgerTimes(policy.unusedForMs) })
    const stored = dryRun
      ? { state, shards: former.shards }
      : await writeLedger(this.#client, { policy: policy.name, location, state, former, owner: ownerOf(policy) })
    if (dryRun) this.#ledgers.set(key, stored)
    return historyOf(state)
  }
}
