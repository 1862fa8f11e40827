import { kubeSubject } from '../../departures/subjects/subject.ts'
import { refOf, type StoredObject } from '../../kube/object.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import type { Refusal } from '../../tenancy/act-as.ts'
import { decideRefused, type Decision, type Observed } from './decision/decide.ts'
import type { CleanerStatus, Model } from './decision/model.ts'
import { fits, recordDecision, summaryOf, type RecordedDecision } from './decision/recorded-decision.ts'
import { recordedObjects, refusalOfAll, prepareReleases } from './delete-targets.ts'
import { neededFinalizers, setFinalizers } from './finalizers.ts'
import { reportHeld, announcedRetry, evaluatedTargets, statusFor } from './status.ts'
import { actorOf, writeStatus, type CleanerPorts } from './ports.ts'

/** Writes what was decided into the status and says when to reconcile again. */
export async function report(ports: CleanerPorts, observed: Observed, decided: Decision): Promise<Outcome> {
  const now = ports.clock.now()
  const decision = onAnnouncedTime(observed.self, decided, now)
  warnOfClockSkew(ports, observed.self, now)
  await writeStatus(ports, observed.self, statusFor(observed, decision, now))
  if (decision.do !== 'wait') return settled
  // The expiry is certain. Any other time is an estimate, which can be late: it is not relied on for more than a day.
  if (decision.because === 'not-expired' && decision.until !== undefined) return wakeAt(decision.until)
  return wakeAt(Math.min(decision.until ?? Infinity, now + maxSleepMs))
}

function onAnnouncedTime(self: StoredObject, decision: Decision, now: number): Decision {
  if (decision.do !== 'wait' || !decision.isPeriodic || decision.until === undefined) return decision
  return { ...decision, until: announcedRetry(self, decision.until, now) }
}

const maxSleepMs = 86_400_000

/** Records the decision in the status, then deletes the Cleaner. Asks the Door first: a held Cleaner records nothing. */
export async function commit(
  ports: CleanerPorts,
  observed: Observed,
  decision: Extract<Decision, { do: 'delete' }>,
): Promise<Outcome> {
  const { self, resolutions } = observed
  const { model } = decision
  const now = ports.clock.now()
  const wanted = recordDecision(self, { model, resolutions, now })
  if (!fits(wanted)) return report(ports, observed, tooLarge)
  const recorded = await prepare(ports, self, wanted)
  if ('reason' in recorded) return report(ports, observed, decideRefused(recorded, now))
  const request = selfRequest(ports, self, model)
  // The cached object is enough to ask; `deleteSelf` reads it again.
  const subject = { ...request.subject, read: () => Promise.resolve(self) }
  const verdict = await ports.door.peek({ ...request, subject })
  if (verdict.result === 'held' || verdict.result === 'refused') return reportHeld(ports, self, verdict)
  if (verdict.result !== 'allowed') return settled
  const status: CleanerStatus = {
    ...statusFor(observed, decision, now),
    evaluationTime: recorded.at,
    targets: evaluatedTargets(model, resolutions),
    decision: recorded,
  }
  const written = await writeStatus(ports, self, status)
  return written ? deleteSelf(ports, written, model) : settled
}

/** The decision as it is carried out; a refusal when the identity behind the Cleaner may delete no target, or not every release. */
async function prepare(
  ports: CleanerPorts,
  self: StoredObject,
  wanted: RecordedDecision,
): Promise<RecordedDecision | Refusal> {
  const { namespaced, ownNamespace } = recordedObjects(wanted)
  const refusal = await refusalOfAll(ports, actorOf(ports, self), [...namespaced, ...ownNamespace])
  return refusal ?? prepareReleases(ports, { self, decision: wanted })
}

const tooLarge: Decision = {
  do: 'stall',
  because: 'too-many-targets',
  message: 'the list of objects to delete does not fit into the status; narrow the selectors or split the Cleaner',
}

/** Adds the finalizers the recorded decision needs, then deletes the Cleaner: from then on the decision is carried out. */
export async function deleteSelf(ports: CleanerPorts, self: StoredObject, model: Model): Promise<Outcome> {
  const { finalizers = [] } = self.metadata
  const { decision } = self.status as { readonly decision: RecordedDecision }
  const missing = neededFinalizers(ports.type, decision).filter((finalizer) => !finalizers.includes(finalizer))
  const current = missing.length === 0 ? self : await setFinalizers(ports, self, [...finalizers, ...missing])
  const answer = await ports.door.depart(selfRequest(ports, current, model))
  if (answer.result === 'held' || answer.result === 'refused') return reportHeld(ports, current, answer)
  if (decision.notFound && answer.result !== 'stale')
    ports.events.record(current, { type: 'Warning', reason: 'TargetNotFound', message: summaryOf(decision) })
  return settled
}

export function selfRequest({ client, type }: CleanerPorts, self: StoredObject, { schedules, dryRun }: Model) {
  const { decision } = (self.status ?? {}) as CleanerStatus
  return {
    subject: kubeSubject(client, type, refOf(self)),
    uid: self.metadata.uid,
    because: 'conditions-met',
    ...(decision ? { note: summaryOf(decision) } : {}),
    by: { system: 'cleaner', object: refOf(self) },
    schedules,
    dryRun,
  } as const
}

function warnOfClockSkew({ events }: CleanerPorts, self: StoredObject, now: number): void {
  const { creationTimestamp } = self.metadata
  if ((parseTime(creationTimestamp) ?? now) <= now + 60_000) return
  const message = `created at ${creationTimestamp}, but the controller's clock says ${formatTime(now)}: check both clocks`
  events.record(self, { type: 'Warning', reason: 'ClockSkew', message })
}
