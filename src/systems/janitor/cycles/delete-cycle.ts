import { cleanupCandidate, type CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import { cleanupPolicy } from '../../../apis/cleanup-policy.ts'
import type { DepartRequest } from '../../../departures/door/door.ts'
import { isLiveOptOut } from '../../../departures/door/protection.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import { candidateName, markOf, markUnder, withPhase } from '../decision/candidate.ts'
import { awaitDeletion, endMark, recordFailure, recordResult } from './delete-outcome.ts'
import { decideDelete, dueAt, isActive, type DeleteDecision } from '../decision/decide.ts'
import { takeSnapshot, type Snapshot } from './snapshot.ts'
import { isCircuitOpen } from '../work/circuit.ts'
import { optOutNames } from '../opt-outs/opt-out.ts'
import { currentOwner, isNewOwner } from '../policy/owner.ts'
import { partition } from '../decision/partition.ts'
import { deleteAllowance } from '../decision/plan.ts'
import { writePolicyStatus } from '../work/policy-status.ts'
import { providerOf } from '../verdict/provider.ts'
import { InventoryError, type Resource } from '../model/resource.ts'
import { assertHeld, FenceLost, locationStatus, tryWriteMark } from '../work/work.ts'
import type { PlannedCycle, Work, WorkItem, WorkPorts } from '../work/work.ts'

const clockToleranceMs = 5 * 60_000
const lateMs = 60_000
/** Deletions take a while each: the rest of a long list is left to the next reconcile. */
const maxPerReconcile = 50

/** Plans the deletion of marked resources that are due. */
export function planDeleteCycle(item: WorkItem): PlannedCycle | undefined {
  if (item.dryRun) return undefined
  const { policy, location, ports } = item
  const marks = ports.caches.marks(policy.name, location).filter(({ status }) => isActive(status?.phase ?? 'Unmarked'))
  const times = marks.flatMap((candidate) => dueTimeOf(item, candidate) ?? [])
  if (times.length === 0) return undefined
  return { dueAt: Math.min(...times), run: (work) => deleteCycle(work, marks) }
}

/** When a mark needs attention: a deletion in progress is checked at its next attempt time. */
function dueTimeOf(item: WorkItem, candidate: CleanupCandidate): number | undefined {
  const mark = markUnder(candidate, item)
  if (mark.phase === 'Deleting') return mark.nextAttemptAt ?? 0
  const rules = { mode: item.policy.notices.mode, now: Infinity }
  const decision = decideDelete({ is: 'violating', summaries: [] }, mark, rules)
  const due = dueAt(mark)
  if (decision.do !== 'delete' || !due) return undefined
  return mark.phase === 'Due' || mark.phase === 'Failed' ? due.at : Math.max(due.at, cycleEndsAt(item))
}

/** Deletes marked resources that are due, after judging them once more on a fresh snapshot. */
async function deleteCycle(work: Work, marks: readonly CleanupCandidate[]): Promise<Outcome> {
  const { policy, location, ports } = work
  const now = ports.clock.now()
  const retryAt = now + Math.min(policy.intervalMs, 60_000)
  if (isCircuitOpen(work) || isDoorClosed(ports)) return wakeAt(retryAt)
  try {
    await checkClock(work)
    return await deleteDue(work, marks)
  } catch (error) {
    if (!(error instanceof InventoryError)) throw error
    ports.metrics.failures.inc({ policy: policy.name, action: 'Delete' })
    ports.log.error('deletion postponed', { policy: policy.name, location, error })
    return wakeAt(retryAt)
  }
}

/** The door would hold every deletion until a human resumes it or closes its circuit breaker. */
function isDoorClosed({ door }: WorkPorts): boolean {
  const { state } = door
  return !state || state.paused || state.breaker === 'open'
}

/** A cycle of deletions lasts an interval, or as long as its batches are spread over. */
function cycleEndsAt(item: WorkItem): number {
  const startedAt = parseTime(locationStatus(item).deletedAt)
  return startedAt === undefined ? 0 : startedAt + Math.max(item.policy.intervalMs, item.policy.limits.spreadMs)
}

/** Compares our clock with the provider's: a clock that runs far ahead would make every mark due at once. */
async function checkClock({ location, object, ports }: Work): Promise<void> {
  const theirs = await providerOf(ports.providers, location).currentTime?.(location)
  if (theirs === undefined) return
  const apartMs = Math.abs(theirs - ports.clock.now())
  const agrees = apartMs <= clockToleranceMs
  const message = `this machine's clock and the clock of ${location} are ${Math.round(apartMs / 1000)} s apart: nothing is deleted until they agree`
  const known = object.status?.conditions?.find(({ type }) => type === 'ClockInSync')?.status
  if (!agrees || known === 'False')
    await writePolicyStatus(ports, object.metadata.name, {
      claims: [
        agrees
          ? { type: 'ClockInSync', status: 'True', reason: 'Agrees', message: 'the clocks agree' }
          : { type: 'ClockInSync', status: 'False', reason: 'ClockSkew', message },
      ],
    })
  if (!agrees) throw new InventoryError(message)
}

interface JudgedMark {
  readonly candidate: CleanupCandidate
  readonly resource: Resource | undefined
  readonly decision: DeleteDecision
  readonly group: string | undefined
}

async function deleteDue(work: Work, marks: readonly CleanupCandidate[]): Promise<Outcome> {
  const { policy, ports } = work
  const snapshot = await takeSnapshot(work, { skipExcluded: true })
  const judged = judgeMarks(work, marks, snapshot)
  for (const item of judged) await settleMark(work, item, snapshot.now)

  const deletable = judged.filter(({ decision }) => decision.do === 'delete')
  const started = deletable.filter(({ candidate }) =>
    ['Due', 'Deleting', 'Failed'].includes(candidate.status?.phase ?? ''),
  )
  const fresh = deletable.filter((item) => !started.includes(item))
  const { resources, skipped = 0 } = snapshot.observation
  const scheduled = await scheduleBatches(work, fresh, { visited: resources.length + skipped, now: snapshot.now })
  const late = isLate(work, started, snapshot.now) ? started.filter(isDue) : []
  const respread = late.length > 0 ? await spread(work, late, snapshot.now) : []
  const onTime = started.filter((item) => !late.includes(item))
  const batch = [...onTime, ...respread, ...scheduled].slice(0, maxPerReconcile)
  for (const item of batch) await deleteResource(work, item)
  // By then the cache has the marks just written, and they say when to continue.
  if (batch.length > 0 || judged.some(({ decision }) => endsMark(decision))) return wakeAt(ports.clock.now() + 1000)
  // Due but not deletable: another snapshot would not change that soon.
  const until = ports.clock.now() + policy.intervalMs
  work.postpone(until)
  return wakeAt(until)
}

function judgeMarks(work: Work, marks: readonly CleanupCandidate[], snapshot: Snapshot): readonly JudgedMark[] {
  const { policy } = work
  const { mode } = policy.notices
  const { resources } = snapshot.observation
  const listed = new Map(resources.map((resource) => [candidateName(policy.name, resource), resource]))
  return marks.map((candidate) => {
    const resource = listed.get(candidate.metadata.name)
    const verdict = resource && snapshot.judge(resource)
    const decision = decideDelete(verdict, markUnder(candidate, work), { mode, now: snapshot.now })
    const isUnannounced = decision.do === 'delete' && mode !== 'off' && hasChangedOwner(candidate, resource, snapshot)
    return {
      candidate,
      resource,
      decision: isUnannounced ? { do: 'hold', because: 'not-announced' } : decision,
      group: candidate.status?.group,
    }
  })
}

/** The owner who was notified is no longer the owner: the next mark cycle has the new one notified. */
function hasChangedOwner(
  { status = {} }: CleanupCandidate,
  resource: Resource | undefined,
  snapshot: Snapshot,
): boolean {
  return (
    resource !== undefined && isNewOwner(status, currentOwner(status.owner, snapshot.describe(resource).resolveOwner()))
  )
}

function endsMark({ do: what }: DeleteDecision): boolean {
  return what === 'unmark' || what === 'opt-out' || what === 'finish'
}

/** Ends marks whose resource is gone or must no longer be deleted. */
async function settleMark(work: Work, { candidate, decision }: JudgedMark, at: number): Promise<void> {
  switch (decision.do) {
    case 'unmark':
    case 'opt-out': {
      const phase = decision.do === 'unmark' ? 'Unmarked' : 'OptedOut'
      return endMark(work, candidate, { phase, because: decision.because, at })
    }
    case 'finish':
      return endMark(work, candidate, { phase: 'Deleted', because: 'deleted', at })
    case 'hold':
      return candidate.status?.phase === 'Deleting' ? awaitDeletion(work, candidate, at) : undefined
    case 'delete':
    case 'wait':
      return
  }
}

/** Starts a cycle of deletions within the policy's caps, in batches spread over time. Returns the first batch. */
async function scheduleBatches(
  work: Work,
  fresh: readonly JudgedMark[],
  { visited, now }: { readonly visited: number; readonly now: number },
): Promise<readonly JudgedMark[]> {
  if (fresh.length === 0 || now < cycleEndsAt(work)) return []
  const allowance = deleteAllowance(work.policy, visited)
  const oldest = fresh.toSorted((left, right) => createdAt(left) - createdAt(right)).slice(0, allowance)
  if (oldest.length === 0) return []
  await writePolicyStatus(work.ports, work.policy.name, {
    location: { name: work.location, change: { deletedAt: formatTime(now), deleted: oldest.length } },
  })
  return spread(work, oldest, now)
}

function isDue({ candidate }: JudgedMark): boolean {
  return candidate.status?.phase === 'Due'
}

/** After an outage several batches are overdue at once: they are spread again rather than deleted together. */
function isLate({ policy }: Work, started: readonly JudgedMark[], now: number): boolean {
  const { spreadMs, batchSize } = policy.limits
  const overdue = started.filter((item) => isDue(item) && (markOf(item.candidate).scheduledAt ?? now) < now - lateMs)
  return spreadMs > 0 && overdue.length > batchSize
}

/** Schedules marks in batches from now on. Returns the first batch. */
async function spread(work: Work, due: readonly JudgedMark[], now: number): Promise<readonly JudgedMark[]> {
  const first: JudgedMark[] = []
  for (const { items, offsetMs } of partition(due, work.policy.limits)) {
    const scheduledTime = formatTime(now + offsetMs)
    for (const item of items) {
      const written = await schedule(work, item.candidate, { scheduledTime, now })
      if (written && offsetMs === 0) first.push({ ...item, candidate: written })
    }
  }
  return first
}

/** Gives a mark its time. A mark that changed meanwhile is read and decided on again: it must not cost a whole cycle. */
async function schedule(
  work: Work,
  candidate: CleanupCandidate,
  { scheduledTime, now }: { readonly scheduledTime: string; readonly now: number },
): Promise<CleanupCandidate | undefined> {
  const change = { phase: 'Due', because: 'violates', at: now } as const
  const write = (mark: CleanupCandidate) => tryWriteMark(work, mark, withPhase(mark.status, change, { scheduledTime }))
  const written = await write(candidate)
  if (written) return written
  const { client } = work.ports
  const { name } = candidate.metadata
  const fresh = await client.get<CleanupCandidate>(cleanupCandidate.type, { name }).catch(ignoring('NotFound'))
  if (!fresh || !isActive(fresh.status?.phase ?? 'Unmarked')) return undefined
  const rules = { mode: work.policy.notices.mode, now }
  const decision = decideDelete({ is: 'violating', summaries: [] }, markUnder(fresh, work), rules)
  return decision.do === 'delete' ? write(fresh) : undefined
}

function createdAt({ candidate, resource }: JudgedMark): number {
  return resource?.createdAt ?? parseTime(candidate.status?.createdAt) ?? 0
}

/** Records `Deleting` in the mark before it deletes the resource, so that a crash in between is noticed. */
async function deleteResource(work: Work, { candidate, resource }: JudgedMark): Promise<void> {
  if (!resource) return
  assertHeld(work)
  const at = work.ports.clock.now()
  const request = await departRequest(work, candidate, resource)
  // What the door holds stays Due: it would otherwise change its phase twice at every attempt.
  const verdict = await work.ports.door.peek(request)
  if (verdict.result === 'held') return recordResult(work, candidate, { result: verdict, isGone: false })
  const deleting = await tryWriteMark(
    work,
    candidate,
    withPhase(candidate.status, { phase: 'Deleting', because: 'violates', at }, { nextAttemptTime: null }),
  )
  if (!deleting) return
  try {
    // From here on the opt-out page answers that the deletion has started; earlier opt-outs are found by this read.
    if (await isOptedOut(work, candidate))
      return await endMark(work, deleting, { phase: 'OptedOut', because: 'opted-out', at })
    assertHeld(work)
    const result = await work.ports.door.depart(request)
    const isGone = result.result === 'gone' && (await request.subject.read()) === undefined
    await recordResult(work, deleting, { result, isGone })
  } catch (error) {
    if (error instanceof FenceLost || work.signal.aborted) throw error
    await recordFailure(work, deleting, error)
  }
}

/** What the door is asked for: the version that was judged is the precondition. */
async function departRequest(work: Work, candidate: CleanupCandidate, resource: Resource): Promise<DepartRequest> {
  const { policy, ports } = work
  const { propagationPolicy, gracePeriodSeconds, force = false } = policy.deletion
  const subject = await providerOf(ports.providers, work.location).subject(candidate.spec.resource, { force })
  return {
    subject,
    uid: resource.uid,
    isAnnounced: markOf(candidate).announcedAt !== undefined,
    ...(resource.resourceVersion === undefined ? {} : { resourceVersion: resource.resourceVersion }),
    because: candidate.status?.summaries?.map(({ description }) => description).join('; ') || 'violates',
    by: {
      system: 'janitor',
      object: { apiVersion: cleanupPolicy.apiVersion, kind: cleanupPolicy.kind, name: policy.name },
    },
    ...(propagationPolicy ? { propagation: propagationPolicy } : {}),
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(policy.schedule === undefined ? {} : { schedules: [policy.schedule] }),
  }
}

/** Whether an opt-out names this resource, read from the API server rather than the cache. */
async function isOptedOut({ ports }: Work, { spec }: CleanupCandidate): Promise<boolean> {
  const { client, clock } = ports
  for (const name of optOutNames(spec.resource)) {
    const found = await client.get<CleanupOptOut>(cleanupOptOut.type, { name }).catch(ignoring('NotFound'))
    if (found && isLiveOptOut(found, clock.now())) return true
  }
  return false
}
