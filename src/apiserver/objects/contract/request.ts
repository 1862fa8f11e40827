import type { PatchType } from '../../../kube/patches/patch.ts'
import type { Status } from '../../../kube/status-error.ts'
import type { ServedKind } from '../../kinds/contract/served-kind.ts'
import type { Document } from '../../store/document.ts'
import type { View } from '../../store/store.ts'

/** An authenticated user. */
export interface User {
  readonly name: string
  readonly uid?: string
  readonly groups: readonly string[]
  readonly extra?: Readonly<Record<string, readonly string[]>>
}

interface Request {
  readonly type: ServedKind
  /** Absent for cluster-scoped kinds and for all namespaces. */
  readonly namespace?: string
  readonly user: User
}

export interface NamedRequest extends Request {
  readonly name: string
  readonly subresource?: string
}

/** Reads one object. */
export interface GetRequest extends NamedRequest {
  readonly resourceVersion?: string
}

/** Label and field selector, as sent. */
export interface Selection {
  readonly labelSelector?: string
  readonly fieldSelector?: string
}

/** Lists objects. Options are strings as in the query; `Objects` validates them. */
export interface ListRequest extends Request, Selection {
  readonly limit?: string
  readonly continue?: string
  readonly resourceVersion?: string
  readonly resourceVersionMatch?: string
  readonly sendInitialEvents?: string
  readonly timeoutSeconds?: string
}

/** Watches objects. */
export interface WatchRequest extends Omit<ListRequest, 'limit' | 'continue'> {
  readonly allowWatchBookmarks?: string
}

/** The query options of a write, as sent. Only `All` is a valid `dryRun`. */
export interface WriteQuery {
  readonly fieldManager?: string
  /** `Strict`, `Warn` or `Ignore`; anything else is refused. */
  readonly fieldValidation?: string
  readonly dryRun?: readonly string[]
  /** Its part before the first slash replaces a missing field manager. */
  readonly userAgent?: string
}

interface Body {
  /** A JSON value. The caller must not change it any more. */
  readonly body: unknown
  /** Paths of the keys that occur more than once in its text. */
  readonly duplicates?: readonly string[]
}

/** Creates an object, or posts to a subresource. */
export interface CreateRequest extends Request, Body, WriteQuery {
  /** Only with a subresource. */
  readonly name?: string
  readonly subresource?: string
}

/** Replaces an object or a subresource. */
export interface UpdateRequest extends NamedRequest, Body, WriteQuery {}

/** Patches an object or a subresource. */
export interface PatchRequest extends NamedRequest, Body, WriteQuery {
  readonly patchType: PatchType
  readonly force?: boolean
  /** A precondition of callers in this process, asked inside the transaction: true makes the patch a Conflict. */
  readonly isRefused?: (view: View) => boolean
}

/** The query form of DeleteOptions; a body takes precedence. */
export interface DeleteQuery {
  readonly gracePeriodSeconds?: string
  readonly propagationPolicy?: string
  readonly orphanDependents?: string
  readonly dryRun?: readonly string[]
  /**
   * Not part of Kubernetes; also read beside a body. `namespace/name` of the record of the cascade that the delete
   * belongs to.
   */
  readonly cascadeRecord?: string
}

/** Deletes an object. */
export interface DeleteRequest extends NamedRequest {
  /** DeleteOptions as a JSON value, if a body was sent. */
  readonly body?: unknown
  readonly query?: DeleteQuery
}

/** Deletes all selected objects. */
export interface DeleteCollectionRequest extends Omit<ListRequest, 'sendInitialEvents' | 'timeoutSeconds'> {
  readonly body?: unknown
  readonly query?: DeleteQuery
}

/** A list: metadata, and items that are read in chunks, so that a large list is never in memory as a whole. */
export interface ListResult {
  readonly metadata: {
    readonly resourceVersion: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly items: AsyncIterable<readonly Document[]>
}

/** The result of a create, update or patch. */
export interface WriteResult {
  readonly document: Document
  /** Whether the write created the object: HTTP 201. */
  readonly created: boolean
  /** Texts for Warning headers. */
  readonly warnings: readonly string[]
}

/**
 * The result of a delete: a Status when the object was removed; the object while finalizers hold it, or if its kind
 * always returns it.
 */
export interface DeleteResult {
  readonly code: 200 | 202
  readonly document?: Document
  readonly status?: Status
  readonly warnings: readonly string[]
}

/** A watch event with its serialized form. */
export interface WatchEventText {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly document: Document
  /** `{"type":…,"object":…}` and a newline; made once, shared by all watchers. */
  readonly line: Buffer
}

/** The receiver of a watch. */
export interface WatchSink {
  /** Returns false when it is full: the watch then delivers nothing until `resume`. */
  deliver(events: readonly WatchEventText[]): boolean
  /** Called when the server ends the watch: timeout, kind no longer served, or after an ERROR event. */
  end(): void
}

/** An open watch. */
export interface Watch {
  resume(): void
  close(): void
}
