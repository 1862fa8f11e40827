import type { Certificate, CertificateFault } from '../tls/certificates.ts'
import type { Counters } from '../routing/counters.ts'
import type { ListenOptions } from './proxy.ts'
import type { RouteConfig } from '../routing/route.ts'
import type { TargetState } from '../routing/target.ts'

/** What a target carries over all threads of this process. */
export interface TargetLoad {
  readonly busy: number
  readonly waiting: number
}

/** The proxy as the control plane sees it, however many threads it runs on. */
export interface DataPlane {
  /** One per thread; a route's cells add up over them. */
  readonly counters: readonly Counters[]
  setRoute(config: RouteConfig): void
  removeRoute(id: string): void
  setTarget(id: string, state: TargetState): void
  /** Holds back new requests to a target and closes its idle connections; returns what is still running. */
  drain(target: string): Promise<TargetLoad>
  setCertificates(certificates: readonly Certificate[]): Promise<readonly CertificateFault[]>
  listen(options: ListenOptions): Promise<number>
  /** Stops accepting connections at a port; open ones continue. */
  unlisten(port: number): void
  /** Stops accepting and lets running requests finish, for this long at most. */
  close(withinMs?: number): Promise<void>
}

/** What several threads, or several ports of one Service, carry together. */
export function sumOf(loads: readonly TargetLoad[]): TargetLoad {
  return {
    busy: loads.reduce((sum, { busy }) => sum + busy, 0),
    waiting: loads.reduce((sum, { waiting }) => sum + waiting, 0),
  }
}
