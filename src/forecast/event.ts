import type { ObjectRef } from '../kube/object.ts'

/** Everything a forecast can speak of. */
export const happenings = [
  /** A person, or a machine of theirs, does what the forecast was told to assume. */
  'assumed',
  /** A policy wants it gone from now on. */
  'marked',
  /** Somebody is told of something. */
  'told',
  /** A mark is lifted. */
  'spared',
  'leaves',
  /** A revision sets out into an environment. */
  'promotes',
  /** A promotion waits for a gate or a human. */
  'waits',
  /** A revision is ready in an environment. */
  'arrives',
  /** A promotion ends without that. */
  'fails',
  'sleeps',
  'wakes',
  /** Too much leaves too quickly: nothing more does until a human has looked. */
  'halts',
] as const

export type Happening = (typeof happenings)[number]

/** One thing that will happen if nobody acts. */
export interface ForecastEvent {
  /** Epoch milliseconds. */
  readonly at: number
  readonly what: Happening
  readonly system: 'cleaner' | 'collector' | 'janitor' | 'promoter' | 'activator' | 'user'
  readonly object: ObjectRef & { readonly cluster?: string }
  /** One word of the system's vocabulary, where it has one. */
  readonly because: string
  /** The same as half a sentence. */
  readonly why: string
  /** Whose rule it is: `Cleaner/preview`. */
  readonly by?: string
  /** How many dependents go with it. */
  readonly takes?: number
  /** Who is told. */
  readonly to?: readonly string[]
  /** How they are told. */
  readonly channel?: string
  /** When what is announced will leave, in epoch milliseconds. */
  readonly leavesAt?: number
  readonly environment?: string
  readonly revision?: string
}

export interface Forecast {
  readonly from: number
  /** How far it looked. */
  readonly until: number
  /** How far it was to look: further, when there was not enough time. */
  readonly wanted: number
  readonly objects: number
  readonly events: readonly ForecastEvent[]
  /** What the forecast takes for granted, one sentence each. */
  readonly assumed: readonly string[]
  /** Why nothing leaves in all that time, whatever the rules say: a switch that nobody turns. */
  readonly halts: readonly string[]
  /** What could not be read: what it holds is not in the forecast. */
  readonly unread: readonly string[]
}
