import type { ObjectRef } from '../kube/object.ts'
import { formatTime } from '../kube/time.ts'

/** The `what` of forecast events, as published in the API. */
const eventTypes = [
  /** An assumed user action is carried out. */
  'assumed',
  /** A CleanupPolicy marks an object for deletion. */
  'marked',
  /** A notice, webhook call or CloudEvent is sent. */
  'told',
  /** A mark is removed. */
  'spared',
  /** An object is deleted. */
  'leaves',
  /** The promotion of a revision into an environment begins. */
  'promotes',
  /** A promotion waits for a gate, an approval or a merge. */
  'waits',
  /** A revision is ready in an environment. */
  'arrives',
  /** A promotion ends without success. */
  'fails',
  'sleeps',
  'wakes',
  /** The circuit breaker opens: nothing is deleted until a user closes it. */
  'halts',
] as const

export type EventType = (typeof eventTypes)[number]

/** An event that will happen if the assumptions hold and no user acts otherwise. */
export interface ForecastEvent {
  /** Epoch milliseconds. */
  readonly at: number
  readonly what: EventType
  readonly system: 'cleaner' | 'collector' | 'janitor' | 'promoter' | 'activator' | 'environments' | 'user'
  readonly object: ObjectRef & { readonly cluster?: string }
  /** The system's reason code. */
  readonly because: string
  /** The reason as a clause. */
  readonly why: string
  /** The object whose rule causes the event: `Cleaner/preview`. */
  readonly by?: string
  /** The number of dependents deleted with the object. */
  readonly takes?: number
  /** The recipients of a notice. */
  readonly to?: readonly string[]
  /** The channel that a notice is sent through. */
  readonly channel?: string
  /** The deletion time that a notice announces, in epoch milliseconds. */
  readonly leavesAt?: number
  readonly environment?: string
  readonly revision?: string
}

export interface Forecast {
  readonly from: number
  /** The end of the forecast: earlier than `wanted` when it ran out of time. */
  readonly until: number
  /** The requested end. */
  readonly wanted: number
  /** The number of objects in the snapshot. */
  readonly objects: number
  readonly events: readonly ForecastEvent[]
  /** The assumptions, a clause each. */
  readonly assumed: readonly string[]
  /** Why nothing is deleted for the whole time: deletions are paused, or the circuit breaker is open. */
  readonly halts: readonly string[]
  /** The rights that the running systems lack for these events, a sentence each. */
  readonly lacking: readonly string[]
  /** Kinds, clusters and cloud locations that could not be read and are missing from the forecast. */
  readonly unread: readonly string[]
}

/** The public JSON form of a forecast, with times in RFC 3339. */
export function forecastDocument({ from, until, wanted, events, ...rest }: Forecast) {
  return {
    apiVersion: 'sojourn.dev/v1alpha1',
    kind: 'Forecast',
    from: formatTime(from),
    until: formatTime(until),
    ...(wanted > until ? { wanted: formatTime(wanted) } : {}),
    ...rest,
    events: events.map(({ at, leavesAt, ...event }: ForecastEvent) => ({
      at: formatTime(at),
      ...event,
      ...(leavesAt === undefined ? {} : { leavesAt: formatTime(leavesAt) }),
    })),
  }
}
