import type { Approval } from '../../../apis/approval.ts'
import type { Pipeline } from '../../../apis/pipeline.ts'
import type { EnvironmentStatus, PipelineStatus, TargetStatus } from '../../../apis/pipeline-status.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import type { Because } from '../../../apis/pipeline-reasons.ts'
import type { EnvironmentPlan, Plan } from '../model/plan.ts'
import { identityOf } from '../model/revision.ts'

/** Everything a decision depends on, apart from the time. */
export interface Observed {
  readonly pipeline: Pipeline
  /** The state of each target, by environment, in the order of the spec. */
  readonly targets: Readonly<Record<string, readonly TargetStatus[]>>
  /** The freeze ConfigMap stops promotions in the whole cluster. */
  readonly frozen: boolean
  /** The promoter must not change anything outside; the status says what it would do. */
  readonly dryRun: boolean
  /** Ids of the promotions whose effect this process is running or has queued. */
  readonly busy: ReadonlySet<string>
  /** When the pull request of each promotion was last polled; absent after a restart or a webhook hint. */
  readonly polledAt: ReadonlyMap<string, number>
  /** The resourceVersion of the Secrets each environment is promoted with. */
  readonly secretVersions: Readonly<Record<string, string>>
  /** All Approvals that name this pipeline. */
  readonly approvals: readonly Approval[]
}

/** A change worth reporting: it becomes an Event, a metric and a log line. */
export interface Announcement {
  readonly type: 'Normal' | 'Warning'
  readonly because: Because
  readonly message: string
  readonly environment?: string
}

/** A reason with the sentence that explains it. */
export interface Why {
  readonly because: Because
  readonly message: string
}

/**
 * One decision in progress. Its steps edit `status`, a private copy of the pipeline's status, in place;
 * only `decide` creates a draft, and nothing keeps one afterwards.
 */
export class Draft {
  readonly plan: Plan
  readonly observed: Observed
  readonly now: number
  readonly status: PipelineStatus
  /** As observed, but each revision in the spelling that the status already uses for it. */
  readonly #targets: Observed['targets']
  readonly #announcements: Announcement[] = []
  #noRevision: Why | undefined
  #nextChangeAt = Infinity

  constructor(plan: Plan, observed: Observed, now: number) {
    this.plan = plan
    this.observed = observed
    this.now = now
    this.status = copyOf(observed.pipeline.status ?? {})
    this.#targets = withKnownSpellings(observed.targets, this.status)
  }

  get announcements(): readonly Announcement[] {
    return this.#announcements
  }

  /** The earliest time at which the passage of time alone changes the decision. */
  get nextChangeAt(): number {
    return this.#nextChangeAt
  }

  /** Why the first environment yields no revision, if it does not. */
  get noRevision(): Why | undefined {
    return this.#noRevision
  }

  announce(announcement: Announcement): void {
    this.#announcements.push(announcement)
  }

  /** Requests another decision at this time at the latest. */
  wakeAt(time: number): void {
    this.#nextChangeAt = Math.min(this.#nextChangeAt, time)
  }

  explainNoRevision(why: Why): void {
    this.#noRevision = why
  }

  /** By the spec, or by a user's request. */
  get isSuspended(): boolean {
    return this.plan.suspended || this.status.suspension !== undefined
  }

  /** The status of an environment, created when missing. */
  environment(name: string): EnvironmentStatus {
    this.status.environments ??= {}
    return (this.status.environments[name] ??= {})
  }

  targetsOf({ name }: EnvironmentPlan): readonly TargetStatus[] {
    return this.#targets[name] ?? []
  }

  /** Whether enough targets are readable, up to date, healthy and on this revision. */
  isReadyOn(environment: EnvironmentPlan, revision: string): boolean {
    const ready = this.targetsOf(environment).filter((target) => isTargetReadyOn(target, revision))
    return ready.length >= environment.requiredTargets
  }
}

/**
 * Targets may spell one revision differently, and the first environment may run a commit that differs from the run's
 * only by promotions. Every comparison after this one is of equal spellings.
 */
function withKnownSpellings(targets: Observed['targets'], status: PipelineStatus): Observed['targets'] {
  const { run, candidate, revisions = [], recentRuns = [], environments = {} } = status
  const spellings = new Map<string, string>()
  const learn = (revision: string) => {
    const identity = identityOf(revision)
    if (!spellings.has(identity)) spellings.set(identity, revision)
    return spellings.get(identity)!
  }
  for (const known of [run, candidate, ...Object.values(environments).map(({ promotion }) => promotion)])
    if (known) learn(known.revision)
  for (const alias of run?.aliases ?? []) spellings.set(identityOf(alias), run!.revision)
  for (const { revision } of [...recentRuns, ...revisions]) learn(revision)
  const spelled = (target: TargetStatus) =>
    target.revision === undefined ? target : { ...target, revision: learn(target.revision) }
  return Object.fromEntries(Object.entries(targets).map(([name, list]) => [name, list.map(spelled)]))
}

export function isTargetReadyOn(target: TargetStatus, revision: string): boolean {
  return target.reason === 'Found' && target.ready && target.revision === revision
}

/** Whether the target exists and could be read, even if its status is out of date. */
export function isReadable({ reason }: TargetStatus): boolean {
  return reason === 'Found' || reason === 'RevisionUnknown' || reason === 'Stale'
}

export function describeTarget({ cluster, namespace, kind, name }: TargetStatus): string {
  return `${kind} ${namespace}/${name}${cluster ? ` in cluster ${cluster}` : ''}`
}

/** Epoch milliseconds of a time in a status; -Infinity when it is missing or unreadable. */
export function at(text: string | undefined): number {
  return parseTime(text) ?? -Infinity
}

/** A stored time, capped at now: after the clock was set back, a time in the future would delay promotions. */
export function notAfter(text: string | undefined, now: number): string {
  return text !== undefined && at(text) <= now ? text : formatTime(now)
}

/** A mutable copy of a JSON value; several times faster than structuredClone. */
export function copyOf<T>(value: T): T {
  if (Array.isArray(value)) return value.map(copyOf) as T
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const key in value) copy[key] = copyOf(value[key])
  return copy as T
}
