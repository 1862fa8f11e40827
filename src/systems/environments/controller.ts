import {
  environment as environmentKind,
  type DueReason,
  type Environment,
  type EnvironmentStatus,
} from '../../apis/environment.ts'
import { type NotificationChannel } from '../../apis/notification-channel.ts'
import { sentenceOf } from '../../departures/door/because.ts'
import type { SystemPorts } from '../../departures/door/door.ts'
import { restoredFrom } from '../../departures/restore/manifest-for-create.ts'
import { contentsText, counted } from '../../departures/subjects/contents.ts'
import { ownLabel, removeOwn } from '../../departures/subjects/own-machinery.ts'
import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import { deployments, namespaces, secrets, statefulSets } from '../../kube/core-types.ts'
import { healthStatus } from '../../kube/conditions.ts'
import type { Key } from '../../kube/key.ts'
import { placeOf, refOf, type StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { matches } from '../../kube/selector.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { Channel } from '../../notices/notice.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { WatchError } from '../../runtime/cache/reflector.ts'
import { Controller } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { Serializer } from '../../runtime/controller/serializer.ts'
import type { Http } from '../../runtime/http/http.ts'
import { confinedActor, type Actor, type ActsFor } from '../../tenancy/act-as.ts'
import { assess, givenUp, withDateToTell, type Surroundings } from './decision/assess.ts'
import { isExempt } from './decision/rules.ts'
import { atStep, deletionStep, requestFor } from './deletion/delete.ts'
import { keepUrl } from './keep.ts'
import type { Observed, Problem } from './decision/facts.ts'
import type { PullAccess } from '../../forges/pull-requests.ts'
import { recipientsOf, statusAfterTelling, tell, type Announced, type Telling } from './tell.ts'
import { dayMs, EnvironmentsObserver, optOutAnnotation } from './observe.ts'
import { EnvironmentPulls } from './environment-pulls.ts'

export interface EnvironmentsOptions extends SystemPorts {
  readonly actAs: ActsFor
  /** Reaches forges that environments name, and those that classes name. */
  readonly http: Readonly<Record<PullAccess['by'], Http>>
  readonly openChannel: (channel: NotificationChannel) => Channel
  readonly publicUrl: () => string | undefined
  readonly linkKey: () => Promise<string>
  /** Pull requests stay as they were last read, for a forecast. Defaults to false. */
  readonly assumesPulls?: boolean
  /** Report only: nothing is announced, told or deleted. */
  readonly dryRun: boolean
}

const holdMs = 300_000
/** How long until what cannot be read is looked at again. */
const sightMs = 30_000
const hourMs = 3_600_000
const toolHint = 'stop the tool that creates it, or name its object in delete.viaObject of the class'
/** Of how many environments a notice says what each contains: it must not wait for thousands of lists. */
const maxCounted = 20
/** How long a restore of a Namespace may take until its Environment is there. */
const restoreMs = 60_000

/** Reconciles environments, one per Namespace: reports, announces, tells, deletes. It never scales; the activator does. */
export class EnvironmentsController {
  readonly controller: Controller
  readonly pulls: EnvironmentPulls
  readonly #options: EnvironmentsOptions
  readonly #seen: EnvironmentsObserver
  /** One notice at a time for each owner: two would be two mails. */
  readonly #telling = new Serializer()
  /** When a notice was last sent by this process, by `slotsOf`: its caches may not show that yet. */
  readonly #toldAt = new BoundedMap<string, number>(10_000)
  /** When this process has deleted Namespaces, by name. */
  readonly #deletedAt = new BoundedMap<string, readonly number[]>(10_000)

  constructor(options: EnvironmentsOptions) {
    const { client, informers, ports, door } = options
    this.#options = options
    this.#seen = new EnvironmentsObserver(client, informers)
    this.controller = new Controller({
      name: 'environments',
      reconcile: ({ name }) => this.#reconcile(name),
      ports,
      concurrency: 8,
    })
    this.pulls = new EnvironmentPulls({
      ...options,
      assumesPulls: options.assumesPulls ?? false,
      onChange: (key) => this.controller.enqueue(key),
      readSecret: (at) => client.get(secrets, at).catch(ignoring('NotFound')),
      keepLink: (self) => this.#keepLink(self),
      clusterUid: () => this.#seen.namespaces.get('', 'kube-system')?.metadata.uid,
      write: (self, status) => this.#write(self, status),
    })
    this.#watch()
    door.onChange(() => this.#enqueueHeld())
  }

  #watch(): void {
    const ofNamespace = (name: string | undefined) => (name && this.#seen.isConcerned(name) ? [namespaceKey(name)] : [])
    this.controller.watch(this.#seen.namespaces, ({ object }) => ofNamespace(object.metadata.name))
    this.controller.watch(this.#seen.environments, ({ object }) => [namespaceKey(object.metadata.namespace ?? '')])
    for (const informer of [...this.#seen.workloads, this.#seen.services])
      this.controller.watch(informer, ({ object }) =>
        this.#seen.self(object.metadata.namespace ?? '') ? [namespaceKey(object.metadata.namespace ?? '')] : [],
      )
    const all = () => this.#seen.namespaces.list().flatMap(({ metadata }) => ofNamespace(metadata.name))
    this.controller.watch(this.#seen.classes, all)
    this.controller.watch(this.#seen.schedules, all)
    this.controller.watch(this.#seen.channels, () => [])
  }

  #enqueueHeld(): void {
    for (const { metadata, status } of this.#seen.environments.list())
      if (status?.phase === 'Held' || status?.deletion) this.controller.enqueue(namespaceKey(metadata.namespace ?? ''))
  }

  async #reconcile(name: string): Promise<Outcome> {
    // A cache that is still being filled proves nothing.
    if (!this.#seen.sources.every(({ synced, lastError }) => synced || lastError))
      return wakeAt(this.#options.ports.clock.now() + 200)
    const blindness = this.#seen.sources.map((informer) => informer.errorIn(name)).find((error) => error !== undefined)
    if (blindness) return this.#waitForSight(name, blindness)
    const namespace = this.#seen.namespaces.get('', name)
    if (!namespace) return this.#leave(name, 'was deleted')
    if (namespace.metadata.deletionTimestamp) return this.#leave(name, 'is being deleted')
    const { annotations, creationTimestamp } = namespace.metadata
    const restoredBy = annotations?.[restoredFrom] === undefined ? 0 : (parseTime(creationTimestamp) ?? 0) + restoreMs
    // The restore itself brings the Environment back, with what was set on it.
    if (!this.#seen.self(name) && this.#options.ports.clock.now() < restoredBy) return wakeAt(restoredBy)
    const self = await this.#ensure(namespace)
    if (!self && !this.#seen.classFor(namespace)) return this.#leave(name, 'is no longer looked after by Sojourn')
    if (!self || self.metadata.deletionTimestamp) return settled
    await this.#reportDuplicates(self)
    const observed = this.#seen.observe(self, namespace)
    if (self.status?.deletion) return this.#continueDeletion(observed)
    return this.#assess(observed)
  }

  /** An environment that others deleted, or that is none any more: its pull request says so. */
  async #leave(name: string, what: string): Promise<Outcome> {
    const text = this.#seen.self(name)?.status?.deletion ? undefined : `**Environment ${name}** ${what}.`
    return nextLook(await this.pulls.gone(name, text))
  }

  /** While something cannot be read, nothing is decided. */
  async #waitForSight(namespace: string, error: WatchError): Promise<Outcome> {
    const now = this.#options.ports.clock.now()
    const self = this.#seen.self(namespace)
    const message = `nothing is decided and nothing deleted: ${error.message}`
    // An outage passes; a right that is missing has to be granted.
    const isForbidden = isStatusError(error, 'Forbidden')
    if (self && isForbidden)
      await this.#write(self, healthStatus(self, { health: 'stalled', reason: 'Forbidden', message }, now))
    return wakeAt(now + (isForbidden ? sightMs : 1000))
  }

  async #reportDuplicates({ metadata: { name, namespace = '' } }: Environment): Promise<void> {
    const message = `Environment ${name} is older and decides for Namespace ${namespace}: delete one of them`
    for (const other of this.#seen.environments.byIndex('namespace', namespace))
      if (other.metadata.name !== name)
        await this.#write(
          other,
          healthStatus(other, { health: 'stalled', reason: 'Duplicate', message }, this.#options.ports.clock.now()),
        )
  }

  /** The Environment of a Namespace: made if a class selects it, removed again if it was made and none does. The oldest of several counts. */
  async #ensure(namespace: StoredObject): Promise<Environment | undefined> {
    const { client } = this.#options
    const { name } = namespace.metadata
    const self = this.#seen.self(name)
    const wanted = this.#seen.classFor(namespace)
    if (!self) {
      if (!wanted) return undefined
      const { apiVersion, kind } = environmentKind
      const metadata = { name, namespace: name, labels: ownLabel }
      const made = { apiVersion, kind, metadata, spec: { className: wanted.metadata.name } }
      const created = await client.create<Environment>(environmentKind.type, made).catch(ignoring('AlreadyExists'))
      if (created) {
        this.#expect(created)
        const message = `Namespace ${name} was created again right after its deletion; ${toolHint}`
        if (this.#deletionsOf(name, hourMs / 6).length > 0) this.#note(created, 'Warning', 'Recreated', message)
      }
      return undefined
    }
    const isMade = self.metadata.labels?.['app.kubernetes.io/part-of'] === 'sojourn'
    const hasClass = this.#seen.classes.get('', self.spec.className) !== undefined
    const isOptedOut = namespace.metadata.annotations?.[optOutAnnotation] === 'false'
    // Without its class it stays, awake: a class that is replaced must not undo what people kept.
    if (isMade && (isOptedOut || (hasClass && wanted?.metadata.name !== self.spec.className))) {
      await removeOwn(client, environmentKind.type, self)
      return undefined
    }
    return self
  }

  /** Observe, decide, act: the status is written before people are told, and they are told before anything is deleted. */
  async #assess(observed: Observed): Promise<Outcome> {
    const { clock } = this.#options.ports
    const now = clock.now()
    const around = await this.#surroundings(observed, now)
    const assessed = assess(observed, around, now)
    const isFree = !this.#options.dryRun && !around.refusal && !around.isBeyondLimit
    // The outcome of a due deletion is written, begun or held, and nothing before it: each write is a change that is reconciled.
    if (isFree && assessed.stay.do === 'delete' && observed.environment.status?.announcement)
      return this.#begin(observed)
    // Not read since the start: the status stays as it is, and the deletion that depends on it waits.
    if (this.#isUnread(around) && assessed.stay.do === 'hold' && assessed.stay.because === 'pull-request-unknown')
      return wakeAt(assessed.stay.until)
    const { announcement: _, announcements: __, ...unpromised } = assessed.status
    const written = await this.#write(observed.environment, this.#options.dryRun ? unpromised : assessed.status)
    if (this.#options.dryRun) return nextLook(assessed.until)
    const { shown, againAt } = await this.pulls.show({ ...observed, environment: written }, now)
    if (isFree && assessed.stay.do === 'tell') return this.#tell({ ...observed, environment: shown })
    return nextLook(assessed.until, againAt)
  }

  async #surroundings(observed: Observed, now: number): Promise<Surroundings> {
    const { environment, environmentClass } = observed
    const { uid } = environment.metadata
    const room = environmentClass && this.#seen.room(environmentClass, now)
    return {
      pull: await this.pulls.seen(observed),
      windowAt: this.#seen.windowAt(observed),
      mailAt: Math.max(this.#seen.mailAt(environment), this.#ownSlot(environment)),
      isEvicted: room?.evicted.has(uid) ?? false,
      isBeyondLimit: room?.beyond.has(uid) ?? false,
      refusal: (await this.#refusal(observed)) ?? this.#missingChannel(observed),
      channels: environmentClass?.spec.channels ?? [],
    }
  }

  #missingChannel({ environmentClass }: Observed): Problem | undefined {
    const missing = environmentClass?.spec.channels?.find((name) => !this.#seen.channels.get('', name))
    const message = `spec.channels of the class: there is no NotificationChannel ${missing}; nothing is deleted`
    return missing === undefined ? undefined : { reason: 'ChannelNotFound', message }
  }

  /** When this process may send the next notice about an environment. */
  #ownSlot(environment: Environment): number {
    return Math.max(0, ...slotsOf(environment).map((slot) => (this.#toldAt.get(slot) ?? -dayMs) + dayMs))
  }

  /** A claim where the class does not select the Namespace needs an author who may delete it. */
  async #refusal(observed: Observed): Promise<Problem | undefined> {
    const { environment, namespace, rules } = observed
    if (isExempt(namespace.metadata.name))
      return { reason: 'NamespaceExempt', message: `Namespace ${namespace.metadata.name} cannot be an environment` }
    if (!rules || matches(rules.selector, namespace.metadata.labels)) return undefined
    const access = { verb: 'delete', group: '', resource: 'namespaces', namespace: '', name: namespace.metadata.name }
    return this.#options.actAs.for(environment, { ownNamespace: true }).refusalOf(access)
  }

  /** Who deletes inside the Namespace, and what belongs to it elsewhere: the class, an administrator's object, allows it where it selects it. */
  #actors({ environment, namespace, rules }: Observed): { readonly actor: Actor; readonly actorElsewhere: Actor } {
    const { actAs, client } = this.#options
    const { name, labels } = namespace.metadata
    if (rules && matches(rules.selector, labels))
      return {
        actor: confinedActor(client, name),
        actorElsewhere: confinedActor(client, name, { deletesElsewhere: true }),
      }
    const actor = actAs.for(environment, { ownNamespace: true })
    return { actor, actorElsewhere: actor }
  }

  /** Tells the owner of this environment about all environments of his that wait to be announced, in one notice. */
  async #tell(observed: Observed): Promise<Outcome> {
    const { ports, openChannel } = this.#options
    const { environment, environmentClass } = observed
    const { owner } = environment.status ?? {}
    const channels = (environmentClass?.spec.channels ?? []).flatMap((each) => this.#seen.channels.get('', each) ?? [])
    const recipients = recipientsOf(environment).join() || environment.metadata.uid
    await this.#telling.run(recipients, async () => {
      const waiting = this.#seen.ofOwner(environment).filter((each) => {
        const { announcement, owner: its } = each.status ?? {}
        const isTold = announcement?.toldAt !== undefined && announcement.owner === its
        const isNow = channels.length === 0 || ports.clock.now() >= this.#ownSlot(each)
        return each.spec.className === environment.spec.className && announcement && !isTold && isNow
      })
      if (waiting.length === 0) return
      const now = ports.clock.now()
      // Taken before the notice is sent: another owner may share a recipient.
      const slots = waiting.flatMap(slotsOf)
      for (const slot of slots) this.#toldAt.set(slot, now)
      const isCounted = channels.length > 0 && waiting.length <= maxCounted && !this.#options.assumesPulls
      const announced = []
      for (const self of waiting) announced.push(await this.#announced(self, { now, isCounted }))
      const telling = await tell(announced, owner, { channels: channels.map(openChannel), log: ports.log })
      if (!telling.isTold) for (const slot of slots) this.#toldAt.delete(slot)
      for (const [index, self] of waiting.entries()) {
        const date = announced[index]?.self.status?.announcement?.date
        if (telling.isTold)
          this.#note(self, 'Normal', 'OwnerTold', `${owner ?? 'its owner'} was told that it is deleted on ${date}`)
        else this.#note(self, 'Warning', 'OwnerNotTold', telling.error ?? 'no channel accepted the notice')
        await this.#recordTelling(self, { ...telling, date, now })
      }
    })
    return wakeAt(ports.clock.now() + 1000)
  }

  /** An environment as its notice describes it, with the date that holds when the notice is sent now. */
  async #announced(
    stored: Environment,
    { now, isCounted }: { readonly now: number; readonly isCounted: boolean },
  ): Promise<Announced> {
    const { client, door } = this.#options
    const { namespace = '' } = stored.metadata
    const home = this.#seen.namespaces.get('', namespace)
    const rules = home && this.#seen.observe(stored, home).rules
    const self = rules ? withDateToTell(stored, rules, now) : stored
    const { awake = 0, asleep = 0 } = self.status?.workloads ?? {}
    const uncounted = `${counted(awake + asleep, 'workload')} and everything else in it`
    const contents = isCounted
      ? await contentsText(client, namespace, { keepsSecretData: door.keys !== undefined }).catch(() => uncounted)
      : uncounted
    return { self, keepUrl: await this.#keepLink(self), contents }
  }

  async #keepLink(self: Environment): Promise<string | undefined> {
    const { publicUrl, linkKey } = this.#options
    const base = publicUrl()
    const namespace = this.#seen.namespaces.get('', self.metadata.namespace ?? '')
    if (!base || !namespace || !self.status?.announcement) return undefined
    const { extendMs = 0 } = this.#seen.observe(self, namespace).rules ?? {}
    return keepUrl(base, await linkKey(), self, { namespaceUid: namespace.metadata.uid, extendMs })
  }

  /** A notice that was sent is recorded whatever was written meanwhile: else the owner would be told again. */
  async #recordTelling(told: Environment, telling: Telling): Promise<void> {
    const place = placeOf(refOf(told))
    const generation = told.status?.announcement?.generation
    let self: Environment | undefined = told
    for (let attempt = 0; self && attempt < 10; attempt++) {
      if (self.status?.announcement?.generation !== generation) return
      const status = statusAfterTelling(self.status ?? {}, telling)
      if (await this.#write(self, status).catch(ignoring('Conflict', 'NotFound'))) return
      self = await this.#options.client.get<Environment>(environmentKind.type, place).catch(ignoring('NotFound'))
    }
  }

  /** The last look before a deletion: the pull request, the workloads and the Namespace are read from their servers. */
  async #begin(observed: Observed): Promise<Outcome> {
    const { client, ports } = this.#options
    const { name, uid } = observed.namespace.metadata
    const access = await this.pulls.access(observed)
    if (access && !('reason' in access) && !this.#options.assumesPulls) await this.pulls.requests.fresh(access)
    const namespace = await client.get<StoredObject>(namespaces, { name })
    const workloads: StoredObject[] = []
    for (const type of [deployments, statefulSets])
      for await (const { items } of client.listAll<StoredObject>(type, { namespace: name })) workloads.push(...items)
    if (namespace.metadata.uid !== uid) return settled
    const now = ports.clock.now()
    const fresh = { ...observed, namespace, workloads }
    const again = assess(fresh, await this.#surroundings(fresh, now), now)
    if (again.stay.do !== 'delete') {
      await this.#write(observed.environment, again.status)
      return wakeAt(now + 1000)
    }
    const { reason } = again.stay
    const hold = await this.#hold(observed, reason)
    if (hold) {
      const message = `the deletion is due and held: ${hold.why}`
      const health = { health: 'ready', reason: 'Held', message } as const
      const status = { ...again.status, ...healthStatus({ ...observed.environment, ...again }, health, now) }
      const moved = hold.until === undefined ? {} : { deletesAt: formatTime(hold.until) }
      const held = await this.#write(observed.environment, { ...status, ...moved, phase: 'Held', message })
      await this.pulls.show({ ...fresh, environment: held }, now)
      return wakeAt(hold.until ?? now + holdMs)
    }
    await this.#write(observed.environment, {
      ...again.status,
      phase: 'Deleting',
      deletion: atStep(undefined, 'Record', { reason, now }),
    })
    return settled
  }

  /** Why a deletion does not begin: the deletion safeguards, or a tool that creates the Namespace again each time. */
  async #hold(
    observed: Observed,
    reason: DueReason,
  ): Promise<{ readonly why: string; readonly until?: number } | undefined> {
    const { client, door } = this.#options
    const deletions = this.#deletionsOf(observed.namespace.metadata.name, hourMs)
    if (deletions.length > 1)
      return {
        why: `it was created again after two deletions within an hour; ${toolHint}`,
        until: deletions[0]! + hourMs,
      }
    const verdict = await door.peek(requestFor({ client }, observed, reason))
    if (verdict.result !== 'held' && verdict.result !== 'refused') return undefined
    const until = 'until' in verdict ? verdict.until : undefined
    return { why: sentenceOf(verdict), ...(until === undefined ? {} : { until }) }
  }

  #deletionsOf(name: string, lastMs: number): readonly number[] {
    const since = this.#options.ports.clock.now() - lastMs
    return (this.#deletedAt.get(name) ?? []).filter((at) => at > since)
  }

  async #continueDeletion(observed: Observed): Promise<Outcome> {
    const { client, door, events, ports } = this.#options
    const { environment: self } = observed
    const { clock } = ports
    const { deletion, ...undeleted } = self.status ?? {}
    if (!deletion || this.#options.dryRun || observed.environmentClass?.spec.paused) return settled
    const around = await this.#surroundings(observed, clock.now())
    const why = givenUp(observed, around, clock.now())
    if (why !== undefined) {
      const restore = deletion.record ? `; sojourn restore ${deletion.record} brings back what was deleted before` : ''
      this.#note(self, 'Warning', 'DeletionGivenUp', `it is not deleted: ${why}${restore}`)
      await this.#write(self, undeleted)
      return settled
    }
    // Asked again at each step: its author may have lost the right, and a status may come from elsewhere.
    if (around.refusal) return this.#holdDeletion(self, around.refusal.message, clock.now() + holdMs)
    if (this.#isUnread(around) && deletion.reason === 'pull-request-closed') return wakeAt(clock.now() + 1000)
    // The comment says it before the Namespace goes: afterwards the Environment is gone, too.
    const { shown } = deletion.step === 'Namespace' ? await this.pulls.show(observed, clock.now()) : { shown: self }
    const result = await deletionStep(
      { client, door, clock, events, ...this.#actors(observed), removeLabel: () => this.pulls.removeLabel(observed) },
      { ...observed, environment: shown },
      deletion,
    )
    const now = clock.now()
    if (result === 'gone') {
      const { name } = observed.namespace.metadata
      await this.pulls.gone(name, undefined)
      this.#deletedAt.set(name, [...this.#deletionsOf(name, hourMs), now])
      return settled
    }
    if ('next' in result) {
      await this.#write(shown, {
        ...shown.status,
        phase: 'Deleting',
        deletion: atStep(deletion, result.next, { reason: deletion.reason, record: result.record, now }),
      })
      return settled
    }
    return result.hold === undefined ? wakeAt(result.wait) : this.#holdDeletion(shown, result.hold, result.wait)
  }

  async #holdDeletion(self: Environment, why: string, until: number): Promise<Outcome> {
    const message = `the deletion is held: ${why}`
    if (self.status?.message !== message) this.#note(self, 'Warning', 'DeletionHeld', message)
    await this.#write(self, { ...self.status, phase: 'Held', message })
    return wakeAt(until)
  }

  /** Whether its pull request was not read since the start. */
  #isUnread({ pull }: Surroundings): boolean {
    return pull !== undefined && !pull.seen && !pull.problem && !this.#options.assumesPulls
  }

  #note(self: Environment, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#options.events.record(self, { type, reason, message })
  }

  /** Writes the status if it differs from the stored one, onto the version that was read. */
  async #write(self: Environment, status: EnvironmentStatus): Promise<Environment> {
    if (deepEqual(self.status ?? {}, status)) return self
    const written = await this.#options.client.updateStatus<Environment>(environmentKind.type, self, status)
    this.#expect(written)
    return written
  }

  #expect({ metadata }: Environment): void {
    this.controller.expect(
      namespaceKey(metadata.namespace ?? ''),
      metadata.resourceVersion,
      this.#seen.environments as unknown as Informer,
    )
  }
}

/** What allows one notice a day: the recipients, and the Namespace of an Environment that names its owner itself, however often it is created anew. */
function slotsOf(environment: Environment): readonly string[] {
  const isClaimed = environment.spec.owner !== undefined
  return [...recipientsOf(environment), ...(isClaimed ? [`in ${environment.metadata.namespace}`] : [])]
}

function nextLook(...times: readonly (number | undefined)[]): Outcome {
  const known = times.filter((at) => at !== undefined)
  return known.length === 0 ? settled : wakeAt(Math.min(...known))
}

function namespaceKey(name: string): Key {
  return { cluster: '', kind: 'Namespace', namespace: '', name }
}
