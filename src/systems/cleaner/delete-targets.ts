import { howToGrant } from '../../apis/group.ts'
import { sentenceOf, type DepartResult } from '../../departures/door/because.ts'
import { kubeSubject } from '../../departures/subjects/subject.ts'
import { describeRef, placeOf, refOf, type ObjectRef, type StoredObject } from '../../kube/object.ts'
import { parseTime } from '../../kube/time.ts'
import type { Actor, Refusal } from '../../tenancy/act-as.ts'
import { accessTo } from '../../tenancy/confinement.ts'
import { refusalRetryMs } from './decision/decide.ts'
import { type Committed, type RecordedDecision, releaseIn } from './decision/recorded-decision.ts'
import { retryAt } from './status.ts'
import { actorOf, type CleanerPorts } from './ports.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { RecordsUnavailable } from '../../helm/release-holders.ts'
import { preflight } from '../../helm/release-rights.ts'
import { uninstall } from '../../helm/uninstall.ts'

/** One object the decision names: this uid and no other. */
interface RecordedObject {
  readonly ref: ObjectRef
  readonly uid: string
  readonly propagation?: 'Background' | 'Foreground' | 'Orphan'
}

/** Targets that still exist: when to retry, and what holds them. */
export interface Pending {
  readonly retryAt: number
  readonly held: readonly { readonly name: string; readonly why: string }[]
  /** Why the identity behind the Cleaner may not delete one of them. */
  readonly refusal?: Refusal
}

/** The objects the decision names. The Cleaner's own namespace is kept apart: its deletion takes the rest with it. */
export function recordedObjects({ targets }: Pick<RecordedDecision, 'targets'>) {
  const objects = targets.flatMap(({ apiVersion, kind, namespace, propagationPolicy, objects: found }) =>
    found.map(({ name, uid }): RecordedObject => ({
      ref: { apiVersion, kind, ...placeOf({ name, namespace }) },
      uid,
      ...(propagationPolicy ? { propagation: propagationPolicy } : {}),
    })),
  )
  const isNamespace = ({ ref }: RecordedObject) => ref.kind === 'Namespace' && ref.apiVersion === 'v1'
  return {
    namespaced: objects.filter((object) => !isNamespace(object)),
    ownNamespace: objects.filter(isNamespace),
  }
}

/** Deletes each object through the Door; one that is held does not stop the others. Undefined when none is left to retry. */
export async function deleteTargets(
  ports: CleanerPorts,
  self: StoredObject,
  objects: readonly RecordedObject[],
): Promise<Pending | undefined> {
  let pending: Pending | undefined
  const failures: unknown[] = []
  const actor = actorOf(ports, self)
  for (const object of objects) {
    try {
      const next = await deleteTarget(ports, { self, actor, isPlanned: isPlan(objects) }, object)
      if (next) pending = { ...pending, ...next, held: [...(pending?.held ?? []), ...next.held] }
    } catch (error) {
      failures.push(error)
      const message = `could not delete ${describeRef(object.ref)}: ${(error as Error).message}`
      ports.events.record(self, { type: 'Warning', reason: 'DeleteTargetFailed', message })
    }
  }
  if (failures.length === 0) return pending
  const [first] = failures as Error[]
  throw new AggregateError(
    failures,
    `${failures.length} of ${objects.length} targets could not be deleted: ${first?.message}`,
  )
}

/** With `spec.wait`: when to look again at deleted targets whose finalizers are pending. Undefined when none is left, or the wait is over. */
export async function awaitDeletion(
  { client, clock, events }: CleanerPorts,
  { self, decision }: Committed,
  objects: readonly RecordedObject[],
): Promise<Pending | undefined> {
  const deadline = parseTime(decision.waitUntil)
  if (deadline === undefined) return undefined
  const terminating: string[] = []
  for (const { ref, uid } of objects) {
    const type = await client.discovery.typeOf(ref)
    const object = type && (await kubeSubject(client, type, ref).read())
    if (object?.metadata.uid === uid && object.metadata.deletionTimestamp) terminating.push(describeRef(ref))
  }
  if (terminating.length === 0) return undefined
  const now = clock.now()
  if (now < deadline) return { retryAt: Math.min(deadline, now + pollMs), held: [] }
  const message = `spec.wait is over; continued although finalizers still hold ${terminating.slice(0, 5).join(', ')}`
  events.record(self, { type: 'Warning', reason: 'TargetPending', message })
  return undefined
}

const pollMs = 2000

/** The refusal when the identity may delete none of these objects: then there is nothing to begin. One that it may is enough. */
export async function refusalOfAll(
  { client }: CleanerPorts,
  actor: Actor,
  objects: readonly RecordedObject[],
): Promise<Refusal | undefined> {
  let first: Refusal | undefined
  for (const { ref } of objects.slice(0, maxAsked)) {
    const type = await client.discovery.typeOf(ref)
    const refusal = type && (await actor.refusalOf(accessTo('delete', type, ref)))
    if (!refusal) return undefined
    first ??= refusal
  }
  return first
}

/**
 * Whether a Cleaner is a plan for these objects rather than a rule that selects many: its user knows them and has set their time. Beyond that, a selector may
 * have matched more than its author meant, so the breaker counts.
 */
export function isPlan(objects: readonly unknown[]): boolean {
  return objects.length <= maxPlanned
}

const maxPlanned = 20
const maxAsked = 100

async function deleteTarget(
  ports: CleanerPorts,
  { self, actor, isPlanned }: { readonly self: StoredObject; readonly actor: Actor; readonly isPlanned: boolean },
  target: RecordedObject,
): Promise<Pending | undefined> {
  const { client, door, clock } = ports
  const { ref, uid, propagation } = target
  const type = await client.discovery.typeOf(ref)
  // A kind that is no longer served has no objects left.
  if (!type) return undefined
  const subject = kubeSubject(client, type, ref)
  const object = await subject.read()
  const isSame = object?.metadata.uid === uid
  // Deleted already, by us or by others: it is neither deleted nor reported twice.
  if (!object || (isSame && object.metadata.deletionTimestamp)) return undefined
  const refusal = await actor.refusalOf(accessTo('delete', type, ref))
  if (refusal) return { retryAt: clock.now() + refusalRetryMs, held: [], refusal }
  const asActor = kubeSubject(actor.client, type, ref)
  const answer = await door.depart({
    // The Door judges the object just read; its delete carries that resourceVersion, so a later change makes it `stale`.
    subject: { ...subject, read: () => Promise.resolve(object), remove: (options) => asActor.remove(options) },
    uid,
    because: 'target',
    follows: self.metadata.uid,
    by: { system: 'cleaner', object: refOf(self) },
    isPlanned,
    ...(propagation ? { propagation } : {}),
  })
  if (answer.result === 'stale' && isSame) return { retryAt: clock.now() + 100, held: [] }
  return reportTarget(ports, self, { ref, answer })
}

/** Records an Event about what happened to a target; returns when to retry if the Door holds it, which is reported once for all that are held. */
function reportTarget(
  { clock, events }: CleanerPorts,
  self: StoredObject,
  { ref, answer }: { ref: ObjectRef; answer: DepartResult },
): Pending | undefined {
  const note = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    events.record(self, { type, reason, message, related: ref })
  const name = describeRef(ref)
  switch (answer.result) {
    case 'gone':
      note('Normal', 'TargetDeleted', `deleted ${name}`)
      return undefined
    case 'leaving':
      note('Normal', 'TargetDeleted', `deleted ${name}; its finalizers are pending`)
      return undefined
    case 'stale':
      note('Normal', 'TargetReplaced', `kept ${name}: it was created after the decision, under the same name`)
      return undefined
    case 'refused':
      note('Warning', 'TargetProtected', `kept ${name}: ${sentenceOf(answer)}`)
      return undefined
    case 'held':
      return { retryAt: retryAt(answer, clock.now()), held: [{ name, why: sentenceOf(answer) }] }
  }
}

/** Uninstalls the recorded releases one after the other. Returns when to look again while one of them is not finished. */
export async function uninstallReleases(
  ports: CleanerPorts,
  { self, decision }: Committed,
): Promise<Pending | undefined> {
  const { clock, events } = ports
  const note = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    events.record(self, { type, reason, message })
  for (const recorded of decision.releases ?? []) {
    const release = releaseIn(recorded)
    const request = { ...requestFor(ports, self), release, digest: recorded.digest }
    const answer = await uninstall(request).catch(noteFailure(ports, self, release.name))
    switch (answer.result) {
      case 'waiting':
        return { retryAt: answer.until ?? clock.now() + 60_000, held: [] }
      case 'refused':
        return { retryAt: clock.now() + refusalRetryMs, held: [], refusal: answer.refusal }
      case 'absent':
        continue
      case 'unreadable':
        note('Warning', 'HelmUninstallFailed', `${answer.message}: none of its objects was deleted`)
        continue
      case 'uninstalled':
        for (const message of answer.warnings) note('Warning', 'HelmResourceKept', message)
        note('Normal', 'HelmReleaseUninstalled', `uninstalled release ${release.name}`)
    }
  }
  return undefined
}

/** The decision with each release bound to the record that it has now; or why the identity behind the Cleaner may not uninstall one. */
export async function prepareReleases(
  ports: CleanerPorts,
  { self, decision }: Committed,
): Promise<RecordedDecision | Refusal> {
  if (!decision.releases) return decision
  const releases: typeof decision.releases = []
  const notFound = [...(decision.notFound ?? [])]
  for (const recorded of decision.releases) {
    const request = { ...requestFor(ports, self), release: releaseIn(recorded) }
    const ready = await preflight(request)
      .catch(noteFailure(ports, self, recorded.name))
      .catch(refusalOfRead)
    if ('refusal' in ready) return ready.refusal
    if (ready.isAbsent) notFound.push(`release ${recorded.name}: it is not installed`)
    releases.push({ ...recorded, digest: ready.digest })
  }
  return { ...decision, releases, ...(notFound.length > 0 ? { notFound } : {}) }
}

/** A right that Sojourn's own account lacks is said on the Cleaner; any other error is thrown on. */
function refusalOfRead(error: Error): { readonly refusal: Refusal } {
  if (!isStatusError(error.cause, 'Forbidden')) throw error
  return {
    refusal: {
      reason: 'TargetForbidden',
      message: `${error.message}: grant list and get to Sojourn’s account (${howToGrant})`,
    },
  }
}

/** Records an Event about a release that could not be read or uninstalled, and throws on. */
function noteFailure({ events }: CleanerPorts, self: StoredObject, release: string) {
  return (error: Error): never => {
    const reason = error instanceof RecordsUnavailable ? 'HelmSetupFailed' : 'HelmUninstallFailed'
    events.record(self, { type: 'Warning', reason, message: `release ${release}: ${error.message}` })
    throw error
  }
}

function requestFor(ports: CleanerPorts, self: StoredObject) {
  const { client, door, clock, actAs } = ports
  const actor = actorOf(ports, self)
  const actorElsewhere = actAs.for(self, { deletesElsewhere: true })
  const { namespace = '' } = self.metadata
  return {
    client,
    actor,
    actorElsewhere,
    door,
    clock,
    by: { system: 'cleaner', object: refOf(self) } as const,
    follows: self.metadata.uid,
    namespace,
  }
}
