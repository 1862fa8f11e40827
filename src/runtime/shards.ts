import type { LeasePorts, LeaseTimes } from './lease.ts'

export interface ShardsOptions extends LeaseTimes {
  readonly namespace: string
  /** What is shared out; part of the Leases' names. */
  readonly group: string
  /** Who we are; unlike every other member. */
  readonly identity: string
  /** How many parts there are, the same for all members and for good. Defaults to 16; 1 is leader election. */
  readonly slots?: number
  /** Called before a slot is given away; the slot goes when it resolves. */
  readonly release?: (slot: number) => Promise<void>
}

/** Shares work among members: fixed slots by hash, each held through a Lease by the member that rendezvous hashing names. */
export declare class Shards {
  constructor(options: ShardsOptions, ports: LeasePorts)
  readonly slots: number
  /** The slots we may act on now. */
  readonly held: ReadonlySet<number>
  /** Those who are alive, ourselves included, sorted. */
  readonly members: readonly string[]
  slotOf(text: string): number
  /** Whether we may act now on what has this uid or namespace. */
  owns(text: string): boolean
  /** Tells when slots come and go. The result ends it. */
  onChange(
    handler: (change: { readonly gained: readonly number[]; readonly lost: readonly number[] }) => void,
  ): () => void
  start(signal: AbortSignal): Promise<void>
}
