import { jsonIn } from '../../kube/basics/json.ts'
import { StatusError } from '../../kube/status-error.ts'
import type { ApiRequest } from '../../kube/transport.ts'

/** Who asks, as far as the server has found out. */
export interface RouteUser {
  readonly name: string
  readonly groups: readonly string[]
}

/** A request as a value. `body` is its text as it came, for signatures. */
export interface RouteRequest {
  readonly method: string
  /** As it was sent: percent-encoded, with its query. Signatures cover it. */
  readonly url: string
  /** Of the connection, not of any header. */
  readonly remoteAddress: string
  /** The `:name` parts of the path, decoded. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Names and values in turn, as they came: repeated ones are not joined. */
  readonly rawHeaders?: readonly string[]
  readonly body: string
  /** Absent for anonymous requests. */
  readonly user?: RouteUser
}

/** An answer as a value: text goes out as it is, an async iterable as lines of JSON, anything else as JSON. */
export interface RouteResponse {
  readonly status: number
  /** Lower-case names; several values for `set-cookie`. */
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly body: unknown
}

/** A page or call that a system offers beside the Kubernetes API; the composition root serves it. */
export interface Route {
  readonly method: ApiRequest['method']
  /** Segments, with `:name` for those that vary: `/janitor/opt-out/:candidate`; or what the whole path must match. */
  readonly path: string | RegExp
  /** Only for those who have signed in. Defaults to true; a link that carries its own signature says false. */
  readonly authenticated?: boolean
  handle(request: RouteRequest): Promise<RouteResponse>
}

/** The JSON value of a body; throws BadRequest. */
export function jsonBody(body: string): unknown {
  const value = jsonIn(body)
  if (value === undefined) throw new StatusError('BadRequest', 'the body must be JSON')
  return value
}
