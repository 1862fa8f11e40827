import type { Client } from '../../../client/client.ts'
import { historyOf, ledgerTimes, lookedAt } from './ledger.ts'
import { readLedger, writeLedger, type StoredLedger } from './ledger-store.ts'
import { noHistory, type UseHistory } from '../verdict/judge.ts'
import type { CompiledPolicy } from '../policy/policy.ts'
import type { Inventory } from '../model/resource.ts'

/** The ledgers in use: read when first needed, kept in memory, written when they change. */
export class LedgerBook {
  readonly #client: Client
  /** By policy and location. */
  readonly #ledgers = new Map<string, StoredLedger>()

  constructor(client: Client) {
    this.#client = client
  }

  /** Notes what a complete look has seen. A dry run keeps it in memory only. */
  async note(
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
    // Another instance may have written since: what it saw counts as much as what we saw.
    const former = dryRun
      ? (this.#ledgers.get(key) ?? (await readLedger(this.#client, policy.name, location)))
      : await readLedger(this.#client, policy.name, location)
    const state = lookedAt(former.state, resources, { now: observedAt, ...ledgerTimes(policy.unusedForMs) })
    const stored = dryRun
      ? { state, shards: former.shards }
      : await writeLedger(this.#client, { policy: policy.name, location, state, former })
    if (dryRun) this.#ledgers.set(key, stored)
    return historyOf(state)
  }
}
