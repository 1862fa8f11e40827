import {
  cleanupCandidate,
  type CandidatePhase,
  type CandidateStatus,
  type CleanupCandidate,
} from '../../../apis/cleanup-candidate.ts'
import { removeOwn } from '../../../departures/subjects/own-machinery.ts'
import { isStatusError } from '../../../kube/status-error.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import { sentenceFor } from '../model/because.ts'
import { isCircuitAcknowledged } from '../work/circuit.ts'
import { markOf, markUnder, newCandidate, withPhase, type StatusChange } from '../decision/candidate.ts'
import { takeSnapshot, type Snapshot } from './snapshot.ts'
import { reportCycle, reportIncompleteInventory, type Applied, type Cycle } from './mark-report.ts'
import { currentOwner, isNewOwner } from '../policy/owner.ts'
import { planCycle, type Judged, type Planned } from '../decision/plan.ts'
import { InventoryError, resourceKey, type Resource } from '../model/resource.ts'
import { deletionDate } from '../policy/retention.ts'
import { assertHeld, FenceLost, locationStatus, reportPhase, writeMark } from '../work/work.ts'
import type { PlannedCycle, Work, WorkItem } from '../work/work.ts'

/** How long ended marks are kept as a record. */
const keepFinishedMs = 30 * 86_400_000

/** Plans the next judgement of a location; it is due at once after a change of the policy. */
export function planMarkCycle(item: WorkItem): PlannedCycle {
  return { dueAt: markDueAt(item), run: markCycle }
}

/** When the location is to be judged again. */
export function markDueAt({ object, policy, location }: WorkItem): number {
  const { markedAt, generation } = locationStatus({ object, location })
  return generation !== policy.generation ? 0 : (parseTime(markedAt) ?? 0) + policy.intervalMs
}

/** Judges everything a policy targets at one location, and creates, refreshes or lifts marks. */
async function markCycle(work: Work): Promise<Outcome> {
  const { policy, ports } = work
  try {
    const snapshot = await takeSnapshot(work, { skipExcluded: true })
    const plan = planCycle({
      judged: judgedOf(work, snapshot),
      skipped: snapshot.observation.skipped ?? 0,
      policy,
      previous: previousInventory(work),
      circuitAcknowledged: isCircuitAcknowledged(work),
      now: snapshot.now,
    })
    const applied = await apply(work, { snapshot, plan })
    await reportCycle(work, { snapshot, plan }, applied)
  } catch (error) {
    if (!(error instanceof InventoryError)) throw error
    await reportIncompleteInventory(work, error)
    return wakeAt(ports.clock.now() + Math.min(policy.intervalMs, 60_000))
  }
  return wakeAt(ports.clock.now() + policy.intervalMs)
}

function previousInventory(work: Work): { readonly visited: number; readonly at: number } | undefined {
  const { visited, visitedAt, markedAt } = locationStatus(work)
  return visited === undefined ? undefined : { visited, at: parseTime(visitedAt ?? markedAt) ?? 0 }
}

/** Every listed resource with its mark, then every mark whose resource is not listed. */
function* judgedOf(work: Work, snapshot: Snapshot): Generator<Judged<CleanupCandidate>> {
  const { policy, location, ports } = work
  const candidates = ports.caches.marks(policy.name, location)
  const unlisted = new Map(candidates.map((candidate) => [resourceKey(candidate.spec.resource), candidate]))
  const marked = new Set(candidates.map(({ spec }) => spec.resource.uid))
  for (const resource of snapshot.observation.resources) {
    const key = marked.has(resource.uid) ? resourceKey(resource) : undefined
    const candidate = key === undefined ? undefined : unlisted.get(key)
    if (key !== undefined) unlisted.delete(key)
    const verdict = snapshot.judge(resource)
    if (verdict.is === 'excluded' && verdict.because === 'ttl-malformed')
      reportMalformed(work, resource, verdict.detail)
    yield {
      resource,
      verdict,
      mark: candidate && { mark: markUnder(candidate, work), candidate },
    }
  }
  for (const candidate of unlisted.values())
    yield { resource: undefined, verdict: undefined, mark: { mark: markUnder(candidate, work), candidate } }
}

async function apply(work: Work, { snapshot, plan }: Cycle): Promise<Applied> {
  const applied = { marked: 0, unmarked: 0, failed: 0 }
  if (work.dryRun) return applied
  for (const step of plan.steps) {
    // Outside its WorkSchedule a policy still lifts marks, but starts nothing new.
    if (step.decision.do === 'mark' && !work.inWindow) continue
    try {
      await applyStep(work, step, snapshot)
      if (step.decision.do === 'mark') applied.marked++
      if (step.decision.do === 'unmark') applied.unmarked++
    } catch (error) {
      if (error instanceof FenceLost || work.signal.aborted) throw error
      applied.failed++
      logUnwritten(work, step, error)
    }
  }
  await deleteOldMarks(work, snapshot.now)
  return applied
}

function logUnwritten({ policy, ports }: Work, { judged }: Planned<CleanupCandidate>, error: unknown): void {
  const name = judged.resource?.name ?? judged.mark?.candidate.metadata.name
  if (isStatusError(error, 'Conflict')) ports.log.debug('mark changed meanwhile', { policy: policy.name, name })
  else ports.log.error('mark not written', { policy: policy.name, name, error })
}

async function applyStep(work: Work, step: Planned<CleanupCandidate>, snapshot: Snapshot): Promise<void> {
  const { decision, judged } = step
  const candidate = judged.mark?.candidate
  const finishedAt = formatTime(snapshot.now)
  switch (decision.do) {
    case 'mark':
      return mark(work, step, snapshot)
    case 'refresh':
      return refresh(work, step, snapshot)
    case 'unmark':
    case 'opt-out': {
      const phase = decision.do === 'unmark' ? 'Unmarked' : 'OptedOut'
      const { because } = decision
      const message = sentenceFor(because)
      const ended = { finishedAt, scheduledTime: null, nextAttemptTime: null, message }
      return candidate && end(work, candidate, { phase, because, at: snapshot.now }, ended)
    }
    case 'finish': {
      const change = { phase: 'Deleted', because: 'deleted', at: snapshot.now } as const
      return candidate && end(work, candidate, change, { finishedAt, message: null })
    }
  }
}

async function end(
  work: Work,
  candidate: CleanupCandidate,
  change: { readonly phase: CandidatePhase; readonly because: string; readonly at: number },
  ended: StatusChange,
): Promise<void> {
  await writeMark(work, candidate, withPhase(candidate.status, change, ended))
  announcePhase(work, candidate, change)
}

/** Creates the mark, fills it in, then reports it, in this order: after a crash anywhere the next cycle continues. */
async function mark(work: Work, { judged, decision }: Planned<CleanupCandidate>, snapshot: Snapshot): Promise<void> {
  const { resource } = judged
  if (!resource || decision.do !== 'mark') return
  assertHeld(work)
  const candidate = judged.mark?.candidate ?? (await createCandidate(work, resource))
  const former = candidate.status
  const change = { phase: 'Marked', because: 'violates', at: snapshot.now } as const
  const status = withPhase(former, change, {
    ...freshMark(work, resource, snapshot),
    generation: former?.phase === undefined ? 1 : (former.generation ?? 0) + 1,
    summaries: [...decision.summaries],
  })
  await writeMark(work, candidate, status)
  announcePhase(work, candidate, change)
}

/** The fields of a new mark. Null clears what an earlier mark of the same resource left behind. */
export function freshMark({ policy, schedule }: Work, resource: Resource, snapshot: Snapshot): StatusChange {
  const { now, observation } = snapshot
  const owner = snapshot.describe(resource).resolveOwner()
  const used = snapshot.lastSeenUsed(resource)
  const retention = owner ? policy.retention : policy.retentionWithoutOwner
  const projectedAt = deletionDate(retention, { from: now, schedule })
  return {
    policyUid: policy.uid,
    owner: owner ?? null,
    group: resource.group ?? null,
    about: resource.about ?? null,
    displayName: (resource.facts?.['name'] as string | undefined) ?? null,
    createdAt: resource.createdAt === undefined ? null : formatTime(resource.createdAt),
    markedAt: formatTime(now),
    projectedDeletionTime: projectedAt === undefined ? null : formatTime(projectedAt),
    promisedTime: null,
    retentionSeconds: null,
    scheduledTime: null,
    nextAttemptTime: null,
    attempts: null,
    finishedAt: null,
    message: null,
    lastSeenUsed: used ? { by: used.by, at: formatTime(used.at) } : null,
    lastEvaluated: { at: formatTime(now), inventory: formatTime(observation.observedAt) },
  }
}

export async function createCandidate(work: Work, resource: Resource): Promise<CleanupCandidate> {
  const { client } = work.ports
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

/**
 * Updates a mark's reasons and owner; its date moves only when the policy's retention was lengthened. When the resource has a new owner after the notice, the mark
 * starts anew: the new owner is notified first and gets the full retention.
 */
async function refresh(work: Work, { judged, decision }: Planned<CleanupCandidate>, snapshot: Snapshot): Promise<void> {
  const { mark: marked, resource } = judged
  if (!marked || !resource || decision.do !== 'refresh') return
  const { candidate } = marked
  const { owner: former, ...status } = candidate.status ?? {}
  const owner = currentOwner(former, snapshot.describe(resource).resolveOwner())
  const { projectedAt } = marked.mark
  const refreshed: CandidateStatus = {
    ...status,
    ...(owner ? { owner } : {}),
    ...(projectedAt !== undefined && Number.isFinite(projectedAt)
      ? { projectedDeletionTime: formatTime(projectedAt) }
      : {}),
    summaries: [...decision.summaries],
  }
  const hasChangedOwner =
    marked.mark.announcedAt !== undefined && isNewOwner(candidate.status ?? {}, owner) && status.phase !== 'Deleting'
  if (!hasChangedOwner || work.policy.notices.mode === 'off') {
    await writeMark(work, candidate, refreshed)
    return
  }
  const restarted = {
    generation: (status.generation ?? 1) + 1,
    scheduledTime: null,
    nextAttemptTime: null,
    attempts: null,
    message: sentenceFor('owner-changed'),
  }
  const change = { phase: 'Marked', because: 'owner-changed', at: snapshot.now } as const
  await writeMark(work, candidate, withPhase(refreshed, change, restarted))
}

/** Counts and logs a new phase, and records an Event on the resource where it is in the home cluster. */
function announcePhase(
  work: Work,
  candidate: CleanupCandidate,
  change: { readonly phase: CandidatePhase; readonly because: string },
): void {
  const { resource } = candidate.spec
  reportPhase(work, candidate, change)
  if (resource.provider === 'kubernetes' && !resource.cluster)
    work.ports.events.record(resource, {
      type: 'Normal',
      reason: `Cleanup${change.phase}`,
      message: `CleanupPolicy ${work.policy.name}: ${sentenceFor(change.because)}`,
    })
}

/** Objects whose malformed ttl was reported: caches return the same object until it changes. */
const reportedTtls = new WeakSet<object>()

/** Tells the owner of a resource that its ttl cannot be read. */
function reportMalformed({ dryRun, ports }: Work, { provider, cluster, object }: Resource, ttl = ''): void {
  if (dryRun || provider !== 'kubernetes' || cluster || reportedTtls.has(object)) return
  reportedTtls.add(object)
  ports.events.record(object, {
    type: 'Warning',
    reason: 'MalformedTtl',
    message: `its ttl "${ttl}" is neither a duration such as 4h, 30m, 7d or 2w, nor a time, nor never: it never expires`,
  })
}

/** Deletes marks that ended long ago. */
async function deleteOldMarks(work: Work, now: number): Promise<void> {
  const { caches, client } = work.ports
  for (const candidate of caches.marks(work.policy.name, work.location)) {
    const { finishedAt } = markOf(candidate)
    if (finishedAt === undefined || now - finishedAt < keepFinishedMs) continue
    assertHeld(work)
    await removeOwn(client, cleanupCandidate.type, candidate)
  }
}
