import type { WatchOptions } from '../../client/client.ts'
import { TransportError } from '../../client/transport-error.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import { isStatusError, type StatusError } from '../../kube/status-error.ts'
import type { KubeList, WatchEvent } from '../../kube/transport.ts'
import { Attempt, SilenceError } from '../time/attempt.ts'
import { Backoff } from '../time/backoff.ts'
import { sleep, tracked, type Clock } from '../time/clock.ts'
import type { Random } from '../time/random.ts'
import { slices } from '../time/slices.ts'
import { checkedEvent, checkObject, GarbledError, isGarbled, openWatch, type ApiReader } from './watch-stream.ts'

/** Why a cache cannot follow its cluster. */
export type WatchError = StatusError | TransportError

/** What a reflector tells, in the order in which it came about. */
export interface Sink {
  /** A full picture begins; `because` is why. What it does not mention before `complete` is gone. */
  begin(because: string): void
  put(object: StoredObject): void
  remove(object: StoredObject): void
  /** The full picture is complete at this version. */
  complete(resourceVersion: string): void
  /** Everything up to this version has been told. */
  progress(resourceVersion: string): void
  /** What is in the way, or undefined when nothing is any more. */
  reportError(error: WatchError | undefined): void
}

/** What to follow. */
export interface Selection {
  readonly type: ResourceType
  /** Defaults to all namespaces. */
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  /** Metadata only. Defaults to false. */
  readonly metadataOnly?: boolean
}

export interface ReflectorPorts {
  readonly reader: ApiReader
  readonly clock: Clock
  readonly random: Random
  /** Ask for the first picture as a stream, where the server can. Defaults to true. */
  readonly streams?: boolean
}

/** Follows one selection of a cluster's objects and tells a sink exactly what happens to them, whatever happens to the connection. */
export class Reflector {
  readonly #selection: Selection
  readonly #sink: Sink
  readonly #reader: ApiReader
  readonly #clock: Clock
  readonly #random: Random
  /** Grows with each failure; starts anew only when a watch has shown that it works. */
  readonly #backoff: Backoff<'connect'>
  /** Everything up to this version has been told; undefined when all has to be listed. */
  #at: string | undefined
  /** Why all has to be listed. */
  #because = 'start'
  /** Ask for the first picture as a stream; false once the server has shown that it does not know how. */
  #streams: boolean
  #attempt: Attempt | undefined
  /** Ends a pause. */
  #hurry = () => {}

  constructor(selection: Selection, sink: Sink, { reader, clock, random, streams = true }: ReflectorPorts) {
    this.#selection = selection
    this.#sink = sink
    this.#reader = reader
    this.#clock = clock
    this.#random = random
    this.#streams = streams
    this.#backoff = new Backoff({ baseMs: 200, capMs: 30_000, growth: 'decorrelated', random })
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const attempt = new Attempt(this.#clock, requestSilenceMs, signal)
      this.#attempt = attempt
      try {
        await this.#step(attempt)
      } catch (error) {
        if (signal.aborted) return
        this.#recover(error)
        await this.#pause(this.#pauseMs(error), signal)
      } finally {
        attempt.end()
      }
    }
  }

  /** Drops what is under way and lists everything anew. */
  relist(because: string): void {
    this.#at = undefined
    this.#because = because
    this.#hurry()
    this.#attempt?.end(new RelistAsked('everything is listed anew'))
  }

  async #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    const control = new AbortController()
    this.#hurry = () => control.abort(new RelistAsked('no time to wait'))
    await sleep(this.#clock, delayMs, AbortSignal.any([signal, control.signal])).catch(() => {})
    this.#hurry = () => {}
  }

  #step(attempt: Attempt): Promise<void> {
    if (this.#at !== undefined) return this.#watch(this.#at, attempt)
    this.#sink.begin(this.#because)
    return this.#streams ? this.#listAsStream(attempt) : this.#listInPages(attempt)
  }

  async #listInPages(attempt: Attempt): Promise<void> {
    const { type, ...selection } = this.#selection
    const slice = slices(this.#clock)
    for (let token: string | undefined; ;) {
      const page: KubeList<StoredObject> = await attempt.run((signal) =>
        tracked(this.#clock, () =>
          this.#reader.list(type, { ...selection, limit: pageSize, ...(token ? { continue: token } : {}), signal }),
        ),
      )
      attempt.heard()
      for (const object of itemsOf(page)) this.#sink.put(object)
      token = page.metadata.continue
      if (!token) return this.#complete(page.metadata.resourceVersion)
      await slice()
      attempt.signal.throwIfAborted()
    }
  }

  /** The first picture and then what follows, in one stream: an annotated bookmark stands between. */
  async #listAsStream(attempt: Attempt): Promise<void> {
    let complete = false
    const options: WatchOptions = { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' }
    try {
      await this.#follow(attempt, options, (event) => {
        if (complete) return this.#tell(event)
        if (event.type !== 'BOOKMARK') return this.#sink.put(event.object)
        if (!endsInitialEvents(event)) return
        complete = true
        attempt.allowSilence(watchSilenceMs)
        this.#complete(event.object.metadata.resourceVersion)
      })
      if (!complete) throw new SilenceError('the server ended the initial events before their end')
    } catch (error) {
      // A server that does not know the request says so, or takes it for an ordinary watch and never marks the end.
      if (!complete && isUnknownToServer(error)) this.#streams = false
      throw error
    }
  }

  async #watch(from: string, attempt: Attempt): Promise<void> {
    attempt.allowSilence(watchSilenceMs)
    const startedAt = this.#clock.monotonic()
    await this.#follow(attempt, { resourceVersion: from }, (event) => this.#tell(event))
    // A server that ends watches as fast as they are opened must not be asked in a loop.
    if (this.#at === from && this.#clock.monotonic() - startedAt < 1000) throw new CutShort('the watch ended at once')
  }

  /** Opens a watch and hands its events over, until it ends or the attempt does. */
  async #follow(
    attempt: Attempt,
    options: WatchOptions,
    take: (event: WatchEvent<StoredObject>) => void,
  ): Promise<void> {
    const { type, ...selection } = this.#selection
    // Spread over five minutes, so that watches opened together do not all end together.
    const timeoutSeconds = Math.round(300 + 300 * this.#random())
    const request = { ...selection, ...options, allowWatchBookmarks: true, timeoutSeconds }
    const stream = await attempt.run((signal) =>
      tracked(this.#clock, () => openWatch(this.#reader, type, { ...request, signal })),
    )
    if (this.#at !== undefined) this.#sink.reportError(undefined)
    const slice = slices(this.#clock)
    const followed = attempt.run(async (signal) => {
      for await (const event of stream) {
        if (signal.aborted) return
        attempt.heard()
        take(checkedEvent(event))
        await slice()
      }
    })
    await followed.catch((error: unknown) => {
      // Silence alone is not an error: not every server sends bookmarks. A new request shows whether it is.
      if (!(error instanceof SilenceError) || this.#at === undefined) throw error
    })
  }

  #tell({ type, object }: WatchEvent<StoredObject>): void {
    if (type === 'DELETED') this.#sink.remove(object)
    else if (type !== 'BOOKMARK') this.#sink.put(object)
    this.#at = object.metadata.resourceVersion
    this.#backoff.reset('connect')
    this.#sink.progress(this.#at)
  }

  #complete(resourceVersion: string): void {
    this.#at = resourceVersion
    this.#sink.complete(resourceVersion)
    this.#sink.reportError(undefined)
  }

  #recover(error: unknown): void {
    if (error instanceof RelistAsked || error instanceof CutShort) return
    const isExpired = isStatusError(error, 'Expired', 'Gone')
    if (isExpired || isGarbled(error)) {
      this.#at = undefined
      this.#because = isExpired ? 'expired' : 'garbled'
    }
    // An expired resource version is normal, and shows that the server answers.
    if (!isExpired) this.#sink.reportError(asWatchError(error))
  }

  #pauseMs(error: unknown): number {
    if (error instanceof RelistAsked) return 0
    const askedMs = isStatusError(error) ? (error.details?.retryAfterSeconds ?? 0) * 1000 : 0
    return Math.max(askedMs, this.#backoff.next('connect'))
  }
}

const pageSize = 500
/** A request that is not answered, or initial events that stop coming. */
const requestSilenceMs = 60_000
/** A watch with bookmarks says something about once a minute. */
const watchSilenceMs = 180_000

class RelistAsked extends TransportError {}

class CutShort extends TransportError {}

function itemsOf({ items, metadata }: KubeList<StoredObject>): readonly StoredObject[] {
  if (typeof metadata?.resourceVersion !== 'string') throw new GarbledError('the server sent a list without a version')
  // An empty list written by Go has null for its items.
  const objects: readonly StoredObject[] = items ?? []
  for (const object of objects) checkObject(object)
  return objects
}

function endsInitialEvents({ object }: WatchEvent<StoredObject>): boolean {
  return object.metadata.annotations?.['k8s.io/initial-events-end'] === 'true'
}

function isUnknownToServer(error: unknown): boolean {
  return (
    error instanceof SilenceError || isStatusError(error, 'BadRequest', 'Invalid', 'MethodNotAllowed', 'NotAcceptable')
  )
}

function asWatchError(error: unknown): WatchError {
  if (isStatusError(error) || error instanceof TransportError) return error
  return new TransportError(error instanceof Error ? error.message : String(error), { cause: error })
}
