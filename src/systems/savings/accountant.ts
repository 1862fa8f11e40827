import { departure, type Departure } from '../../apis/departure.ts'
import { environmentClass, type EnvironmentClass } from '../../apis/environment-class.ts'
import { environment, type Environment } from '../../apis/environment.ts'
import { sojournNamespace } from '../../apis/group.ts'
import { savingsReport } from '../../apis/savings-report.ts'
import { recordsOnly } from '../../departures/records/record.ts'
import { deployments, namespaces, persistentVolumes, statefulSets } from '../../kube/core-types.ts'
import type { StoredObject } from '../../kube/object.ts'
import { parseTime } from '../../kube/time.ts'
import type { Informer } from '../../runtime/cache/informer.ts'
import { Controller, type ClusterPorts } from '../../runtime/controller/controller.ts'
import { settled, wakeAt, type Outcome } from '../../runtime/controller/outcome.ts'
import { accrue, dayMs, type Pending } from './decision/accrue.ts'
import type { Prices } from '../../prices/prices.ts'
import { sleepOf, type Source } from './decision/released.ts'
import { readDeparted, type Departed } from './departed.ts'
import { Reports } from './reports.ts'
import { savingsMetrics } from './savings-metrics.ts'

export interface AccountantOptions extends ClusterPorts {
  readonly prices: Prices
  /** How long a deleted object counts. */
  readonly horizonMs: number
  /** Asks for prices, once a day; `prices` and the last known ones count while it fails. Defaults to none. */
  readonly askPrices?: ((given: Prices) => Promise<Prices>) | undefined
  /** How often reports are written while nothing changes. Defaults to five minutes. */
  readonly flushMs?: number
}

const key = { cluster: '', kind: savingsReport.kind, namespace: sojournNamespace, name: 'savings' }
/** How long after a change reports are written. */
const changeFlushMs = 60_000
/** Changes within this time are looked at together. */
const lookMs = 1000

/** Counts what sleeping workloads and deleted objects would have used, and keeps it in SavingsReports. It changes nothing else. */
export class Accountant {
  readonly controller: Controller
  readonly #options: AccountantOptions
  readonly #reports: Reports
  readonly #metrics: ReturnType<typeof savingsMetrics>
  readonly #workloads: readonly Informer[]
  readonly #environments: Informer<Environment>
  readonly #classes: Informer<EnvironmentClass>
  readonly #namespaces: Informer
  readonly #volumes: Informer
  readonly #records: Informer<Departure>
  /** What each record holds, by its uid. */
  readonly #departed = new Map<string, Departed>()
  #sources: readonly Source[] = []
  #pending: Pending = new Map()
  /** Until when everything is counted; undefined before the reports are read. */
  #countedTo: number | undefined
  /** When something first changed since the sources were last observed. */
  #changedAt: number | undefined
  #observedAt = 0
  #flushAt = 0
  #prices: Prices
  #pricesAt = 0

  constructor(options: AccountantOptions) {
    const { client, informers, ports } = options
    this.#options = options
    this.#prices = options.prices
    this.#reports = new Reports(client)
    this.#metrics = savingsMetrics(ports.metrics)
    this.#workloads = [deployments, statefulSets].map((type) => informers.open(client, type))
    this.#environments = informers.open<Environment>(client, environment.type)
    this.#classes = informers.open<EnvironmentClass>(client, environmentClass.type)
    this.#namespaces = informers.open(client, namespaces)
    this.#volumes = informers.open(client, persistentVolumes)
    this.#records = informers.open<Departure>(client, departure.type, recordsOnly)
    this.controller = new Controller({ name: 'savings', reconcile: () => this.#reconcile(), ports, concurrency: 1 })
    this.#watch()
  }

  /** Stores what is counted so far; call it once the controller has ended. */
  async close(): Promise<void> {
    if (this.#countedTo === undefined || this.#options.ports.mayAct?.() === false) return
    this.#count(this.#options.ports.clock.now())
    await this.#flush().catch(() => {})
  }

  #watch(): void {
    const changed = (isRelevant: boolean) => {
      if (isRelevant) this.#changedAt ??= this.#options.ports.clock.now()
      return isRelevant ? [key] : []
    }
    for (const informer of [...this.#workloads, this.#namespaces])
      this.controller.watch(informer, ({ type, object, previous = object, initial }) =>
        // A new one may be one that was deleted before.
        changed((type === 'added' && !initial) || (sleepOf(object) ?? sleepOf(previous)) !== undefined),
      )
    this.controller.watch(this.#records, () => changed(true))
    const ownerOf = (each?: Environment) => each?.status?.owner
    this.controller.watch(this.#environments, (change) => changed(ownerOf(change.object) !== ownerOf(change.previous)))
  }

  async #reconcile(): Promise<Outcome> {
    const { clock } = this.#options.ports
    const followed = [this.#environments, this.#classes, this.#namespaces, this.#records, ...this.#workloads]
    if (!followed.every(({ synced }) => synced)) return wakeAt(clock.now() + 200)
    const isFirst = this.#countedTo === undefined
    if (isFirst) await this.#load(clock.now())
    else if (clock.now() < this.#observedAt + lookMs) return wakeAt(this.#observedAt + lookMs)
    await this.#readRecords()
    await this.#learnPrices(isFirst)
    const now = clock.now()
    // What ended at the change counts until the change.
    if (!isFirst) this.#count(Math.min(this.#changedAt ?? now, now))
    if (this.#changedAt !== undefined) this.#flushAt = Math.min(this.#flushAt, now + changeFlushMs)
    this.#changedAt = undefined
    this.#sources = this.#observe()
    this.#count(now)
    this.#observedAt = now
    if (now >= this.#flushAt) await this.#flush()
    return this.#pending.size > 0 || this.#sources.some(({ until }) => until > now) ? wakeAt(this.#flushAt) : settled
  }

  async #load(now: number): Promise<void> {
    this.#countedTo = Math.max(await this.#reports.load(), now - this.#options.horizonMs)
    this.#metrics.begin(this.#reports.all())
    this.#pending = new Map()
    this.#flushAt = now + changeFlushMs
  }

  /** Counts the sources as last observed, in whole seconds, as reports say them. A clock that was set back counts nothing. */
  #count(at: number): void {
    const to = Math.floor(at / 1000) * 1000
    const from = this.#countedTo ?? to
    accrue(this.#pending, { sources: this.#sources, from, to, prices: this.#prices })
    this.#countedTo = Math.max(from, to)
  }

  /** New prices count from now on. */
  async #learnPrices(isFirst: boolean): Promise<void> {
    const { askPrices, prices, ports } = this.#options
    const now = ports.clock.now()
    if (!askPrices || now < this.#pricesAt) return
    if (!isFirst) this.#count(Math.min(this.#changedAt ?? now, now))
    try {
      this.#prices = await askPrices(prices)
      this.#pricesAt = now + dayMs
    } catch (error) {
      ports.log.error('prices not read: the last known ones count', { error })
      this.#pricesAt = now + dayMs / 24
    }
  }

  /** After a failure the reports say how far it got: what was pending may be stored or not. */
  async #flush(): Promise<void> {
    const [pending, now] = [this.#pending, this.#countedTo ?? 0]
    const isBare = ({ state, amounts: { cpu, memory, gpu } }: Source) => state === 'Asleep' && cpu + memory + gpu === 0
    const uncounted = this.#sources.filter(isBare).length
    this.#pending = new Map()
    try {
      await this.#reports.add(pending, { now, uncounted })
    } catch (error) {
      this.#countedTo = undefined
      throw error
    }
    for (const rows of pending.values()) this.#metrics.add(rows.values(), uncounted)
    this.#flushAt = now + (this.#options.flushMs ?? 300_000)
  }

  async #readRecords(): Promise<void> {
    const { client, ports } = this.#options
    const records = new Map(this.#records.list().flatMap((each) => (counts(each) ? [[each.metadata.uid, each]] : [])))
    for (const uid of this.#departed.keys()) if (!records.has(uid)) this.#departed.delete(uid)
    for (const [uid, record] of records) {
      if (this.#departed.has(uid)) continue
      const read = readDeparted(client, record, (name) => this.#classes.get('', name)).catch((error: unknown) => {
        // One bad record must not stop the others.
        ports.log.error('savings of a departure not counted', { record: record.metadata.name, error })
        return { items: [] }
      })
      this.#departed.set(uid, await read)
    }
  }

  /** All that is asleep or deleted now. A workload that exists counts as it is, whatever records say. */
  #observe(): readonly Source[] {
    const asleep = this.#workloads.flatMap((informer) => informer.list().flatMap((each) => this.#sleeping(each)))
    // A volume that outlives its claim is still paid for.
    const claimOf = ({ spec }: StoredObject) => (spec as { claimRef?: { uid?: string } } | undefined)?.claimRef?.uid
    const retained = new Set(this.#volumes.list().map(claimOf))
    const deleted = this.#records.list().flatMap((record) => this.#deleted(record))
    return [...asleep, ...deleted.filter(({ uid }) => !retained.has(uid))]
  }

  #sleeping(workload: StoredObject): readonly Source[] {
    const sleep = sleepOf(workload)
    if (!sleep) return []
    const { uid, namespace = '' } = workload.metadata
    const place = this.#place(namespace)
    return [
      { uid, place, system: place.class ? 'environments' : 'activator', state: 'Asleep', ...sleep, until: Infinity },
    ]
  }

  #place(namespace: string, { owner, class: className }: Omit<Departed, 'items'> = {}): Source['place'] {
    const home = this.#environments.list(namespace)[0]
    const noted = this.#namespaces.get('', namespace)?.metadata.annotations?.['sojourn.dev/owner']
    const place = { namespace, owner: owner ?? home?.status?.owner ?? noted, class: className ?? home?.spec.className }
    return Object.fromEntries(Object.entries(place).filter(([, value]) => value))
  }

  #deleted({ spec, status, metadata }: Departure): readonly Source[] {
    const departed = this.#departed.get(metadata.uid)
    const from = parseTime(status?.goneAt) ?? Infinity
    const { apiVersion, cluster = '' } = spec.object
    const cloud = apiVersion.startsWith('aws') ? { region: cluster.split(':')[2] ?? '' } : {}
    const end = Math.min(from + this.#options.horizonMs, parseTime(status?.restoredAt) ?? Infinity)
    return (departed?.items ?? []).flatMap(({ uid, kind, namespace, name, amounts, parts }) => {
      if (this.#workloads.some((living) => living.type.kind === kind && living.get(namespace, name))) return []
      const recreatedAt = parseTime(this.#namespaces.get('', namespace)?.metadata.creationTimestamp) ?? 0
      const until = recreatedAt > from ? Math.min(end, recreatedAt) : end
      const place = this.#place(namespace, departed)
      return [{ uid, place, system: spec.by.system, state: 'Deleted' as const, amounts, parts, from, until, ...cloud }]
    })
  }
}

/** What a user deletes saves nothing by Sojourn. */
function counts({ spec, status }: Departure): boolean {
  return spec.by.system !== 'user' && status?.goneAt !== undefined && status.phase !== 'Abandoned'
}
