import type { StoredObject } from '../kube/object.ts'
import type { Access } from './auth/access.ts'
import type { ExtraRoutes, HttpsLimits, SessionToken } from './http/https-server.ts'
import type { ResourceHandler } from './http/edge.ts'
import type { ObjectsOptions } from './objects/objects.ts'

/**
 * What the server needs from the application. More than 15 fields: this is its whole configuration, most of it
 * optional.
 */
export interface ApiServerOptions extends Omit<ObjectsOptions, 'kinds'> {
  /** Folder of certificates and tokens; default: none, they last as long as the server. */
  readonly credentialsDirectory?: string
  /** DNS names and IP addresses of the server besides loopback; default none. */
  readonly hosts?: readonly string[]
  /** What a caller must be allowed to do before a delete may name this record of a cascade; default nothing. */
  readonly cascadeRecordAccess?: (record: string) => Access
  /** Pages of the application on the API port; default none. */
  readonly extraRoutes?: ExtraRoutes
  /** The token of a browser's session; default: there are no sessions. */
  readonly sessionToken?: SessionToken
  /** Endpoints that the application serves, by `VERB RESOURCE/SUBRESOURCE`, such as `get pods/log`; default none. */
  readonly handlers?: ReadonlyMap<string, ResourceHandler>
  /** Bounds on what one client may use; default `defaultLimits`. */
  readonly limits?: Partial<HttpsLimits>
  /** Name of the synthetic Node; default: no Node. */
  readonly nodeName?: string
  /** Whether to run the controllers of namespaces and roles; default true. */
  readonly controllers?: boolean
  /**
   * Runs before the contents of a terminating namespace or CRD are deleted, and is retried until it succeeds; default
   * none.
   */
  readonly beforeEmptying?: (terminating: StoredObject) => Promise<void>
  /** Called with internal errors of the server; default: ignored. */
  readonly onError?: (error: unknown, where: Readonly<Record<string, string>>) => void
}
