import type { ProcessParts } from '../../runtime/process-parts.ts'
import type { ClusterPorts } from '../../runtime/controller/controller.ts'
import { holdFinalizer } from '../../apis/bond.ts'
import { departure, type Departure } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { workSchedule, type WorkSchedule } from '../../apis/work-schedule.ts'
import type { Client } from '../../client/client.ts'
import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import { configMaps } from '../../kube/core-types.ts'
import { describeRef, refOf, type KubeObject, type ObjectRef, type StoredObject } from '../../kube/object.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import { Serializer } from '../../runtime/controller/serializer.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Counter, Gauge } from '../../runtime/observability/metric.ts'
import { sentenceOf, type DepartResult } from './because.ts'
import { defaultLimits, type BudgetLimits, Budgets, scopeOf, type Booking } from './budget.ts'
import { doorStateName, doorStateOf, openBreaker, writeDoorState, type DoorState } from './door-state.ts'
import { judge } from './judge.ts'
import { isCurrent, ProtectionCache } from './protection-cache.ts'
import {
  budgetLabel,
  departureRecord,
  recordName,
  recordNamespace,
  recordsOnly,
  type By,
  type Unbudgeted,
  type RecordFacts,
} from '../records/record.ts'
import { RecordKeyError, type KeySource } from '../records/record-keys.ts'
import { RecordWriter } from '../records/record-writer.ts'
import { subjectKind, type Subject } from '../subjects/subject.ts'

/** A request to delete one object. */
export interface DepartRequest extends Pick<
  RecordFacts,
  'because' | 'note' | 'by' | 'propagation' | 'follows' | 'recordAs' | 'sealAs'
> {
  readonly subject: Subject
  /** The uid that the system judged: another object under the same name stays. */
  readonly uid: string
  /** The version that the system judged, where its decision depends on the content. */
  readonly resourceVersion?: string
  readonly gracePeriodSeconds?: number
  /** Names of WorkSchedules that must all be open. */
  readonly schedules?: readonly string[]
  /** The dry run of the system or policy. */
  readonly dryRun?: boolean
  /** Whether a user named this object and when to delete it: then no budget counts it. */
  readonly isPlanned?: boolean
  /** Whether its owner was notified before: then it waits where the breaker would open because of the number of deletions. */
  readonly isAnnounced?: boolean
  /** `recordAhead` has been called: what earlier steps of the deletion took stays in the record. */
  readonly recordedAhead?: boolean
}

type Judged = Pick<DepartRequest, 'uid' | 'resourceVersion' | 'schedules' | 'dryRun'> & {
  readonly subject: Pick<Subject, 'cluster' | 'ref'>
}

/** What a system that deletes through the door works with. */
export interface SystemPorts extends ClusterPorts {
  readonly door: Door
  readonly events: EventRecorder
}

export interface DoorPorts extends Pick<ProcessParts, 'informers' | 'clock' | 'log' | 'metrics' | 'events'> {
  /** The home cluster, with the records, opt-outs, Bonds and switches. */
  readonly client: Client
  /** The keys that encrypt the data of Secrets in records. Defaults to none: records keep no data of Secrets. */
  readonly keys?: KeySource
  /**
   * Whether the API server lets only Sojourn write records. Where it does not, any tenant could have written one, so only the door's own deletions count.
   */
  readonly provesRecords: () => Promise<boolean>
}

export interface DoorOptions {
  /** Holds every deletion. Defaults to false. */
  readonly dryRun?: boolean
  readonly limits?: Partial<BudgetLimits> & {
    /** How much of the global limits one namespace may use, in percent; from 100 on namespaces have no limits. Defaults to 10. */
    readonly namespaceShare?: number
  }
}

/** The one door out: `depart` is the only way Sojourn deletes an object of a user. */
export class Door {
  readonly #ports: DoorPorts
  readonly #dryRun: boolean
  readonly #budgets: Budgets
  /** Bookings run one at a time: two of them must not both take the last place of the budget. */
  readonly #bookings = new Serializer()
  /** Uids that an open breaker held: once a user has closed it, they are deleted without opening it again. */
  readonly #held = new BoundedMap<string, true>(100_000)
  readonly #protections: ProtectionCache
  readonly #writer: RecordWriter
  readonly #schedules: Informer<WorkSchedule>
  readonly #records: Informer<Departure>
  readonly #switches: Informer
  readonly #results: Counter<'system' | 'kind' | 'result' | 'because'>
  readonly #breaker: Gauge<never>
  readonly #circuits: Gauge<never>

  constructor(ports: DoorPorts, options: DoorOptions = {}) {
    const { client, informers, metrics } = ports
    this.#ports = ports
    this.#dryRun = options.dryRun ?? false
    this.#budgets = new Budgets({ ...defaultLimits, ...options.limits })
    this.#writer = new RecordWriter(ports)
    this.#protections = new ProtectionCache(client, informers)
    this.#schedules = informers.open<WorkSchedule>(client, workSchedule.type)
    this.#records = informers.open<Departure>(client, departure.type, recordsOnly)
    this.#switches = informers.open(client, configMaps, {
      namespace: sojournNamespace,
      fieldSelector: `metadata.name=${doorStateName}`,
    })
    this.#results = metrics.counter({
      name: 'sojourn_departures_total',
      help: 'Requests to delete an object, by result.',
      labels: ['system', 'kind', 'result', 'because'],
    })
    this.#breaker = metrics.gauge({
      name: 'sojourn_departures_breaker_open',
      help: '1 while the circuit breaker holds all deletions.',
    })
    this.#breaker.set({}, 0)
    this.#circuits = metrics.gauge({
      name: 'sojourn_departures_namespace_breakers_open',
      help: 'Namespaces whose deletions the circuit breaker holds.',
    })
    this.#records.subscribe(({ type, object }) => {
      if (type !== 'deleted') void this.#countProven(object)
    })
    this.#switches.subscribe(() => this.#readSwitches())
  }

  /** Resolves when everything that could protect an object is known. */
  async ready(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#sources().map((informer) => informer.whenSynced(signal)))
  }

  /** The switches; undefined while they cannot be read. */
  get state(): DoorState | undefined {
    if (!isCurrent(this.#switches)) return undefined
    return doorStateOf(this.#switches.get(sojournNamespace, doorStateName))
  }

  /** Calls the listener when a held request may succeed now: a switch was set, a schedule changed, or a Bond stopped protecting. */
  onChange(listener: () => void): void {
    this.#switches.subscribe(({ initial }) => !initial && listener())
    this.#schedules.subscribe(({ initial }) => !initial && listener())
    this.#protections.onRelease(listener)
  }

  /** What `depart` would answer now, before the budget is asked. Writes nothing. */
  async peek(request: DepartRequest): Promise<DepartResult | { readonly result: 'allowed' }> {
    return this.#verdict(request, await request.subject.read())
  }

  /** Deletes an object if every rule allows it. May be called again after a crash at any point. */
  async depart(request: DepartRequest): Promise<DepartResult> {
    const result = await this.#depart(request)
    const { subject, by } = request
    this.#results.inc({
      system: by.system,
      kind: subject.ref.kind,
      result: result.result,
      because: 'because' in result ? result.because : request.because,
    })
    return result
  }

  /** The keys that encrypt the data of Secrets, for other writers of records. */
  get keys(): KeySource {
    return this.#ports.keys
  }

  /** Whether every rule but the budget allows to delete an object of the home cluster, as it was just read. */
  allows({
    object,
    ...request
  }: Pick<DepartRequest, 'schedules' | 'dryRun'> & { readonly object: StoredObject }): boolean {
    const subject = { cluster: '', ref: refOf(object) }
    return this.#judge({ ...request, subject, uid: object.metadata.uid }, object).result === 'allowed'
  }

  /** Counts a deletion that was not asked of `depart`. */
  countDeparted(system: By['system'], kind: string, because: string): void {
    this.#results.inc({ system, kind, result: 'gone', because })
  }

  /** Writes the record of a deletion that takes several steps before the first of them, if every rule allows the deletion now. */
  async recordAhead(
    request: DepartRequest,
  ): Promise<DepartResult | { readonly result: 'recorded'; readonly record: string }> {
    const object = await request.subject.read()
    const verdict = await this.#verdict(request, object)
    if (verdict.result !== 'allowed') return verdict
    if (!object) return { result: 'gone' }
    const ahead = { ...request, recordedAhead: true, unbudgeted: undefined }
    const record = await this.#writeRecord(ahead, object).catch(heldWithoutKey)
    return isHeld(record) ? record : { result: 'recorded', record: record.metadata.name }
  }

  /** Whether Sojourn, not a user, deletes an object: a record of that was written and not abandoned. */
  async isOurDeparture(object: KubeObject): Promise<boolean> {
    const found = await this.#writer.find(object)
    return found !== undefined && found.status?.phase !== 'Abandoned' && found.spec.by.system !== 'user'
  }

  /**
   * Why a dependent must not be deleted with its owners, as far as is known now; undefined when it may. The cluster's own machinery may always be. An object
   * that a Bond holds may be deleted, too: its finalizer makes it wait.
   */
  reasonToKeep(object: KubeObject): string | undefined {
    return this.keepCheck()(object)
  }

  /** `reasonToKeep` for many objects at one moment: the switches are read once. */
  keepCheck(): (object: KubeObject) => string | undefined {
    const { state } = this
    if (!state || !this.#protections.isCurrent) return () => 'protections-unknown'
    if (this.#dryRun || state.dryRun) return () => 'dry-run'
    if (state.paused) return () => 'paused'
    if (state.breaker === 'open') return () => 'breaker-open'
    const now = this.#ports.clock.now()
    return (object) => {
      const scope = scopeOf('', object.metadata.namespace)
      if (scope !== undefined && state.circuits[scope] !== undefined) return 'breaker-open'
      const protection = this.#protections.protectionOfFollower('', object, now)
      const isHeld = protection?.because === 'bond-holds' && object.metadata.finalizers?.includes(holdFinalizer)
      return isHeld ? undefined : protection?.because
    }
  }

  /** Whether at the moment only its own marks could keep an object: a preview then skips `reasonToKeep` for unmarked ones. */
  get hasOnlyOwnMarks(): boolean {
    const { state } = this
    const isKnown = state && this.#protections.isCurrent
    if (!isKnown || this.#dryRun || state.dryRun || state.paused || state.breaker === 'open') return false
    if (Object.keys(state.circuits).length > 0) return false
    return this.#protections.isEmpty
  }

  /** The Bonds that forbid every user to delete an object, or a namespace with its contents; undefined when there are none. */
  denyingBonds(object: KubeObject): string | undefined {
    return this.#protections.denyingBonds(object)
  }

  close(): void {
    for (const informer of this.#sources()) informer.close()
  }

  async #depart(request: DepartRequest): Promise<DepartResult> {
    const { subject } = request
    const object = await subject.read()
    const verdict = await this.#verdict(request, object)
    if (verdict.result !== 'allowed') return verdict
    if (!object) return { result: 'gone' }
    const unbudgeted = this.#whyUnbudgeted(request)
    const over = unbudgeted ? undefined : await this.#bookings.run('', () => this.#book(request, object))
    if (over) return this.#noteHeld(request, over)
    return this.#recordAndDelete(request, object, unbudgeted).catch(heldWithoutKey)
  }

  async #verdict(request: DepartRequest, object: KubeObject | undefined): Promise<ReturnType<typeof judge>> {
    const verdict = this.#noteHeld(request, this.#judge(request, object))
    if (verdict.result !== 'allowed') return verdict
    return (await this.protectedContents(request.subject)) ?? verdict
  }

  #noteHeld<R extends ReturnType<typeof judge>>({ uid }: DepartRequest, result: R): R {
    if ('because' in result && result.because === 'breaker-open') this.#held.set(uid, true)
    return result
  }

  /** Why no budget counts a deletion, if none does. */
  #whyUnbudgeted({ subject, by, uid, isPlanned }: DepartRequest): Unbudgeted | undefined {
    if (isItself(subject, by)) return 'itself'
    if (isPlanned) return 'planned'
    return this.#held.delete(uid) ? 'released' : undefined
  }

  /** Why a namespace or definition is held: something in it is protected, and its deletion would delete that, too. */
  async protectedContents(subject: Subject): Promise<DepartResult | undefined> {
    try {
      for await (const content of subject.contents?.({ metadataOnly: true }) ?? []) {
        const protection = this.#protections.protectionOfFollower(subject.cluster, content, this.#ports.clock.now())
        if (!protection) continue
        const detail = `${describeRef(refOf(content))}: ${sentenceOf(protection)}`
        return { result: 'held', because: 'takes-protected', detail }
      }
      return undefined
    } catch (error) {
      return {
        result: 'held',
        because: 'protections-unknown',
        detail: error instanceof Error ? error.message : String(error),
      }
    }
  }

  #judge(request: Judged, object: KubeObject | undefined): ReturnType<typeof judge> {
    const { subject, uid, resourceVersion, schedules = [], dryRun = false } = request
    const ofRequest = dryRun ? 'dryRun is set where the deletion was decided' : undefined
    const verdict = judge({
      scope: scopeOf(subject.cluster, subject.ref.namespace),
      object,
      uid,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      protections: this.#protections.factsAbout(subject.cluster, subject.ref, object?.metadata.uid ?? ''),
      state: this.state,
      dryRun: this.#dryRun ? 'Sojourn runs with --dry-run' : ofRequest,
      schedules: schedules.map((name) => ({
        name,
        spec: isCurrent(this.#schedules) ? this.#schedules.get('', name)?.spec : 'unknown',
      })),
      now: this.#ports.clock.now(),
    })
    const isUnknown = verdict.result === 'held' && verdict.because === 'protections-unknown'
    return isUnknown ? { ...verdict, detail: this.#unread() } : verdict
  }

  /** What cannot be read and could protect an object. */
  #unread(): string {
    const unread = this.#sources().filter((informer) => !isCurrent(informer))
    return unread.map(({ type, lastError }) => `${type.plural}: ${lastError?.message ?? 'not listed yet'}`).join('; ')
  }

  /** Writes the record, deletes with preconditions, then updates the record and emits Events. */
  async #recordAndDelete(
    request: DepartRequest,
    object: KubeObject,
    unbudgeted: Unbudgeted | undefined,
  ): Promise<DepartResult> {
    const { subject, because, by, propagation = 'Background', gracePeriodSeconds } = request
    const { clock, log } = this.#ports
    const record = await this.#writeRecord({ ...request, unbudgeted }, object)
    const { uid = '', resourceVersion = '' } = object.metadata
    const outcome = await subject.remove({
      uid,
      resourceVersion,
      propagation,
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    })
    if (outcome === 'changed') {
      await this.#writePhase(record, {
        phase: 'Abandoned',
        message: 'it changed between the decision and the deletion',
      })
      return { result: 'stale' }
    }
    await this.#writePhase(
      record,
      outcome === 'gone' ? { phase: 'Gone', goneAt: formatTime(clock.now()) } : { phase: 'Leaving' },
    )
    this.#emitEvents(request, object)
    const where = { cluster: subject.cluster, ...subject.ref }
    log.info('deleted', { ...where, because, system: by.system, record: record.metadata.name })
    return { result: outcome }
  }

  async #writeRecord(
    request: DepartRequest & { readonly unbudgeted: Unbudgeted | undefined },
    object: KubeObject,
  ): Promise<Departure> {
    const { subject, propagation = 'Background' } = request
    const { cluster } = subject
    const now = this.#ports.clock.now()
    const keys = await this.#writer.keysFor(object)
    const record = departureRecord({ ...request, cluster, object, keys, propagation, now })
    const contents = subject.contents?.({ metadataOnly: false })
    if (request.recordedAhead && contents) return this.#writer.completeBeforeDelete(record, contents)
    return this.#writer.writeBeforeDelete(record, contents)
  }

  /** A failure is only logged: the settle controller corrects the phase later. */
  async #writePhase(record: Departure, status: NonNullable<Departure['status']>): Promise<void> {
    const { log } = this.#ports
    await this.#writer
      .setStatus(record, status)
      .catch((error: unknown) =>
        log.debug('record not updated', { record: record.metadata.name, error: String(error) }),
      )
  }

  /** Takes one deletion off the budget, or opens the breaker when it is used up. */
  async #book({ subject, isAnnounced }: DepartRequest, object: KubeObject): Promise<DepartResult | undefined> {
    const now = this.#ports.clock.now()
    const booking = { ...bookingOf(subject), isAnnounced }
    const over = await this.#overBudget(subject, booking, now)
    if (!over) this.#budgets.count(recordName(subject.cluster, object), booking, now)
    return over
  }

  async #overBudget(
    subject: Subject,
    booking: Booking & { readonly isAnnounced: boolean | undefined },
    now: number,
  ): Promise<DepartResult | undefined> {
    // Records that were found before count first: their proof is the same promise.
    await this.#ports.provesRecords().catch(() => true)
    const overrun = await this.#budgets.exceeded(booking, now, (where) =>
      subject.countKind(where === 'namespace' ? subject.ref.namespace : undefined),
    )
    if (!overrun) return undefined
    const { because, scope } = overrun
    if (overrun.isPace && booking.isAnnounced)
      return { result: 'held', because: 'paced', until: now + paceMs, detail: because }
    const { client, events, log } = this.#ports
    const switches = await writeDoorState(client, openBreaker(overrun, now))
    if (scope === undefined) this.#breaker.set({}, 1)
    const what = scope === undefined ? 'All deletions' : 'Deletions in this namespace'
    events.record(switches, {
      type: 'Warning',
      reason: 'BreakerOpened',
      message: `${because}. ${what} are held until you close the breaker: sojourn departures --close-breaker`,
    })
    log.error('breaker opened', { because, namespace: scope ?? '' })
    return { result: 'held', because: 'breaker-open', detail: because }
  }

  /** One Event on the deleted object and one on the object whose rule decided it. */
  #emitEvents({ subject, because, note, by }: DepartRequest, object: KubeObject): void {
    const { events } = this.#ports
    const deleted = `${subject.ref.kind} ${subject.ref.namespace ? `${subject.ref.namespace}/` : ''}${subject.ref.name}`
    if (subject.cluster === '')
      events.record(object, {
        type: 'Normal',
        reason: 'Departed',
        message: `deleted: ${because} (${by.system})${note === undefined ? '' : `: ${note}`}`,
        ...(by.object ? { related: by.object } : {}),
      })
    if (by.object && !isItself(subject, by))
      events.record(by.object, {
        type: 'Normal',
        reason: 'Departed',
        message: `deleted ${deleted}: ${because}`,
        related: subject.ref,
      })
  }

  /** Counts a record of another process or an earlier run. Deletions by users do not use up the budget. */
  async #countProven(record: Departure): Promise<void> {
    const { metadata, spec } = record
    const { cluster = '', ...ref } = spec.object
    const object = { apiVersion: ref.apiVersion, kind: ref.kind, metadata: ref }
    // The door writes a record under one name in one namespace only.
    const isOurs =
      metadata.namespace === recordNamespace(cluster, object) && metadata.name === recordName(cluster, object)
    if (spec.by.system === 'user' || !isOurs) return
    if (metadata.labels?.[budgetLabel] !== undefined) return
    // What is not known to be forged counts.
    if (!(await this.#ports.provesRecords().catch(() => true))) return
    this.#budgets.count(metadata.name, bookingOf({ cluster, ref }), parseTime(spec.recordedAt) ?? 0)
  }

  #readSwitches(): void {
    const state = doorStateOf(this.#switches.get(sojournNamespace, doorStateName))
    this.#breaker.set({}, state.breaker === 'open' ? 1 : 0)
    this.#circuits.set({}, Object.keys(state.circuits).length)
    if (state.closedAt !== undefined) this.#budgets.forgive(state.closedAt)
  }

  #sources(): readonly Informer[] {
    const others = [this.#schedules, this.#records, this.#switches] as unknown as readonly Informer[]
    return [...this.#protections.informers, ...others]
  }
}

/** The record must keep the data of Secrets and cannot: the object is held, and asked for again. */
function heldWithoutKey(error: unknown): Extract<DepartResult, { result: 'held' }> {
  if (!(error instanceof RecordKeyError)) throw error
  return { result: 'held', because: 'no-record-key', detail: error.message }
}

function isHeld<T extends object>(
  answer: T | ReturnType<typeof heldWithoutKey>,
): answer is ReturnType<typeof heldWithoutKey> {
  return 'result' in answer
}

/** How long an announced deletion waits before it asks for a place again. */
const paceMs = 60_000

function bookingOf(subject: Pick<Subject, 'cluster' | 'ref'>): Booking {
  return { kind: subjectKind(subject), scope: scopeOf(subject.cluster, subject.ref.namespace) }
}

/** Whether an object deletes itself: a Cleaner that has done its work. */
function isItself({ cluster, ref }: Pick<Subject, 'cluster' | 'ref'>, { object }: By): boolean {
  return cluster === '' && object !== undefined && isSame(object, ref)
}

function isSame(left: ObjectRef, right: ObjectRef): boolean {
  return (
    left.apiVersion === right.apiVersion &&
    left.kind === right.kind &&
    left.name === right.name &&
    left.namespace === right.namespace
  )
}
