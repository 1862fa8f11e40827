import type { Client } from '../client/client.ts'
import type { KubeObject, ObjectRef } from '../kube/object.ts'
import type { Clock } from './clock.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'

export interface EventNote {
  readonly type: 'Normal' | 'Warning'
  /** CamelCase, from the system's closed vocabulary. */
  readonly reason: string
  readonly message: string
  /** What was done or tried. Defaults to the reason. */
  readonly action?: string
  readonly related?: ObjectRef
}

export interface EventRecorderPorts {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Metrics
}

/** Writes Events: the same again counts up, an object that talks too much is cut short, and failures harm nobody. */
export declare class EventRecorder {
  constructor(component: string, ports: EventRecorderPorts)
  /** Returns at once; the Event follows. */
  record(about: KubeObject | (ObjectRef & { readonly uid?: string }), note: EventNote): void
  /** Resolves when everything recorded so far is written or given up. */
  flush(): Promise<void>
}
