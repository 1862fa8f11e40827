import { sentenceOf, type DepartResult } from '../../departures/door/because.ts'
import { kubeSubject } from '../../departures/subjects/subject.ts'
import { describeRef, refOf, type ObjectRef, type StoredObject, placeOf } from '../../kube/object.ts'
import { parseTime } from '../../kube/time.ts'
import { wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import type { ActPorts, Work } from './act.ts'
import type { RecordedDecision } from './decision-record.ts'
import { lookAgainAt } from './look-again.ts'

type Ports = Pick<ActPorts, 'client' | 'door' | 'clock' | 'events'>

/** One recorded object. */
interface ObjectToLeave {
  readonly ref: ObjectRef
  readonly uid: string
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
}

/** The recorded objects, or the recorded namespace: that one goes last, and takes everything with it. */
export function targetsIn({ targets }: RecordedDecision, which: 'objects' | 'namespace'): readonly ObjectToLeave[] {
  return targets
    .filter(({ kind, apiVersion }) => (kind === 'Namespace' && apiVersion === 'v1') === (which === 'namespace'))
    .flatMap(({ apiVersion, kind, namespace, propagationPolicy, objects }) =>
      objects.map(({ name, uid }) => ({
        ref: { apiVersion, kind, ...placeOf({ name, namespace }) },
        uid,
        ...(propagationPolicy ? { propagation: propagationPolicy } : {}),
      })),
    )
}

/** When to look again at targets that are left, and what holds them. */
export interface Wait {
  readonly until: Outcome
  readonly held: readonly string[]
}

/** Lets each recorded target leave; one that may not does not keep the others. The result is about those that are left, if any are. */
export async function removeTargets(
  ports: Ports,
  self: StoredObject,
  targets: readonly ObjectToLeave[],
): Promise<Wait | undefined> {
  let wait: Wait | undefined
  const failures: unknown[] = []
  for (const target of targets) {
    try {
      const next = await removeTarget(ports, self, target)
      if (next) wait = { until: next.until, held: [...(wait?.held ?? []), ...next.held] }
    } catch (error) {
      failures.push(error)
      const message = `${describeRef(target.ref)}: ${(error as Error).message}`
      ports.events.record(self, { type: 'Warning', reason: 'DeleteTargetFailed', message })
    }
  }
  if (failures.length === 0) return wait
  const [first] = failures as Error[]
  throw new AggregateError(
    failures,
    `${failures.length} of ${targets.length} targets could not be deleted: ${first?.message}`,
  )
}

/** While the decision says to wait for targets that hang on somebody's finalizers: when to look again. */
export async function stillThere(
  { client, clock, events }: Ports,
  { self, decision }: Work,
  targets: readonly ObjectToLeave[],
): Promise<Wait | undefined> {
  const deadline = parseTime(decision.waitUntil)
  if (deadline === undefined) return undefined
  const left: string[] = []
  for (const { ref, uid } of targets) {
    const type = await client.discovery.typeOf(ref)
    const object = type && (await kubeSubject(client, type, ref).read())
    if (object?.metadata.uid === uid && object.metadata.deletionTimestamp) left.push(describeRef(ref))
  }
  if (left.length === 0) return undefined
  const now = clock.now()
  if (now < deadline) return { until: wakeAt(Math.min(deadline, now + lookAgainMs)), held: [] }
  const message = `went on without waiting any longer for ${left.slice(0, 5).join(', ')}`
  events.record(self, { type: 'Warning', reason: 'TargetPending', message })
  return undefined
}

const lookAgainMs = 2000

async function removeTarget(ports: Ports, self: StoredObject, target: ObjectToLeave): Promise<Wait | undefined> {
  const { client, door } = ports
  const { ref, uid, propagation } = target
  const type = await client.discovery.typeOf(ref)
  // Its kind is no longer served: there is nothing left to delete.
  if (!type) return undefined
  const subject = kubeSubject(client, type, ref)
  const object = await subject.read()
  // Gone, or on its way already, by us or by others: nothing is deleted, or told, twice.
  if (!object || (object.metadata.uid === uid && object.metadata.deletionTimestamp)) return undefined
  const answer = await door.depart({
    subject,
    uid,
    because: 'target',
    by: { system: 'cleaner', object: refOf(self) },
    ...(propagation ? { propagation } : {}),
  })
  if (answer.result !== 'stale') return tell(ports, self, { ref, answer })
  // Changed by somebody while we looked, but the same: look again.
  const current = await subject.read()
  if (current?.metadata.uid === uid) return { until: wakeAt(ports.clock.now() + 100), held: [] }
  return tell(ports, self, { ref, answer })
}

/** Says what became of a target, and when to look at it again, if it is to be. */
function tell(
  { clock, events }: Ports,
  self: StoredObject,
  { ref, answer }: { ref: ObjectRef; answer: DepartResult },
): Wait | undefined {
  const note = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    events.record(self, { type, reason, message, related: ref })
  const name = describeRef(ref)
  switch (answer.result) {
    case 'gone':
      note('Normal', 'TargetDeleted', `deleted ${name}`)
      return undefined
    case 'leaving':
      note('Normal', 'TargetDeleted', `deleted ${name}, which is pending: finalizers hold it`)
      return undefined
    case 'stale':
      note('Normal', 'TargetReplaced', `left ${name}: it is not the one that was evaluated`)
      return undefined
    case 'refused':
      note('Warning', 'TargetProtected', `left ${name}: ${sentenceOf(answer)}`)
      return undefined
    case 'held':
      note('Normal', 'TargetHeld', `${name} waits: ${sentenceOf(answer)}`)
      return {
        until: wakeAt(lookAgainAt(answer, clock.now())),
        held: [`${name} waits: ${sentenceOf(answer)}`],
      }
  }
}
