import type { Approval } from '../../../apis/approval.ts'
import type { Pipeline } from '../../../apis/pipeline.ts'
import type { EnvironmentStatus, PipelineStatus, Promotion, TargetStatus } from '../../../apis/pipeline-status.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import type { Because } from '../../../apis/pipeline-reasons.ts'
import type { EnvironmentPlan, Plan } from '../model/plan.ts'

/** All that a decision may depend on, beside the time. */
export interface Observed {
  readonly pipeline: Pipeline
  /** What each target looks like, by environment, in the order of the spec. */
  readonly targets: Readonly<Record<string, readonly TargetStatus[]>>
  /** Promotions are frozen everywhere. */
  readonly frozen: boolean
  /** Nothing may be done outside; the status says what would be. */
  readonly dryRun: boolean
  /** Promotions that this process is working on at this moment. */
  readonly busy: ReadonlySet<string>
  /** When the pull request of a promotion was last looked at; absent after a restart or a hint. */
  readonly polledAt: ReadonlyMap<string, number>
  /** The version of the Secret each environment is promoted with. */
  readonly secretVersions: Readonly<Record<string, string>>
  /** Everything anybody has said about promotions of this pipeline. */
  readonly approvals: readonly Approval[]
}

/** Something a person may want to hear of: it becomes an Event, a metric and a log line. */
export interface Announcement {
  readonly type: 'Normal' | 'Warning'
  readonly because: Because
  readonly message: string
  readonly environment?: string
}

/** A decision in the making: the next status, changed in place by one decision and seen by nobody else. */
export interface Draft {
  readonly plan: Plan
  readonly observed: Observed
  readonly now: number
  readonly status: PipelineStatus
  readonly announcements: Announcement[]
  /** Why no revision comes out of the first environment. */
  pending: { readonly because: Because; readonly message: string } | undefined
  wakeAt: number
}

/** The status of an environment, made when it is not there. */
export function environmentStatus({ status }: Draft, name: string): EnvironmentStatus {
  status.environments ??= {}
  return (status.environments[name] ??= {})
}

export function targetsOf({ observed }: Draft, environment: EnvironmentPlan): readonly TargetStatus[] {
  return observed.targets[environment.name] ?? []
}

/** Enough targets are readable, fresh, healthy and on this revision. */
export function isDoneOn(draft: Draft, environment: EnvironmentPlan, revision: string): boolean {
  const done = targetsOf(draft, environment).filter((target) => isReadyOn(target, revision))
  return done.length >= environment.requiredTargets
}

export function isReadyOn(target: TargetStatus, revision: string): boolean {
  return target.reason === 'Found' && target.ready && target.revision === revision
}

/** Something is known of it, if perhaps not the newest: it exists and could be read. */
export function isReadable({ reason }: TargetStatus): boolean {
  return reason === 'Found' || reason === 'RevisionUnknown' || reason === 'Stale'
}

export function describeTarget({ cluster, namespace, kind, name }: TargetStatus): string {
  return `${kind} ${namespace}/${name}${cluster ? ` in cluster ${cluster}` : ''}`
}

/** Look again at this time at the latest. */
export function wake(draft: Draft, at: number): void {
  draft.wakeAt = Math.min(draft.wakeAt, at)
}

export function announce(draft: Draft, announcement: Announcement): void {
  draft.announcements.push(announcement)
}

/** Epoch milliseconds of a time in a status; what is missing or unreadable lies infinitely far back. */
export function at(text: string | undefined): number {
  return parseTime(text) ?? -Infinity
}

/** An instant for the status; never later than now, so that a clock set back delays nothing. */
export function notAfter(text: string | undefined, now: number): string {
  return text !== undefined && at(text) <= now ? text : formatTime(now)
}

/** Moves a promotion to a phase and says why. */
export function enter(promotion: Promotion, phase: Promotion['phase'], because: Because, now: number): void {
  promotion.phase = phase
  promotion.because = because
  promotion.phaseAt = formatTime(now)
  delete promotion.nextAttemptAt
}

const ended: ReadonlySet<Promotion['phase']> = new Set(['Succeeded', 'Rejected', 'Superseded', 'Failed'])

export function hasEnded({ phase }: Promotion): boolean {
  return ended.has(phase)
}

/** A copy of a JSON value that may be changed; the platform's own copies far more than JSON, and far slower. */
export function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const key in value) copy[key] = copyOf(value[key])
  return copy as T
}
