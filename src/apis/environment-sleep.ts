import type { LabelSelector } from '../kube/selector.ts'
import { parseLongDuration, parseTime } from '../kube/time.ts'
import { parseAwakeHours } from './awake-hours.ts'
import type { EnvironmentClass } from './environment-class.ts'
import type { Environment } from './environment.ts'
import type { WorkScheduleSpec } from './work-schedule.ts'
import type { WindowState } from './work-window.ts'

/** When the workloads of one environment sleep, as its class and its own spec say. Instants in epoch milliseconds. */
export interface SleepRule {
  /** Undefined: idleness puts nothing to sleep. */
  readonly idleAfterMs: number | undefined
  /** The hours themselves, or the name of the WorkSchedule that has them. */
  readonly awake: { readonly hours: WorkScheduleSpec } | { readonly schedule: string } | undefined
  /** Nothing sleeps before this instant, and why. */
  readonly grace: { readonly until: number; readonly because: 'new' | 'deployed' }
  readonly wakeOnDeploy: boolean
  /** Workloads with labels that match one of these never sleep. */
  readonly exclude: readonly LabelSelector[]
  /** When a user last connected to a Pod of the environment, where that counts as use. */
  readonly connectedAt?: number | undefined
  readonly byHand: { readonly power: 'Awake' | 'Asleep'; readonly since: number; readonly until: number } | undefined
  /** Why nothing is scaled, or that everything is woken because the class is missing. */
  readonly standing: 'in-force' | 'being-deleted' | 'no-class' | 'paused'
}

/** The rule of an environment; without a class its workloads are awake. */
export function sleepRuleOf(environmentClass: EnvironmentClass | undefined, environment: Environment): SleepRule {
  const { sleep, paused = false } = environmentClass?.spec ?? {}
  const { power = 'Auto', powerSince, powerUntil } = environment.spec
  const until = parseTime(powerUntil)
  return {
    idleAfterMs: sleep?.idleAfter === undefined ? undefined : parseLongDuration(sleep.idleAfter),
    awake: awakeOf(sleep?.awake),
    grace: graceOf(environment, parseLongDuration(sleep?.grace ?? '15m') ?? 900_000),
    wakeOnDeploy: sleep?.wakeOn?.includes('Deploy') ?? false,
    exclude: sleep?.exclude ?? [],
    connectedAt: environment.status?.lastUsedBy === 'Exec' ? parseTime(environment.status.lastUsedAt) : undefined,
    byHand: power === 'Auto' || until === undefined ? undefined : { power, since: parseTime(powerSince) ?? 0, until },
    standing: standingOf(environmentClass, environment, paused),
  }
}

/** What is known of an environment's use and schedule. */
export interface PowerFacts {
  readonly waiting: number
  readonly inFlight: number
  readonly lastRequestAt: number | undefined
  /** State of the schedule of `awake`; `missing` if no WorkSchedule has the name. */
  readonly window: WindowState | 'missing' | undefined
  /** False: requests may come that are not seen. */
  readonly isUseVisible: boolean
}

export type PowerBecause =
  | 'being-deleted'
  | 'no-class'
  | 'paused'
  | 'requested'
  | 'by-hand'
  | 'new'
  | 'deployed'
  | 'recently-used'
  | 'awake-hours'
  | 'outside-awake-hours'
  | 'no-such-schedule'
  | 'idle'
  | 'use-unknown'
  | 'no-sleep-rule'

/** `AsIs`: what sleeps stays asleep, what is awake stays awake. `until`: when to decide again if nothing changes. */
export interface PowerDecision {
  readonly wants: 'Awake' | 'Asleep' | 'AsIs'
  readonly because: PowerBecause
  readonly until?: number | undefined
}

/** Decides whether an environment is awake. The first rule that applies wins. */
export function decidePower(rule: SleepRule, facts: PowerFacts, now: number): PowerDecision {
  const { standing, byHand, grace, idleAfterMs } = rule
  if (standing === 'no-class') return { wants: 'Awake', because: standing }
  if (standing !== 'in-force') return { wants: 'AsIs', because: standing }
  if (facts.waiting > 0) return { wants: 'Awake', because: 'requested' }
  const hand = byHand && now < byHand.until ? byHand : undefined
  if (hand?.power === 'Awake') return { wants: 'Awake', because: 'by-hand', until: hand.until }
  // Before grace and use, which only keep awake what is: hours that begin, and a sleep by hand that ends, wake everything.
  const ruled = byClass(rule, facts)
  if (!hand && ruled.wants === 'Awake' && (ruled.because === 'awake-hours' || byHand)) return ruled
  const wants = rule.wakeOnDeploy && grace.because === 'deployed' ? 'Awake' : 'AsIs'
  if (!hand && now < grace.until) return { wants, because: grace.because, until: grace.until }
  if (facts.inFlight > 0) return { wants: 'AsIs', because: 'recently-used' }
  // A request before the sleep by hand does not keep the environment awake, one after it does.
  const usedAt = Math.max(facts.lastRequestAt ?? -1, rule.connectedAt ?? -1)
  const idleAt = usedAt > (hand?.since ?? -1) ? usedAt + (idleAfterMs ?? defaultIdleMs) : undefined
  if (idleAt !== undefined && now < idleAt) return { wants: 'AsIs', because: 'recently-used', until: idleAt }
  if (hand) return { wants: 'Asleep', because: 'by-hand', until: hand.until }
  return ruled
}

function byClass({ awake, idleAfterMs }: SleepRule, { window, isUseVisible }: PowerFacts): PowerDecision {
  if (awake && (window === undefined || window === 'missing')) return { wants: 'Awake', because: 'no-such-schedule' }
  if (awake && typeof window === 'object')
    return window.open
      ? { wants: 'Awake', because: 'awake-hours', until: window.until }
      : { wants: 'Asleep', because: 'outside-awake-hours', until: window.nextOpenAt }
  if (idleAfterMs === undefined) return { wants: 'Awake', because: 'no-sleep-rule' }
  return isUseVisible ? { wants: 'Asleep', because: 'idle' } : { wants: 'AsIs', because: 'use-unknown' }
}

const defaultIdleMs = 1_800_000

function awakeOf(text: string | undefined): SleepRule['awake'] {
  if (text === undefined) return undefined
  const hours = parseAwakeHours(text)
  return hours ? { hours } : { schedule: text }
}

function graceOf({ metadata, status }: Environment, graceMs: number): SleepRule['grace'] {
  const createdAt = parseTime(metadata.creationTimestamp) ?? 0
  const deployedAt = parseTime(status?.deployed?.at) ?? 0
  return deployedAt > createdAt
    ? { until: deployedAt + graceMs, because: 'deployed' }
    : { until: createdAt + graceMs, because: 'new' }
}

function standingOf(
  environmentClass: EnvironmentClass | undefined,
  { metadata, status }: Environment,
  paused: boolean,
): SleepRule['standing'] {
  if (metadata.deletionTimestamp !== undefined || status?.deletion) return 'being-deleted'
  if (!environmentClass || environmentClass.metadata.deletionTimestamp !== undefined) return 'no-class'
  return paused ? 'paused' : 'in-force'
}
