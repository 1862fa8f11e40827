import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { StoreEvent } from '../../store/store.ts'
import type { ReadPorts } from '../read/list-objects.ts'
import { checkWatchOptions, parseCount, parseFlag } from '../contract/list-options.ts'
import { ObjectWatch, type WatchStart } from './object-watch.ts'
import type { Watch, WatchRequest, WatchSink } from '../contract/request.ts'
import { parseResourceVersion } from '../contract/resource-version.ts'
import { filterOf } from '../read/selection.ts'
import { ServedEvent } from './watch-event.ts'

const bookmarkEveryMs = 60_000
const finalBookmarkMs = 2000
const minLifetimeMs = 30 * 60_000

/** What watches need. */
export interface WatchPorts extends ReadPorts {
  /** A number in [0, 1). */
  readonly random: () => number
}

/** All open watches. Distributes store events to them and sends their bookmarks. */
export class WatchHub {
  readonly #ports: WatchPorts
  readonly #watches = new Map<string, Set<ObjectWatch>>()
  readonly #unsubscribe: () => void

  constructor(ports: WatchPorts) {
    this.#ports = ports
    this.#unsubscribe = ports.store.subscribe((events) => this.#publish(events))
  }

  /** The number of open watches. */
  get size(): number {
    return [...this.#watches.values()].reduce((sum, { size }) => sum + size, 0)
  }

  /** Opens a watch. Throws for invalid options before anything is delivered. */
  open(request: WatchRequest, sink: WatchSink): Watch {
    const timers = new Set<() => void>()
    const watch = new ObjectWatch(this.#ports, {
      request: withNamespace(request),
      filter: filterOf(request.type, request),
      sink,
      start: startOf(request),
      onClose: () => {
        for (const cancel of timers) cancel()
        this.#remove(watch)
      },
    })
    const lifetimeMs = this.#lifetimeMs(request)
    timers.add(this.#ports.clock.after(lifetimeMs, () => watch.end()))
    if (parseFlag(request.allowWatchBookmarks)) this.#scheduleBookmarks(watch, lifetimeMs, timers)
    this.#add(watch)
    watch.start()
    return watch
  }

  /** Ends the watches of kinds that changed or are no longer served. */
  endAll(isAffected: (type: ServedKind) => boolean): void {
    for (const watches of this.#watches.values()) for (const watch of watches) if (isAffected(watch.type)) watch.end()
  }

  close(): void {
    this.#unsubscribe()
    this.endAll(() => true)
  }

  /** Converts each event once per served version, not once per watch. */
  #publish(events: readonly StoreEvent[]): void {
    for (const [resource, changes] of Map.groupBy(events, ({ resource }) => resource)) {
      const watches = this.#watches.get(resource)
      if (!watches) continue
      const served = new Map<ServedKind, readonly ServedEvent[]>()
      for (const watch of watches) {
        const forType = served.get(watch.type) ?? changes.map((event) => new ServedEvent(event, watch.type))
        served.set(watch.type, forType)
        watch.publish(forType)
      }
    }
  }

  /** Without timeoutSeconds, a random lifetime of 30 to 60 minutes, so that clients do not all reconnect at once. */
  #lifetimeMs({ timeoutSeconds }: WatchRequest): number {
    const seconds = parseCount(timeoutSeconds)
    return seconds === undefined ? minLifetimeMs * (1 + this.#ports.random()) : seconds * 1000
  }

  #scheduleBookmarks(watch: ObjectWatch, lifetimeMs: number, timers: Set<() => void>): void {
    const { clock } = this.#ports
    const again = () => {
      watch.sendBookmark()
      timers.delete(cancel)
      cancel = clock.after(bookmarkEveryMs, again)
      timers.add(cancel)
    }
    let cancel = clock.after(bookmarkEveryMs, again)
    timers.add(cancel)
    if (lifetimeMs > finalBookmarkMs) timers.add(clock.after(lifetimeMs - finalBookmarkMs, () => watch.sendBookmark()))
  }

  #add(watch: ObjectWatch): void {
    const watches = this.#watches.get(watch.resource) ?? new Set()
    this.#watches.set(watch.resource, watches.add(watch))
  }

  #remove(watch: ObjectWatch): void {
    const watches = this.#watches.get(watch.resource)
    watches?.delete(watch)
    if (watches?.size === 0) this.#watches.delete(watch.resource)
  }
}

/** As in kube-apiserver: no resourceVersion, or 0, starts with the current state unless sendInitialEvents is false. */
function startOf(request: WatchRequest): WatchStart {
  checkWatchOptions(request)
  const revision = parseResourceVersion(request.resourceVersion) ?? 0
  const sendsInitial = parseFlag(request.sendInitialEvents)
  const from = sendsInitial
    ? 'state'
    : revision > 0
      ? revision
      : request.sendInitialEvents === undefined
        ? 'state'
        : 'now'
  return { from, atLeast: revision, marksInitialEventsEnd: sendsInitial && parseFlag(request.allowWatchBookmarks) }
}

/** Uses the namespace that the field selector names, if it names one. */
function withNamespace(request: WatchRequest): WatchRequest {
  if (!request.type.namespaced || request.namespace !== undefined) return request
  const { onlyNamespace } = filterOf(request.type, request)
  return onlyNamespace === undefined ? request : { ...request, namespace: onlyNamespace }
}
