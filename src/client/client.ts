import { placeOf, type KubeObject, type Place, type ResourceType, type StoredObject } from '../kube/object.ts'
import { patchContentType, type PatchType } from '../kube/patches/patch.ts'
import { StatusError } from '../kube/status-error.ts'
import type { ApiRequest, ApiResponse, KubeList, Transport, WatchEvent } from '../kube/transport.ts'
import { Discovery } from './discovery.ts'
import { resourcePath } from './resource-path.ts'
import { TransportError } from './transport-error.ts'

export interface ReadOptions {
  readonly subresource?: string
  readonly signal?: AbortSignal
  /** Ask for metadata only (PartialObjectMetadata). Defaults to false. */
  readonly metadataOnly?: boolean
}

export interface ListOptions extends Omit<ReadOptions, 'subresource'> {
  readonly namespace?: string
  readonly labelSelector?: string
  readonly fieldSelector?: string
  readonly limit?: number
  readonly continue?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: 'Exact' | 'NotOlderThan'
}

export interface WatchOptions extends Omit<ListOptions, 'limit' | 'continue'> {
  readonly allowWatchBookmarks?: boolean
  readonly sendInitialEvents?: boolean
  readonly timeoutSeconds?: number
}

export interface WriteOptions {
  readonly subresource?: string
  readonly fieldManager?: string
  readonly dryRun?: boolean
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore'
  readonly signal?: AbortSignal
}

/** Only this object, in this version, may go; how its dependents go. */
export interface DeleteOptions extends Omit<WriteOptions, 'fieldManager' | 'fieldValidation' | 'subresource'> {
  readonly uid?: string
  readonly resourceVersion?: string
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan'
  readonly gracePeriodSeconds?: number
  /** `namespace/name` of the record of the cascade in which it goes. For our own server; Kubernetes does not read it. */
  readonly cascadeRecord?: string | undefined
}

export interface ClientOptions {
  /** The cluster's name. Defaults to '', the one we run in. */
  readonly cluster?: string
  readonly fieldManager?: string
  /** What the cluster serves, where it is known already. Defaults to asking it. */
  readonly discovery?: Discovery
}

/** The API of one cluster, typed. Says what the server said: its failures are `StatusError`s, no answer is a `TransportError`. */
export class Client {
  readonly #transport: Transport
  /** The cluster's name; '' is the one we run in. */
  readonly cluster: string
  readonly discovery: Discovery
  readonly #fieldManager: string

  constructor(transport: Transport, options: ClientOptions = {}) {
    this.#transport = transport
    this.cluster = options.cluster ?? ''
    this.#fieldManager = options.fieldManager ?? 'sojourn'
    this.discovery =
      options.discovery ?? new Discovery((path) => this.request({ method: 'GET', path }).then(({ body }) => body))
  }

  /** This cluster's API as another user, if this client's own user may impersonate that one. Shares discovery. */
  impersonating(user: string): Client {
    const transport: Transport = (request) =>
      this.#transport({ ...request, headers: { ...request.headers, 'impersonate-user': user } })
    return new Client(transport, { cluster: this.cluster, fieldManager: this.#fieldManager, discovery: this.discovery })
  }

  get<T = StoredObject>(type: ResourceType, place: Place, options: ReadOptions = {}): Promise<T> {
    const { subresource, signal } = options
    const path = resourcePath(type, { ...place, ...(subresource ? { subresource } : {}) })
    return this.#json({ method: 'GET', path, headers: acceptOf(options), ...withSignal(signal) })
  }

  /** One page of a list. */
  async list<T = StoredObject>(type: ResourceType, options: ListOptions = {}): Promise<KubeList<T>> {
    const found = await this.#json<Omit<KubeList<T>, 'items'> & { readonly items: KubeList<T>['items'] | null }>({
      method: 'GET',
      path: resourcePath(type, options),
      query: listQuery(options),
      headers: acceptOf(options, 'List'),
      ...withSignal(options.signal),
    })
    // kube-apiserver writes an empty list of metadata as null.
    return { ...found, items: found.items ?? [] }
  }

  /** Every page of a list, all of one revision. Throws Expired when that revision is gone before the end. */
  async *listAll<T = StoredObject>(
    type: ResourceType,
    options: ListOptions = {},
  ): AsyncGenerator<KubeList<T>, void, undefined> {
    let page = await this.list<T>(type, { limit: pageSize, ...options })
    yield page
    // Version and match go only with the first request: a token already names its snapshot.
    const { resourceVersion: _, resourceVersionMatch: __, ...rest } = options
    while (page.metadata.continue) {
      page = await this.list<T>(type, { limit: pageSize, ...rest, continue: page.metadata.continue })
      yield page
    }
  }

  /** Events from a version on, until the server ends the watch or the signal aborts. An ERROR event is thrown. */
  async *watch<T = StoredObject>(
    type: ResourceType,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const { stream } = await this.request(watchRequest(type, options))
    if (!stream) throw new TransportError(`the server answered a watch of ${type.plural} without a stream`)
    for await (const event of stream) {
      if (!isWatchEvent(event))
        throw new TransportError(`the watch of ${type.plural} sent something that is not an event`)
      if (event.type === 'ERROR') throw StatusError.from((event.object as { code?: number }).code ?? 500, event.object)
      yield event as WatchEvent<T>
    }
  }

  create<T = StoredObject>(type: ResourceType, object: KubeObject, options: WriteOptions = {}): Promise<T> {
    const { name, ...collection } = placeOf(object.metadata)
    const target = options.subresource ? { ...collection, name, subresource: options.subresource } : collection
    return this.#write('POST', resourcePath(type, target), object, options)
  }

  update<T = StoredObject>(type: ResourceType, object: KubeObject, options: WriteOptions = {}): Promise<T> {
    const path = resourcePath(type, { ...placeOf(object.metadata), ...withSubresource(options) })
    return this.#write('PUT', path, object, options)
  }

  patch<T = StoredObject>(
    type: ResourceType,
    place: Place,
    patch: { readonly type: PatchType; readonly body: unknown; readonly force?: boolean },
    options: WriteOptions = {},
  ): Promise<T> {
    const path = resourcePath(type, { ...place, ...withSubresource(options) })
    return this.#json({
      method: 'PATCH',
      path,
      query: { ...this.#writeQuery(options), ...(patch.force ? { force: 'true' } : {}) },
      headers: { accept: json, 'content-type': patchContentType[patch.type] },
      body: patch.body,
      ...withSignal(options.signal),
    })
  }

  /** A JSON merge patch. */
  merge<T = StoredObject>(type: ResourceType, place: Place, body: unknown, options?: WriteOptions): Promise<T> {
    return this.patch(type, place, { type: 'merge', body }, options)
  }

  /** Replaces the status of the version that was read. */
  updateStatus<T = StoredObject>(
    type: ResourceType,
    object: KubeObject,
    status: unknown,
    options: WriteOptions = {},
  ): Promise<T> {
    return this.update(type, { ...object, status }, { ...options, subresource: 'status' })
  }

  /** Server-side apply: creates or merges, owning exactly the fields given. */
  apply<T = StoredObject>(
    type: ResourceType,
    object: KubeObject,
    options: WriteOptions & { readonly force?: boolean } = {},
  ): Promise<T> {
    const { force = false, ...write } = options
    return this.patch(type, placeOf(object.metadata), { type: 'apply', body: object, force }, write)
  }

  /** Only the door out (src/departures) may call this for what is not our own machinery; a test holds it. */
  deleteObject(type: ResourceType, place: Place, options: DeleteOptions = {}): Promise<KubeObject> {
    return this.#delete(resourcePath(type, place), options)
  }

  async request(request: ApiRequest): Promise<ApiResponse> {
    const response = await this.#transport(request)
    if (response.status >= 400) throw StatusError.from(response.status, response.body)
    return response
  }

  #delete(path: string, options: DeleteOptions): Promise<KubeObject> {
    const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds, cascadeRecord, dryRun, signal } = options
    const query: Record<string, string> = cascadeRecord === undefined ? {} : { cascadeRecord }
    const body = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...(uid || resourceVersion
        ? { preconditions: { ...(uid ? { uid } : {}), ...(resourceVersion ? { resourceVersion } : {}) } }
        : {}),
      ...(propagationPolicy ? { propagationPolicy } : {}),
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      ...(dryRun ? { dryRun: ['All'] } : {}),
    }
    return this.#json({ method: 'DELETE', path, query, headers: jsonHeaders, body, ...withSignal(signal) })
  }

  #write<T>(method: 'POST' | 'PUT', path: string, body: KubeObject, options: WriteOptions): Promise<T> {
    return this.#json({
      method,
      path,
      query: this.#writeQuery(options),
      headers: jsonHeaders,
      body,
      ...withSignal(options.signal),
    })
  }

  async #json<T>(request: ApiRequest): Promise<T> {
    const { body } = await this.request(request)
    if (typeof body !== 'object' || body === null)
      throw new TransportError(`${request.method} ${request.path} was not answered with JSON`)
    return body as T
  }

  #writeQuery({ fieldManager = this.#fieldManager, dryRun, fieldValidation }: WriteOptions): Record<string, string> {
    return { fieldManager, ...(dryRun ? { dryRun: 'All' } : {}), ...(fieldValidation ? { fieldValidation } : {}) }
  }
}

const pageSize = 500
const json = 'application/json'
const jsonHeaders = { accept: json, 'content-type': json }

function acceptOf({ metadataOnly }: { readonly metadataOnly?: boolean }, suffix = ''): Record<string, string> {
  return { accept: metadataOnly ? `${json};as=PartialObjectMetadata${suffix};g=meta.k8s.io;v=v1,${json}` : json }
}

/** What opens a watch. */
export function watchRequest(type: ResourceType, options: WatchOptions): ApiRequest {
  return {
    method: 'GET',
    path: resourcePath(type, options),
    query: { ...listQuery(options), watch: 'true' },
    headers: acceptOf(options),
    ...withSignal(options.signal),
  }
}

function listQuery(options: ListOptions & WatchOptions): Record<string, string> {
  const { labelSelector, fieldSelector, limit, resourceVersion, resourceVersionMatch, timeoutSeconds } = options
  return {
    ...(labelSelector ? { labelSelector } : {}),
    ...(fieldSelector ? { fieldSelector } : {}),
    ...(limit ? { limit: String(limit) } : {}),
    ...(options.continue ? { continue: options.continue } : {}),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(resourceVersionMatch ? { resourceVersionMatch } : {}),
    ...(options.allowWatchBookmarks ? { allowWatchBookmarks: 'true' } : {}),
    ...(options.sendInitialEvents ? { sendInitialEvents: 'true' } : {}),
    ...(timeoutSeconds ? { timeoutSeconds: String(timeoutSeconds) } : {}),
  }
}

function withSubresource({ subresource }: { readonly subresource?: string }): { subresource?: string } {
  return subresource ? { subresource } : {}
}

function withSignal(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal ? { signal } : {}
}

function isWatchEvent(event: unknown): event is WatchEvent {
  return (
    typeof event === 'object' &&
    event !== null &&
    'type' in event &&
    'object' in event &&
    typeof event.object === 'object'
  )
}
