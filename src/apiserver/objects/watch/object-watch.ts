import { StatusError } from '../../../kube/status-error.ts'
import { chunk, isLast, type ScanQuery } from '../../store/store.ts'
import { expired } from '../contract/failures.ts'
import { keyOf, readSingle, type ReadPorts } from '../read/list-objects.ts'
import { waitForRevision } from '../read/wait-for-revision.ts'
import type { Watch, WatchEventText, WatchRequest, WatchSink } from '../contract/request.ts'
import type { Filter } from '../read/selection.ts'
import { bookmark, eventText, failureEvent, ServedEvent } from './watch-event.ts'

/** Where a watch starts. */
export interface WatchStart {
  /** After a revision; after the current one (`now`); or with the current state first (`state`). */
  readonly from: number | 'now' | 'state'
  readonly atLeast: number
  /** Whether a bookmark marks the end of the initial state. */
  readonly marksInitialEventsEnd: boolean
}

/** A watch request, validated, with its receiver. */
export interface ObjectWatchOptions {
  readonly request: WatchRequest
  readonly filter: Filter
  readonly sink: WatchSink
  readonly start: WatchStart
  onClose(watch: ObjectWatch): void
}

/** Progress of the initial state: its snapshot, and the key of the last record delivered. */
interface InitialState {
  readonly revision: number
  last: ScanQuery['after']
}

/**
 * One watch. Reads the initial state and then the log in chunks while its sink accepts events, and is live once it
 * has caught up. A full sink moves it back to reading the log: nothing is buffered for a slow reader.
 */
export class ObjectWatch implements Watch {
  readonly #ports: ReadPorts
  readonly #options: ObjectWatchOptions
  /** All events up to this revision were delivered or did not match. Not set before `catchingUp`. */
  #position = 0
  #state: 'starting' | 'catchingUp' | 'live' | 'closed' = 'starting'
  #isFull = false
  #isReading = false
  /** Undefined once the initial state is delivered, or when none was requested. */
  #initial: InitialState | undefined

  constructor(ports: ReadPorts, options: ObjectWatchOptions) {
    this.#ports = ports
    this.#options = options
  }

  get resource(): string {
    return this.#options.request.type.resource
  }

  get type() {
    return this.#options.request.type
  }

  /** Starts delivery. Failures are delivered as ERROR events. */
  start(): void {
    void this.#run()
  }

  /** Delivers new events of this watch's kind, if it is live; otherwise it will read them from the log. */
  publish(events: readonly ServedEvent[]): void {
    if (this.#state !== 'live') return
    const texts = this.#translate(events)
    this.#position = Math.max(this.#position, events.at(-1)?.revision ?? 0)
    this.#deliver(texts)
  }

  /** Sends a bookmark with the store's revision, if the watch has caught up with it. */
  sendBookmark(): void {
    if (this.#state !== 'live') return
    const { revision } = this.#ports.store
    this.#position = Math.max(this.#position, revision)
    this.#deliver([bookmark(this.type, revision)])
  }

  resume(): void {
    if (!this.#isFull || this.#state === 'closed') return
    this.#isFull = false
    void this.#run()
  }

  close(): void {
    if (this.#state === 'closed') return
    this.#state = 'closed'
    this.#options.onClose(this)
  }

  /** Ends the watch from the server's side. */
  end(): void {
    if (this.#state === 'closed') return
    this.close()
    this.#options.sink.end()
  }

  /** Reads until the watch is live or its sink is full. Only one run is active at a time. */
  async #run(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    try {
      if (this.#state === 'starting') await this.#begin()
      while (this.#canRead() && this.#readChunk()) await this.#ports.clock.breathe()
    } catch (error) {
      this.#fail(error)
    } finally {
      this.#isReading = false
    }
  }

  async #begin(): Promise<void> {
    const { from, atLeast } = this.#options.start
    await waitForRevision(this.#ports, atLeast)
    if (this.#state === 'closed') return
    const revision = typeof from === 'number' ? from : this.#ports.store.revision
    if (from === 'state') this.#initial = { revision, last: undefined }
    this.#position = revision
    this.#state = 'catchingUp'
  }

  #canRead(): boolean {
    return this.#state === 'catchingUp' && !this.#isFull
  }

  /** Reads and delivers one chunk. Returns false when the watch is live or its sink is full. */
  #readChunk(): boolean {
    if (this.#initial) return this.#readInitial(this.#initial)
    const { events, reached } = this.#changes()
    this.#position = reached
    if (reached >= this.#ports.store.revision) this.#state = 'live'
    this.#deliver(this.#translate(events, true))
    return this.#state === 'catchingUp'
  }

  #readInitial(initial: InitialState): boolean {
    const { filter, start, request } = this.#options
    const { store } = this.#ports
    const { namespace } = request
    const single = readSingle(store, request, { filter, revision: initial.revision })
    const records =
      single ??
      store.scan({
        resource: this.resource,
        ...chunk,
        at: initial.revision,
        ...(namespace === undefined ? {} : { namespace }),
        ...(initial.last ? { after: initial.last } : {}),
      })
    initial.last = keyOf(records.at(-1))
    const added = records
      .filter(({ name }) => filter.onlyName === undefined || filter.onlyName === name)
      .map(({ document }) => this.type.serve(document))
      .filter((document) => filter.accepts(document))
      .map((document) => eventText('ADDED', document))
    const isComplete = single !== undefined || isLast(records, chunk)
    if (isComplete) this.#initial = undefined
    if (isComplete && start.marksInitialEventsEnd) added.push(bookmark(this.type, initial.revision, true))
    this.#deliver(added)
    return true
  }

  #changes(): { readonly events: readonly ServedEvent[]; readonly reached: number } {
    const { store } = this.#ports
    try {
      const { events, reached } = store.changes({ resource: this.resource, after: this.#position, ...chunk })
      return { events: events.map((event) => new ServedEvent(event, this.type)), reached }
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      throw expired(`too old resource version: ${this.#position} (${store.compactedRevision})`)
    }
  }

  #translate(events: readonly ServedEvent[], isReplay = false): readonly WatchEventText[] {
    const { filter, request } = this.#options
    const texts: WatchEventText[] = []
    for (const event of events) {
      if (!isReplay && event.revision <= this.#position) continue
      const text = event.textFor(filter, request.namespace)
      if (text) texts.push(text)
    }
    return texts
  }

  #deliver(events: readonly WatchEventText[]): void {
    if (events.length === 0) return
    let takesMore: boolean
    try {
      takesMore = this.#options.sink.deliver(events)
    } catch {
      // A failing sink ends its own watch only.
      return this.close()
    }
    if (takesMore || this.#state === 'closed') return
    this.#isFull = true
    this.#state = 'catchingUp'
  }

  #fail(error: unknown): void {
    if (this.#state === 'closed') return
    const status =
      error instanceof StatusError
        ? error
        : error instanceof RangeError
          ? expired(`too old resource version: ${this.#position} (${this.#ports.store.compactedRevision})`)
          : new StatusError('InternalError', 'the watch failed', { cause: error })
    this.#options.sink.deliver([failureEvent(status)])
    this.end()
  }
}
