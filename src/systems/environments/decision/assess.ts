import { decidePower, sleepRuleOf, type PowerDecision } from '../../../apis/environment-sleep.ts'
import type { Environment, EnvironmentStatus } from '../../../apis/environment.ts'
import type { WindowState } from '../../../apis/work-window.ts'
import { CelTimestamp } from '../../../cel/moments.ts'
import { healthStatus, setCondition, type Condition } from '../../../kube/conditions.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { isUseVisible, lastRequestAt, ownerOf, urlsOf, workloadFacts, type Observed } from './facts.ts'
import type { Seen } from '../pulls/pull-requests.ts'
import { messageOf, phaseOf } from './describe.ts'
import { readClass, type ClassRules } from './rules.ts'
import { decideStay, type PullFacts, type StayDecision, type StayFacts } from './stay.ts'

/** What an environment's caches do not hold. */
export interface Surroundings {
  /** The pull request: what the environment names, what was read of it, or why it cannot be. */
  readonly pull: { readonly url: string; readonly seen: Seen | undefined; readonly problem?: Problem } | undefined
  readonly window: WindowState | 'missing' | undefined
  readonly mailAt: number
  readonly evictedAt: number | undefined
  readonly isBeyondLimit: boolean
  /** Why the environment must not be deleted: its author may not, or it is one too many. */
  readonly refusal: Problem | undefined
  readonly channels: readonly string[]
}

export interface Problem {
  readonly reason: string
  readonly message: string
}

export interface Assessment {
  readonly status: EnvironmentStatus
  readonly stay: StayDecision
  readonly until: number | undefined
}

/** Computes the next status of an environment and what to do. Pure. */
export function assess(observed: Observed, around: Surroundings, now: number): Assessment {
  const { environment } = observed
  const rules = observed.rules ?? noRules
  const workloads = workloadFacts(observed.workloads, environment.status?.power)
  const base = compact<EnvironmentStatus>({
    ...environment.status,
    ...usage(observed, workloads.hash, now),
    owner: ownerOf(observed),
    urls: urlsOf(observed.services),
    workloads: { awake: workloads.awake, asleep: workloads.asleep },
    pullRequest: pullStatus(environment.status?.pullRequest, around, now),
    power: workloads.power,
    timeline: timelineOf(environment.status, workloads.power, now),
  })
  const power = powerOf(observed, base, around, now)
  const { announced, stay, facts } = announce(observed, base, { rules, around, now })
  const told = {
    lastUsedAt: facts.lastUsedAt,
    lastUsedBy: base.lastUsedBy,
    toldAt: parseTime(announced.announcement?.toldAt),
  }
  const isHeld = stay.do === 'hold' || around.refusal !== undefined || around.isBeyondLimit
  const message = around.refusal ? around.refusal.message : messageOf(stay, told)
  const status = compact<EnvironmentStatus>({
    ...announced,
    because: power.because,
    sleepsAt: timeOf(workloads.power === 'Asleep' ? undefined : sleepsAt(power)),
    wakesAt: timeOf(power.wants === 'Asleep' ? power.until : undefined),
    deletesAt: timeOf(stay.do === 'stay' ? stay.due?.at : parseTime(announced.announcement?.date)),
    message,
    phase: phaseOf(announced, isHeld),
    ...conditionsOf(observed, { ...around, stay, message, now, hasUse: facts.isUseVisible }),
  })
  const untils = [power.until, 'until' in stay ? stay.until : undefined].filter((at) => at !== undefined && at > now)
  return { status, stay, until: untils.length > 0 ? Math.min(...(untils as number[])) : undefined }
}

const noRules: ClassRules = {
  ...readClass({ namespaceSelector: { matchLabels: { none: 'none' } } }).rules,
  closedMs: undefined,
}

/** The announcement as it must be written before anything else happens, and the decision that holds then. */
function announce(
  observed: Observed,
  base: EnvironmentStatus,
  { rules, around, now }: { readonly rules: ClassRules; readonly around: Surroundings; readonly now: number },
): { announced: EnvironmentStatus; stay: StayDecision; facts: StayFacts } {
  const paused = observed.environmentClass?.spec.paused === true
  let announced = base
  let facts = stayFacts(observed, announced, { rules, around, now })
  let stay: StayDecision = paused ? { do: 'stay' } : decideStay(facts, now)
  for (let round = 0; round < 2 && (stay.do === 'announce' || stay.do === 'move' || stay.do === 'withdraw'); round++) {
    announced = changed(announced, stay, now)
    facts = stayFacts(observed, announced, { rules, around, now })
    stay = decideStay(facts, now)
  }
  return { announced, stay, facts }
}

function changed(status: EnvironmentStatus, stay: StayDecision, now: number): EnvironmentStatus {
  const { announcement, ...rest } = status
  if (stay.do === 'withdraw') return rest
  if (stay.do === 'move')
    return announcement ? { ...rest, announcement: { ...announcement, date: ceil(stay.date) } } : rest
  if (stay.do !== 'announce') return status
  const generation = (status.announcements ?? 0) + 1
  return {
    ...rest,
    announcements: generation,
    announcement: { reason: stay.reason, date: ceil(stay.date), writtenAt: formatTime(now), generation },
  }
}

/** Stored times have whole seconds; a printed date must never be in the past of the stored one. */
function ceil(at: number): string {
  return formatTime(Math.ceil(at / 1000) * 1000)
}

function stayFacts(
  observed: Observed,
  status: EnvironmentStatus,
  { rules, around, now }: { readonly rules: ClassRules; readonly around: Surroundings; readonly now: number },
): StayFacts {
  const { environment, namespace } = observed
  const { announcement } = status
  const createdAt = parseTime(namespace.metadata.creationTimestamp) ?? now
  const keeps = [parseTime(environment.spec.keepUntil), parseTime(status.kept?.until)].filter((at) => at !== undefined)
  return {
    rules,
    createdAt,
    lastUsedAt: parseTime(status.lastUsedAt) ?? now,
    deployedAt: parseTime(status.deployed?.at) ?? createdAt,
    isUseVisible: isUseVisible(observed),
    keepUntil: keeps.length > 0 ? Math.max(...keeps) : undefined,
    pull: pullFacts(status, around),
    isConditionTrue: isConditionTrue(rules, observed, { status, now }),
    evictedAt: around.evictedAt,
    announcement: announcement && {
      reason: announcement.reason,
      date: parseTime(announcement.date) ?? Infinity,
      writtenAt: parseTime(announcement.writtenAt) ?? now,
      toldAt: parseTime(announcement.toldAt),
      owner: announcement.owner,
      attempts: announcement.attempts ?? 0,
      retryAt: parseTime(announcement.retryAt),
    },
    owner: status.owner,
    needsOwner: around.channels.length > 0,
    mailAt: around.channels.length > 0 ? around.mailAt : 0,
  }
}

/** An expression that fails or gives no boolean deletes nothing. */
function isConditionTrue(
  { when }: ClassRules,
  { environment, namespace }: Observed,
  { status, now }: { readonly status: EnvironmentStatus; readonly now: number },
): boolean {
  const pullRequest = status.pullRequest ?? {}
  const bindings = {
    environment: { ...environment, status },
    namespace,
    pullRequest,
    time: CelTimestamp.fromMilliseconds(now),
  }
  return when?.evaluate(bindings, { budget: 1_000_000 }) === true
}

function pullFacts({ pullRequest }: EnvironmentStatus, { pull }: Surroundings): PullFacts | undefined {
  if (!pull || !pullRequest) return undefined
  return {
    state: pullRequest.state,
    isKnown: pull.seen !== undefined && 'pull' in pull.seen,
    closedAt: parseTime(pullRequest.closedAt),
    headChangedAt: parseTime(pullRequest.headChangedAt),
  }
}

type PullStatus = EnvironmentStatus['pullRequest']

/** What was read last stays in the status while the forge cannot be read: the conditions and a hold tell that it may be old. */
function pullStatus(former: PullStatus, { pull }: Surroundings, now: number): PullStatus {
  if (!pull) return undefined
  const before = former?.url === pull.url ? former : { url: pull.url, state: 'unknown' as const }
  if (!pull.seen || 'problem' in pull.seen) return before
  const { state, headSHA, closedAt } = pull.seen.pull
  const isOpen = state === 'open'
  const hasSameHead = before.headSHA !== undefined && before.headSHA === headSHA
  return compact<NonNullable<PullStatus>>({
    ...before,
    state,
    // Written on changes only: each poll would be a write otherwise.
    seenAt: before.state === state && hasSameHead ? (before.seenAt ?? formatTime(now)) : formatTime(now),
    closedAt: isOpen ? undefined : (before.closedAt ?? formatTime(parseTime(closedAt) ?? now)),
    headSHA,
    headChangedAt: hasSameHead ? before.headChangedAt : formatTime(now),
  })
}

/** Use since the last status, written only when it moved enough to matter. */
function usage(observed: Observed, hash: string, now: number): Partial<EnvironmentStatus> {
  const { environment, workloads, rules } = observed
  const { status = {} } = environment
  const isDeploy = status.deployed?.hash !== hash
  const deployed = status.deployed && !isDeploy ? status.deployed : { hash, at: formatTime(now) }
  const requestAt = rules?.uses.has('Traffic') ? lastRequestAt(workloads) : undefined
  const wokenAt = environment.spec.power === 'Awake' ? parseTime(environment.spec.powerSince) : undefined
  const former = parseTime(status.lastUsedAt)
  const signs: [number, NonNullable<EnvironmentStatus['lastUsedBy']>][] = [
    ...(former === undefined ? [[now, 'Created'] as [number, 'Created']] : []),
    ...(requestAt === undefined ? [] : [[requestAt, 'Traffic'] as [number, 'Traffic']]),
    ...(wokenAt === undefined ? [] : [[wokenAt, 'Wake'] as [number, 'Wake']]),
    ...(isDeploy && status.deployed && rules?.uses.has('Deploy') ? [[now, 'Deploy'] as [number, 'Deploy']] : []),
  ]
  const [latest] = signs.toSorted(([left], [right]) => right - left)
  const stepMs = Math.max(300_000, Math.min(3_600_000, (rules?.afterMs ?? 0) / 50))
  const isNews = latest && (former === undefined || latest[0] >= former + (latest[1] === 'Traffic' ? stepMs : 1000))
  return isNews ? { deployed, lastUsedAt: formatTime(latest[0]), lastUsedBy: latest[1] } : { deployed }
}

function powerOf(observed: Observed, status: EnvironmentStatus, { window }: Surroundings, now: number): PowerDecision {
  const environment: Environment = { ...observed.environment, status }
  const facts = {
    waiting: 0,
    inFlight: 0,
    lastRequestAt: lastRequestAt(observed.workloads),
    window,
    isUseVisible: isUseVisible(observed),
  }
  return decidePower(sleepRuleOf(observed.environmentClass, environment), facts, now)
}

/** When an awake environment sleeps if nothing happens; undefined when that is not known. */
function sleepsAt({ wants, because, until }: PowerDecision): number | undefined {
  const mayEnd = because !== 'being-deleted' && because !== 'paused' && because !== 'use-unknown'
  return mayEnd && wants !== 'Asleep' ? until : undefined
}

const weekMs = 7 * 86_400_000

function timelineOf(
  { timeline = [] }: EnvironmentStatus = {},
  power: string,
  now: number,
): EnvironmentStatus['timeline'] {
  const last = timeline.at(-1)
  const current = power === 'Asleep' ? 'Asleep' : 'Awake'
  if (last?.power === current) return timeline
  const recent = timeline.filter(({ at }) => (parseTime(at) ?? 0) > now - weekMs)
  return [...recent, { at: formatTime(now), power: current } as const].slice(-60)
}

/** Why the rules of its class cannot be followed; undefined when they can. */
function troubleOf(
  { environment, environmentClass, rules }: Pick<Observed, 'environment' | 'environmentClass' | 'rules'>,
  { window, isBeyondLimit }: Pick<Surroundings, 'window' | 'isBeyondLimit'>,
): Problem | undefined {
  const { className } = environment.spec
  const problem = (reason: string, message: string): Problem => ({ reason, message })
  if (!environmentClass)
    return problem(
      'ClassNotFound',
      `spec.className: there is no EnvironmentClass ${className}; nothing sleeps or is deleted`,
    )
  if (!rules) return problem('ClassInvalid', `EnvironmentClass ${className} has invalid fields; nothing is deleted`)
  const { awake } = environmentClass.spec.sleep ?? {}
  if (window === 'missing')
    return problem(
      'ScheduleNotFound',
      `spec.sleep.awake of the class: there is no WorkSchedule ${awake}; it stays awake`,
    )
  return isBeyondLimit ? problem('LimitExceeded', 'its class allows no more environments: delete one') : undefined
}

interface Facts extends Surroundings {
  readonly stay: StayDecision
  readonly message: string
  readonly hasUse: boolean
  readonly now: number
}

function conditionsOf(
  { environment, environmentClass, rules }: Observed,
  { pull, stay, refusal, isBeyondLimit, hasUse, message, window, now }: Facts,
): { conditions: Condition[]; observedGeneration?: number } {
  const trouble = refusal ?? troubleOf({ environment, environmentClass, rules }, { window, isBeyondLimit })
  const ready = trouble
    ? healthStatus(environment, { health: 'not-ready', ...trouble }, now)
    : healthStatus(environment, { health: 'ready', reason: stay.do === 'hold' ? 'Held' : 'Waiting', message }, now)
  const unread =
    pull?.problem ??
    (pull?.seen && 'problem' in pull.seen ? { reason: 'Unreadable', message: pull.seen.problem } : undefined)
  const claims = [
    {
      type: 'UseVisible',
      isTrue: hasUse,
      reason: hasUse ? 'Visible' : 'NoProxiedService',
      message: hasUse
        ? 'every sign of use can be read'
        : 'no Service is served by the proxy (annotation proxless/domains): idleness is unknown',
    },
    ...(pull
      ? [
          {
            type: 'PullRequestKnown',
            isTrue: !unread,
            reason: unread?.reason ?? 'Known',
            message: unread?.message ?? 'it was read',
          },
        ]
      : []),
    ...(isBeyondLimit
      ? [{ type: 'LimitExceeded', isTrue: true, reason: 'LimitExceeded', message: 'admission missed it' }]
      : []),
  ]
  const kept = ready.conditions.filter(({ type }) => type !== 'LimitExceeded' && (pull || type !== 'PullRequestKnown'))
  const conditions = claims.reduce<readonly Condition[]>(
    (all, { isTrue, ...claim }) => setCondition(all, { ...claim, status: isTrue ? 'True' : 'False' }, now),
    kept,
  )
  return { ...ready, conditions: [...conditions] }
}

function timeOf(at: number | undefined): string | undefined {
  return at === undefined ? undefined : formatTime(at)
}

/** Without undefined fields: a status must compare equal to what the API server stored. */
function compact<T>(value: { readonly [K in keyof T]: T[K] | undefined }): T {
  return JSON.parse(JSON.stringify(value)) as T
}
