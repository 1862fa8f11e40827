import type { StoredObject } from '../kube/object.ts'
import type { Access } from './auth/access.ts'
import type { ExtraRoutes, HttpsLimits } from './http/https-server.ts'
import type { ResourceHandler } from './http/edge.ts'
import type { AdmissionHook } from './objects/contract/admission.ts'
import type { ObjectsOptions } from './objects/objects.ts'
import type { Clock } from './store/clock.ts'
import type { Store } from './store/store.ts'

export interface ApiServerOptions {
  readonly store: Store
  readonly clock: Clock
  /** A number in [0, 1). */
  readonly random: () => number
  /** A new uid at each call. */
  readonly uid: () => string
  /** Where certificates and tokens are kept; without it they live as long as the server. */
  readonly credentialsDirectory?: string
  /** Names and addresses clients use beside loopback; default none. */
  readonly hosts?: readonly string[]
  /** Policies of the application about writes; default none. */
  readonly admission?: readonly AdmissionHook[]
  /** Whether deleting an object has to wait for what depends on it; default never. */
  readonly cascades?: NonNullable<ObjectsOptions['cascades']>
  /** What is stored together with the removal of an object; default nothing. */
  readonly recordOf?: NonNullable<ObjectsOptions['recordOf']>
  /** What a caller must be allowed to do before a delete may name this record of a cascade; default nothing. */
  readonly cascadeRecordAccess?: (record: string) => Access
  /** Whether new objects say who set which field; default true. */
  readonly tracksFields?: boolean
  /** Pages of the application on the API's port; default none. */
  readonly extraRoutes?: ExtraRoutes
  /** Subresources that somebody else serves, by `VERB RESOURCE/SUBRESOURCE`: `get pods/log`; default none. */
  readonly handlers?: ReadonlyMap<string, ResourceHandler>
  /** Bounds on what clients may take; default `defaultLimits`. */
  readonly limits?: Partial<HttpsLimits>
  /** Name of a node to pretend; default none. */
  readonly nodeName?: string
  /** Whether namespaces are furnished and emptied and roles aggregated here; default true. */
  readonly controllers?: boolean
  /** Asked about a namespace or a CRD that is being deleted before anything in it or of its kind is, until it answers without an error; default nobody. */
  readonly beforeEmptying?: (leaving: StoredObject) => Promise<void>
  /** Told of failures inside the server; default nobody. */
  readonly onError?: (error: unknown, where: Readonly<Record<string, string>>) => void
}
