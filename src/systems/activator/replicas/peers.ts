import type { SenderIndex } from '../proxy/routing/shares.ts'
import type { UseAnswer, UseReport } from './reported-use.ts'

/** The Secret by which replicas know each other. */
export const peersSecret = 'sojourn-activator-peers'
/** The name of their group, with which the names of their Leases begin. */
export const peersGroup = 'activator'

/** The answer of a replica that was asked to drain a route. */
export interface DrainReport {
  readonly busy: number
  readonly waiting: number
  /** How long ago it was last used there. An age, not a time: clocks differ. */
  readonly idleMs: number
}

/**
 * What a process does of the activator's work: `scaler` decides and writes, `proxy` takes requests and writes nothing, `all` does both.
 */
export type Part = 'all' | 'scaler' | 'proxy'

/** The other replicas of the proxy. */
export interface Peers {
  /** Whether this replica is the leader: only the leader scales down and writes to Services; every replica scales up. */
  readonly leading: boolean
  /** Whether all others know of this replica. Until then it holds requests back, since no replica would ask it before scaling down. */
  readonly joined: boolean
  /** Has every other replica hold back new requests to a route. Rejects when any of them cannot be asked. */
  drain(route: string): Promise<readonly DrainReport[]>
  /** The route was not scaled down: the others may forward again. */
  release(route: string): void
  /** Which of the replicas this one is. */
  readonly senderIndex: SenderIndex
  /** Addresses at which all replicas take requests, this one included. */
  readonly addresses: readonly string[]
  /** Whether no replica would be left if this one stopped. */
  readonly isLast: boolean
  /** Where this replica takes requests; undefined when it is not known, and once it is about to leave. */
  readonly address: string | undefined
  /** Addresses of the other replicas that take connections at the ports of a Service; one that cannot be asked is left out. */
  listening(route: string): Promise<readonly string[]>
  /** Other replicas that are there, by identity. */
  readonly others: readonly string[]
  /** Those of them that scale workloads. */
  readonly scalers: readonly string[]
  /** Reports to one of them what was counted here; resolves with its answer. */
  reportUse(scaler: string, report: Omit<UseReport, 'from'>): Promise<string>
  /** Tells when this replica has joined, and when others came or were lost. The result ends it. */
  onChange(handler: (change: { readonly lost: boolean }) => void): () => void
}

/** What another replica may ask of this one. */
export interface PeerService {
  drain(route: string): Promise<DrainReport>
  release(route: string): void
  /** Whether it takes connections at all ports of a Service. */
  listens(route: string): boolean
  /** Notes what a proxy has counted. */
  reported(report: UseReport): UseAnswer
}

/** The only replica there is. */
export function singleReplica(addresses: readonly string[] = []): Peers {
  return {
    leading: true,
    joined: true,
    drain: () => Promise.resolve([]),
    release: () => {},
    addresses,
    isLast: true,
    senderIndex: { index: 0, count: 1 },
    address: addresses[0],
    listening: () => Promise.resolve([]),
    others: [],
    scalers: [],
    reportUse: () => Promise.reject(new Error('there is no other replica')),
    onChange: () => () => {},
  }
}
