import type { CleanupCandidate } from '../../../apis/cleanup-candidate.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../../apis/cleanup-opt-out.ts'
import { cleanupPolicy } from '../../../apis/cleanup-policy.ts'
import { isLiveOptOut } from '../../../departures/door/protection.ts'
import { ignoring } from '../../../kube/status-error.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import { wakeAt, type Outcome } from '../../../runtime/controller/outcome.ts'
import { candidateName, markOf, turned } from '../decision/candidate.ts'
import { end, fail, note, tolerating, waitForEnd } from './delete-outcome.ts'
import { decideDelete, dueAt, isActive, type DeleteDecision } from '../decision/decide.ts'
import { look, type Look } from './look.ts'
import { isCircuitOpen } from '../work/circuit.ts'
import { optOutNames } from '../opt-outs/opt-out.ts'
import { isNewOwner, ownerNow } from '../policy/owner.ts'
import { partition } from '../decision/partition.ts'
import { deleteAllowance } from '../decision/plan.ts'
import { writePolicyStatus } from '../work/policy-status.ts'
import { providerOf } from '../verdict/provider.ts'
import { InventoryError, type Resource } from '../model/resource.ts'
import {
  assertHeld,
  FenceLost,
  locationStatus,
  writeMark,
  type Unleased,
  type Work,
  type WorkPorts,
} from '../work/work.ts'

const clockToleranceMs = 5 * 60_000
/** A turn at the door takes a while: the rest of a long list waits for the next reconcile. */
const mostPerReconcile = 50

/** Lets marked resources leave whose time has come, after one more look at everything that could speak for them. */
export async function deleteCycle(work: Work, ports: WorkPorts): Promise<Outcome> {
  const { policy, location } = work
  const now = ports.clock.now()
  const marks = activeMarks(work, ports)
  if (isCircuitOpen(work) || isDoorShut(ports)) return wakeAt(now + Math.min(policy.intervalMs, 60_000))
  try {
    await checkClock(work, ports)
    return await letDueLeave(work, ports, marks)
  } catch (error) {
    if (!(error instanceof InventoryError)) throw error
    ports.metrics.troubles.inc({ policy: policy.name, action: 'Delete' })
    ports.log.error('deletion put off', { policy: policy.name, location, error })
    return wakeAt(now + Math.min(policy.intervalMs, 60_000))
  }
}

/** When something here is due first; things already on their way are looked after now and then. Undefined: nothing is. */
export function deleteDueAt(work: Unleased, ports: WorkPorts): number | undefined {
  if (work.dryRun) return undefined
  const times = activeMarks(work, ports).flatMap((candidate) => {
    const mark = markOf(candidate)
    if (mark.phase === 'Deleting') return [mark.nextAttemptAt ?? 0]
    const decision = decideDelete({ is: 'violating', summaries: [] }, mark, {
      mode: work.policy.notices.mode,
      now: Infinity,
    })
    const due = dueAt(mark)
    if (decision.do !== 'delete' || !due) return []
    return [mark.phase === 'Due' || mark.phase === 'Failed' ? due.at : Math.max(due.at, cycleEndsAt(work))]
  })
  return times.length > 0 ? Math.min(...times) : undefined
}

function activeMarks({ policy, location }: Unleased, { desk }: WorkPorts): readonly CleanupCandidate[] {
  return desk.marks(policy.name, location).filter(({ status }) => isActive(status?.phase ?? 'Unmarked'))
}

/** No use to knock: a human has to open it. */
function isDoorShut({ door }: WorkPorts): boolean {
  const { state } = door
  return !state || state.paused || state.breaker === 'open'
}

/** One cycle of deletions takes an interval, or as long as its batches are spread over. */
function cycleEndsAt(work: Unleased): number {
  const startedAt = parseTime(locationStatus(work).deletedAt)
  return startedAt === undefined ? 0 : startedAt + Math.max(work.policy.intervalMs, work.policy.limits.spreadMs)
}

/** A clock that has gone astray would make everything due at once. */
async function checkClock({ location }: Work, { providers, clock }: WorkPorts): Promise<void> {
  const theirs = await providerOf(providers, location).time?.(location)
  if (theirs === undefined) return
  const apartMs = Math.abs(theirs - clock.now())
  if (apartMs > clockToleranceMs)
    throw new InventoryError(
      `our clock and theirs are ${Math.round(apartMs / 1000)} s apart: nothing is deleted until they agree`,
    )
}

interface Candidate {
  readonly candidate: CleanupCandidate
  readonly resource: Resource | undefined
  readonly decision: DeleteDecision
  readonly group: string | undefined
}

async function letDueLeave(work: Work, ports: WorkPorts, marks: readonly CleanupCandidate[]): Promise<Outcome> {
  const { policy } = work
  const seen = await look(work, ports, { walksPast: true })
  const listed = new Map(seen.observation.resources.map((resource) => [candidateName(policy.name, resource), resource]))
  const judged = marks.map((candidate): Candidate => {
    const resource = listed.get(candidate.metadata.name)
    const verdict = resource && seen.judge(resource)
    const decision = decideDelete(verdict, markOf(candidate), { mode: policy.notices.mode, now: seen.now })
    const isUntold = decision.do === 'delete' && policy.notices.mode !== 'off' && isPassedOn(candidate, resource, seen)
    return {
      candidate,
      resource,
      decision: isUntold ? { do: 'hold', because: 'not-announced' } : decision,
      group: candidate.status?.group,
    }
  })
  for (const item of judged) await settleEnded(work, ports, item, seen.now)

  const open = judged.filter(({ decision }) => decision.do === 'delete')
  const underWay = open.filter(({ candidate }) => ['Due', 'Deleting', 'Failed'].includes(candidate.status?.phase ?? ''))
  const fresh = open.filter((item) => !underWay.includes(item))
  const { resources, aside = 0 } = seen.observation
  const planned = await planTurns(work, ports, { fresh, visited: resources.length + aside, now: seen.now })
  const turn = [...underWay, ...planned].slice(0, mostPerReconcile)
  for (const item of turn) await letLeave(work, ports, item)
  // What was just written is in the cache by then, and says when to come back.
  if (turn.length > 0 || judged.some(({ decision }) => isSettling(decision))) return wakeAt(ports.clock.now() + 1000)
  // Due, and yet not to be deleted: another look at everything will not change that soon.
  const until = ports.clock.now() + policy.intervalMs
  work.rest(until)
  return wakeAt(until)
}

/** It belongs to somebody else by now: the next look at marks sees to it that they are told. */
function isPassedOn({ status }: CleanupCandidate, resource: Resource | undefined, seen: Look): boolean {
  const former = status?.owner
  return resource !== undefined && isNewOwner(former, ownerNow(former, seen.describe(resource).found()))
}

function isSettling({ do: what }: DeleteDecision): boolean {
  return what === 'unmark' || what === 'opt-out' || what === 'finish'
}

/** What is no longer to be deleted, or is gone, is settled at once. */
async function settleEnded(
  work: Work,
  ports: WorkPorts,
  { candidate, decision }: Candidate,
  at: number,
): Promise<void> {
  switch (decision.do) {
    case 'unmark':
    case 'opt-out': {
      const phase = decision.do === 'unmark' ? 'Unmarked' : 'OptedOut'
      return end(work, ports, candidate, { phase, because: decision.because, at })
    }
    case 'finish':
      return end(work, ports, candidate, { phase: 'Deleted', because: 'deleted', at })
    case 'hold':
      return candidate.status?.phase === 'Deleting' ? waitForEnd(work, ports, candidate, at) : undefined
    case 'delete':
    case 'wait':
      return
  }
}

/** Begins a cycle of deletions: so many, in batches, spread over time. Those whose turn is now are returned. */
async function planTurns(
  work: Work,
  ports: WorkPorts,
  { fresh, visited, now }: { readonly fresh: readonly Candidate[]; readonly visited: number; readonly now: number },
): Promise<readonly Candidate[]> {
  if (fresh.length === 0 || now < cycleEndsAt(work)) return []
  const allowance = deleteAllowance(work.policy, visited)
  const oldest = fresh.toSorted((left, right) => createdAt(left) - createdAt(right)).slice(0, allowance)
  if (oldest.length === 0) return []
  await writePolicyStatus(ports, work.policy.name, {
    location: { name: work.location, change: { deletedAt: formatTime(now), deleted: oldest.length } },
  })
  const turns: Candidate[] = []
  for (const { items, offsetMs } of partition(oldest, work.policy.limits)) {
    const scheduledAt = now + offsetMs
    for (const item of items) {
      const status = turned(
        item.candidate.status,
        { phase: 'Due', because: 'violates', at: now },
        { scheduledTime: formatTime(scheduledAt) },
      )
      const written = await tolerating(() => writeMark(ports, work, item.candidate, status))
      if (written && offsetMs === 0) turns.push({ ...item, candidate: written })
    }
  }
  return turns
}

function createdAt({ candidate, resource }: Candidate): number {
  return resource?.createdAt ?? parseTime(candidate.status?.createdAt) ?? 0
}

/** Once more: is the lease ours, is it still wanted? Then the mark says so, and only then the door is asked. */
async function letLeave(work: Work, ports: WorkPorts, { candidate, resource }: Candidate): Promise<void> {
  if (!resource) return
  const { policy } = work
  assertHeld(work)
  const at = ports.clock.now()
  const deleting = await tolerating(() =>
    writeMark(
      ports,
      work,
      candidate,
      turned(candidate.status, { phase: 'Deleting', because: 'violates', at }, { nextAttemptTime: null }),
    ),
  )
  if (!deleting) return
  try {
    // The mark says by now that it leaves: who opts out from here on is told so, and who did before is found, however old our cache.
    if (await isOptedOut(ports, candidate.spec.resource))
      return await end(work, ports, deleting, { phase: 'OptedOut', because: 'opted-out', at })
    const subject = await providerOf(ports.providers, work.location).subject(candidate.spec.resource, {
      force: policy.deletion.force ?? false,
    })
    assertHeld(work)
    const result = await ports.door.depart({
      subject,
      uid: resource.uid,
      ...(resource.resourceVersion === undefined ? {} : { resourceVersion: resource.resourceVersion }),
      because: candidate.status?.summaries?.map(({ description }) => description).join('; ') || 'violates',
      by: {
        system: 'janitor',
        object: { apiVersion: cleanupPolicy.apiVersion, kind: cleanupPolicy.kind, name: policy.name },
      },
      ...(policy.deletion.propagationPolicy ? { propagation: policy.deletion.propagationPolicy } : {}),
      ...(policy.deletion.gracePeriodSeconds === undefined
        ? {}
        : { gracePeriodSeconds: policy.deletion.gracePeriodSeconds }),
      ...(policy.schedule === undefined ? {} : { schedules: [policy.schedule] }),
    })
    const isGone = result.result === 'gone' && (await subject.read()) === undefined
    await note(work, ports, deleting, { result, isGone })
  } catch (error) {
    if (error instanceof FenceLost || work.signal.aborted) throw error
    await fail(work, ports, deleting, error)
  }
}

/** Whether somebody has asked to keep this very resource, by what the cluster says at this moment. */
async function isOptedOut(
  { client, clock }: WorkPorts,
  resource: CleanupCandidate['spec']['resource'],
): Promise<boolean> {
  for (const name of optOutNames(resource)) {
    const found = await client.get<CleanupOptOut>(cleanupOptOut.type, { name }).catch(ignoring('NotFound'))
    if (found && isLiveOptOut(found, clock.now())) return true
  }
  return false
}
