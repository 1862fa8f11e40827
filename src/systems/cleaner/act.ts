import type { Client } from '../../client/client.ts'
import { sentenceOf } from '../../departures/because.ts'
import type { Door } from '../../departures/door.ts'
import { kubeSubject } from '../../departures/subject.ts'
import { describeRef, refOf, type ObjectRef, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patch.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { EventRecorder } from '../../runtime/event-recorder.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/outcome.ts'
import { deletedEvent, sendEvent } from './cloud-event.ts'
import { uninstall } from './helm/uninstall.ts'
import type { Model } from './model.ts'
import { readyCondition, type CleanerStatus } from './status.ts'

export interface ActPorts {
  readonly client: Client
  readonly door: Door
  readonly clock: Clock
  readonly events: EventRecorder
  /** Tells a sink. Defaults to the network. */
  readonly send?: typeof sendEvent
}

type RecordedDecision = NonNullable<CleanerStatus['decision']>

interface ObjectToLeave {
  readonly ref: ObjectRef
  readonly uid: string
}

/** Carries a decision out, one durable step at a time: recorded, finalizers, self, targets, releases, event. Each may be the last before a crash. */
export class Act {
  readonly #ports: ActPorts
  readonly #type: ResourceType
  /** Deliveries tried, by uid: a sink that never answers must not keep a namespace from going. */
  readonly #deliveries = new Map<string, number>()

  constructor(ports: ActPorts, type: ResourceType) {
    this.#ports = ports
    this.#type = type
  }

  /** The finalizers in the order in which their work is done. */
  get finalizers(): readonly string[] {
    return stages.map((stage) => `${this.#type.group}/${stage}-finalizer`)
  }

  /** Writes the status if it says anything new. */
  async writeStatus(self: StoredObject, status: CleanerStatus): Promise<StoredObject | undefined> {
    if (deepEqual(self.status ?? {}, status)) return undefined
    return this.#ports.client.update(this.#type, { ...self, status }, { subresource: 'status' })
  }

  /** Adds the finalizers, then lets the Cleaner itself leave: from then on what was recorded will happen. */
  async commit(self: StoredObject, model: Model): Promise<Outcome> {
    const { finalizers = [] } = self.metadata
    const missing = this.finalizers.filter((finalizer) => !finalizers.includes(finalizer))
    const current = missing.length === 0 ? self : await this.#setFinalizers(self, [...finalizers, ...missing])
    const answer = await this.#ports.door.depart(this.selfRequest(current, model))
    if (answer.result === 'held') return this.reportHeld(current, sentenceOf(answer), answer.until)
    return settled
  }

  selfRequest(self: StoredObject, model: Model) {
    return {
      subject: kubeSubject(this.#ports.client, this.#type, refOf(self)),
      uid: self.metadata.uid,
      because: 'conditions-met',
      by: { system: 'cleaner', object: refOf(self) },
      schedules: model.schedules,
      dryRun: model.dryRun,
    } as const
  }

  /** Says that everything is decided but may not happen now. */
  async reportHeld(self: StoredObject, message: string, until: number | undefined): Promise<Outcome> {
    const now = this.#ports.clock.now()
    const conditions = readyCondition(
      self,
      { ready: 'True', reason: 'Held', message: `all conditions are true, but ${message}` },
      now,
    )
    await this.writeStatus(self, { ...(self.status as CleanerStatus), conditions })
    return wakeAt(until ?? now + 60_000)
  }

  /** Does the work of the first finalizer that is left, then takes it off. Without a recorded decision nothing may be touched. */
  async finalize(self: StoredObject, model: Model | undefined, signal: AbortSignal): Promise<Outcome> {
    const own = this.finalizers.filter((finalizer) => self.metadata.finalizers?.includes(finalizer))
    if (own.length === 0) return settled
    const { decision } = (self.status ?? {}) as CleanerStatus
    if (!decision || !model) {
      await this.#setFinalizers(self, without(self, own))
      return settled
    }
    const first = own[0] ?? ''
    const waits = await this.#stage(first, { self, model, decision, signal })
    if (waits) return waits
    await this.#setFinalizers(self, without(self, [first]))
    return settled
  }

  #stage(
    finalizer: string,
    work: { self: StoredObject; model: Model; decision: RecordedDecision; signal: AbortSignal },
  ): Promise<Outcome | undefined> {
    const [targets, release] = this.finalizers
    if (finalizer === targets) return this.#removeTargets(work.self, targetsIn(work.decision, 'objects'))
    if (finalizer === release) return this.#uninstallReleases(work.self, work.model, work.signal)
    return this.#announce(work)
  }

  /** Lets each recorded target leave; one that may not does not keep the others. */
  async #removeTargets(self: StoredObject, targets: readonly ObjectToLeave[]): Promise<Outcome | undefined> {
    let wait: Outcome | undefined
    const failures: unknown[] = []
    for (const target of targets) {
      try {
        wait = (await this.#removeTarget(self, target)) ?? wait
      } catch (error) {
        failures.push(error)
        this.#ports.events.record(self, {
          type: 'Warning',
          reason: 'DeleteTargetFailed',
          message: `${describeRef(target.ref)}: ${(error as Error).message}`,
        })
      }
    }
    if (failures.length > 0)
      throw new AggregateError(
        failures,
        `${failures.length} of ${targets.length} targets could not be deleted: ${(failures[0] as Error).message}`,
      )
    return wait
  }

  async #removeTarget(self: StoredObject, { ref, uid }: ObjectToLeave): Promise<Outcome | undefined> {
    const { client, door, clock, events } = this.#ports
    const type = await client.discovery.typeOf(ref)
    // Its kind is no longer served: there is nothing left to delete.
    if (!type) return undefined
    const answer = await door.depart({
      subject: kubeSubject(client, type, ref),
      uid,
      because: 'target',
      by: { system: 'cleaner', object: refOf(self) },
    })
    switch (answer.result) {
      case 'gone':
      case 'leaving':
        events.record(self, {
          type: 'Normal',
          reason: 'TargetDeleted',
          message: `deleted ${describeRef(ref)}`,
          related: ref,
        })
        return undefined
      case 'stale':
        events.record(self, {
          type: 'Normal',
          reason: 'TargetReplaced',
          message: `left ${describeRef(ref)}: it is not the one that was evaluated`,
          related: ref,
        })
        return undefined
      case 'refused':
        events.record(self, {
          type: 'Warning',
          reason: 'TargetProtected',
          message: `left ${describeRef(ref)}: ${sentenceOf(answer)}`,
          related: ref,
        })
        return undefined
      case 'held':
        events.record(self, {
          type: 'Normal',
          reason: 'TargetHeld',
          message: `${describeRef(ref)} waits: ${sentenceOf(answer)}`,
          related: ref,
        })
        return wakeAt(answer.until ?? clock.now() + 60_000)
    }
  }

  async #uninstallReleases(self: StoredObject, { releases }: Model, signal: AbortSignal): Promise<Outcome | undefined> {
    const { client, door, clock, events } = this.#ports
    const { namespace = '' } = self.metadata
    for (const release of releases) {
      const answer = await uninstall({ client, door, clock, by: refOf(self), namespace, release, signal }).catch(
        (error: unknown) => {
          events.record(self, {
            type: 'Warning',
            reason: 'HelmUninstallFailed',
            message: `release ${release.name}: ${(error as Error).message}`,
          })
          throw error
        },
      )
      if (answer.result === 'held') return wakeAt(answer.until ?? clock.now() + 60_000)
      if (answer.result === 'unreadable')
        events.record(self, {
          type: 'Warning',
          reason: 'HelmUninstallFailed',
          message: `${answer.message}: nothing of it was deleted`,
        })
      if (answer.result !== 'uninstalled') continue
      for (const message of answer.warnings)
        events.record(self, { type: 'Warning', reason: 'HelmResourceKept', message })
      events.record(self, {
        type: 'Normal',
        reason: 'HelmReleaseUninstalled',
        message: `uninstalled release ${release.name}`,
      })
    }
    return undefined
  }

  /** Tells the sink, then lets the Cleaner's own namespace leave if that is a target: it would take everything else with it. */
  async #announce({
    self,
    model,
    decision,
  }: {
    self: StoredObject
    model: Model
    decision: RecordedDecision
  }): Promise<Outcome | undefined> {
    if (model.sink) await this.#deliver(self, model.sink, decision)
    return this.#removeTargets(self, targetsIn(decision, 'namespace'))
  }

  async #deliver(self: StoredObject, sink: string, decision: RecordedDecision): Promise<void> {
    const { events } = this.#ports
    const { uid } = self.metadata
    const { evaluationTime = decision.at, targets = [] } = self.status as CleanerStatus
    try {
      await (this.#ports.send ?? sendEvent)(sink, deletedEvent({ self, evaluationTime, targets }))
      events.record(self, { type: 'Normal', reason: 'EventDelivered', message: `told ${new URL(sink).host}` })
      this.#deliveries.delete(uid)
    } catch (error) {
      const tried = (this.#deliveries.get(uid) ?? 0) + 1
      events.record(self, {
        type: 'Warning',
        reason: 'EventDeliveryFailed',
        message: `try ${tried} of ${mostDeliveries}: ${(error as Error).message}`,
      })
      this.#deliveries.set(uid, tried)
      if (tried < mostDeliveries) throw error
      this.#deliveries.delete(uid)
    }
  }

  async #setFinalizers(self: StoredObject, finalizers: readonly string[]): Promise<StoredObject> {
    const { name, namespace = '', resourceVersion } = self.metadata
    try {
      return await this.#ports.client.patch(
        this.#type,
        { namespace, name },
        { type: 'merge', body: { metadata: { resourceVersion, finalizers } } },
      )
    } catch (error) {
      if (isStatusError(error, 'NotFound')) return self
      throw error
    }
  }
}

/** What will be written down before anything is done. */
export function recordedDecision(
  self: StoredObject,
  targets: RecordedDecision['targets'],
  now: number,
): RecordedDecision {
  return { at: formatTime(now), generation: self.metadata.generation ?? 0, targets: [...targets] }
}

const stages = ['target', 'release', 'cloud-event'] as const
const mostDeliveries = 5

function targetsIn({ targets }: RecordedDecision, which: 'objects' | 'namespace'): readonly ObjectToLeave[] {
  return targets
    .filter(({ kind, apiVersion }) => (kind === 'Namespace' && apiVersion === 'v1') === (which === 'namespace'))
    .flatMap(({ apiVersion, kind, namespace, objects }) =>
      objects.map(({ name, uid }) => ({ ref: { apiVersion, kind, name, ...(namespace ? { namespace } : {}) }, uid })),
    )
}

function without({ metadata }: StoredObject, removed: readonly string[]): readonly string[] {
  return (metadata.finalizers ?? []).filter((finalizer) => !removed.includes(finalizer))
}
