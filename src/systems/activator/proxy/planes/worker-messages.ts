import type { Certificate, CertificateFault } from '../tls/certificates.ts'
import type { TargetLoad } from './data-plane.ts'
import type { ProxyLimits } from '../routing/ports.ts'
import type { ListenOptions } from './proxy.ts'
import type { RouteConfig } from '../routing/route.ts'
import type { TargetState } from '../routing/target.ts'
import type { TlsPolicy } from '../tls/tls-policy.ts'

/** What a thread is started with. */
export interface WorkerStart {
  readonly limits: Partial<ProxyLimits>
  readonly tls: TlsPolicy
}

/** Messages to a thread. Those with an `id` get a reply. */
export type ToWorker =
  | { readonly do: 'page'; readonly page: SharedArrayBuffer }
  | { readonly do: 'set-route'; readonly config: RouteConfig }
  | { readonly do: 'remove-route'; readonly route: string }
  | { readonly do: 'set-target'; readonly target: string; readonly state: TargetState }
  | { readonly do: 'drain'; readonly id: number; readonly target: string }
  | { readonly do: 'certificates'; readonly id: number; readonly certificates: readonly Certificate[] }
  | { readonly do: 'listen'; readonly id: number; readonly options: ListenOptions }
  | { readonly do: 'unlisten'; readonly port: number }
  | { readonly do: 'close'; readonly id: number; readonly withinMs: number }

/** Messages from a thread. */
export type FromWorker =
  | { readonly did: 'wake'; readonly target: string; readonly fault?: string }
  | { readonly did: 'drain'; readonly id: number; readonly load: TargetLoad }
  | { readonly did: 'certificates'; readonly id: number; readonly faults: readonly CertificateFault[] }
  | { readonly did: 'listen'; readonly id: number; readonly port: number }
  | { readonly did: 'close'; readonly id: number }
  | { readonly did: 'fail'; readonly id: number; readonly message: string }
