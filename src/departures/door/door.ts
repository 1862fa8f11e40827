import { Serializer } from '../../runtime/controller/serializer.ts'
import { configMaps } from '../../kube/core-types.ts'
import { bond, holdFinalizer, type Bond } from '../../apis/bond.ts'
import { guardedNamespace, isGuarding, namesOf, refusesDeletion } from '../../apis/bond-guard.ts'
import { refusedElsewhere } from '../../apis/bond-marks.ts'
import { cleanupOptOut, type CleanupOptOut } from '../../apis/cleanup-opt-out.ts'
import { departure, type Departure, type DepartureSpec } from '../../apis/departure.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { workSchedule, type WorkSchedule } from '../../apis/work-schedule.ts'
import type { Client } from '../../client/client.ts'
import { describeRef, refOf, type KubeObject, type ObjectRef } from '../../kube/object.ts'
import { ignoring, isStatusError } from '../../kube/status-error.ts'
import { formatTime, parseTime } from '../../kube/time.ts'
import type { Clock } from '../../runtime/time/clock.ts'
import type { EventRecorder } from '../../runtime/observability/event-recorder.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import type { Informers } from '../../runtime/cache/informers.ts'
import type { Logger } from '../../runtime/observability/log.ts'
import type { Counter, Gauge } from '../../runtime/observability/metric.ts'
import type { Metrics } from '../../runtime/observability/metrics.ts'
import { sentenceOf, type DepartResult } from './because.ts'
import { restorable } from '../subjects/contents.ts'
import { Budget, defaultLimits, type BudgetLimits } from './budget.ts'
import { doorStateName, doorStateOf, openBreaker, writeDoorState, type DoorState } from './door-state.ts'
import { judge } from './judge.ts'
import { protectionOf, type Protection } from './protection.ts'
import { writePages } from '../records/pages.ts'
import { departureRecord, recordName, recordNamespace, recordsOnly, type By } from '../records/record.ts'
import { subjectKind, type Removal, type Subject } from '../subjects/subject.ts'

/** A wish that something leaves. */
export interface DepartRequest {
  readonly subject: Subject
  /** The one that was judged: another one under its name stays. */
  readonly uid: string
  /** The version that was judged, where the judgement depends on what it says. */
  readonly resourceVersion?: string
  /** Why, in the system's own word. */
  readonly because: string
  readonly by: By
  readonly propagation?: Removal['propagation']
  readonly gracePeriodSeconds?: number
  /** The uid of what it needed: it leaves because of that, and comes back with it. */
  readonly follows?: string | undefined
  /** WorkSchedules that must be open, by name. */
  readonly schedules?: readonly string[]
  /** The system's or policy's own dry run. */
  readonly dryRun?: boolean
}

export interface DoorPorts {
  /** The home cluster: where records, opt-outs, bonds and switches are. */
  readonly client: Client
  readonly informers: Informers
  readonly clock: Clock
  readonly events: EventRecorder
  readonly log: Logger
  readonly metrics: Metrics
}

export interface DoorOptions {
  /** Lets nothing leave. Defaults to false. */
  readonly dryRun?: boolean
  readonly limits?: Partial<BudgetLimits>
}

/** The one door out: `depart` is the only way anything of a user's is deleted. */
export class Door {
  readonly #ports: DoorPorts
  readonly #dryRun: boolean
  readonly #budget: Budget
  /** Bookings run one at a time: two of them must not both take the last place of the budget. */
  readonly #bookings = new Serializer()
  readonly #optOuts: Informer<CleanupOptOut>
  readonly #bonds: Informer<Bond>
  readonly #schedules: Informer<WorkSchedule>
  readonly #records: Informer<Departure>
  readonly #switches: Informer
  readonly #results: Counter<'system' | 'kind' | 'result' | 'because'>
  readonly #breaker: Gauge<never>

  constructor(ports: DoorPorts, options: DoorOptions = {}) {
    const { client, informers, metrics } = ports
    this.#ports = ports
    this.#dryRun = options.dryRun ?? false
    this.#budget = new Budget({ ...defaultLimits, ...options.limits })
    this.#optOuts = informers.open<CleanupOptOut>(client, cleanupOptOut.type, { indexes: { kind: optOutKinds } })
    this.#bonds = informers.open<Bond>(client, bond.type, { indexes: { dependency: bondDependency } })
    this.#schedules = informers.open<WorkSchedule>(client, workSchedule.type)
    this.#records = informers.open<Departure>(client, departure.type, recordsOnly)
    this.#switches = informers.open(client, configMaps, {
      namespace: sojournNamespace,
      fieldSelector: `metadata.name=${doorStateName}`,
    })
    this.#results = metrics.counter({
      name: 'sojourn_departures_total',
      help: 'Wishes that something leaves, by how they ended.',
      labels: ['system', 'kind', 'result', 'because'],
    })
    this.#breaker = metrics.gauge({
      name: 'sojourn_departures_breaker_open',
      help: '1 while the breaker holds everything back.',
    })
    this.#records.subscribe(({ type, object }) => type !== 'deleted' && this.#count(object))
    this.#switches.subscribe(() => this.#readSwitches())
  }

  /** Resolves when everything that could protect an object is known. */
  async ready(signal?: AbortSignal): Promise<void> {
    await Promise.all(this.#sources().map((informer) => informer.whenSynced(signal)))
  }

  /** The switches as they stand; undefined while they cannot be known. */
  get state(): DoorState | undefined {
    if (!isCurrent(this.#switches)) return undefined
    return doorStateOf(this.#switches.get(sojournNamespace, doorStateName))
  }

  /** Calls when a switch was turned, a schedule changed or a Bond let go: who was held may ask again. */
  onChange(listener: () => void): void {
    this.#switches.subscribe(({ initial }) => !initial && listener())
    this.#schedules.subscribe(({ initial }) => !initial && listener())
    this.#bonds.subscribe(({ type, object, previous }) => {
      if (previous && holdsUp(previous) && (type === 'deleted' || !holdsUp(object))) listener()
    })
  }

  /** Whether `depart` would let it leave now, budget aside. Writes nothing. */
  async peek(request: DepartRequest): Promise<DepartResult | { readonly result: 'allowed' }> {
    return this.#verdict(request, await request.subject.read())
  }

  /** Lets something leave, if every rule allows it. May be called again after a crash at any point. */
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

  /** Whether it leaves by our own hand: a record of it was written and not given up. */
  async isOurDeparture(object: KubeObject): Promise<boolean> {
    const { client } = this.#ports
    const name = recordName('', object)
    // In a namespace that is on its way out, records are kept in our own.
    for (const namespace of new Set([recordNamespace('', object), sojournNamespace])) {
      const found = await client.get<Departure>(departure.type, { namespace, name }).catch(ignoring('NotFound'))
      if (found) return found.status?.phase !== 'Abandoned' && found.spec.by.system !== 'user'
    }
    return false
  }

  /**
   * Why a dependent must not follow an owner that has left, by what is known at this moment; undefined when it may. The cluster's own
   * machinery follows freely: that is how it works. What a Bond holds may be told to go: its finalizer makes it wait.
   */
  reasonToKeep(object: KubeObject): string | undefined {
    return this.keepCheck()(object)
  }

  /** The same for many objects at one moment: what concerns all of them is looked at once. */
  keepCheck(): (object: KubeObject) => string | undefined {
    const { state } = this
    if (!state || !isCurrent(this.#optOuts) || !isCurrent(this.#bonds)) return () => 'protections-unknown'
    if (this.#dryRun || state.dryRun) return () => 'dry-run'
    if (state.paused) return () => 'paused'
    if (state.breaker === 'open') return () => 'breaker-open'
    return (object) => {
      const protection = this.#protectionOfFollower('', object)
      const isHeld = protection?.because === 'bond-holds' && object.metadata.finalizers?.includes(holdFinalizer)
      return isHeld ? undefined : protection?.because
    }
  }

  /** Whether at the moment nothing spares an object but marks that it carries itself. */
  get hasOnlyOwnMarks(): boolean {
    const { state } = this
    const isKnown = state && isCurrent(this.#optOuts) && isCurrent(this.#bonds)
    if (!isKnown || this.#dryRun || state.dryRun || state.paused || state.breaker === 'open') return false
    return this.#optOuts.list().length === 0 && this.#bonds.list().length === 0
  }

  /** The Bonds for which nobody may delete an object, or a namespace with what is in it; undefined when there are none. */
  denyingBonds(object: KubeObject): string | undefined {
    const { uid, name } = object.metadata
    const concerned = [`/${uid}`, `namespace/${name}`].flatMap((key) => this.#bonds.byIndex('dependency', key))
    const refusing = [...new Set(concerned)].filter((found) => refusesDeletion(found, object))
    return refusing.length > 0 ? namesOf(refusing) : refusedElsewhere(object)
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
    return (await this.#bookings.run('', () => this.#book(subject, object))) ?? this.#recordAndDelete(request, object)
  }

  async #verdict(request: DepartRequest, object: KubeObject | undefined): Promise<ReturnType<typeof judge>> {
    const verdict = this.#judge(request, object)
    if (verdict.result !== 'allowed') return verdict
    return (await this.#protectedContents(request.subject)) ?? verdict
  }

  /** What may not leave keeps in place all that would take it along. */
  async #protectedContents(subject: Subject): Promise<DepartResult | undefined> {
    try {
      for await (const content of subject.contents?.({ metadataOnly: true }) ?? []) {
        const protection = this.#protectionOfFollower(subject.cluster, content)
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

  /** What spares an object that would only follow another. The cluster's own machinery and ours follow freely. */
  #protectionOfFollower(cluster: string, object: KubeObject): Protection | undefined {
    const protections = this.#protections({ cluster, ref: refOf(object) }, object)
    if (!protections) return { result: 'held', because: 'protections-unknown' }
    const protection = protectionOf(object, { ...protections, now: this.#ports.clock.now() })
    return protection && !followsFreely.has(protection.because) ? protection : undefined
  }

  #judge(request: DepartRequest, object: KubeObject | undefined): ReturnType<typeof judge> {
    const { subject, uid, resourceVersion, schedules = [], dryRun = false } = request
    return judge({
      object,
      uid,
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      protections: this.#protections(subject, object),
      state: this.state,
      dryRun: this.#dryRun || dryRun,
      schedules: schedules.map((name) =>
        isCurrent(this.#schedules) ? this.#schedules.get('', name)?.spec : undefined,
      ),
      now: this.#ports.clock.now(),
    })
  }

  /** Record, then delete, then say so. */
  async #recordAndDelete(request: DepartRequest, object: KubeObject): Promise<DepartResult> {
    const { subject, because, by, propagation = 'Background', gracePeriodSeconds } = request
    const { clock, log } = this.#ports
    const record = await this.#writeRecord(request, object)
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
    this.#tell(request, object)
    log.info('left', {
      cluster: subject.cluster,
      ...subject.ref,
      because,
      system: by.system,
      record: record.metadata.name,
    })
    return { result: outcome }
  }

  /** Takes one departure off the budget, or says why it is used up. */
  async #book(subject: Subject, object: KubeObject): Promise<DepartResult | undefined> {
    const now = this.#ports.clock.now()
    const over = await this.#overBudget(subject, now)
    if (!over) this.#budget.count(recordName(subject.cluster, object), subjectKind(subject), now)
    return over
  }

  async #overBudget(subject: Subject, now: number): Promise<DepartResult | undefined> {
    const because = await this.#budget.exceeded(subjectKind(subject), now, () => subject.countKind())
    if (because === undefined) return undefined
    const { client, events, log } = this.#ports
    const switches = await writeDoorState(client, openBreaker(because, now))
    this.#breaker.set({}, 1)
    events.record(switches, {
      type: 'Warning',
      reason: 'BreakerOpened',
      message: `${because}. Nothing leaves until a human closes the breaker: sojourn departures --close-breaker`,
    })
    log.error('breaker opened', { because })
    return { result: 'held', because: 'breaker-open', detail: because }
  }

  /** Writes the record, or finds the one that a former, interrupted try wrote. */
  async #writeRecord(request: DepartRequest, object: KubeObject): Promise<Departure> {
    const { client, clock } = this.#ports
    const { subject, because, by, propagation = 'Background', follows } = request
    const { cluster } = subject
    const wanted = departureRecord({ cluster, object, because, by, propagation, follows, now: clock.now() })
    const contents = subject.contents?.({ metadataOnly: false })
    const pages = contents && (await writePages(client, wanted, restorable(contents)))
    const record = { ...wanted, spec: { ...wanted.spec, ...pages } }
    try {
      return await client.create<Departure>(departure.type, record)
    } catch (error) {
      if (isStatusError(error, 'AlreadyExists')) return this.#resumeRecord(record)
      // Nothing can be created in a namespace that is on its way out; its record goes where it will last.
      const elsewhere =
        isStatusError(error, 'Forbidden') && recordNamespace(subject.cluster, object) !== sojournNamespace
      if (!elsewhere) throw error
      return this.#writeElsewhere(record)
    }
  }

  /** A former try left a record: it stands, unless that try was given up and this is a new decision, or the object is another by now. */
  async #resumeRecord(record: KubeObject & { readonly spec: DepartureSpec }): Promise<Departure> {
    const { client } = this.#ports
    const { namespace = '', name = '' } = record.metadata
    const found = await client.get<Departure>(departure.type, { namespace, name })
    const isCurrent = found.spec.object.resourceVersion === record.spec.object.resourceVersion
    const hasPages = found.spec.pages === record.spec.pages && found.spec.takes === record.spec.takes
    if (isCurrent && hasPages && found.status?.phase !== 'Abandoned') return found
    const metadata = { ...found.metadata, labels: record.metadata.labels ?? {} }
    const renewed = await client.update<Departure>(departure.type, { ...found, metadata, spec: record.spec })
    await this.#writePhase(renewed, { phase: 'Recorded' })
    return renewed
  }

  async #writeElsewhere(record: KubeObject & { readonly spec: DepartureSpec }): Promise<Departure> {
    const { client } = this.#ports
    const moved = { ...record, metadata: { ...record.metadata, namespace: sojournNamespace } }
    const written = await client.create<Departure>(departure.type, moved).catch(ignoring('AlreadyExists'))
    return written ?? this.#resumeRecord(moved)
  }

  /** The record's phase follows the delete; should this write fail, the settle controller makes it up. */
  async #writePhase(record: Departure, status: NonNullable<Departure['status']>): Promise<void> {
    const { client, log } = this.#ports
    const { namespace = '', name } = record.metadata
    await client
      .patch(departure.type, { namespace, name }, { type: 'merge', body: { status } }, { subresource: 'status' })
      .catch((error: unknown) => log.debug('record not updated', { record: name, error: String(error) }))
  }

  #tell({ subject, because, by }: DepartRequest, object: KubeObject): void {
    const { events } = this.#ports
    const left = `${subject.ref.kind} ${subject.ref.namespace ? `${subject.ref.namespace}/` : ''}${subject.ref.name}`
    if (subject.cluster === '')
      events.record(object, {
        type: 'Normal',
        reason: 'Departed',
        message: `left: ${because} (${by.system})`,
        ...(by.object ? { related: by.object } : {}),
      })
    if (by.object && !(subject.cluster === '' && isSame(by.object, subject.ref)))
      events.record(by.object, {
        type: 'Normal',
        reason: 'Departed',
        message: `let ${left} leave: ${because}`,
        related: subject.ref,
      })
  }

  #protections(subject: Pick<Subject, 'cluster' | 'ref'>, object: KubeObject | undefined) {
    if (!isCurrent(this.#optOuts) || !isCurrent(this.#bonds)) return undefined
    const uid = object?.metadata.uid ?? ''
    return {
      cluster: subject.cluster,
      optOuts: this.#optOuts.byIndex('kind', subject.ref.kind.toLowerCase()),
      bonds: this.#bonds.byIndex('dependency', `${subject.cluster}/${uid}`),
    }
  }

  /** What people delete by hand is theirs to answer for. */
  #count({ metadata, spec }: Departure): void {
    if (spec.by.system === 'user') return
    const { cluster = '', apiVersion, kind, name } = spec.object
    this.#budget.count(
      metadata.name,
      subjectKind({ cluster, ref: { apiVersion, kind, name } }),
      parseTime(spec.recordedAt) ?? 0,
    )
  }

  #readSwitches(): void {
    const state = doorStateOf(this.#switches.get(sojournNamespace, doorStateName))
    this.#breaker.set({}, state.breaker === 'open' ? 1 : 0)
    if (state.closedAt !== undefined) this.#budget.forgive(state.closedAt)
  }

  #sources(): readonly Informer[] {
    return [
      this.#optOuts,
      this.#bonds,
      this.#schedules,
      this.#records,
      this.#switches,
    ] as unknown as readonly Informer[]
  }
}

function isSame(left: ObjectRef, right: ObjectRef): boolean {
  return (
    left.apiVersion === right.apiVersion &&
    left.kind === right.kind &&
    left.name === right.name &&
    left.namespace === right.namespace
  )
}

const followsFreely: ReadonlySet<string> = new Set(['system-namespace', 'own-machinery'])

/** What a cache holds may be relied on: it has everything and follows its cluster. */
function isCurrent(informer: { readonly synced: boolean; readonly trouble: unknown }): boolean {
  return informer.synced && informer.trouble === undefined
}

function optOutKinds({ spec }: CleanupOptOut): readonly string[] {
  return [spec.resource?.kind, spec.selector?.kind]
    .filter((kind) => kind !== undefined)
    .map((kind) => kind.toLowerCase())
}

/** The dependency a bond guards, once it is pinned and something that needs it is there; and the namespace that is in. */
function bondDependency(found: Bond): readonly string[] {
  const { spec, status } = found
  if (!isGuarding(found)) return []
  const namespace = guardedNamespace(found)
  return [
    `${spec.dependency.cluster ?? ''}/${status?.dependencyUid}`,
    ...(namespace === undefined ? [] : [`namespace/${namespace}`]),
  ]
}

/** Whether a Bond keeps what it needs from leaving. */
function holdsUp(bond: Bond): boolean {
  return isGuarding(bond) && (bond.spec.onDelete === 'Hold' || bond.spec.onDelete === 'Deny')
}
