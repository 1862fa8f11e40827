import type { StoredObject } from '../kube/object.ts'
import type { Access } from './auth/access.ts'
import type { ExtraRoutes, HttpsLimits, SessionToken } from './http/https-server.ts'
import type { ResourceHandler } from './http/edge.ts'
import type { AdmissionHook } from './objects/contract/admission.ts'
import type { ObjectsOptions } from './objects/objects.ts'
import type { Clock } from './store/clock.ts'
import type { Store } from './store/store.ts'

/**
 * What the server needs from the application. More than 15 fields: this is its whole configuration, most of it
 * optional.
 */
export interface ApiServerOptions {
  readonly store: Store
  readonly clock: Clock
  /** A number in [0, 1). */
  readonly random: () => number
  /** A new uid at each call. */
  readonly uid: () => string
  /** Folder of certificates and tokens; default: none, they last as long as the server. */
  readonly credentialsDirectory?: string
  /** DNS names and IP addresses of the server besides loopback; default none. */
  readonly hosts?: readonly string[]
  /** Admission hooks of the application; default none. */
  readonly admission?: readonly AdmissionHook[]
  /** Whether a delete of an object must wait for its dependents; default never. */
  readonly cascades?: NonNullable<ObjectsOptions['cascades']>
  /** How deletions are recorded; default not at all. */
  readonly deletionRecords?: NonNullable<ObjectsOptions['deletionRecords']>
  /** What a caller must be allowed to do before a delete may name this record of a cascade; default nothing. */
  readonly cascadeRecordAccess?: (record: string) => Access
  /** Whether new objects get managedFields; default true. */
  readonly tracksFields?: boolean
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
