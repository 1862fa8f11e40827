import { configMaps } from '../../kube/core-types.ts'
import { sojournNamespace } from '../../apis/group.ts'
import type { Client } from '../../client/client.ts'
import type { KubeObject, StoredObject } from '../../kube/object.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'

/** The switches of the door, kept where people and replicas see them: ConfigMap `sojourn-door` in our namespace. */
export interface DoorState {
  readonly breaker: 'closed' | 'open'
  /** Why the breaker opened. */
  readonly because?: string
  readonly openedAt?: number
  /** When a human last closed it: what left before then is forgiven. */
  readonly closedAt?: number
  readonly paused: boolean
  readonly dryRun: boolean
}

export const doorStateName = 'sojourn-door'

/** Reads the switches; absent means closed, running, for real. A word nobody knows counts as its careful side. */
export function doorStateOf(configMap: KubeObject | undefined): DoorState {
  const data = (configMap?.data ?? {}) as Readonly<Record<string, string>>
  const openedAt = parseTime(data.openedAt)
  const closedAt = parseTime(data.closedAt)
  return {
    breaker: data.breaker === undefined || data.breaker === 'closed' ? 'closed' : 'open',
    paused: data.paused !== undefined && data.paused !== 'false',
    dryRun: data.dryRun !== undefined && data.dryRun !== 'false',
    ...(data.because ? { because: data.because } : {}),
    ...(openedAt === undefined ? {} : { openedAt }),
    ...(closedAt === undefined ? {} : { closedAt }),
  }
}

/** Changes switches, leaving the others as they are. */
export async function writeDoorState(
  client: Client,
  change: Readonly<Record<string, string | null>>,
): Promise<StoredObject> {
  const place = { namespace: sojournNamespace, name: doorStateName }
  try {
    return await client.patch(configMaps, place, { type: 'merge', body: { data: change } })
  } catch (error) {
    if (!isStatusError(error, 'NotFound')) throw error
    const data = Object.fromEntries(Object.entries(change).filter(([, value]) => value !== null))
    return client.create(configMaps, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { ...place, labels: { 'app.kubernetes.io/part-of': 'sojourn' } },
      data,
    })
  }
}

/** What opening the breaker writes. */
export function openBreaker(because: string, now: number): Record<string, string> {
  return { breaker: 'open', because, openedAt: formatTime(now) }
}

/** What a human's closing of the breaker writes. */
export function closeBreaker(now: number): Record<string, string | null> {
  return { breaker: 'closed', because: null, openedAt: null, closedAt: formatTime(now) }
}
