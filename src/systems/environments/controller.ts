import { createHash } from 'node:crypto'
import { environmentClass as classKind, type EnvironmentClass } from '../../apis/environment-class.ts'
import { sleepRuleOf } from '../../apis/environment-sleep.ts'
import { environment as environmentKind, type Environment, type EnvironmentStatus } from '../../apis/environment.ts'
import { notificationChannel, type NotificationChannel } from '../../apis/notification-channel.ts'
import { workSchedule, type WorkSchedule } from '../../apis/work-schedule.ts'
import { windowState } from '../../apis/work-window.ts'
import type { Client } from '../../client/client.ts'
import { sentenceOf } from '../../departures/door/because.ts'
import type { Door } from '../../departures/door/door.ts'
import { restoredFrom } from '../../departures/restore/manifest-for-create.ts'
import { ownLabel, removeOwn } from '../../departures/subjects/own-machinery.ts'
import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import { upsertComment } from '../../forges/forge.ts'
import { deployments, namespaces, services, statefulSets } from '../../kube/core-types.ts'
import type { Key } from '../../kube/key.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { deepEqual } from '../../kube/patches/patch.ts'
import { matches } from '../../kube/selector.ts'
import { ignoring } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { Channel } from '../../notices/notice.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import { Controller, type ControllerPorts } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { Serializer } from '../../runtime/controller/serializer.ts'
import type { Http } from '../../runtime/http/http.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import { confinedActor, type Actor, type ActsFor } from '../../tenancy/act-as.ts'
import { assess, type Assessment, type Problem, type Surroundings } from './decision/assess.ts'
import { commentText } from './decision/describe.ts'
import { countedIn, roomIn, type Room } from './decision/limits.ts'
import { isExempt, readClass } from './decision/rules.ts'
import { atStep, deletionStep, peek } from './deletion/delete.ts'
import { keepUrl } from './keep.ts'
import { pullRequestAnnotation, pullRequestOf, type Observed } from './decision/facts.ts'
import { accessTo, type PullAccess } from './pulls/pull-address.ts'
import { PullRequests, type Seen } from './pulls/pull-requests.ts'
import { mailSlot, statusAfterTelling, tell } from './tell.ts'

export interface EnvironmentsOptions {
  readonly client: Client
  readonly informers: Informers
  readonly door: Door
  readonly events: EventRecorder
  readonly actAs: ActsFor
  readonly ports: ControllerPorts
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

const commentPauseMs = 300_000
const holdMs = 300_000
/** How long a restore of a Namespace may take until its Environment is there. */
const restoreMs = 60_000
/** On the Namespace, `"false"`: it gets no Environment. */
const optOutAnnotation = 'sojourn.dev/environment'

/** Reconciles environments, one per Namespace: reports, announces, tells, deletes. It never scales; the activator does. */
export class EnvironmentsController {
  readonly controller: Controller
  readonly pulls: PullRequests
  readonly #options: EnvironmentsOptions
  readonly #environments: Informer<Environment>
  readonly #classes: Informer<EnvironmentClass>
  readonly #namespaces: Informer
  readonly #workloads: readonly Informer[]
  readonly #services: Informer
  readonly #schedules: Informer<WorkSchedule>
  readonly #channels: Informer<NotificationChannel>
  /** One notice at a time for each owner: two would be two mails. */
  readonly #telling = new Serializer()
  /** When each owner was last told by this process: its caches may not show that yet. */
  readonly #toldAt = new BoundedMap<string, number>(10_000)
  readonly #reads = new Map<string, { readonly version: string; readonly read: ReturnType<typeof readClass> }>()

  constructor(options: EnvironmentsOptions) {
    const { client, informers, ports, http, door } = options
    this.#options = options
    const inNamespace = { indexes: { namespace: ({ metadata }: StoredObject) => [metadata.namespace ?? ''] } }
    this.#environments = informers.open<Environment>(client, environmentKind.type, {
      indexes: {
        namespace: ({ metadata }) => [metadata.namespace ?? ''],
        class: ({ spec }) => [spec.className],
        owner: ({ status }) => (status?.owner ? [status.owner] : []),
      },
    })
    this.#classes = informers.open<EnvironmentClass>(client, classKind.type)
    this.#namespaces = informers.open(client, namespaces)
    this.#workloads = [deployments, statefulSets].map((type: ResourceType) => informers.open(client, type, inNamespace))
    this.#services = informers.open(client, services, inNamespace)
    this.#schedules = informers.open<WorkSchedule>(client, workSchedule.type)
    this.#channels = informers.open<NotificationChannel>(client, notificationChannel.type)
    this.controller = new Controller({
      name: 'environments',
      reconcile: ({ name }) => this.#reconcile(name),
      ports,
      concurrency: 8,
    })
    this.pulls = new PullRequests({ client, ports, http, onChange: (key) => this.controller.enqueue(key) })
    this.#watch()
    door.onChange(() => this.#enqueueHeld())
  }

  #room(environmentClass: EnvironmentClass, now: number): Room {
    const all = this.#environments
      .byIndex('class', environmentClass.metadata.name)
      .filter((each) => this.#self(each.metadata.namespace ?? '') === each)
    const { selector } = this.#read(environmentClass).rules
    const counted = countedIn(environmentClass, selector, all, (name) => this.#namespaces.get('', name))
    return roomIn(environmentClass, counted, now)
  }

  #watch(): void {
    const ofNamespace = (name: string | undefined) => (name && this.#isConcerned(name) ? [namespaceKey(name)] : [])
    this.controller.watch(this.#namespaces, ({ object }) => ofNamespace(object.metadata.name))
    this.controller.watch(this.#environments, ({ object }) => [namespaceKey(object.metadata.namespace ?? '')])
    for (const informer of [...this.#workloads, this.#services])
      this.controller.watch(informer, ({ object }) =>
        this.#self(object.metadata.namespace ?? '') ? [namespaceKey(object.metadata.namespace ?? '')] : [],
      )
    const all = () => this.#namespaces.list().flatMap(({ metadata }) => ofNamespace(metadata.name))
    this.controller.watch(this.#classes, all)
    this.controller.watch(this.#schedules, all)
    this.controller.watch(this.#channels, () => [])
  }

  #isConcerned(name: string): boolean {
    if (this.#environments.byIndex('namespace', name).length > 0) return true
    const namespace = this.#namespaces.get('', name)
    return namespace !== undefined && this.#classFor(namespace) !== undefined
  }

  #enqueueHeld(): void {
    for (const { metadata, status } of this.#environments.list())
      if (status?.phase === 'Held' || status?.deletion) this.controller.enqueue(namespaceKey(metadata.namespace ?? ''))
  }

  get #isSynced(): boolean {
    const named = [this.#environments, this.#classes, this.#namespaces, this.#services, this.#schedules, this.#channels]
    return [...named, ...this.#workloads].every(({ synced }) => synced)
  }

  async #reconcile(name: string): Promise<Outcome> {
    // A cache that is still being filled proves nothing.
    if (!this.#isSynced) return wakeAt(this.#options.ports.clock.now() + 200)
    const namespace = this.#namespaces.get('', name)
    if (!namespace || namespace.metadata.deletionTimestamp) {
      this.pulls.forget({ namespace: name })
      return settled
    }
    const restoredAt =
      namespace.metadata.annotations?.[restoredFrom] === undefined
        ? undefined
        : parseTime(namespace.metadata.creationTimestamp)
    // The restore itself brings the Environment back, with what was set on it.
    if (!this.#self(name) && restoredAt !== undefined && this.#options.ports.clock.now() < restoredAt + restoreMs)
      return wakeAt(restoredAt + restoreMs)
    const self = await this.#ensure(namespace)
    if (!self || self.metadata.deletionTimestamp) return settled
    const observed = this.#observe(self, namespace)
    if (self.status?.deletion) return this.#continueDeletion(observed)
    return this.#assess(observed)
  }

  /** The Environment of a Namespace: made if a class selects it, removed again if it was made and none does. The oldest of several counts. */
  async #ensure(namespace: StoredObject): Promise<Environment | undefined> {
    const { client } = this.#options
    const { name } = namespace.metadata
    const self = this.#self(name)
    const wanted = this.#classFor(namespace)
    if (!self) {
      if (!wanted) return undefined
      const { apiVersion, kind } = environmentKind
      const metadata = { name, namespace: name, labels: ownLabel }
      const made = { apiVersion, kind, metadata, spec: { className: wanted.metadata.name } }
      const created = await client.create<Environment>(environmentKind.type, made).catch(ignoring('AlreadyExists'))
      if (created) this.#expect(created)
      return undefined
    }
    const isMade = self.metadata.labels?.['app.kubernetes.io/part-of'] === 'sojourn'
    const hasClass = this.#classes.get('', self.spec.className) !== undefined
    const isOptedOut = namespace.metadata.annotations?.[optOutAnnotation] === 'false'
    // Without its class it stays, awake: a class that is replaced must not undo what people kept.
    if (
      isMade &&
      !self.status?.deletion &&
      (isOptedOut || (hasClass && wanted?.metadata.name !== self.spec.className))
    ) {
      await removeOwn(client, environmentKind.type, self)
      this.pulls.forget({ namespace: name })
      return undefined
    }
    return self
  }

  #self(namespace: string): Environment | undefined {
    return oldestOf(this.#environments.byIndex('namespace', namespace))
  }

  /** The oldest class that selects a Namespace. */
  #classFor({ metadata }: StoredObject): EnvironmentClass | undefined {
    if (isExempt(metadata.name) || metadata.annotations?.[optOutAnnotation] === 'false') return undefined
    const found = this.#classes.list().filter((each) => {
      const { selector } = this.#read(each).rules
      return !each.metadata.deletionTimestamp && selector.length > 0 && matches(selector, metadata.labels)
    })
    return oldestOf(found)
  }

  #read({ metadata, spec }: EnvironmentClass) {
    const known = this.#reads.get(metadata.name)
    if (known?.version === metadata.resourceVersion) return known.read
    const read = readClass(spec)
    this.#reads.set(metadata.name, { version: metadata.resourceVersion, read })
    return read
  }

  #observe(environment: Environment, namespace: StoredObject): Observed {
    const { name } = namespace.metadata
    const found = this.#classes.get('', environment.spec.className)
    const environmentClass = found?.metadata.deletionTimestamp ? undefined : found
    const read = environmentClass && this.#read(environmentClass)
    return {
      environment,
      namespace,
      environmentClass,
      rules: read && read.problems.length === 0 ? read.rules : undefined,
      workloads: this.#workloads.flatMap((informer) => informer.byIndex('namespace', name)),
      services: this.#services.byIndex('namespace', name),
    }
  }

  /** Observe, decide, act: the status is written before people are told, and they are told before anything is deleted. */
  async #assess(observed: Observed): Promise<Outcome> {
    const { clock } = this.#options.ports
    const now = clock.now()
    const around = await this.#surroundings(observed, now)
    const assessed = assess(observed, around, now)
    const written = await this.#write(
      observed.environment,
      this.#options.dryRun ? withoutPromise(assessed.status) : assessed.status,
    )
    if (this.#options.dryRun) return nextLook(assessed.until)
    const shown = await this.#show({ ...observed, environment: written }, now)
    if (around.refusal || around.isBeyondLimit) return nextLook(assessed.until)
    if (assessed.stay.do === 'tell') return this.#tell({ ...observed, environment: shown })
    if (assessed.stay.do === 'delete') return this.#begin({ ...observed, environment: shown }, assessed)
    return nextLook(assessed.until)
  }

  async #surroundings(observed: Observed, now: number): Promise<Surroundings> {
    const { environment, environmentClass } = observed
    const { metadata, status } = environment
    const owned = status?.owner ? this.#environments.byIndex('owner', status.owner) : []
    const room = environmentClass && this.#room(environmentClass, now)
    const isEvicted = room?.evicted.has(metadata.uid) ?? false
    const channels = environmentClass?.spec.channels ?? []
    const missing = channels.find((name) => !this.#channels.get('', name))
    return {
      pull: await this.#pullRequest(observed),
      window: this.#window(observed, now),
      mailAt: Math.max(mailSlot(owned), this.#ownSlot(status?.owner)),
      evictedAt: isEvicted
        ? status?.announcement?.reason === 'evicted'
          ? parseTime(status.announcement.date)
          : now
        : undefined,
      isBeyondLimit: room?.beyond.has(metadata.uid) ?? false,
      refusal:
        (await this.#refusal(observed)) ??
        (missing === undefined
          ? undefined
          : {
              reason: 'ChannelNotFound',
              message: `spec.channels of the class: there is no NotificationChannel ${missing}; nothing is deleted`,
            }),
      channels,
    }
  }

  #ownSlot(owner: string | undefined): number {
    const at = owner === undefined ? undefined : this.#toldAt.get(owner)
    return at === undefined ? 0 : at + 86_400_000
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

  #window({ environmentClass, environment }: Observed, now: number): Surroundings['window'] {
    const { awake } = sleepRuleOf(environmentClass, environment)
    if (!awake) return undefined
    const hours = 'hours' in awake ? awake.hours : this.#schedules.get('', awake.schedule)?.spec
    return hours ? windowState(hours, now) : 'missing'
  }

  async #access(observed: Observed): Promise<PullAccess | Problem | undefined> {
    const url = pullRequestOf(observed)
    const { environment, environmentClass } = observed
    const { namespace = '' } = environment.metadata
    if (url === undefined) return undefined
    const { secretRef } = environment.spec.pullRequest ?? {}
    if (secretRef) {
      // The token leaves the cluster: only an author who may read the Secret sends it anywhere.
      const access = { verb: 'get', group: '', resource: 'secrets', namespace, name: secretRef.name }
      const refusal = await this.#options.actAs.for(environment).refusalOf(access)
      if (refusal) return refusal
    }
    return accessTo(url, { ownSecret: secretRef && { namespace, name: secretRef.name }, environmentClass })
  }

  async #pullRequest(observed: Observed): Promise<Surroundings['pull']> {
    const url = pullRequestOf(observed)
    const access = await this.#access(observed)
    if (url === undefined || !access) return undefined
    if ('reason' in access) return { url, seen: undefined, problem: access }
    const { namespace = '', name } = observed.environment.metadata
    if (this.#options.assumesPulls) return { url, seen: asStored(observed.environment, url) }
    return { url, seen: this.pulls.follow({ cluster: '', kind: 'Environment', namespace, name }, access) }
  }

  /** Writes the comment and the commit status where they differ from what was last written. */
  async #show(observed: Observed, now: number): Promise<Environment> {
    const { environment: self, environmentClass, namespace, rules } = observed
    const { pullRequest } = self.status ?? {}
    const { comment = true, commitStatus = true } = environmentClass?.spec.pullRequest ?? {}
    const access =
      pullRequest && environmentClass && !this.#options.assumesPulls ? await this.#access(observed) : undefined
    if (!pullRequest || pullRequest.state === 'unknown' || !access || 'reason' in access) return self
    const base = this.#options.publicUrl()
    const link = base
      ? keepUrl(base, await this.#options.linkKey(), {
          self,
          namespaceUid: namespace.metadata.uid,
          extendMs: rules?.extendMs ?? 0,
        })
      : undefined
    const text = commentText(self, self.status ?? {}, link)
    const digest = digestOf(text)
    const state = `${pullRequest.headSHA ?? ''} ${self.status?.power === 'Waking' ? 'pending' : self.status?.power}`
    const isRested =
      now >= (parseTime(pullRequest.commentedAt) ?? 0) + commentPauseMs || self.status?.deletion !== undefined
    const needsComment =
      comment && pullRequest.commentId !== 'deleted' && pullRequest.commentDigest !== digest && isRested
    const needsStatus =
      commitStatus &&
      pullRequest.statusDigest !== digestOf(state) &&
      pullRequest.headSHA !== undefined &&
      pullRequest.state === 'open'
    if (!needsComment && !needsStatus) {
      if (comment && pullRequest.commentDigest !== digest)
        this.controller.enqueueAt(
          namespaceKey(namespace.metadata.name),
          (parseTime(pullRequest.commentedAt) ?? now) + commentPauseMs,
        )
      return self
    }
    try {
      const forge = await this.pulls.forge(access)
      const marker = `[//]: # (sojourn-environment ${self.metadata.uid})`
      const id = needsComment
        ? await upsertComment(forge, access.address.number, { id: pullRequest.commentId, marker, text })
        : pullRequest.commentId
      if (needsStatus)
        await forge.setStatus(
          { number: access.address.number, headSHA: pullRequest.headSHA },
          {
            name: `sojourn/${namespace.metadata.name}`,
            state: self.status?.power === 'Waking' ? 'pending' : 'success',
            description: self.status?.power === 'Asleep' ? 'asleep, wakes on request' : 'environment ready',
            url: self.status?.urls?.[0] ?? access.address.repositoryUrl,
          },
        )
      const written = {
        ...pullRequest,
        ...(id === undefined ? {} : { commentId: id }),
        ...(needsComment ? { commentDigest: digest, commentedAt: formatTime(now) } : {}),
        ...(needsStatus ? { statusDigest: digestOf(state) } : {}),
      }
      return await this.#write(self, { ...self.status, pullRequest: written })
    } catch (error) {
      // The forge decides nothing here: the life of the environment goes on, and the next look tries again.
      this.#options.ports.log.debug('pull request not updated', {
        environment: self.metadata.namespace,
        error: String(error),
      })
      this.controller.enqueueAt(namespaceKey(namespace.metadata.name), now + commentPauseMs)
      return self
    }
  }

  /** Tells the owner of this environment about all environments of his that wait to be announced, in one notice. */
  async #tell(observed: Observed): Promise<Outcome> {
    const { ports, openChannel, publicUrl, linkKey } = this.#options
    const owner = observed.environment.status?.owner
    const className = observed.environment.spec.className
    await this.#telling.run(owner ?? observed.environment.metadata.uid, async () => {
      const waiting = (owner ? this.#environments.byIndex('owner', owner) : [observed.environment]).filter(
        ({ spec, status }) =>
          spec.className === className &&
          status?.announcement &&
          (status.announcement.toldAt === undefined || status.announcement.owner !== owner),
      )
      const mails = (observed.environmentClass?.spec.channels ?? []).length > 0
      if (waiting.length === 0 || (mails && ports.clock.now() < this.#ownSlot(owner))) return
      const base = publicUrl()
      const key = base ? await linkKey() : ''
      const announced = waiting.map((self) => {
        const namespace = this.#namespaces.get('', self.metadata.namespace ?? '')
        const linked = { self, namespaceUid: namespace?.metadata.uid ?? '', extendMs: observed.rules?.extendMs ?? 0 }
        return { self, keepUrl: base ? keepUrl(base, key, linked) : undefined }
      })
      const channels = (observed.environmentClass?.spec.channels ?? []).flatMap(
        (each) => this.#channels.get('', each) ?? [],
      )
      const now = ports.clock.now()
      const signal = AbortSignal.timeout(60_000)
      const telling = await tell(
        announced,
        { channels, owner, signal },
        { openChannel, now: () => now, log: ports.log, timeZone: 'UTC' },
      )
      if (telling.isTold && owner !== undefined) this.#toldAt.set(owner, now)
      for (const { self } of announced) {
        const date = self.status?.announcement?.date
        if (telling.isTold)
          this.#note(self, 'Normal', 'OwnerTold', `${owner ?? 'its owner'} was told that it is deleted on ${date}`)
        else this.#note(self, 'Warning', 'OwnerNotTold', telling.error ?? 'no channel accepted the notice')
        await this.#write(self, statusAfterTelling(self.status ?? {}, telling, now)).catch(
          ignoring('Conflict', 'NotFound'),
        )
      }
    })
    return wakeAt(ports.clock.now() + 1000)
  }

  /** The last look before a deletion: the pull request, the workloads and the Namespace are read from their servers. */
  async #begin(observed: Observed, { status }: Assessment): Promise<Outcome> {
    const { client, door, ports } = this.#options
    const { name, uid } = observed.namespace.metadata
    const access = await this.#access(observed)
    if (access && !('reason' in access) && !this.#options.assumesPulls) await this.pulls.fresh(access)
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
    const verdict = await peek({ client, door }, observed, reason)
    if (verdict.result === 'held' || verdict.result === 'refused') {
      const message = `the deletion is due and held: ${sentenceOf(verdict)}`
      await this.#write(observed.environment, { ...status, phase: 'Held', message })
      return wakeAt(('until' in verdict ? verdict.until : undefined) ?? now + holdMs)
    }
    await this.#write(observed.environment, {
      ...again.status,
      phase: 'Deleting',
      deletion: atStep(undefined, 'Record', { reason, now }),
    })
    return settled
  }

  async #continueDeletion(observed: Observed): Promise<Outcome> {
    const { client, door, events, ports } = this.#options
    const { environment: self } = observed
    const { clock } = ports
    const { deletion } = self.status ?? {}
    if (!deletion || this.#options.dryRun || observed.environmentClass?.spec.paused) return settled
    // The comment says it before the Namespace goes: afterwards the Environment is gone, too.
    const shown = deletion.step === 'Namespace' ? await this.#show(observed, clock.now()) : self
    const result = await deletionStep(
      { client, door, clock, events, ...this.#actors(observed), removeLabel: () => this.#removeLabel(observed) },
      { ...observed, environment: shown },
      deletion,
    )
    if (result === 'gone') return settled
    const now = clock.now()
    if ('next' in result) {
      await this.#write(shown, {
        ...shown.status,
        phase: 'Deleting',
        deletion: atStep(deletion, result.next, { reason: deletion.reason, record: result.record, now }),
      })
      return settled
    }
    if (result.hold !== undefined) {
      const message = `the deletion is held: ${result.hold}`
      if (shown.status?.message !== message) this.#note(shown, 'Warning', 'DeletionHeld', message)
      await this.#write(shown, { ...shown.status, phase: 'Held', message })
    }
    return wakeAt(result.wait)
  }

  async #removeLabel(observed: Observed): Promise<boolean> {
    const { label } = observed.environmentClass?.spec.pullRequest ?? {}
    const access = label === undefined ? undefined : await this.#access(observed)
    if (label === undefined || !access || 'reason' in access) return false
    // Without its label another environment is deleted: the credential of the class takes it off only where the Namespace names the pull request.
    const named = observed.namespace.metadata.annotations?.[pullRequestAnnotation]
    if (access.by === 'class' && pullRequestOf(observed) !== named) return false
    await (await this.pulls.forge(access)).removeLabel(access.address.number, label)
    return true
  }

  #note(self: Environment, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#options.events.record(self, { type, reason, message })
  }

  /** Writes the status if it differs from the stored one, onto the version that was read. */
  async #write(self: Environment, status: EnvironmentStatus): Promise<Environment> {
    if (deepEqual(self.status ?? {}, status)) return self
    const written = await this.#options.client.update<Environment>(
      environmentKind.type,
      { ...self, status },
      { subresource: 'status' },
    )
    this.#expect(written)
    return written
  }

  #expect({ metadata }: Environment): void {
    this.controller.expect(
      namespaceKey(metadata.namespace ?? ''),
      metadata.resourceVersion,
      this.#environments as unknown as Informer,
    )
  }
}

function oldestOf<T extends StoredObject>(all: readonly T[]): T | undefined {
  if (all.length < 2) return all[0]
  const age = ({ metadata: { creationTimestamp, name } }: T) => `${creationTimestamp} ${name}`
  return all.toSorted((left, right) => (age(left) < age(right) ? -1 : 1))[0]
}

/** The pull request as the status has it, for a forecast. */
function asStored({ status }: Environment, url: string): Seen | undefined {
  const { state, headSHA, closedAt, seenAt } = status?.pullRequest ?? { state: 'unknown' as const }
  if (state === 'unknown') return undefined
  const pull = {
    number: 0,
    url,
    state,
    head: '',
    base: '',
    headSHA,
    mergeSHA: undefined,
    body: '',
    createdAt: undefined,
    closedAt,
    labels: [],
  }
  return { pull, at: parseTime(seenAt) ?? 0 }
}

/** In a dry run nothing is announced. */
function withoutPromise({ announcement: _, announcements: __, ...status }: EnvironmentStatus): EnvironmentStatus {
  return status
}

function nextLook(until: number | undefined): Outcome {
  return until === undefined ? settled : wakeAt(until)
}

function namespaceKey(name: string): Key {
  return { cluster: '', kind: 'Namespace', namespace: '', name }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
