import type { PatchType } from '../../../kube/patch.ts'
import type { Status } from '../../../kube/status-error.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { Document } from '../../store/document.ts'

/** Who asks, as authentication found out. */
export interface User {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

interface Request {
  readonly type: ServedKind
  /** Left out for cluster-scoped kinds and for all namespaces. */
  readonly namespace?: string
  readonly user: User
}

interface NamedRequest extends Request {
  readonly name: string
  readonly subresource?: string
}

export interface GetRequest extends NamedRequest {
  readonly resourceVersion?: string
}

/** The query of a list, as sent. */
export interface Selection {
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

export interface ListRequest extends Request, Selection {
  readonly limit?: string
  readonly continue?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: string
  readonly sendInitialEvents?: string
  readonly timeoutSeconds?: string
}

export interface WatchRequest extends Request, Selection {
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: string
  readonly sendInitialEvents?: string
  readonly allowWatchBookmarks?: string
  readonly timeoutSeconds?: string
}

/** How a write wants to be treated; `dryRun` holds the values sent, of which only `All` is legal. */
export interface WriteQuery {
  readonly fieldManager?: string
  /** `Strict`, `Warn` or `Ignore`; anything else is refused. */
  readonly fieldValidation?: string
  readonly dryRun?: readonly string[]
  /** Stands in for a missing field manager: its part before the first slash. */
  readonly userAgent?: string
}

interface Body {
  /** A JSON value that nobody changes any more. */
  readonly body: unknown
  /** Paths of the keys its text held more than once. */
  readonly duplicates?: readonly string[]
}

export interface CreateRequest extends Request, Body, WriteQuery {
  /** Only with a subresource. */
  readonly name?: string
  readonly subresource?: string
}

export interface UpdateRequest extends NamedRequest, Body, WriteQuery {}

export interface PatchRequest extends NamedRequest, Body, WriteQuery {
  readonly patchType: PatchType
  readonly force?: boolean
}

/** The query form of DeleteOptions; a body takes precedence. */
export interface DeleteQuery {
  readonly gracePeriodSeconds?: string
  readonly propagationPolicy?: string
  readonly orphanDependents?: string
  readonly dryRun?: readonly string[]
  /** Not Kubernetes' word, and told beside a body, too: `namespace/name` of the record of the cascade in which it goes. */
  readonly cascadeRecord?: string
}

export interface DeleteRequest extends NamedRequest {
  /** DeleteOptions as a JSON value, if a body was sent. */
  readonly body?: unknown
  readonly query?: DeleteQuery
}

export interface DeleteCollectionRequest extends Request, Selection {
  readonly body?: unknown
  readonly query?: DeleteQuery
  readonly limit?: string
  readonly continue?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: string
}

/** A list whose metadata comes first and whose items follow in chunks, so that no list is ever in memory whole. */
export interface ListResult {
  readonly metadata: {
    readonly resourceVersion: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly items: AsyncIterable<readonly Document[]>
}

export interface WriteResult {
  readonly document: Document
  /** Whether it was not there before: HTTP's 201. */
  readonly created: boolean
  /** Texts for Warning headers. */
  readonly warnings: readonly string[]
}

/** What a delete answers: a Status when the object is gone, the object when it only is marked (or its kind returns it always). */
export interface DeleteResult {
  readonly code: 200 | 202
  readonly document?: Document
  readonly status?: Status
  readonly warnings: readonly string[]
}

export interface WatchEventText {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly document: Document
  /** `{"type":…,"object":…}` and a newline; made once, shared by all watchers. */
  readonly line: Buffer
}

/** Where a watch goes. */
export interface WatchSink {
  /** False says full: nothing more comes until `resume`. */
  deliver(events: readonly WatchEventText[]): boolean
  /** No more will come: the time is up, the kind is gone, or an ERROR event was the last. */
  end(): void
}

export interface Watch {
  resume(): void
  close(): void
}
