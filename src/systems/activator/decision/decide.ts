import type { PowerBecause, PowerDecision } from '../../../apis/environment-sleep.ts'
import { windowState } from '../../../apis/work-window.ts'
import type { ScalingSettings } from '../model/service-settings.ts'

/** A workload as the API shows it. */
export interface Workload {
  readonly replicas: number
  /** How many there were before it was put to sleep. */
  readonly formerReplicas: number | undefined
  /** The least its autoscaler allows, if it has one. */
  readonly autoscalerMin: number | undefined
  readonly resourceVersion: string
  readonly deleting: boolean
  /** The activator put it to sleep, and no other writer has scaled it since. */
  readonly isSlept: boolean
  /** Why it is never put to sleep, whatever the rules say. */
  readonly neverSleeps: 'claims-deleted' | 'contended' | undefined
}

/** What one Service in front of a workload asks for. */
export interface Rule extends ScalingSettings {
  /** Callers that should come through the proxy may reach the pods unseen. */
  readonly isBypassed: boolean
}

/** How a workload is used, over all its Services. */
export interface Usage {
  readonly inFlight: number
  readonly waiting: number
  /** The last use that any replica knows of. */
  readonly lastUsedAt: number
}

/** The result of past attempts to wake a workload. */
export interface WakeBackoff {
  readonly failures: number
  /** No attempt before this time. */
  readonly retryAt: number
  readonly because: 'backoff' | 'wake-denied'
  /** It is being woken, and may take until then: a visitor who did not wait for it must not put it back to sleep. */
  readonly until?: number | undefined
}

export interface Observed {
  /** `unknown`: the API cannot be read just now; `absent`: it has no such object. */
  readonly workload: Workload | 'unknown' | 'absent'
  readonly rules: readonly Rule[]
  readonly usage: Usage
  readonly wake: WakeBackoff
  /** How many replicas its sleep rule leaves it. */
  readonly least?: number | undefined
  /** What the sleep rule of the workload wants; undefined without one, `unknown` while rules cannot be read. */
  readonly power: PowerDecision | 'unknown' | undefined
}

/** Why a decision was made: one vocabulary for Events, metrics, logs and explanations. */
export type Because =
  | 'requested'
  | 'office-hours'
  | 'minimum'
  | 'idle'
  | 'in-use'
  | 'waking'
  | 'recently-used'
  | 'kept-awake'
  | 'bypassed'
  | 'asleep'
  | 'unknown'
  | 'absent'
  | 'being-deleted'
  | 'no-route'
  | 'claims-deleted'
  | 'contended'
  | PowerBecause

export type Decision =
  | { readonly do: 'wake'; readonly because: Because; readonly replicas: number; readonly resourceVersion: string }
  | {
      readonly do: 'sleep'
      readonly because: Because
      readonly replicas: number
      readonly former: number
      readonly resourceVersion: string
    }
  | {
      readonly do: 'refuse'
      readonly because: 'backoff' | 'wake-denied' | 'target-gone'
      readonly until: number | undefined
    }
  | { readonly do: 'stay'; readonly because: Because; readonly until: number | undefined }

/** Decides whether to wake a workload, put it to sleep or leave it, and until when that holds if nothing changes. */
export function decide(observed: Observed, now: number): Decision {
  const { workload, rules, usage, power } = observed
  if (workload === 'unknown') return stay('unknown')
  if (workload === 'absent')
    return usage.waiting > 0 ? { do: 'refuse', because: 'target-gone', until: undefined } : stay('absent')
  if (workload.deleting) return stay('being-deleted')
  if (power === 'unknown' && usage.waiting === 0) return stay('unknown')
  const wakingUntil = observed.wake.until ?? 0
  if (workload.replicas > 0 && now < wakingUntil && usage.waiting === 0) return stay('waking', wakingUntil)
  const ruled = typeof power === 'object' ? byPower(observed, workload, power, now) : undefined
  if (ruled) return ruled
  if (rules.length === 0) return stay('no-route')
  return onDemand(observed, workload, now)
}

/** What the sleep rule decides; undefined where it leaves that to the Services in front of the workload. */
function byPower(observed: Observed, workload: Workload, power: PowerDecision, now: number): Decision | undefined {
  const { rules, usage, wake } = observed
  const { wants, because, until } = power
  const least = leastOf(rules, observed.least)
  if (because === 'being-deleted') return stay(because)
  // Without a sleep rule the Services decide, where there are any: both would undo what the other does.
  if (because === 'no-sleep-rule' && rules.length > 0) return undefined
  if (wants === 'Awake' && workload.replicas <= least && workload.isSlept)
    return decideWake(workload, { rules, least, because, wake, waiting: usage.waiting }, now)
  if (wants === 'Awake' && because !== 'requested' && workload.replicas > 0) return stay(because, until)
  if (wants === 'Asleep' && workload.replicas > least && usage.waiting === 0)
    return decideSleep(workload, because, least)
  return rules.length === 0 ? stay(workload.replicas === 0 ? 'asleep' : because, until) : undefined
}

/** What the Services in front of a workload decide by their requests. */
function onDemand({ rules, usage, wake, power, least: left }: Observed, workload: Workload, now: number): Decision {
  const hours = hoursOf(rules, now)
  const least = leastOf(rules, left)
  const wanted = wantedBecause(usage.waiting, hours.open, least)
  if (wanted && workload.replicas < (wanted === 'minimum' ? least : 1))
    return decideWake(workload, { rules, least, because: wanted, wake, waiting: usage.waiting }, now)
  const changesAt = earliest(hours.changesAt, typeof power === 'object' ? power.until : undefined)
  if (workload.replicas === 0) return stay('asleep', changesAt)
  const idleAt = usage.lastUsedAt + Math.max(...rules.map(({ ttlMs }) => ttlMs))
  const isUsed = usage.inFlight > 0 || usage.waiting > 0 || now < idleAt
  if (workload.replicas <= least) {
    const because = isUsed ? 'requested' : hours.open ? 'office-hours' : undefined
    // The pods at the minimum take the first requests; any use restores the former replicas.
    const isAsleep = workload.replicas < (workload.formerReplicas ?? 0)
    const woken =
      isAsleep && because && decideWake(workload, { rules, least, because, wake, waiting: usage.waiting }, now)
    const isMore = woken && woken.do === 'wake' && woken.replicas > workload.replicas
    return isMore ? woken : stay('minimum', changesAt)
  }
  if (usage.inFlight > 0 || usage.waiting > 0) return stay('in-use')
  if (rules.some(({ maySleep }) => !maySleep)) return stay('kept-awake')
  if (rules.some(({ isBypassed }) => isBypassed)) return stay('bypassed')
  if (hours.open) return stay('office-hours', hours.changesAt)
  // The idle time of a rule is that of all its workloads, unless a Service has one of its own. Other tools have none.
  const isRuled = typeof power === 'object' && power.wants === 'AsIs' && power.because !== 'outside-awake-hours'
  if (isRuled && rules.some(({ hasOwnTtl }) => !hasOwnTtl)) return stay(power.because, changesAt)
  if (now < idleAt) return stay('recently-used', earliest(idleAt, changesAt))
  return decideSleep(workload, 'idle', least)
}

function decideSleep(workload: Workload, because: Because, least: number): Decision {
  if (workload.neverSleeps) return stay(workload.neverSleeps)
  const { replicas: former, resourceVersion } = workload
  return { do: 'sleep', because, replicas: least, former, resourceVersion }
}

/** How many replicas a workload keeps asleep, by the Services that lead to it and by its sleep rule. */
export function leastOf(rules: readonly Pick<Rule, 'minReplicas'>[], least = 0): number {
  return Math.max(least, ...rules.map(({ minReplicas }) => minReplicas))
}

function earliest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}

interface WakeNeed {
  readonly rules: readonly Rule[]
  readonly least: number
  readonly because: Because
  readonly wake: WakeBackoff
  readonly waiting: number
}

function decideWake(workload: Workload, { rules, least, because, wake, waiting }: WakeNeed, now: number): Decision {
  if (now < wake.retryAt) {
    return waiting > 0 ? { do: 'refuse', because: wake.because, until: wake.retryAt } : stay('asleep', wake.retryAt)
  }
  const explicit = rules.flatMap(({ wakeReplicas }) => wakeReplicas ?? [])
  const { formerReplicas = 1, autoscalerMin } = workload
  // An autoscaler goes on from its least, except that a sleep rule wakes everything as it was.
  const isLeftToIt = autoscalerMin !== undefined && (because === 'requested' || because === 'office-hours')
  const usual = isLeftToIt ? autoscalerMin : Math.max(formerReplicas, autoscalerMin ?? 1)
  const replicas = Math.max(
    1,
    least,
    because === 'minimum' ? least : explicit.length > 0 ? Math.max(...explicit) : usual,
  )
  return { do: 'wake', because, replicas, resourceVersion: workload.resourceVersion }
}

function wantedBecause(waiting: number, open: boolean, least: number): Because | undefined {
  if (waiting > 0) return 'requested'
  if (open) return 'office-hours'
  return least > 0 ? 'minimum' : undefined
}

/** Whether any Service wants it awake at this hour, and when that changes. */
function hoursOf(
  rules: readonly Rule[],
  now: number,
): { readonly open: boolean; readonly changesAt: number | undefined } {
  const closings: number[] = []
  const openings: number[] = []
  for (const { awakeHours, awakeUntil } of rules) {
    if (awakeUntil !== undefined && now < awakeUntil) closings.push(awakeUntil)
    if (!awakeHours) continue
    const state = windowState(awakeHours, now)
    if (state.open) closings.push(state.until)
    else if (state.nextOpenAt !== undefined) openings.push(state.nextOpenAt)
  }
  if (closings.length > 0) return { open: true, changesAt: Math.max(...closings) }
  return { open: false, changesAt: openings.length > 0 ? Math.min(...openings) : undefined }
}

function stay(because: Because, until?: number): Decision {
  return { do: 'stay', because, until }
}
