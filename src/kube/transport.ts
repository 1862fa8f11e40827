/** A request as a value: the network sends it, the embedded server handles it, a test looks at it. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Decoded only by the server: segments are percent-encoded where needed. No query. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>
  /** A JSON value. The caller must not change it after sending. */
  readonly body?: unknown
  readonly signal?: AbortSignal
}

/** The answer as a value. `body` is a JSON value, or a string for plain text. */
export interface ApiResponse {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** Only for a watch: its events, one JSON value each, until the server ends it or the request's signal aborts. */
  readonly stream?: AsyncIterable<unknown>
}

/** Carries one request to an API server: over the network, or by a function call to the embedded one. */
export type Transport = (request: ApiRequest) => Promise<ApiResponse>

/** What a watch sends. A BOOKMARK's object holds only kind, apiVersion and the resourceVersion reached. */
export interface WatchEvent<T = unknown> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'
  readonly object: T
}

/** A page of a list. */
export interface KubeList<T> {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly resourceVersion: string
    readonly continue?: string
    readonly remainingItemCount?: number
  }
  readonly items: readonly T[]
}

/** Headers as values hold them: lines of one name are joined by a comma. */
export function flatHeaders(headers: Readonly<Record<string, string | string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ')
  return flat
}
