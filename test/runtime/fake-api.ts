import { TransportError } from '../../src/client/transport-error.ts'
import type { KubeObject, StoredObject } from '../../src/kube/object.ts'
import { mergePatch } from '../../src/kube/patches/patch.ts'
import { matches, parseFieldSelector, parseLabelSelector } from '../../src/kube/selector.ts'
import { StatusError } from '../../src/kube/status-error.ts'
import type { ApiRequest, ApiResponse, Transport, WatchEvent } from '../../src/kube/transport.ts'
import { FakeStream } from './fake-stream.ts'

interface Place {
  /** The plural. */
  readonly collection: string
  readonly namespace: string
  readonly name: string | undefined
}

/** A fault takes a request and answers it in the server's stead, or lets it pass. */
export type Fault = (request: ApiRequest) => ApiResponse | Promise<ApiResponse> | undefined

/** As much of an API server as informers, leases and recorders meet, and every way in which one can fail them. For tests. */
export class FakeApi {
  readonly #objects = new Map<string, StoredObject>()
  readonly #log: { readonly collection: string; readonly event: WatchEvent<StoredObject> }[] = []
  readonly #streams = new Set<{ readonly stream: FakeStream; readonly accepts: (event: Logged) => boolean }>()
  #version = 10
  #compactedTo = 0
  #uids = 0
  /** Every request that came, in order. */
  readonly requests: ApiRequest[] = []
  /** Asked in turn before each request is served. */
  readonly faults: Fault[] = []
  /** Whether initial events can be asked for; 'ignore' is a server that takes it for an ordinary watch. */
  streams: boolean | 'ignore' = true
  now: () => string = () => '2026-01-01T00:00:00Z'

  readonly transport: Transport = async (request) => {
    this.requests.push(request)
    for (const fault of this.faults) {
      const answer = await fault(request)
      if (answer) return answer
    }
    try {
      return this.#serve(request)
    } catch (error) {
      if (!(error instanceof StatusError)) throw error
      return { status: error.code, headers: {}, body: error.toStatus() }
    }
  }

  get version(): string {
    return String(this.#version)
  }

  get watches(): number {
    return this.#streams.size
  }

  /** Stores an object as a stranger would. */
  put(collection: string, object: KubeObject): StoredObject {
    const id = idOf(collection, object.metadata.namespace ?? '', object.metadata.name ?? '')
    const previous = this.#objects.get(id)
    const stored = {
      ...object,
      metadata: {
        ...object.metadata,
        uid: previous?.metadata.uid ?? `uid-${++this.#uids}`,
        resourceVersion: String(++this.#version),
        creationTimestamp: previous?.metadata.creationTimestamp ?? this.now(),
      },
    } as StoredObject
    this.#objects.set(id, stored)
    this.#emit(collection, { type: previous ? 'MODIFIED' : 'ADDED', object: stored })
    return stored
  }

  delete(collection: string, namespace: string, name: string): void {
    const id = idOf(collection, namespace, name)
    const object = this.#objects.get(id)
    if (!object) return
    this.#objects.delete(id)
    const metadata = { ...object.metadata, resourceVersion: String(++this.#version) }
    this.#emit(collection, { type: 'DELETED', object: { ...object, metadata } })
  }

  get(collection: string, namespace: string, name: string): StoredObject | undefined {
    return this.#objects.get(idOf(collection, namespace, name))
  }

  all(collection: string): StoredObject[] {
    return [...this.#objects].filter(([id]) => id.startsWith(`${collection}|`)).map(([, object]) => object)
  }

  /** Forgets history: who watches from before has to list. */
  compact(): void {
    this.#compactedTo = this.#version
    this.#log.length = 0
  }

  bookmark(): void {
    for (const { stream } of this.#streams) stream.push({ type: 'BOOKMARK', object: bookmarkAt(this.version) })
  }

  /** Does the same to every open watch: ends it well, cuts it, garbles it, or lets it hang for good. */
  disturb(how: 'end' | 'cut' | 'garble' | 'hang' | 'expire' | 'html'): void {
    for (const watch of this.#streams) {
      this.#streams.delete(watch)
      const { stream } = watch
      if (how === 'end') stream.end()
      if (how === 'cut') stream.fail(new TransportError('socket hang up'))
      if (how === 'garble') stream.fail(new TransportError('not JSON', { cause: new SyntaxError('Unexpected token') }))
      if (how === 'html') stream.push('<html>')
      if (how === 'expire') stream.push({ type: 'ERROR', object: expired().toStatus() })
    }
  }

  #serve(request: ApiRequest): ApiResponse {
    const place = placeOf(request.path)
    const { query = {} } = request
    switch (request.method) {
      case 'GET':
        if (query.watch === 'true') return this.#watch(place, query, request.signal)
        return place.name === undefined ? this.#list(place, query) : ok(this.#existing(place))
      case 'POST': {
        const object = request.body as KubeObject
        const { name = '', namespace = place.namespace } = object.metadata
        if (this.get(place.collection, namespace, name))
          throw new StatusError('AlreadyExists', `${name} already exists`)
        return ok(this.put(place.collection, { ...object, metadata: { ...object.metadata, namespace } }), 201)
      }
      case 'PUT': {
        const object = request.body as KubeObject
        const existing = this.#existing(place)
        const { resourceVersion } = object.metadata
        if (resourceVersion && resourceVersion !== existing.metadata.resourceVersion)
          throw new StatusError('Conflict', 'the object has been modified')
        return ok(this.put(place.collection, object))
      }
      case 'PATCH': {
        const { metadata, ...rest } = mergePatch(this.#existing(place), request.body) as KubeObject
        return ok(this.put(place.collection, { ...rest, metadata } as KubeObject))
      }
      case 'DELETE':
        this.#existing(place)
        this.delete(place.collection, place.namespace, place.name ?? '')
        return ok({ kind: 'Status', apiVersion: 'v1', status: 'Success' })
    }
  }

  #existing({ collection, namespace, name = '' }: Place): StoredObject {
    const object = this.get(collection, namespace, name)
    if (!object) throw new StatusError('NotFound', `${collection} "${name}" not found`)
    return object
  }

  #list(place: Place, query: Readonly<Record<string, string>>): ApiResponse {
    const [version = this.version, offset = '0'] = query.continue?.split('/') ?? []
    if (Number(version) < this.#compactedTo) throw expired()
    const all = this.all(place.collection).filter((object) => selects(place, query, object))
    const end = Number(offset) + Number(query.limit ?? all.length)
    const metadata = {
      resourceVersion: version,
      ...(end < all.length ? { continue: `${version}/${end}` } : {}),
    }
    const items = all.slice(Number(offset), end).map(({ kind: _, apiVersion: __, ...item }) => item)
    return ok({ kind: 'List', apiVersion: 'v1', metadata, items })
  }

  #watch(place: Place, query: Readonly<Record<string, string>>, signal?: AbortSignal): ApiResponse {
    const initial = query.sendInitialEvents === 'true'
    if (initial && this.streams === false) throw new StatusError('Invalid', 'sendInitialEvents is forbidden')
    const from = Number(query.resourceVersion ?? 0)
    if (from > 0 && from < this.#compactedTo) throw expired()
    const stream = new FakeStream()
    const accepts = ({ collection, event }: Logged) =>
      collection === place.collection && selects(place, query, event.object)
    if (from === 0) {
      for (const object of this.all(place.collection)) {
        if (selects(place, query, object)) stream.push({ type: 'ADDED', object })
      }
      const annotations = { 'k8s.io/initial-events-end': 'true' }
      if (initial && this.streams === true)
        stream.push({ type: 'BOOKMARK', object: bookmarkAt(this.version, annotations) })
    }
    for (const logged of this.#log) {
      if (from > 0 && Number(logged.event.object.metadata.resourceVersion) > from && accepts(logged))
        stream.push(logged.event)
    }
    const watch = { stream, accepts }
    this.#streams.add(watch)
    signal?.addEventListener('abort', () => {
      this.#streams.delete(watch)
      stream.fail(signal.reason as Error)
    })
    return { status: 200, headers: {}, body: undefined, stream }
  }

  #emit(collection: string, event: WatchEvent<StoredObject>): void {
    const logged = { collection, event }
    this.#log.push(logged)
    for (const { stream, accepts } of this.#streams) if (accepts(logged)) stream.push(event)
  }
}

interface Logged {
  readonly collection: string
  readonly event: WatchEvent<StoredObject>
}

function ok(body: unknown, status = 200): ApiResponse {
  return { status, headers: {}, body }
}

function expired(): StatusError {
  return new StatusError('Expired', 'too old resource version')
}

function bookmarkAt(resourceVersion: string, annotations?: Record<string, string>): unknown {
  return { kind: 'X', apiVersion: 'v1', metadata: { resourceVersion, ...(annotations ? { annotations } : {}) } }
}

function idOf(collection: string, namespace: string, name: string): string {
  return `${collection}|${namespace}|${name}`
}

function placeOf(path: string): Place {
  const match = /^\/(?:api|apis\/[^/]+)\/[^/]+(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?$/.exec(path)
  if (!match) throw new StatusError('NotFound', `${path} is not served`)
  const [, namespace = '', collection = '', name] = match
  return { collection, namespace, name }
}

function selects(place: Place, query: Readonly<Record<string, string>>, { metadata }: StoredObject): boolean {
  const fields = { 'metadata.name': metadata.name, 'metadata.namespace': metadata.namespace ?? '' }
  return (
    (!place.namespace || place.namespace === metadata.namespace) &&
    (!query.fieldSelector || matches(parseFieldSelector(query.fieldSelector), fields)) &&
    (!query.labelSelector || matches(parseLabelSelector(query.labelSelector), metadata.labels))
  )
}
