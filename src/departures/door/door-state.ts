import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { writeSettings } from '../../runtime/sharing/shared-settings.ts'
import type { Overrun } from './budget.ts'

/** The switches of the door. They are in the ConfigMap `sojourn-door` in our namespace, where users and all replicas can read them. */
export interface DoorState {
  readonly breaker: 'closed' | 'open'
  /** Why the breaker opened. */
  readonly because?: string
  readonly openedAt?: number
  /** When a user last closed it: deletions before then no longer count. */
  readonly closedAt?: number
  /** Why the circuits of single namespaces are open, by scope: deletions in these namespaces are held. */
  readonly circuits: Readonly<Record<string, string>>
  readonly paused: boolean
  readonly dryRun: boolean
}

export const doorStateName = 'sojourn-door'

/** Reads the switches. A missing switch is off; an unknown value counts as open, paused or dry run. */
export function doorStateOf(configMap: KubeObject | undefined): DoorState {
  const data = (configMap?.data ?? {}) as Readonly<Record<string, string>>
  const openedAt = parseTime(data.openedAt)
  const closedAt = parseTime(data.closedAt)
  return {
    breaker: data.breaker === undefined || data.breaker === 'closed' ? 'closed' : 'open',
    paused: data.paused !== undefined && data.paused !== 'false',
    dryRun: data.dryRun !== undefined && data.dryRun !== 'false',
    circuits: Object.fromEntries(
      Object.entries(data).flatMap(([key, because]) =>
        key.startsWith(circuitPrefix) ? [[key.slice(circuitPrefix.length), because]] : [],
      ),
    ),
    ...(data.because ? { because: data.because } : {}),
    ...(openedAt === undefined ? {} : { openedAt }),
    ...(closedAt === undefined ? {} : { closedAt }),
  }
}

/** Before the scope of a namespace: its key in the ConfigMap. */
export const circuitPrefix = 'circuit.'

/** Changes these switches only. Null removes a key. */
export function writeDoorState(client: Client, change: Readonly<Record<string, string | null>>): Promise<StoredObject> {
  return writeSettings(client, { namespace: sojournNamespace, name: doorStateName }, change)
}

/** What opening the breaker writes: that of one namespace where the scope is given. */
export function openBreaker({ because, scope }: Overrun, now: number): Record<string, string> {
  if (scope !== undefined) return { [`${circuitPrefix}${scope}`]: because }
  return { breaker: 'open', because, openedAt: formatTime(now) }
}

/** What closing the breaker and the circuits of all namespaces writes. */
export function closeBreaker({ circuits }: DoorState, now: number): Record<string, string | null> {
  const closed = Object.keys(circuits).map((scope) => [`${circuitPrefix}${scope}`, null])
  return {
    ...Object.fromEntries(closed),
    breaker: 'closed',
    because: null,
    openedAt: null,
    closedAt: formatTime(now),
  }
}
