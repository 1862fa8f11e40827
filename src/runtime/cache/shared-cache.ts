import { withoutManagedFields } from '../../kube/creator.ts'
import type { ResourceType, StoredObject } from '../../kube/object.ts'
import type { ByteBudget } from './byte-budget.ts'
import type { CacheMetrics } from './cache-metrics.ts'
import { isStatusError } from '../../kube/status-error.ts'
import type { Change, Trim } from './informer.ts'
import type { LogFields, Logger } from '../observability/log.ts'
import { ObjectCache } from './object-cache.ts'
import type { Sink, WatchError } from './reflector.ts'
import { isAtLeast } from './resource-version.ts'

export interface SharedCacheOptions {
  readonly type: ResourceType
  readonly freeze: boolean
  /** What is kept of each object. */
  readonly trim?: Trim | undefined
  readonly log: Logger
  readonly metrics: CacheMetrics
  /** What it may hold, together with others. Defaults to any amount. */
  readonly budget?: ByteBudget | undefined
}

/** What a reflector tells, as objects, changes and versions: each change once, in order, to everyone, after the cache has it. */
export class SharedCache implements Sink {
  readonly objects = new ObjectCache()
  readonly #options: SharedCacheOptions
  readonly #apiVersion: string
  /** Replaced, never changed: who comes while a change is told has already seen it in the cache. */
  #handlers: readonly ((change: Change) => void)[] = []
  #errorHandlers: readonly ((error: WatchError | undefined) => void)[] = []
  /** Those who wait for a version, lowest first. */
  readonly #awaited: { readonly resourceVersion: string; readonly callback: () => void }[] = []
  #synced = false
  readonly #whenSynced = Promise.withResolvers<void>()
  #resourceVersion = ''
  #lastError: WatchError | undefined
  /** Whether the log says that there is an error. */
  #isTold = false
  /** The only namespaces that can be followed, and why; undefined when all are. */
  #limit: { readonly namespaces: readonly string[]; readonly error: WatchError } | undefined
  /** While a full picture comes in over what is there: the objects it has mentioned. */
  #mentioned: Set<StoredObject> | undefined
  /** What each object takes of the budget, if there is one. */
  readonly #sizes = new Map<StoredObject, number>()

  constructor(options: SharedCacheOptions) {
    this.#options = options
    const { group, version } = options.type
    this.#apiVersion = group ? `${group}/${version}` : version
  }

  get synced(): boolean {
    return this.#synced
  }

  get whenSynced(): Promise<void> {
    return this.#whenSynced.promise
  }

  get resourceVersion(): string {
    return this.#resourceVersion
  }

  /** Why something is missing or stale: also that only some namespaces can be followed. */
  get lastError(): WatchError | undefined {
    return this.#lastError ?? this.#limit?.error
  }

  /** The only namespaces that are followed; undefined when all are. */
  get namespaces(): readonly string[] | undefined {
    return this.#limit?.namespaces
  }

  /** Why the objects of this namespace are missing or stale. */
  errorIn(namespace: string): WatchError | undefined {
    return this.#lastError ?? (this.#limit?.namespaces.includes(namespace) ? undefined : this.#limit?.error)
  }

  /** From now on only these namespaces are followed; what is known of others is dropped. Undefined: all are. */
  limitTo(namespaces: readonly string[] | undefined, error: WatchError | undefined): void {
    this.#limit = namespaces && error ? { namespaces, error } : undefined
    if (namespaces)
      for (const object of this.objects.all())
        if (!namespaces.includes(object.metadata.namespace ?? '')) this.#drop(object, object)
    for (const handler of this.#errorHandlers) this.#safely(() => handler(this.lastError))
  }

  subscribe(handler: (change: Change) => void): () => void {
    for (const object of this.objects.all()) this.#call(handler, { type: 'added', object, initial: true })
    this.#handlers = [...this.#handlers, handler]
    return () => {
      this.#handlers = this.#handlers.filter((other) => other !== handler)
    }
  }

  onError(handler: (error: WatchError | undefined) => void): () => void {
    this.#errorHandlers = [...this.#errorHandlers, handler]
    return () => {
      this.#errorHandlers = this.#errorHandlers.filter((other) => other !== handler)
    }
  }

  onReached(resourceVersion: string, callback: () => void): () => void {
    const waiter = { resourceVersion, callback }
    let index = this.#awaited.length
    while (index > 0 && !isAtLeast(resourceVersion, this.#awaited[index - 1]?.resourceVersion ?? '')) index--
    this.#awaited.splice(index, 0, waiter)
    return () => {
      const place = this.#awaited.indexOf(waiter)
      if (place >= 0) this.#awaited.splice(place, 1)
    }
  }

  begin(because: string): void {
    this.#mentioned = this.objects.size > 0 ? new Set() : undefined
    this.listed(because)
  }

  /** Counts a full list, of everything or of one namespace. */
  listed(because: string): void {
    this.#options.metrics.listed(because)
    if (because !== 'start') this.#options.log.debug('cache is listed anew', { because })
  }

  put(received: StoredObject): void {
    const { namespace = '', name } = received.metadata
    const previous = this.objects.get(namespace, name)
    const isSame = previous?.metadata.uid === received.metadata.uid
    if (previous && isSame && isAtLeast(previous.metadata.resourceVersion, received.metadata.resourceVersion)) {
      this.#mentioned?.add(previous)
      return
    }
    if (previous && !isSame) this.#drop(previous, previous)
    const object = this.#kept(received)
    this.#account(isSame ? previous : undefined, object)
    this.objects.put(object)
    this.#mentioned?.add(object)
    const initial = !this.#synced
    if (previous && isSame) this.#tell({ type: 'modified', object, previous, initial })
    else this.#tell({ type: 'added', object, initial })
  }

  remove(received: StoredObject): void {
    const { namespace = '', name, uid } = received.metadata
    const previous = this.objects.get(namespace, name)
    if (previous?.metadata.uid === uid) this.#drop(previous, this.#kept(received))
  }

  complete(resourceVersion: string): void {
    const mentioned = this.#mentioned
    this.#mentioned = undefined
    if (mentioned) {
      for (const object of this.objects.all()) if (!mentioned.has(object)) this.#drop(object, object)
    }
    this.progress(resourceVersion)
    this.#synced = true
    this.#whenSynced.resolve()
  }

  progress(resourceVersion: string): void {
    this.#resourceVersion = resourceVersion
    while (this.#awaited[0] && isAtLeast(resourceVersion, this.#awaited[0].resourceVersion)) {
      const { callback } = this.#awaited.shift() ?? {}
      if (callback) this.#safely(callback)
    }
  }

  reportError(error: WatchError | undefined): void {
    if (this.#lastError === error) return
    // A kind that was just defined is refused for a second while the server prepares it.
    const isPassing = !this.#lastError && isStatusError(error, 'TooManyRequests')
    if (error && !this.#isTold && !isPassing) this.#options.log.error('cache cannot follow its cluster', { error })
    if (!error && this.#isTold) this.#options.log.info('cache follows its cluster again')
    this.#isTold = error !== undefined && (this.#isTold || !isPassing)
    this.#lastError = error
    for (const handler of this.#errorHandlers) this.#safely(() => handler(this.lastError))
  }

  /** Keeps those who wait from waiting for ever. */
  close(): void {
    for (const bytes of this.#sizes.values()) this.#options.budget?.giveBack(bytes)
    this.#sizes.clear()
    this.#whenSynced.promise.catch(() => {})
    this.#whenSynced.reject(new Error('the cache was closed before it was synced'))
  }

  #drop(previous: StoredObject, object: StoredObject): void {
    this.objects.delete(previous)
    this.#account(previous, undefined)
    this.#tell({ type: 'deleted', object, previous, initial: false })
  }

  /** Takes from the budget what comes, and gives back what goes. */
  #account(previous: StoredObject | undefined, object: StoredObject | undefined): void {
    const { budget } = this.#options
    if (!budget) return
    const bytes = object ? JSON.stringify(object).length : 0
    budget.take(bytes)
    if (object) this.#sizes.set(object, bytes)
    if (!previous) return
    budget.giveBack(this.#sizes.get(previous) ?? 0)
    this.#sizes.delete(previous)
  }

  /** List items come without kind and apiVersion, partial ones with the wrong ones; of managed fields, only who came first is of use here. */
  #kept(received: StoredObject): StoredObject {
    const { kind } = this.#options.type
    const metadata = withoutManagedFields(received.metadata)
    const whole = { ...received, apiVersion: this.#apiVersion, kind, metadata }
    const object = this.#options.trim?.(whole) ?? whole
    return this.#options.freeze ? deepFreeze(object) : object
  }

  #tell(change: Change): void {
    this.#options.metrics.changed(change.type)
    for (const handler of this.#handlers) this.#call(handler, change)
  }

  /** What a user of the cache does wrong is its own affair: the cache goes on, and so do the others. */
  #safely(callback: () => void, about: LogFields = {}): void {
    try {
      callback()
    } catch (error) {
      this.#options.log.error('handler of a change failed', { ...about, error })
    }
  }

  #call(handler: (change: Change) => void, change: Change): void {
    const { namespace, name } = change.object.metadata
    this.#safely(() => handler(change), { namespace, name })
  }
}

function deepFreeze<V>(value: V): V {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const field of Object.values(value)) deepFreeze(field)
  return Object.freeze(value)
}
