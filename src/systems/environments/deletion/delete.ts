import type { ProcessParts } from '../../../runtime/process-parts.ts'
import type { EnvironmentStatus } from '../../../apis/environment.ts'
import { sentenceOf, type DepartResult } from '../../../departures/door/because.ts'
import type { DepartRequest, Door } from '../../../departures/door/door.ts'
import { kubeSubject } from '../../../departures/subjects/subject.ts'
import { uninstall } from '../../../helm/uninstall.ts'
import { namespaces, secrets } from '../../../kube/core-types.ts'
import { describeRef, refOf } from '../../../kube/object.ts'
import { formatTime, parseTime } from '../../../kube/time.ts'
import type { Actor } from '../../../tenancy/act-as.ts'
import type { Observed } from '../decision/facts.ts'
import { findTools, generatorOf } from './tools.ts'

type Deletion = NonNullable<EnvironmentStatus['deletion']>

export interface DeletionPorts extends Pick<ProcessParts, 'client' | 'clock' | 'events'> {
  readonly door: Door
  /** Who deletes: the author of a claim, or Sojourn for a Namespace that the class itself selects. */
  readonly actor: Actor
  /** Who deletes what belongs to the environment in other namespaces. */
  readonly actorElsewhere: Actor
  /** Takes the label off the pull request that makes a generator create the environment; false when the class names none. */
  readonly removeLabel: () => Promise<boolean>
}

/** How far one step came. `wait`: look again then, `hold` tells people why. */
export type StepResult =
  | { readonly next: Deletion['step']; readonly record?: string }
  | { readonly wait: number; readonly hold?: string }
  | 'gone'

const pollMs = 5000
const toolPatienceMs = 30 * 60_000
/** The longest interval of a generator by default, and some time for its work. */
const generatorPatienceMs = 40 * 60_000
const holdMs = 300_000

/** Carries out the current step of a recorded deletion. Each may be repeated after a crash. */
export async function deletionStep(ports: DeletionPorts, observed: Observed, deletion: Deletion): Promise<StepResult> {
  const { namespace } = observed
  const request = requestFor(ports, observed, deletion.reason)
  // A window that has closed since, a switch or a keep holds every step, not only the last.
  if (!ports.door.allows({ object: namespace, schedules: request.schedules ?? [] })) {
    const verdict = await ports.door.peek(request)
    if (verdict.result !== 'allowed') return notDone(verdict, ports.clock.now())
  }
  switch (deletion.step) {
    case 'Record':
      return recordStep(ports, observed, deletion)
    case 'Tool':
      return toolStep(ports, observed, deletion)
    case 'Helm':
      return helmStep(ports, observed)
    case 'Namespace':
      return namespaceStep(ports, observed, deletion)
  }
}

async function recordStep(ports: DeletionPorts, observed: Observed, { reason }: Deletion): Promise<StepResult> {
  const result = await ports.door.recordAhead(requestFor(ports, observed, reason))
  if (result.result === 'recorded') return { next: 'Tool', record: result.record }
  return notDone(result, ports.clock.now())
}

async function toolStep(ports: DeletionPorts, observed: Observed, { stepAt, reason }: Deletion): Promise<StepResult> {
  const { client, clock, door } = ports
  const now = clock.now()
  const waited = now - (parseTime(stepAt) ?? now)
  const found = await findTools(client, observed)
  if ('shared' in found)
    return {
      wait: now + holdMs,
      hold: `${found.shared} deploys more than this environment and would create it again: set delete.viaObject or delete.via of the class`,
    }
  const generator =
    found.tools.find((tool) => tool.generator)?.generator ??
    (found.tools.length === 0 ? generatorOf(observed.namespace) : undefined)
  if (generator !== undefined) {
    if (reason !== 'pull-request-closed' && !(await ports.removeLabel()))
      return {
        wait: now + holdMs,
        hold: `${generator} would create it again: set pullRequest.label of the class to the label that its generator filters by, and sojourn.dev/pull-request on the Namespace`,
      }
    // The generator deletes what it made once the pull request is closed or has lost its label; what is left over is deleted then.
    if (waited < generatorPatienceMs) return { wait: now + pollMs }
    return { next: 'Helm' }
  }
  if (found.tools.length === 0) return { next: 'Helm' }
  for (const { type, object } of found.tools) {
    if (object.metadata.deletionTimestamp) continue
    const { name, namespace = '', uid, resourceVersion } = object.metadata
    const access = { verb: 'delete', group: type.group, resource: type.plural, namespace, name }
    const refusal = await ports.actorElsewhere.refusalOf(access)
    if (refusal) return { wait: now + holdMs, hold: refusal.message }
    const subject = kubeSubject(client, type, refOf(object))
    const follows = observed.namespace.metadata.uid
    // Judged by what it deploys: one that deploys elsewhere since is judged again.
    const judged = { subject, uid, resourceVersion }
    const result = await door.depart({ ...judged, because: reason, by: byOf(observed), isAnnounced: true, follows })
    const held = notDone(result, now)
    if (held !== 'gone' && 'hold' in held) return { ...held, hold: `${describeRef(subject.ref)}: ${held.hold}` }
  }
  if (waited < toolPatienceMs) return { wait: now + pollMs }
  return {
    wait: now + holdMs,
    hold: `${describeRef(refOf(found.tools[0]!.object))} has been waiting for its finalizers for 30 minutes`,
  }
}

/** Uninstalls the releases in the Namespace with their hooks. One that cannot be read is left to the deletion of the Namespace. */
async function helmStep(ports: DeletionPorts, observed: Observed): Promise<StepResult> {
  const { client, door, clock, events, actor, actorElsewhere } = ports
  const namespace = observed.namespace.metadata.name
  const names = new Set<string>()
  for await (const { items } of client.listAll(secrets, { namespace, labelSelector: 'owner=helm', metadataOnly: true }))
    for (const { metadata } of items) if (metadata.labels?.['name']) names.add(metadata.labels['name'])
  for (const name of names) {
    const release = { name, driver: 'secret', disableHooks: false, timeoutMs: 300_000 } as const
    const by = byOf(observed)
    const result = await uninstall({ client, actor, actorElsewhere, door, clock, by, namespace, release })
    if (result.result === 'waiting') return { wait: result.until ?? clock.now() + pollMs }
    if (result.result === 'refused' || result.result === 'unreadable') {
      const message = `release ${name}: ${result.result === 'refused' ? result.refusal.message : result.message}`
      events.record(observed.environment, { type: 'Warning', reason: 'HelmUninstallFailed', message })
    }
  }
  return { next: 'Namespace' }
}

async function namespaceStep(ports: DeletionPorts, observed: Observed, { reason }: Deletion): Promise<StepResult> {
  const request = requestFor(ports, observed, reason)
  const result = await ports.door.depart({ ...request, recordedAhead: true })
  return result.result === 'gone' || result.result === 'leaving' ? 'gone' : notDone(result, ports.clock.now())
}

function notDone(result: DepartResult, now: number): StepResult {
  if (result.result === 'stale') return { wait: now + 1000 }
  if (result.result !== 'held' && result.result !== 'refused') return 'gone'
  return { wait: ('until' in result ? result.until : undefined) ?? now + holdMs, hold: sentenceOf(result) }
}

/** The request to delete the Namespace. */
export function requestFor(
  { client }: Pick<DeletionPorts, 'client'>,
  observed: Observed,
  because: string,
): DepartRequest {
  const { name, uid } = observed.namespace.metadata
  const window = observed.environmentClass?.spec.delete?.window
  return {
    subject: kubeSubject(client, namespaces, { apiVersion: 'v1', kind: 'Namespace', name }),
    uid,
    because,
    by: byOf(observed),
    isAnnounced: true,
    ...(window === undefined ? {} : { schedules: [window] }),
  }
}

/** The class, whose rule it was: a restore brings back everything but the object that decided the deletion. */
function byOf({ environmentClass, environment }: Observed) {
  return { system: 'environments', object: refOf(environmentClass ?? environment) } as const
}

/** The deletion with its next step, or as it begins. */
export function atStep(
  former: Deletion | undefined,
  step: Deletion['step'],
  { reason, record, now }: Pick<Deletion, 'reason'> & { readonly record?: string | undefined; readonly now: number },
): Deletion {
  const at = formatTime(now)
  const kept = record ?? former?.record
  return {
    step,
    reason,
    startedAt: former?.startedAt ?? at,
    stepAt: at,
    ...(kept === undefined ? {} : { record: kept }),
  }
}
