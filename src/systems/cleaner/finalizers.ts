import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import type { CleanerStatus } from './decision/model.ts'
import type { Committed, RecordedDecision } from './decision/recorded-decision.ts'
import { awaitDeletion, deleteTargets, recordedObjects, type Pending, uninstallReleases } from './delete-targets.ts'
import { announcedRetry, heldBecause, writeHealth } from './status.ts'
import type { CleanerPorts } from './ports.ts'
import { SinkDeliveries } from './outbox.ts'

/** How many reasons a condition and an Event name, and how many objects of each. */
const maxNamed = 5

/** One finalizer each, in the order in which their work is done. */
const stages = ['target', 'release', 'cloud-event'] as const
type Stage = (typeof stages)[number]
/** The reason of Ready=False while the work of a stage fails. */
const failures: Readonly<Record<Stage, string>> = {
  target: 'DeleteTargetFailed',
  release: 'HelmUninstallFailed',
  'cloud-event': 'CloudEventFailed',
}

/** Carries out a recorded decision, one finalizer after the other. A crash at any point is resumed from the finalizers that remain. */
export class Finalizers {
  readonly #ports: CleanerPorts
  readonly #deliveries: SinkDeliveries

  constructor(ports: CleanerPorts) {
    this.#ports = ports
    this.#deliveries = new SinkDeliveries(ports)
  }

  /**
   * Does the work of the first remaining finalizer, then removes it. Without a recorded decision, or when a user deleted the Cleaner,
   * all our finalizers are removed and nothing else is deleted.
   */
  async run(self: StoredObject): Promise<Outcome> {
    const { type, door } = this.#ports
    const remaining = stages.filter((stage) => self.metadata.finalizers?.includes(finalizerOf(type, stage)))
    const [stage] = remaining
    if (stage === undefined) return settled
    const { decision } = (self.status ?? {}) as CleanerStatus
    if (!decision || (stage === 'target' && !(await door.isOurDeparture(self)))) {
      await this.#remove(self, remaining)
      return settled
    }
    const pending = await this.#perform(stage, { self, decision }).catch((error: Error) =>
      this.#fail(stage, self, error),
    )
    if (pending?.refusal) await writeHealth(this.#ports, self, { health: 'stalled', ...pending.refusal })
    else if (pending && pending.held.length > 0) return this.#reportHeld(self, pending)
    if (pending) return wakeAt(pending.retryAt)
    await this.#remove(self, [stage, ...idleAfter(stage, decision)])
    return settled
  }

  /** A Cleaner whose work fails must not look as if it were only terminating. The work is retried. */
  async #fail(stage: Stage, self: StoredObject, error: Error): Promise<never> {
    const claim = { health: 'not-ready', reason: failures[stage], message: error.message } as const
    await writeHealth(this.#ports, self, claim).catch(() => {})
    throw error
  }

  async #reportHeld(self: StoredObject, { held, retryAt }: Pending): Promise<Outcome> {
    const until = announcedRetry(self, retryAt, this.#ports.clock.now())
    const byReason = [...Map.groupBy(held, (each) => each.why)]
    const shown = byReason.slice(0, maxNamed).map(([reason, all]) => whyHeld(all, reason))
    const others = byReason.slice(maxNamed).reduce((sum, [, all]) => sum + all.length, 0)
    const why = `${shown.join('; ')}${others > 0 ? `; and ${others} more for other reasons` : ''}`
    this.#ports.events.record(self, { type: 'Warning', reason: 'TargetHeld', message: why })
    await writeHealth(this.#ports, self, { ...heldBecause(self, why), until })
    return wakeAt(until)
  }

  async #perform(stage: Stage, committed: Committed): Promise<Pending | undefined> {
    const { self, decision } = committed
    const objects = recordedObjects(decision)
    switch (stage) {
      case 'target':
        return (
          (await deleteTargets(this.#ports, self, objects.namespaced)) ??
          awaitDeletion(this.#ports, committed, objects.namespaced)
        )
      case 'release':
        return uninstallReleases(this.#ports, committed)
      case 'cloud-event':
        // The Cleaner's own namespace, if it is a target, comes last: deleting it deletes everything else.
        return unheld(this.#deliveries.deliver(committed)) ?? deleteTargets(this.#ports, self, objects.ownNamespace)
    }
  }

  #remove(self: StoredObject, done: readonly Stage[]): Promise<StoredObject> {
    const removed = done.map((stage) => finalizerOf(this.#ports.type, stage))
    const { finalizers = [] } = self.metadata
    return setFinalizers(
      this.#ports,
      self,
      finalizers.filter((finalizer) => !removed.includes(finalizer)),
    )
  }
}

function whyHeld(held: Pending['held'], why: string): string {
  const names = held.slice(0, maxNamed).map(({ name }) => name)
  const more = held.length > maxNamed ? ` and ${held.length - maxNamed} more` : ''
  return `${names.join(', ')}${more} ${held.length > 1 ? 'are' : 'is'} not deleted yet: ${why}`
}

/** The finalizers a Cleaner needs while this decision is carried out. */
export function neededFinalizers(type: ResourceType, decision: RecordedDecision): readonly string[] {
  return stages.some((stage) => hasWork(stage, decision)) ? stages.map((stage) => finalizerOf(type, stage)) : []
}

/** Replaces the finalizers of exactly the version given. A Cleaner that no longer exists is returned as it was. */
export async function setFinalizers(
  { client, type }: CleanerPorts,
  self: StoredObject,
  finalizers: readonly string[],
): Promise<StoredObject> {
  const { name, namespace = '', resourceVersion } = self.metadata
  const body = { metadata: { resourceVersion, finalizers } }
  try {
    return await client.merge(type, { namespace, name }, body)
  } catch (error) {
    if (isStatusError(error, 'NotFound')) return self
    throw error
  }
}

function finalizerOf({ group }: ResourceType, stage: Stage): string {
  return `${group}/${stage}-finalizer`
}

/** The stages right after one that have no work: their finalizers are removed with its own, in one write. */
function idleAfter(stage: Stage, decision: RecordedDecision): readonly Stage[] {
  const following = stages.slice(stages.indexOf(stage) + 1)
  const busy = following.findIndex((next) => hasWork(next, decision))
  return busy < 0 ? following : following.slice(0, busy)
}

function hasWork(stage: Stage, decision: RecordedDecision): boolean {
  switch (stage) {
    case 'target':
      return decision.targets.length > 0
    case 'release':
      return (decision.releases ?? []).length > 0
    case 'cloud-event':
      return decision.sink !== undefined || recordedObjects(decision).ownNamespace.length > 0
  }
}

function unheld(retryAt: number | undefined): Pending | undefined {
  return retryAt === undefined ? undefined : { retryAt, held: [] }
}
