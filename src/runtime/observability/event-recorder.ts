import { BoundedMap } from '../../kube/basics/bounded-map.ts'
import { events } from '../../kube/core-types.ts'
import type { Client } from '../../client/client.ts'
import { type KubeObject, type ObjectRef, type StoredObject, placeOf } from '../../kube/object.ts'
import { publicText } from '../../kube/redact.ts'
import { isStatusError } from '../../kube/status-error.ts'
import { formatTime } from '../../kube/time.ts'
import { sleep, tracked, type Clock } from '../time/clock.ts'
import { knownSecrets } from './known-secrets.ts'
import type { Logger } from './log.ts'
import type { Counter } from './metric.ts'
import type { Metrics } from './metrics.ts'
import { slices } from '../time/slices.ts'
import { TokenBuckets } from '../time/token-buckets.ts'

export interface EventNote {
  readonly type: 'Normal' | 'Warning'
  /** CamelCase, from the system's closed vocabulary. */
  readonly reason: string
  readonly message: string
  readonly related?: ObjectRef
}

export interface EventRecorderPorts {
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Metrics
  /** Whether the Events say what people did: none is left out, and none stands for the acts of others. Defaults to false. */
  readonly isAudit?: boolean
}

/** What an Event is about. */
export type EventSubject = KubeObject | Subject

/** One Event and how often it happened. */
interface Series {
  readonly name: string
  readonly namespace: string
  readonly subject: Subject
  readonly note: EventNote
  readonly firstAt: number
  lastAt: number
  count: number
  created: boolean
  /** Whether it stands for many objects. */
  readonly isCrowd: boolean
  /** Whether its next write is planned. */
  isPlanned: boolean
}

type Subject = ObjectRef & { readonly uid?: string }

/** Writes Events. Repeated ones are counted, each object and each crowd of objects is rate limited, and a failed write is only logged. */
export class EventRecorder {
  readonly #component: string
  readonly #ports: EventRecorderPorts
  readonly #counter: Counter<'result'> | undefined
  /** Keyed by content; the least recently repeated first. */
  readonly #series = new BoundedMap<string, Series>(4096)
  /** Not written yet, or again since. */
  readonly #unwritten = new Set<Series>()
  readonly #allowance: TokenBuckets
  /** How many objects of a kind may have an Event of one reason in a namespace; the others share one. */
  readonly #crowds: TokenBuckets
  #writing: Promise<void> | undefined
  #names = 0

  constructor(component: string, ports: EventRecorderPorts) {
    this.#component = component
    this.#ports = ports
    this.#allowance = new TokenBuckets({ clock: ports.clock, burst: 25, refillMs: 300_000, most: 4096 })
    this.#crowds = new TokenBuckets({ clock: ports.clock, burst: 50, refillMs: 12_000, most: 4096 })
    this.#counter = ports.metrics?.counter({
      name: 'sojourn_events_total',
      help: 'Kubernetes Events by what became of them.',
      labels: ['result'],
    })
  }

  /** Returns at once; the Event follows. */
  record(about: EventSubject, note: EventNote): void {
    // The one place that every Event passes: no credential reaches people who may only read Events.
    const shown = { ...note, message: publicText(note.message, knownSecrets) }
    const subject = subjectOf(about)
    const { apiVersion, kind, namespace, name } = subject
    // First of all, so that one object that reports much does not use up what the others of its kind may report. What goes well does not hide what fails.
    const { isAudit = false } = this.#ports
    const isAllowed = isAudit || this.#allowance.take(JSON.stringify([note.type, apiVersion, kind, namespace, name]))
    const series = this.#seriesOf(subject, shown, isAllowed)
    series.count++
    series.lastAt = this.#ports.clock.now()
    if (!isAllowed) return this.#count('suppressed')
    if (series.isCrowd) return this.#writeSoon(series)
    if (this.#unwritten.size >= maxUnwritten) return this.#count('suppressed')
    this.#unwritten.add(series)
    this.#startWriting()
  }

  /** Writes an Event that keeps counting, with a pause in between. */
  #writeSoon(series: Series): void {
    if (series.isPlanned) return
    series.isPlanned = true
    this.#ports.clock.after(crowdPauseMs, () => {
      series.isPlanned = false
      this.#unwritten.add(series)
      this.#startWriting()
    })
  }

  /** Resolves when everything recorded so far is written or given up. */
  async flush(): Promise<void> {
    while (this.#writing) await this.#writing
  }

  #startWriting(): void {
    this.#writing ??= tracked(this.#ports.clock, () => this.#write()).finally(() => {
      this.#writing = undefined
      if (this.#unwritten.size > 0) this.#startWriting()
    })
  }

  #seriesOf(subject: Subject, note: EventNote, isAllowed: boolean): Series {
    const { type, reason, message } = note
    const id = JSON.stringify([subject, type, reason, message])
    const known = this.#known(id)
    if (known) return known
    const crowd = JSON.stringify([subject.namespace, subject.kind, type, reason])
    if (!isAllowed || this.#ports.isAudit || this.#crowds.take(crowd)) return this.#newSeries(id, subject, note)
    const shared = { ...note, message: `${message} (the same of more objects of this kind: "count" is their number)` }
    return this.#known(crowd) ?? this.#newSeries(crowd, subject, shared, true)
  }

  #known(id: string): Series | undefined {
    const known = this.#series.get(id)
    if (!known || this.#ports.clock.now() - known.lastAt >= seriesMs) return undefined
    this.#series.set(id, known)
    return known
  }

  #newSeries(id: string, subject: Subject, note: EventNote, isCrowd = false): Series {
    const now = this.#ports.clock.now()
    const unique = `${Math.round(now * 1000).toString(16)}${(this.#names++ & 0xffff).toString(16).padStart(4, '0')}`
    const name = `${subject.name.slice(0, 200)}.${unique}`
    const namespace = subject.namespace ?? 'default'
    const state = { firstAt: now, lastAt: now, count: 0, created: false, isCrowd, isPlanned: false }
    const series = { name, namespace, subject, note, ...state }
    this.#series.set(id, series)
    return series
  }

  async #write(): Promise<void> {
    const breathe = slices(this.#ports.clock)
    for (const series of this.#unwritten) {
      await breathe()
      this.#unwritten.delete(series)
      try {
        await this.#writeWithPatience(series)
        this.#count('written')
      } catch (error) {
        this.#count('failed')
        this.#ports.log.debug('event could not be written', { event: series.name, error })
      }
    }
  }

  async #writeWithPatience(series: Series): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#writeOnce(series)
      } catch (error) {
        const isFinal = isStatusError(error) && error.code < 500 && error.code !== 429
        if (isFinal || tries === 3) throw error
        await sleep(this.#ports.clock, 1000 * tries)
      }
    }
  }

  async #writeOnce(series: Series): Promise<void> {
    const { client } = this.#ports
    const { namespace, name } = series
    if (series.created) {
      const body = { count: series.count, lastTimestamp: formatTime(series.lastAt) }
      try {
        await client.merge(events, { namespace, name }, body)
        return
      } catch (error) {
        // Events live for an hour; this one's time was up.
        if (!isStatusError(error, 'NotFound')) throw error
      }
    }
    await client.create<StoredObject>(events, this.#eventOf(series))
    series.created = true
  }

  #eventOf({ name, namespace, subject, note, firstAt, lastAt, count }: Series): KubeObject {
    const { type, reason, message, related } = note
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name, namespace },
      involvedObject: subject,
      type,
      reason,
      action: reason,
      message,
      count,
      firstTimestamp: formatTime(firstAt),
      lastTimestamp: formatTime(lastAt),
      source: { component: this.#component },
      reportingComponent: this.#component,
      reportingInstance: this.#component,
      ...(related ? { related } : {}),
    }
  }

  #count(result: 'written' | 'suppressed' | 'failed'): void {
    this.#counter?.inc({ result })
  }
}

const maxUnwritten = 1000
const crowdPauseMs = 5000
/** The same thing after so long is a new Event. */
const seriesMs = 600_000

function subjectOf(about: EventSubject): Subject {
  const { apiVersion, kind } = about
  const { name = '', namespace, uid } = 'metadata' in about ? (about as KubeObject).metadata : (about as Subject)
  return { apiVersion, kind, ...placeOf({ name, namespace }), ...(uid ? { uid } : {}) }
}
