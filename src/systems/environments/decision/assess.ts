import { decidePower, sleepRuleOf, type PowerDecision } from '../../../apis/environment-sleep.ts'
import type { Environment, EnvironmentStatus } from '../../../apis/environment.ts'
import type { WindowState } from '../../../apis/work-window.ts'
import { CelTimestamp } from '../../../cel/moments.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import type { Seen } from '../../../forges/pull-requests.ts'
import { report } from './conditions.ts'
import { phaseOf } from './describe.ts'
import {
  isOnDemand,
  lastRequestAt,
  ownerOf,
  urlsOf,
  useProblem,
  workloadFacts,
  type Observed,
  type Problem,
} from './facts.ts'
import { readClass, type ClassRules } from './rules.ts'
import { decideStay, warningOf, whyGivenUp, type PullFacts, type StayDecision, type StayFacts } from './stay.ts'

/** What an environment's caches do not hold. */
export interface Surroundings {
  /** The pull request: what the environment names, what was read of it, or why it cannot be. */
  readonly pull: { readonly url: string; readonly seen: Seen | undefined; readonly problem?: Problem } | undefined
  /** How the awake hours of its class stand at an instant; `missing` if there is no such WorkSchedule. */
  readonly windowAt: (at: number) => WindowState | 'missing' | undefined
  readonly mailAt: number
  /** Whether it is the one to go because its class is full. */
  readonly isEvicted: boolean
  readonly isBeyondLimit: boolean
  /** Why the environment must not be deleted: its author may not, or it is one too many. */
  readonly refusal: Problem | undefined
  readonly channels: readonly string[]
}

interface Given {
  readonly rules: ClassRules
  readonly around: Surroundings
  readonly now: number
}

/** Computes the next status of an environment and what to do. Pure. */
export function assess(observed: Observed, around: Surroundings, now: number) {
  const { environment } = observed
  const rules = observed.rules ?? noRules
  const workloads = workloadFacts(observed)
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
  const powerAt = powerDecider(observed, base, around)
  const power = powerAt(now)
  const { announced, stay, facts } = announce(observed, base, { rules, around, now })
  const isHeld = stay.do === 'hold' || around.refusal !== undefined || around.isBeyondLimit
  const isAsleep = workloads.power === 'Asleep'
  const status = compact<EnvironmentStatus>({
    ...announced,
    because: power.because,
    sleepsAt: timeOf(isAsleep || workloads.awake === 0 ? undefined : nextPower(powerAt, 'Asleep', now)),
    wakesAt: timeOf(isAsleep ? nextPower(powerAt, 'Awake', now) : undefined),
    deletesAt: timeOf(stay.do === 'stay' ? stay.due?.at : parseTime(announced.announcement?.date)),
    phase: phaseOf(announced, isHeld),
    ...report(observed, {
      ...around,
      lastUsedAt: facts.lastUsedAt,
      inForce: rules,
      stay,
      announced,
      contended: workloads.contended,
      now,
    }),
  })
  const untils = [power.until, 'until' in stay ? stay.until : undefined].filter((at) => at !== undefined && at > now)
  return { status, stay, until: untils.length > 0 ? Math.min(...(untils as number[])) : undefined }
}

/** Why a deletion that has begun is given up; undefined while it goes on. */
export function givenUp(observed: Observed, around: Surroundings, now: number): string | undefined {
  const { rules, environment } = observed
  const { status = {} } = environment
  if (!rules) return 'its class is gone or invalid'
  if (!status.deletion) return undefined
  const current = { ...status, pullRequest: pullStatus(status.pullRequest, around, now) }
  return whyGivenUp(stayFacts(observed, compact(current), { rules, around, now }), status.deletion.reason, now)
}

const noRules = readClass({ namespaceSelector: {}, pullRequest: { deleteWhenClosed: false } }).rules

/** The announcement as it must be written before anything else happens, and the decision that holds then. */
function announce(observed: Observed, base: EnvironmentStatus, given: Given) {
  const paused = observed.environmentClass?.spec.paused === true
  let announced = base
  let facts = stayFacts(observed, announced, given)
  let stay: StayDecision = paused ? { do: 'stay' } : decideStay(facts, given.now)
  for (let round = 0; round < 2 && (stay.do === 'announce' || stay.do === 'move' || stay.do === 'withdraw'); round++) {
    announced = changed(announced, stay, given.now)
    facts = stayFacts(observed, announced, given)
    stay = decideStay(facts, given.now)
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

/** The environment with the date that its owner is told at this instant: the whole warning counts from now, however long it took to tell. */
export function withDateToTell(self: Environment, rules: ClassRules, now: number): Environment {
  const { announcement } = self.status ?? {}
  if (!announcement) return self
  const date = ceil(Math.max(parseTime(announcement.date) ?? 0, now + warningOf(announcement.reason, rules)))
  return { ...self, status: { ...self.status, announcement: { ...announcement, date } } }
}

/** Stored times have whole seconds; a printed date must never be in the past of the stored one. */
function ceil(at: number): string {
  return formatTime(Math.ceil(at / 1000) * 1000)
}

function stayFacts(observed: Observed, status: EnvironmentStatus, { rules, around, now }: Given): StayFacts {
  const { environment, namespace } = observed
  const { announcement } = status
  const createdAt = parseTime(namespace.metadata.creationTimestamp) ?? now
  const keeps = [parseTime(environment.spec.keepUntil), parseTime(status.kept?.until)].filter((at) => at !== undefined)
  return {
    rules,
    createdAt,
    managedSince: parseTime(environment.metadata.creationTimestamp) ?? now,
    lastUsedAt: parseTime(status.lastUsedAt) ?? now,
    deployedAt: parseTime(status.deployed?.at) ?? createdAt,
    isUseVisible: useProblem(observed) === undefined,
    keepUntil: keeps.length > 0 ? Math.max(...keeps) : undefined,
    pull: pullFacts(status, around),
    isConditionTrue: isConditionTrue(rules, observed, { status, now }),
    evictedAt: around.isEvicted ? (announcement?.reason === 'evicted' ? parseTime(announcement.date) : now) : undefined,
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
    namespaceObject: namespace,
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
  // What is there at first, as after a restore, is no deploy.
  const at = status.deployed ? formatTime(now) : environment.metadata.creationTimestamp
  const deployed = status.deployed && !isDeploy ? status.deployed : { hash, at }
  const requestAt = rules?.uses.has('Traffic') ? lastRequestAt(workloads) : undefined
  const wokenAt = environment.spec.power === 'Awake' ? parseTime(environment.spec.powerSince) : undefined
  const former = parseTime(status.lastUsedAt)
  const signs = [
    { by: 'Created', at: former === undefined ? now : undefined },
    { by: 'Traffic', at: requestAt },
    { by: 'Wake', at: wokenAt },
    { by: 'Deploy', at: isDeploy && status.deployed && rules?.uses.has('Deploy') ? now : undefined },
  ] as const
  const latest = signs.reduce((best, sign) => ((sign.at ?? -1) > (best.at ?? -1) ? sign : best))
  if (latest.at === undefined) return { deployed }
  const { afterMs = Infinity, staleMs = Infinity, warnMs = 0 } = rules ?? {}
  const pauseMs = Math.max(300_000, Math.min(3_600_000, (rules?.afterMs ?? 0) / 50))
  // Requests after a request are written now and then only; the first one after anything else, and those that move a near date, are news.
  const isNear =
    status.announcement !== undefined || now >= (former ?? 0) + Math.min(afterMs, staleMs) - warnMs - pauseMs
  const isRepeated = latest.by === 'Traffic' && status.lastUsedBy === 'Traffic'
  if (former !== undefined && latest.at < former + (isRepeated && !isNear ? pauseMs : 1000)) return { deployed }
  return { deployed, lastUsedAt: formatTime(latest.at), lastUsedBy: latest.by }
}

function powerDecider(
  observed: Observed,
  status: EnvironmentStatus,
  { windowAt }: Surroundings,
): (at: number) => PowerDecision {
  const rule = sleepRuleOf(observed.environmentClass, { ...observed.environment, status })
  const facts = {
    waiting: 0,
    inFlight: 0,
    lastRequestAt: lastRequestAt(observed.workloads),
    isUseVisible: useProblem(observed) === undefined,
  }
  const isServed = observed.services.some(isOnDemand)
  return (at) => {
    const power = decidePower(rule, { ...facts, window: windowAt(at) }, at)
    // There the activator leaves it to the Services.
    return isServed && power.because === 'no-sleep-rule' ? { ...power, wants: 'AsIs' } : power
  }
}

/** When the environment falls asleep or wakes if nothing happens; undefined when it does not, or wants it already. */
function nextPower(
  powerAt: (at: number) => PowerDecision,
  wanted: 'Awake' | 'Asleep',
  now: number,
): number | undefined {
  for (let [at, steps] = [now, 0]; steps < 8; steps++) {
    const { wants, until } = powerAt(at)
    if (wants === wanted) return at === now ? undefined : at
    if (until === undefined || until <= at) return undefined
    at = until
  }
  return undefined
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

function timeOf(at: number | undefined): string | undefined {
  return at === undefined ? undefined : formatTime(at)
}

/** Without undefined fields: a status must compare equal to what the API server stored. */
function compact<T>(value: { readonly [K in keyof T]: T[K] | undefined }): T {
  return JSON.parse(JSON.stringify(value)) as T
}
