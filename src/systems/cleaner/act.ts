import type { Client } from '../../client/client.ts'
import { sentenceOf, type DepartResult } from '../../departures/door/because.ts'
import type { Door } from '../../departures/door/door.ts'
import { kubeSubject } from '../../departures/subjects/subject.ts'
import { refOf, type ResourceType, type StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patch.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { Announcements } from './announcements.ts'
import type { sendEvent } from './cloud-event.ts'
import type { RecordedDecision } from './decision-record.ts'
import { lookAgainAt } from './look-again.ts'
import type { Model } from './decision/model.ts'
import { removeTargets, stillThere, targetsIn, type Wait } from './remove-targets.ts'
import { readyCondition, type CleanerStatus } from './status.ts'
import { uninstallReleases } from './uninstall-releases.ts'

export interface ActPorts {
  readonly client: Client
  readonly door: Door
  readonly clock: Clock
  readonly events: EventRecorder
  /** Looks at a Cleaner again soon. */
  readonly again: (self: StoredObject) => void
  /** Tells a sink. Defaults to the network. */
  readonly send?: typeof sendEvent
}

/** What a stage has to do its work with. */
export interface Work {
  readonly self: StoredObject
  readonly decision: RecordedDecision
}

/** Carries a decision out, one durable step at a time: recorded, finalizers, self, targets, releases, event. Each may be the last before a crash. */
export class Act {
  readonly #ports: ActPorts
  readonly #type: ResourceType
  readonly #announcements: Announcements

  constructor(ports: ActPorts, type: ResourceType) {
    this.#ports = ports
    this.#type = type
    this.#announcements = new Announcements(ports)
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

  /** Adds the finalizers if there is work for them, then lets the Cleaner itself leave: from then on what was recorded will happen. */
  async commit(self: StoredObject, model: Model): Promise<Outcome> {
    const { finalizers = [] } = self.metadata
    const { decision } = self.status as { readonly decision: RecordedDecision }
    const wanted = hasWork(decision) ? this.finalizers : []
    const missing = wanted.filter((finalizer) => !finalizers.includes(finalizer))
    const current = missing.length === 0 ? self : await this.#setFinalizers(self, [...finalizers, ...missing])
    const answer = await this.#ports.door.depart(this.selfRequest(current, model))
    return answer.result === 'held' || answer.result === 'refused' ? this.reportHeld(current, answer) : settled
  }

  /** The wish that the Cleaner itself leaves; judged `as-known` it costs no request, which is enough for a peek. */
  selfRequest(self: StoredObject, model: Model, read: 'live' | 'as-known' = 'live') {
    const subject = kubeSubject(this.#ports.client, this.#type, refOf(self))
    return {
      subject: read === 'live' ? subject : { ...subject, read: () => Promise.resolve(self) },
      uid: self.metadata.uid,
      because: 'conditions-met',
      by: { system: 'cleaner', object: refOf(self) },
      schedules: model.schedules,
      dryRun: model.dryRun,
    } as const
  }

  /** Says that everything is decided but may not happen now. */
  async reportHeld(self: StoredObject, answer: Extract<DepartResult, { because: string }>): Promise<Outcome> {
    const until = answer.result === 'held' ? answer.until : undefined
    await this.#writeHeld(self, sentenceOf(answer), until)
    return wakeAt(lookAgainAt(answer, this.#ports.clock.now()))
  }

  async #writeHeld(self: StoredObject, because: string, until?: number): Promise<void> {
    const { nextScheduledEvaluation: _, ...status } = (self.status ?? {}) as CleanerStatus
    const next = until === undefined ? {} : { nextScheduledEvaluation: formatTime(until) }
    const message = `all conditions are true, but ${because}`
    const conditions = readyCondition(self, { ready: 'True', reason: 'Held', message }, this.#ports.clock.now())
    await this.writeStatus(self, { ...status, ...next, conditions })
  }

  /** Does the work of the first finalizer that is left, then takes it off. Nothing is touched unless it was decided, and this leaves by our own hand. */
  async finalize(self: StoredObject): Promise<Outcome> {
    const own = this.finalizers.filter((finalizer) => self.metadata.finalizers?.includes(finalizer))
    const [first] = own
    if (first === undefined) return settled
    const { decision } = (self.status ?? {}) as CleanerStatus
    if (!decision || (first === this.finalizers[0] && !(await this.#ports.door.isOurDeparture(self)))) {
      await this.#setFinalizers(self, without(self, own))
      return settled
    }
    const wait = await this.#stage(first, { self, decision })
    if (wait && wait.held.length > 0) await this.#writeHeld(self, wait.held.join('; '))
    if (wait) return wait.until
    await this.#setFinalizers(self, without(self, [first, ...this.#idleAfter(first, decision)]))
    return settled
  }

  /** The stages right after one that have nothing to do: they end with it. */
  #idleAfter(finalizer: string, { releases = [], sink, ...decision }: RecordedDecision): readonly string[] {
    const [, release] = this.finalizers
    const following = this.finalizers.slice(this.finalizers.indexOf(finalizer) + 1)
    const hasWork = (each: string) =>
      each === release ? releases.length > 0 : sink !== undefined || targetsIn(decision, 'namespace').length > 0
    const busy = following.findIndex(hasWork)
    return busy < 0 ? following : following.slice(0, busy)
  }

  async #stage(finalizer: string, work: Work): Promise<Wait | undefined> {
    const [targets, release] = this.finalizers
    if (finalizer === release) return unheld(await uninstallReleases(this.#ports, work))
    if (finalizer !== targets) return this.#announce(work)
    const objects = targetsIn(work.decision, 'objects')
    return (await removeTargets(this.#ports, work.self, objects)) ?? stillThere(this.#ports, work, objects)
  }

  /** Tells the sink, then lets the Cleaner's own namespace leave if that is a target: it would take everything else with it. */
  async #announce(work: Work): Promise<Wait | undefined> {
    const wait = unheld(this.#announcements.deliver(work))
    return wait ?? removeTargets(this.#ports, work.self, targetsIn(work.decision, 'namespace'))
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

function unheld(until: Outcome | undefined): Wait | undefined {
  return until && { until, held: [] }
}

const stages = ['target', 'release', 'cloud-event'] as const

function hasWork({ targets, releases = [], sink }: RecordedDecision): boolean {
  return targets.length + releases.length > 0 || sink !== undefined
}

function without({ metadata }: StoredObject, removed: readonly string[]): readonly string[] {
  return (metadata.finalizers ?? []).filter((finalizer) => !removed.includes(finalizer))
}
