import { cleanupCandidate, type CandidateStatus, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { removeOwn } from '../../../departures/subjects/own-machinery.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import { sentenceFor } from '../model/because.ts'
import { isForgiven } from '../work/circuit.ts'
import { markOf, newCandidate, turned } from '../decision/candidate.ts'
import { look, type Look } from './look.ts'
import { report, reportTrouble, type Applied, type Cycle } from './mark-report.ts'
import { isNewOwner, ownerNow } from '../policy/owner.ts'
import { planCycle, type Judged, type Planned } from '../decision/plan.ts'
import { describeResource, InventoryError, resourceKey, type Resource } from '../model/resource.ts'
import { deletionDate } from '../policy/retention.ts'
import {
  assertHeld,
  FenceLost,
  locationStatus,
  writeMark,
  type Unleased,
  type Work,
  type WorkPorts,
} from '../work/work.ts'

/** How long marks that have ended are kept. */
const keepFinishedMs = 30 * 86_400_000

/** Looks at everything of a policy at one location, and marks, refreshes or lifts marks. */
export async function markCycle(work: Work, ports: WorkPorts, inWindow: boolean): Promise<Outcome> {
  const { policy } = work
  try {
    const seen = await look(work, ports, { walksPast: true })
    const forgiven = isForgiven(work)
    const plan = planCycle({
      judged: judgedOf(work, ports, seen),
      aside: seen.observation.aside ?? 0,
      policy,
      previous: previousLook(work),
      circuitForgiven: forgiven,
      now: seen.now,
    })
    const applied = await apply(work, ports, { seen, plan, inWindow })
    await report(work, ports, { seen, plan, applied, inWindow })
  } catch (error) {
    if (!(error instanceof InventoryError)) throw error
    await reportTrouble(work, ports, error)
    return wakeAt(ports.clock.now() + Math.min(policy.intervalMs, 60_000))
  }
  return wakeAt(ports.clock.now() + policy.intervalMs)
}

/** When everything is to be looked at again; at once after a change of the policy. */
export function markDueAt({ object, policy, location }: Unleased): number {
  const { markedAt, generation } = locationStatus({ object, location })
  return generation !== policy.generation ? 0 : (parseTime(markedAt) ?? 0) + policy.intervalMs
}

function previousLook(work: Work): { readonly visited: number; readonly at: number } | undefined {
  const { visited, visitedAt, markedAt } = locationStatus(work)
  return visited === undefined ? undefined : { visited, at: parseTime(visitedAt ?? markedAt) ?? 0 }
}

/** Every resource with its mark, then every mark whose resource is not listed. */
function* judgedOf(work: Work, { desk }: WorkPorts, seen: Look): Generator<Judged<CleanupCandidate>> {
  const marks = new Map(
    desk.marks(work.policy.name, work.location).map((candidate) => [resourceKey(candidate.spec.resource), candidate]),
  )
  const marked = new Set([...marks.values()].map(({ spec }) => spec.resource.uid))
  for (const resource of seen.observation.resources) {
    const key = marked.has(resource.uid) ? resourceKey(resource) : undefined
    const candidate = key === undefined ? undefined : marks.get(key)
    if (key !== undefined) marks.delete(key)
    yield { resource, verdict: seen.judge(resource), mark: candidate && { mark: markOf(candidate), of: candidate } }
  }
  for (const candidate of marks.values())
    yield { resource: undefined, verdict: undefined, mark: { mark: markOf(candidate), of: candidate } }
}

async function apply(work: Work, ports: WorkPorts, { seen, plan, inWindow }: Cycle): Promise<Applied> {
  const applied: Applied = { marked: 0, unmarked: 0, failed: 0 }
  if (work.dryRun) return applied
  for (const step of plan.steps) {
    // Outside its hours a policy looks on and lets off, and begins nothing.
    if (step.decision.do === 'mark' && !inWindow) continue
    try {
      await applyStep(work, ports, { step, seen })
      if (step.decision.do === 'mark') applied.marked++
      if (step.decision.do === 'unmark') applied.unmarked++
    } catch (error) {
      if (error instanceof FenceLost || work.signal.aborted) throw error
      applied.failed++
      const name = step.judged.resource?.name ?? step.judged.mark?.of.metadata.name
      if (isStatusError(error, 'Conflict'))
        ports.log.debug('mark changed meanwhile', { policy: work.policy.name, name })
      else ports.log.error('mark not written', { policy: work.policy.name, name, error })
    }
  }
  await prune(work, ports, seen.now)
  return applied
}

async function applyStep(
  work: Work,
  ports: WorkPorts,
  { step, seen }: { step: Planned<CleanupCandidate>; seen: Look },
): Promise<void> {
  const { decision, judged } = step
  const at = seen.now
  const candidate = judged.mark?.of
  switch (decision.do) {
    case 'mark':
      return mark(work, ports, { step, seen })
    case 'refresh':
      return refresh(work, ports, { step, seen })
    case 'unmark':
    case 'opt-out': {
      if (!candidate) return
      const phase = decision.do === 'unmark' ? 'Unmarked' : 'OptedOut'
      const ended = {
        finishedAt: formatTime(at),
        scheduledTime: null,
        nextAttemptTime: null,
        message: sentenceFor(decision.because),
      }
      await writeMark(ports, work, candidate, turned(candidate.status, { phase, because: decision.because, at }, ended))
      return tell(work, ports, { phase, because: decision.because, candidate })
    }
    case 'finish': {
      if (!candidate) return
      await writeMark(
        ports,
        work,
        candidate,
        turned(
          candidate.status,
          { phase: 'Deleted', because: 'deleted', at },
          { finishedAt: formatTime(at), message: null },
        ),
      )
      return tell(work, ports, { phase: 'Deleted', because: 'deleted', candidate })
    }
  }
}

/** Stores the mark first, then fills it in, then tells of it: killed anywhere, the next cycle goes on from there. */
async function mark(
  work: Work,
  ports: WorkPorts,
  { step, seen }: { step: Planned<CleanupCandidate>; seen: Look },
): Promise<void> {
  const { resource } = step.judged
  if (!resource || step.decision.do !== 'mark') return
  assertHeld(work)
  const candidate = step.judged.mark?.of ?? (await create(work, ports, resource))
  const owner = seen.describe(resource).found()
  const former = candidate.status
  const used = seen.lastSeenUsed(resource)
  const { retention, retentionWithoutOwner } = work.policy
  const projectedAt = deletionDate(owner ? retention : retentionWithoutOwner, {
    from: seen.now,
    schedule: work.schedule,
  })
  const status = turned(
    former,
    { phase: 'Marked', because: 'violates', at: seen.now },
    {
      generation: former?.phase === undefined ? 1 : (former.generation ?? 0) + 1,
      summaries: [...step.decision.summaries],
      owner: owner ?? null,
      group: resource.group ?? null,
      createdAt: resource.createdAt === undefined ? null : formatTime(resource.createdAt),
      markedAt: formatTime(seen.now),
      projectedDeletionTime: projectedAt === undefined ? null : formatTime(projectedAt),
      promisedTime: null,
      retentionSeconds: null,
      scheduledTime: null,
      nextAttemptTime: null,
      attempts: null,
      finishedAt: null,
      message: null,
      lastSeenUsed: used ? { by: used.by, at: formatTime(used.at) } : null,
      lastEvaluated: { at: formatTime(seen.now), inventory: formatTime(seen.observation.observedAt) },
    },
  )
  await writeMark(ports, work, candidate, status)
  tell(work, ports, { phase: 'Marked', because: 'violates', candidate })
}

async function create(work: Work, { client }: WorkPorts, resource: Resource): Promise<CleanupCandidate> {
  const wanted = newCandidate(work.policy.name, work.location, resource)
  try {
    const created = await client.create<CleanupCandidate>(cleanupCandidate.type, wanted, { signal: work.signal })
    work.wrote(created.metadata.resourceVersion)
    return created
  } catch (error) {
    if (!isStatusError(error, 'AlreadyExists')) throw error
    return client.get<CleanupCandidate>(cleanupCandidate.type, { name: wanted.metadata.name ?? '' })
  }
}

/** A mark follows its resource: why it is marked may change, its date does not; a new owner has to be told first, and is given as long. */
async function refresh(
  work: Work,
  ports: WorkPorts,
  { step, seen }: { step: Planned<CleanupCandidate>; seen: Look },
): Promise<void> {
  const { mark: marked, resource } = step.judged
  if (!marked || !resource || step.decision.do !== 'refresh') return
  const candidate = marked.of
  const { owner: former, ...status } = candidate.status ?? {}
  const owner = ownerNow(former, seen.describe(resource).found())
  const refreshed: CandidateStatus = { ...status, ...(owner ? { owner } : {}), summaries: [...step.decision.summaries] }
  const isPassedOn = marked.mark.announcedAt !== undefined && isNewOwner(former, owner) && status.phase !== 'Deleting'
  if (!isPassedOn || work.policy.notices.mode === 'off') {
    await writeMark(ports, work, candidate, refreshed)
    return
  }
  const anew = {
    generation: (status.generation ?? 1) + 1,
    scheduledTime: null,
    nextAttemptTime: null,
    attempts: null,
    message: sentenceFor('owner-changed'),
  }
  const turn = { phase: 'Marked', because: 'owner-changed', at: seen.now } as const
  await writeMark(ports, work, candidate, turned(refreshed, turn, anew))
}

function tell(
  work: Work,
  { metrics, events, log }: WorkPorts,
  { phase, because, candidate }: { phase: string; because: string; candidate: CleanupCandidate },
): void {
  const { resource } = candidate.spec
  metrics.turns.inc({ policy: work.policy.name, phase, because })
  log.info('mark turned', { policy: work.policy.name, resource: describeResource(resource), phase, because })
  if (resource.provider === 'kubernetes' && !resource.cluster)
    events.record(resource, {
      type: 'Normal',
      reason: `Cleanup${phase}`,
      message: `policy ${work.policy.name}: ${sentenceFor(because)}`,
    })
}

/** Drops marks that ended long ago. */
async function prune(work: Work, { desk, client }: WorkPorts, now: number): Promise<void> {
  for (const candidate of desk.marks(work.policy.name, work.location)) {
    const { finishedAt } = markOf(candidate)
    if (finishedAt === undefined || now - finishedAt < keepFinishedMs) continue
    assertHeld(work)
    await removeOwn(client, cleanupCandidate.type, candidate)
  }
}
