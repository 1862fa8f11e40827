import { StatusError } from '../../kube/status-error.ts'
import type { StoredObject } from '../../kube/object.ts'
import { Reflector, type ReflectorPorts, type Selection, type Sink, type WatchError } from './reflector.ts'
import { isAtLeast } from './resource-version.ts'
import type { SharedCache } from './shared-cache.ts'
import type { WatchScope, WatchScopes } from './watch-scopes.ts'

/** Follows a selection where this process may: everywhere by one watch, or by one watch for each namespace. */
export class ScopedReflector {
  readonly #selection: Selection
  readonly #cache: SharedCache
  readonly #ports: ReflectorPorts
  readonly #scopes: WatchScopes
  #running: readonly Reflector[] = []
  #control = new AbortController()

  constructor(selection: Selection, cache: SharedCache, ports: ReflectorPorts & { readonly scopes: WatchScopes }) {
    this.#selection = selection
    this.#cache = cache
    this.#ports = ports
    this.#scopes = ports.scopes
  }

  async run(signal: AbortSignal): Promise<void> {
    const end = this.#scopes.follow(this.#ports.reader, this.#selection.type, (scope) => this.#use(scope))
    signal.addEventListener('abort', () => {
      end()
      this.#control.abort(signal.reason)
    })
    return Promise.resolve()
  }

  relist(because: string): void {
    for (const reflector of this.#running) reflector.relist(because)
  }

  #use(scope: WatchScope): void {
    this.#control.abort(new Error('what may be followed has changed'))
    this.#control = new AbortController()
    this.#cache.limitTo(scope === 'all' ? undefined : scope, forbidden(this.#selection, scope))
    const parts: Part[] = []
    if (scope === 'all') this.#running = [new Reflector(this.#selection, this.#cache, this.#ports)]
    else
      this.#running = scope.map((namespace) => {
        const part = new Part(this.#cache, namespace, parts)
        parts.push(part)
        return new Reflector({ ...this.#selection, namespace }, part, this.#ports)
      })
    for (const reflector of this.#running) void reflector.run(this.#control.signal)
  }
}

/** One namespace of a cache: a full list of it removes nothing of the others. */
class Part implements Sink {
  readonly #cache: SharedCache
  readonly #namespace: string
  readonly #all: readonly Part[]
  #mentioned = new Set<string>()
  #resourceVersion = ''
  #error: WatchError | undefined

  constructor(cache: SharedCache, namespace: string, all: readonly Part[]) {
    this.#cache = cache
    this.#namespace = namespace
    this.#all = all
  }

  begin(because: string): void {
    this.#mentioned = new Set()
    this.#cache.listed(because)
  }

  put(object: StoredObject): void {
    this.#mentioned.add(object.metadata.name)
    this.#cache.put(object)
  }

  remove(object: StoredObject): void {
    this.#cache.remove(object)
  }

  complete(resourceVersion: string): void {
    for (const object of this.#cache.objects.all(this.#namespace))
      if (!this.#mentioned.has(object.metadata.name)) this.#cache.remove(object)
    this.#resourceVersion = resourceVersion
    if (this.#all.every((part) => part.#resourceVersion !== '')) this.#cache.complete(this.#oldest())
  }

  progress(resourceVersion: string): void {
    this.#resourceVersion = resourceVersion
    if (this.#all.every((part) => part.#resourceVersion !== '')) this.#cache.progress(this.#oldest())
  }

  reportError(error: WatchError | undefined): void {
    this.#error = error
    this.#cache.reportError(this.#all.map((part) => part.#error).find((found) => found !== undefined))
  }

  /** All namespaces have been told up to this version. */
  #oldest(): string {
    const versions = this.#all.map((part) => part.#resourceVersion)
    return versions.reduce((oldest, version) => (isAtLeast(version, oldest) ? oldest : version))
  }
}

function forbidden({ type }: Selection, scope: WatchScope): StatusError | undefined {
  if (scope === 'all') return undefined
  const where = scope.length === 0 ? 'in any namespace' : `outside the namespaces ${scope.join(', ')}`
  const message = `${type.plural}${type.group ? `.${type.group}` : ''} may not be listed and watched ${type.namespaced ? where : ''}: grant list and watch to Sojourn’s account`
  return StatusError.from(403, { kind: 'Status', reason: 'Forbidden', code: 403, message })
}
