import type { Client } from '../../client/client.ts'
import type { RouteUser } from '../../runtime/http/route.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Clock } from '../../runtime/time/clock.ts'

export interface PagePorts {
  /** A client with the rights of this user. */
  readonly clientAs: (user: RouteUser) => Client
  /** Finds the names of namespaces for users who may not list them. */
  readonly own: Client
  readonly events: Pick<EventRecorder, 'record'>
  readonly clock: Clock
}
