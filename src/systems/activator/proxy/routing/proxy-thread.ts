import type { Socket } from 'node:net'
import type { Counters } from './counters.ts'
import type { Journal } from './journal.ts'
import type { CoarseTime, ProxyLimits, ProxyPorts, Purpose } from './ports.ts'
import type { Address, Route } from './route.ts'
import type { RouteTable } from './route-table.ts'
import { Target } from './target.ts'

/** A connection that is looked after while it is open. */
export interface Sweepable {
  sweep(now: number): void
  /** Asks the client to leave: soon if it is idle, else after its answer. */
  retire(): void
  destroy(): void
}

/** What all connections of one thread share. */
export interface ProxyThread {
  readonly ports: ProxyPorts
  readonly limits: ProxyLimits
  /** Whether forwarding fields from this address are believed. */
  readonly isTrusted: (address: string) => boolean
  readonly time: CoarseTime
  readonly table: RouteTable
  /** By id. */
  readonly routes: ReadonlyMap<string, Route>
  readonly targets: Map<string, Target>
  readonly counters: Counters
  readonly journal: Journal
  readonly clients: Set<Sweepable>
  /** Requests that wait now, and the bytes they hold. */
  waiting: number
  waitingBytes: number
  /** No new connections are wanted: answers ask clients to leave. */
  closing: boolean
  /** Takes over a connection that turned out to speak HTTP/2; `read` is what was already read from it. */
  readonly speakHttp2: (
    socket: Socket,
    read: Buffer,
    from: { readonly client: string; readonly purpose: Purpose },
  ) => void
}

/** A target that is always warm at one address: where requests go whose workload was not ready in time. */
export function fallbackTarget(thread: ProxyThread, address: Address): Target {
  const id = `fallback ${address.host}:${address.port}`
  return thread.targets.getOrInsertComputed(id, () => {
    const target = new Target(id, thread.time, thread.limits, { ...thread.ports, wake: () => {} })
    target.set({ is: 'warm', endpoints: [address] })
    return target
  })
}
